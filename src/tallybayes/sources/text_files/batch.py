"""Some rows of a file, and many batches as fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.sources.text_files.cells import joined

__all__ = ["Batch", "Labelled", "gathered", "grouped", "stacked"]

T = TypeVar("T")

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
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of each row in the file, from 0."""
        kept = np.arange(self.table.num_rows) if self.kept is None else self.kept
        return self.first + kept

    def keep(self, mask: NDArray[np.bool_]) -> Batch:
        """The rows where the mask is true, of a batch that has all."""
        return replace(self, table=self.table.filter(pa.array(mask)), kept=np.flatnonzero(mask))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows, or documents, and their labels.

    Parameters
    ----------
    batch : Batch or DocumentBatch
        Of rows with the columns that the model has.
    labels : array of str (n_rows,)
    """

    batch: Any
    labels: NDArray[Any]


def gathered(batches: Iterable[Batch], cells: int = CELLS) -> Iterator[Batch]:
    """The same rows in batches of at least so many cells, but for the last.

    Strings as a file has them take much memory and are parsed in small pieces; the columns that are
    made of them take little, and are counted the faster the more come at once.
    """
    return map(_together, grouped(batches, lambda batch: batch.table, cells))


def grouped(items: Iterable[T], rows_of: Callable[[T], Any], cells: int) -> Iterator[list[T]]:
    """Items in lists whose Arrow rows have at least so many cells, but for the last list."""
    waiting: list[T] = []
    held = 0
    for item in items:
        waiting.append(item)
        rows = rows_of(item)
        held += rows.num_rows * max(1, rows.num_columns)
        if held >= cells:
            yield waiting
            waiting, held = [], 0
    if waiting:
        yield waiting


def _together(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    table = stacked([batch.table for batch in batches])
    return Batch(table, batches[0].first, batches[-1].done)


def stacked(tables: list[Any]) -> Any:
    """Tables one below the other; a column that one lacks is empty there."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    return pa.table({name: joined(_chunks(tables, name)) for name in names})


def _chunks(tables: list[Any], name: str) -> list[Any]:
    """One column of all tables; empty where one lacks it."""
    chunks: list[Any] = []
    for table in tables:
        if name in table.column_names:
            chunks += table.column(name).chunks
        else:
            chunks.append(pa.nulls(table.num_rows))
    return chunks
