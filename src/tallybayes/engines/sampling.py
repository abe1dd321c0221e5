"""Hashes of rows, and a fair sample that is the same in every engine: by a hash of the number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FACTORS",
    "SHIFTS",
    "Sampler",
    "finalized",
    "row_hashes",
    "sampled_marks",
    "sampled_rows",
]

FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)
CHUNK_ROWS = 1 << 22  # row numbers that are hashed at once


def finalized(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: a one-to-one map that mixes all bits of each key.

    References
    ----------
    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA.
    """
    keys = (keys ^ (keys >> np.uint64(SHIFTS[0]))) * np.uint64(FACTORS[1])
    keys = (keys ^ (keys >> np.uint64(SHIFTS[1]))) * np.uint64(FACTORS[2])
    return keys ^ (keys >> np.uint64(SHIFTS[2]))


def row_hashes(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each row's number, which counts from 0."""
    return finalized((numbers + np.uint64(1)) * np.uint64(FACTORS[0]))


def sampled_rows(n_rows: int, n: int) -> NDArray[np.intp]:
    """The rows of the n smallest hashes, ascending."""
    if n >= n_rows:
        return np.arange(n_rows)
    hashes = row_hashes(np.arange(n_rows, dtype=np.uint64))  # the hash is one-to-one: no ties
    return np.sort(np.argpartition(hashes, n)[:n])


def sampled_marks(parts: Sequence[tuple[int, int]], n: int) -> NDArray[np.int64]:
    """The marks of the rows of the n smallest hashes, ascending, of parts one below the other.

    Parameters
    ----------
    parts : sequence of (int, int)
        The mark of a part's first row, and how many rows it has; marks count on from the first.
    n : int
    """
    sampler: Sampler[NDArray[np.int64]] = Sampler(n)
    for first, size in parts:
        for start in range(first, first + size, CHUNK_ROWS):
            marks = np.arange(start, min(first + size, start + CHUNK_ROWS), dtype=np.int64)
            sampler.add(marks, len(marks))
    return np.concatenate([*sampler.parts(), np.empty(0, dtype=np.int64)])


class _Rows(Protocol):
    def take(self, rows: NDArray[np.intp]) -> Self:
        """Some of the rows."""


Rows = TypeVar("Rows", bound=_Rows)


class Sampler(Generic[Rows]):
    """A fair sample of rows that come part by part: those of the n smallest hashes.

    Parameters
    ----------
    n : int or None
        How many rows are kept; None: all.
    """

    def __init__(self, n: int | None) -> None:
        self._n = n
        self._first = 0
        self._bound = np.uint64(2**64 - 1)
        self._kept: list[tuple[Rows, NDArray[np.uint64]]] = []

    def add(self, part: Rows, n_rows: int) -> None:
        """Takes from the next rows."""
        if self._n != 0:
            marks = row_hashes(np.arange(self._first, self._first + n_rows, dtype=np.uint64))
            self._keep(part, marks)
            self._cut(2)
        self._first += n_rows

    def parts(self) -> list[Rows]:
        """The sample, in the rows' order."""
        self._cut(1)
        return [part for part, _ in self._kept]

    def _keep(self, part: Rows, marks: NDArray[np.uint64]) -> None:
        rows = np.flatnonzero(marks <= self._bound)
        if len(rows):
            self._kept.append((part.take(rows), marks[rows]))

    def _cut(self, times: int) -> None:
        """Lets go of the rows beyond n, once there are so many times as many."""
        if self._n is None or sum(len(marks) for _, marks in self._kept) <= times * self._n:
            return
        marks = np.concatenate([marks for _, marks in self._kept])
        self._bound = np.partition(marks, self._n - 1)[self._n - 1]
        parts, self._kept = self._kept, []
        for part in parts:
            self._keep(*part)
