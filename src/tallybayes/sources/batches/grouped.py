"""Small batches in groups, which makes the fixed cost of a batch negligible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["grouped"]

T = TypeVar("T")


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
