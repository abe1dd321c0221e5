"""Rows of a source with what a model predicts of them, made batch by batch when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.tables import Table, arrow

__all__ = ["ArrowRows", "PredictedRows", "Predictions"]

Predictions = tuple[NDArray[Any], NDArray[np.float64]]
"""The label of each row, and its probabilities (n_rows, n_classes)."""


@runtime_checkable
class ArrowRows(Protocol):
    """A source whose rows come as Arrow record batches, with every column as it is."""

    name: str
    schema: Any

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, with these columns or all."""


class PredictedRows:
    """Rows with what a model predicts of them: an Arrow stream that is made when it is read.

    Whatever takes ``__arrow_c_stream__`` takes it, each time from the first row on: pyarrow, pandas
    and polars; DuckDB, which registers it; ``adbc_ingest`` of ADBC, which writes it to a database.
    A few batches are in memory at a time. Its rows can be read again where those of the source can.

    Parameters
    ----------
    source : ArrowRows
    kept : sequence of str
        Columns of the source that stay, before the predictions.
    read : sequence of str
        Columns that the model reads.
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
        source: ArrowRows,
        kept: Sequence[str],
        read: Sequence[str],
        classes: NDArray[Any],
        predict: Callable[[Table], Predictions],
        in_order: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]] = map,
    ) -> None:
        self._source, self._kept, self._read = source, list(kept), list(read)
        self._predict, self._in_order = predict, in_order
        made = [pa.field("prediction", pa.array(classes.tolist()).type)]
        made += [pa.field(f"p({label})", pa.float64()) for label in classes.tolist()]
        taken = [field.name for field in made if field.name in kept]
        if taken:
            raise SourceError(
                f"{source.name} has a column {taken[0]!r}, which is what the predictions are "
                "called: rename it, or leave it out of keep="
            )
        self._schema = pa.schema([*(source.schema.field(name) for name in kept), *made])

    def __repr__(self) -> str:
        return f"<predictions of {self._source.name}: {', '.join(self._schema.names)}>"

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
        names = list(dict.fromkeys([*self._kept, *self._read]))
        yield from self._in_order(self._predicted, self._source.record_batches(names))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as an Arrow stream in C; see
        https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html."""
        reader = pa.RecordBatchReader.from_batches(self._schema, self.record_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _predicted(self, batch: Any) -> Any:
        """A batch with its predictions."""
        kept = [batch.column(name) for name in self._kept]
        labels, proba = np.empty(0), np.empty((0, len(self._schema) - len(kept) - 1))
        if batch.num_rows:
            labels, proba = self._predict(arrow.read_batches([batch.select(self._read)]))
        made = [pa.array(labels.tolist(), self._schema.field(len(kept)).type)]
        made += [pa.array(np.ascontiguousarray(column)) for column in proba.T]
        return pa.record_batch([*kept, *made], schema=self._schema)
