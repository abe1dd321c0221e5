"""Level counts of numbers on a grid of the float's own bits, which does not depend on the data.

A cell holds the values that share sign, exponent and the leading bits of the mantissa. A tally
keeps the finest grid on which it has at most `budget` cells. Dropping a bit joins neighbouring
cells and commutes with adding, and a part never needs fewer bits than the whole: the same rows give
the same tally in any order and any split. (After rows are removed a finer grid might fit again;
what was joined stays joined.)

Bins, quantiles, densities and the choice of a family are read from these counts afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.persistence import Ascending, Shape, Within
from tallybayes.tally.base import ALL, Rows, Tally

__all__ = ["BUDGET", "GridCounts", "lower_edges_of"]

Array = NDArray[np.float64]
Keys = NDArray[np.int64]

BUDGET = 4096
"""Cells that a column may have."""


def _coarser(keys: Keys, by: int) -> Keys:
    """Keys after `by` more bits are dropped; order is kept."""
    return np.where(keys < 0, -((-keys - 1) >> by) - 1, keys >> by)


def _keys_of_both(mine: Keys, theirs: Keys) -> Keys:
    """The keys that occur in one of two ascending arrays, ascending."""
    if np.array_equal(mine, theirs):
        return mine
    keys = np.concatenate([mine, theirs])
    keys.sort(kind="stable")  # which merges what is in order
    return keys[np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))]


def _bits_until_joined(keys: Keys, n_cells: int) -> int:
    """How many more bits have to be dropped until ascending keys have at most so many cells."""
    if len(keys) <= n_cells:
        return 0
    magnitude = np.where(keys < 0, -keys - 1, keys)
    differ = magnitude[1:] ^ magnitude[:-1]
    # two neighbours are one cell when all bits in which they differ are gone; signs never go
    bits = np.frexp(differ.astype(np.float64))[1].astype(np.int64)
    bits -= (bits > 0) & (differ >> np.maximum(bits - 1, 0) == 0)  # rounded up to a power of two
    bits[(keys[1:] < 0) != (keys[:-1] < 0)] = 64
    return int(np.partition(bits, len(bits) - n_cells)[len(bits) - n_cells])


def _float_of(magnitude: Keys) -> Array:
    return magnitude.astype(np.int64).view(np.float64)


def lower_edges_of(keys: Keys, shift: Keys | int) -> Array:
    """The smallest value of cells, float64 (n_cells,), by their keys and the bits dropped."""
    below = keys < 0
    magnitude = np.where(below, (-keys << shift) - 1, keys << shift)
    return np.where(below, -_float_of(magnitude), _float_of(magnitude))


def _values_of(keys: Keys, shift: Keys | int) -> Array:
    """The value nearest 0 of cells, float64 (n_cells,)."""
    below = keys < 0
    value = _float_of(np.where(below, -keys - 1, keys) << shift)
    return np.where(below, -value, value)


class GridCounts(Tally):
    """Grid counts of one column of numbers.

    Parameters
    ----------
    shift : int
        Trailing bits of the float64 that are dropped, from 0 (every value its own cell) on.
    keys : int64 array (n_cells,)
        The cells that occur, ascending, as the values in them do.
    counts : float64 array (n_classes, n_cells)
        Rows, or weight.
    budget : int
    """

    additive: ClassVar[tuple[str, ...]] = ("counts",)
    fixed_width = False

    def __init__(
        self,
        shift: Annotated[int, Within(0, 62)],
        keys: Annotated[Keys, Shape("n_cells"), Ascending()],
        counts: Annotated[Array, Shape("n_classes", "n_cells"), Within(0.0)],
        budget: Annotated[int, Within(1, 1 << 20)] = BUDGET,
    ) -> None:
        self.shift: int = shift
        self.keys: Keys = keys
        self.counts: Array = counts
        self.budget = budget

    @classmethod
    def zeros(cls, n_classes: int, budget: int = BUDGET) -> GridCounts:
        return cls(0, np.empty(0, dtype=np.int64), np.zeros((n_classes, 0)), budget)

    def _like(self, arrays: list[Array]) -> Self:
        return type(self)(self.shift, self.keys, arrays[0], self.budget)

    # ---- the grid --------------------------------------------------------------------------------
    def coarsened(self, shift: int) -> Self:
        """The same counts on a grid with at least `shift` bits dropped, and within the budget."""
        keys, counts, now = self.keys, self.counts, self.shift
        while now < shift or len(keys) > self.budget:
            by = shift - now if now < shift else _bits_until_joined(keys, self.budget)
            keys, now = _coarser(keys, by), now + by
            if len(keys):
                first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
                counts, keys = np.add.reduceat(counts, first, axis=1), keys[first]
        return type(self)(now, keys, counts, self.budget)

    def _onto(self, keys: Keys) -> Array:
        """The counts with a column for each of `keys`, which include those of this tally."""
        wide = np.zeros((self.n_classes, len(keys)))
        wide[:, np.searchsorted(keys, self.keys)] = self.counts
        return wide

    def _joined(self, other: Self) -> tuple[Self, Self]:
        """Both tallies on one grid with the cells of both."""
        mine, theirs = self, other
        shift = max(mine.shift, theirs.shift)
        while True:
            mine, theirs = mine.coarsened(shift), theirs.coarsened(shift)
            shift = max(mine.shift, theirs.shift)
            if mine.shift == theirs.shift:
                keys = _keys_of_both(mine.keys, theirs.keys)
                if len(keys) <= self.budget:
                    break
                shift += _bits_until_joined(keys, self.budget)
        return (
            type(self)(shift, keys, mine._onto(keys), self.budget),
            type(self)(shift, keys, theirs._onto(keys), self.budget),
        )

    def _become(self, other: Self) -> None:
        """Takes over another tally's grid and counts, without empty cells."""
        kept = other.counts.any(axis=0)
        self.shift, self.keys, self.counts = other.shift, other.keys[kept], other.counts[:, kept]

    # ---- the group -------------------------------------------------------------------------------
    def zero(self) -> Self:
        return type(self)(
            0, np.empty(0, dtype=np.int64), np.zeros((self.n_classes, 0)), self.budget
        )

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        mine, theirs = self._joined(other)
        mine.counts[rows] += theirs.counts if factor == 1.0 else factor * theirs.counts
        self._become(mine)

    def weighted(self, by_class: Array) -> Self:
        scaled = super().weighted(by_class)
        scaled._become(scaled)  # cells of classes that weigh nothing are gone
        return scaled

    def put(self, rows: Rows, other: Self) -> None:
        mine, theirs = self._joined(other)
        mine.counts[rows] = theirs.counts
        self._become(mine)

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        mine, was = self._joined(before)
        Tally.settle(mine, was)
        self._become(mine)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return (
            self.shift == other.shift
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__: ClassVar[None] = None

    def _column_of(self, cell: list[int]) -> int:
        return 0

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {
            "shift": np.array([self.shift]),
            "keys": self.keys,
            "counts": self.counts,
            "budget": np.array([self.budget]),
        }

    # ---- reading ---------------------------------------------------------------------------------
    @staticmethod
    def values_of_each(grids: Sequence[GridCounts]) -> list[Array]:
        """:meth:`values` of several columns."""
        if not grids:
            return []
        n_cells = [len(grid.keys) for grid in grids]
        shift = np.repeat(np.array([grid.shift for grid in grids], dtype=np.int64), n_cells)
        values = _values_of(np.concatenate([grid.keys for grid in grids]), shift)
        ends = np.cumsum(n_cells).tolist()
        return [values[end - n : end] for n, end in zip(n_cells, ends, strict=True)]

    def keys_of(self, x: Array) -> Keys:
        """The keys of values on this tally's grid, int64 like x."""
        bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
        magnitude = bits & np.int64(2**63 - 1)
        shifted = magnitude >> self.shift
        return np.where((bits < 0) & (magnitude != 0), -shifted - 1, shifted)

    def value_of(self, x: Array) -> Array:
        """The value that stands for the cell of each value, like x: see :meth:`values`. A value in
        no cell gets that of a neighbouring cell."""
        at = np.searchsorted(self.keys, self.keys_of(x))
        return self.values()[np.minimum(at, len(self.keys) - 1)]

    def lower_edges(self) -> Array:
        """The smallest value of each cell, float64 (n_cells,), ascending."""
        return lower_edges_of(self.keys, self.shift)

    def values(self) -> Array:
        """One value that stands for each cell, float64 (n_cells,): the one nearest 0, which is the
        value itself where the cell has but one of few bits, such as a whole number."""
        return _values_of(self.keys, self.shift)
