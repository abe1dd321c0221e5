"""Some rows of a file, and many items with rows as fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Batch", "grouped"]

T = TypeVar("T")


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
    """

    table: Any
    first: int
    done: float | None = None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)


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
