"""Some rows of a file, and many batches as fewer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["Batch", "gathered"]

CELLS = 1 << 20  # of a batch to count: enough that what a batch costs by itself does not matter


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    table : pyarrow.Table
    first : int
        Index of its first row in the file, from 0.
    done : float, optional
        The share of the file that has been read so far, where that is known.
    kept : int array, optional
        The rows of the file that are in the table, counted from `first`, where some are left out.
    """

    table: Any
    first: int
    done: float | None = None
    kept: NDArray[np.intp] | None = None

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of each row in the file, from 0."""
        kept = np.arange(self.table.num_rows) if self.kept is None else self.kept
        return self.first + kept

    def keep(self, mask: NDArray[np.bool_]) -> Batch:
        """The rows where the mask is true, of a batch that has all."""
        return replace(self, table=self.table.filter(pa.array(mask)), kept=np.flatnonzero(mask))


def gathered(batches: Iterable[Batch], cells: int = CELLS) -> Iterator[Batch]:
    """The same rows in batches of at least so many cells, but for the last.

    Texts as a file has them take much memory and are parsed in small pieces; the columns that are
    made of them take little, and are counted the faster the more come at once.
    """
    waiting: list[Batch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.table.num_rows * max(1, batch.table.num_columns)
        if held >= cells:
            yield _together(waiting)
            waiting, held = [], 0
    if waiting:
        yield _together(waiting)


def _together(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    types: dict[str, Any] = {}
    for batch in batches:
        for field in batch.table.schema:
            if field.name not in types or pa.types.is_null(types[field.name]):
                types[field.name] = field.type
    columns = {name: _chunks(batches, name, kind) for name, kind in types.items()}
    return Batch(pa.table(columns), batches[0].first, batches[-1].done)


def _chunks(batches: list[Batch], name: str, kind: Any) -> Any:
    """One column of all batches; empty where a batch lacks it, or knows nothing."""
    chunks = []
    for batch in batches:
        table = batch.table
        column = table.column(name) if name in table.column_names else None
        if column is None or pa.types.is_null(column.type):
            column = pa.chunked_array([pa.nulls(table.num_rows, kind)])
        chunks += column.chunks
    return pa.chunked_array(chunks, kind)
