"""Atoms of a column of numbers: values that repeat more than a density allows.

A sentinel (999 for "never") or the zeros of a zero-inflated column hold far more rows than the
values beside them. Rounded values are not atoms: each age repeats, and so do its neighbours. The
count t_i of a value is compared with what a place nearby holds:

    t_i ≥ MIN_ATOM_ROWS  and
    t_i ≥ MIN_DENSITY_RATIO · (rows of the neighbours) / (places of the neighbours)

The neighbours are the NEIGHBOURS different values on the side where places hold more. The
places are as far apart as neighbours are, by the median: a value among integers has a place for
each integer, one far from the others has many places between them and itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import GridCounts

__all__ = ["Atoms", "any_nearly_constant", "atom_cells"]

Array = NDArray[np.float64]

NEIGHBOURS = 4  # different values on either side
MIN_ATOM_ROWS = 5.0  # effective rows
MIN_DENSITY_RATIO = 5.0


def atom_cells(grid: GridCounts, row: float = 1.0) -> NDArray[np.bool_]:
    """Which cells of the grid are atoms, bool (n_cells,); `row` is the weight of a row."""
    rows, values = grid.counts.sum(axis=0), grid.values()
    n = len(rows)
    if n < 3:
        return np.zeros(n, dtype=bool)
    at = np.arange(n)
    low, high = np.maximum(at - NEIGHBOURS, 0), np.minimum(at + NEIGHBOURS, n - 1)
    gaps = np.full((n, 2 * NEIGHBOURS), np.nan)
    apart = np.diff(values)
    for k in range(2 * NEIGHBOURS):
        j = low + k
        there = j < high
        gaps[there, k] = apart[j[there]]
    gaps.sort(axis=1)  # what is not there comes last
    n_gaps = high - low
    pitch = 0.5 * gaps[at, (n_gaps - 1) // 2] + 0.5 * gaps[at, n_gaps // 2]  # the median
    before = np.concatenate([[0.0], np.cumsum(rows)])
    expected = np.zeros(n)
    for side, held in ((low, before[at] - before[low]), (high, before[high + 1] - before[at + 1])):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            places = np.round(np.abs(values - values[side]) / pitch)
        places = np.maximum(places, np.maximum(np.abs(at - side), 1))
        np.maximum(expected, held / places, out=expected)
    return np.asarray((rows >= MIN_ATOM_ROWS * row) & (rows >= MIN_DENSITY_RATIO * expected))


def any_nearly_constant(grid: GridCounts, cells: NDArray[np.bool_], row: float = 1.0) -> bool:
    """Whether a class has an atom and, beside it, other values in fewer than MIN_ATOM_ROWS rows,
    which is too few to determine its spread."""
    if not cells.any():
        return False
    at_atom = np.where(cells, grid.counts, 0.0).max(axis=1)
    others = grid.counts.sum(axis=1) - at_atom
    few = (others > 0.0) & (others < MIN_ATOM_ROWS * row) & (at_atom >= MIN_DENSITY_RATIO * others)
    return bool((few & (at_atom >= MIN_ATOM_ROWS * row)).any())


@dataclass(frozen=True, eq=False)
class Atoms:
    """Values with a probability each.

    Parameters
    ----------
    values : float64 array (n_atoms,)
    low, high : float64 arrays (n_atoms,)
        x is at an atom where low ≤ x < high: the cells of the grid that hold them.
    counts : float64 array (n_classes, n_atoms)
        Rows, or weight, of each.
    """

    values: Array
    low: Array
    high: Array
    counts: Array

    @classmethod
    def none(cls, n_classes: int) -> Atoms:
        return cls(np.empty(0), np.empty(0), np.empty(0), np.zeros((n_classes, 0)))

    @classmethod
    def split(cls, grid: GridCounts, cells: NDArray[np.bool_]) -> tuple[Atoms, GridCounts]:
        """The atoms of a column, and the grid counts of its other values."""
        keys, counts = grid.keys[cells], grid.counts[:, cells]
        here, after = (GridCounts(grid.shift, k, counts) for k in (keys, keys + 1))
        atoms = cls(here.values(), here.lower_edges(), after.lower_edges(), counts)
        return atoms, GridCounts(grid.shift, grid.keys[~cells], grid.counts[:, ~cells])

    def __len__(self) -> int:
        return len(self.low)

    def cell(self, x: Array) -> NDArray[np.intp]:
        """The atom of each value, n_atoms where it is at none; like x."""
        if not len(self):
            return np.zeros(x.shape, dtype=np.intp)
        at = self.low.searchsorted(x, side="right") - 1
        there = (at >= 0) & (x < self.high[at])
        return np.where(there, at, len(self))
