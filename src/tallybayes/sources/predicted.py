"""Rows of a source with their predictions, computed batch by batch when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.sources.kept_columns import KeptColumns, Piece
from tallybayes.sources.locating import located
from tallybayes.tables import Table

__all__ = ["PredictedRows", "Predictions"]

Predictions = tuple[NDArray[Any], NDArray[np.float64]]
"""The label of each row, and its probabilities (n_rows, n_classes)."""


class PredictedRows:
    """Rows with their predictions: an Arrow stream that is computed when it is read.

    Whatever takes ``__arrow_c_stream__`` takes it, each time from the first row on: pyarrow, pandas
    and polars; DuckDB, which registers it; ``adbc_ingest`` of ADBC, which writes it to a database.
    A few batches are in memory at a time. Its rows can be read again where those of the source can.

    Parameters
    ----------
    rows : KeptColumns
    classes : array (n_classes,)
    predict : callable (Table) -> Predictions
    in_order : callable
        ``map`` that may run on several threads.

    Raises
    ------
    SourceError
        If a column that stays has a name that the predictions need.
    """

    def __init__(
        self,
        rows: KeptColumns,
        classes: NDArray[Any],
        predict: Callable[[Table], Predictions],
        in_order: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]] = map,
    ) -> None:
        self._rows, self._predict, self._in_order = rows, predict, in_order
        self._made = [pa.field("prediction", pa.array(classes.tolist()).type)]
        self._made += [pa.field(f"p({label})", pa.float64()) for label in classes.tolist()]
        taken = [field.name for field in self._made if field.name in rows.schema.names]
        if taken:
            raise SourceError(
                f"{rows.name} has a column {taken[0]!r}, which is what the predictions are "
                "called: rename it, or leave it out of keep="
            )
        self._schema = pa.schema([*rows.schema, *self._made])

    def __repr__(self) -> str:
        return f"<predictions of {self._rows.name}: {', '.join(self._schema.names)}>"

    @property
    def schema(self) -> Any:
        """Its columns, as a pyarrow.Schema: those that are kept, ``prediction``, ``p(label)``."""
        return self._schema

    def record_batches(self) -> Iterator[Any]:
        """The rows as pyarrow record batches.

        Yields
        ------
        pyarrow.RecordBatch
            Some rows.

        Raises
        ------
        ValueError
            If the source cannot be read, or a value is not admitted.
        """
        where, before = "", 0
        try:
            for batch, where_now in self._in_order(self._predicted, self._rows.pieces()):
                before = batch.num_rows + (before if where_now == where else 0)
                where = where_now
                yield batch
        except _PieceError as error:
            piece = error.piece
            first = before if piece.where == where else 0
            raise located(error.error, piece.where, first, piece.place) from error.error

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as an Arrow stream in C; see
        https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html."""
        reader = pa.RecordBatchReader.from_batches(self._schema, self.record_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _predicted(self, piece: Piece) -> tuple[Any, str]:
        """The rows of a piece with their predictions, and what holds them."""
        kept, table = piece.read()
        labels, proba = np.empty(0), np.empty((0, len(self._made) - 1))
        if table.n_rows:
            try:
                labels, proba = self._predict(table)
            except SourceError:
                raise
            except ValueError as error:
                raise _PieceError(piece, error) from error
        made = [pa.array(labels.tolist(), self._made[0].type)]
        made += [pa.array(np.ascontiguousarray(column)) for column in proba.T]
        return pa.record_batch([*kept.columns, *made], schema=self._schema), piece.where


class _PieceError(Exception):
    """An error in the rows of a piece."""

    def __init__(self, piece: Piece, error: ValueError) -> None:
        super().__init__(str(error))
        self.piece, self.error = piece, error
