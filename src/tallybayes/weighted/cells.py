"""Cells of columns, and which of them neighbour each other."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import Ascending, Distinct, Shape
from tallybayes.score import LevelCells, NumberCells
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings
from tallybayes.tally import GridCounts, LevelCounts, TableTally
from tallybayes.threads import get_num_threads

__all__ = [
    "ColumnCells",
    "Held",
    "cells_of",
    "coarse",
    "counted_again",
    "equal_frequency",
    "held_columns",
    "in_effective_rows",
    "into_neighbours",
    "level_cells",
    "neighbours_moved",
    "number_cells",
    "over_neighbours",
    "position",
    "spread",
]


# ---- columns as cells, and their counts ----------------------------------------------------------
# Columns as cells: at most 128 cells for numbers, and one for each level and for the missing
# value; and their counts, from a tally, when weights are learned and later.
#
# Counts are in effective rows, so a common factor of all weights changes nothing: smoothing,
# penalties and thresholds are in rows or nats, and suit rows of weight 1. Other weights are
# divided by that of Kish's effective row, u = Σw² / Σw, of which there are (Σw)² / Σw² (L. Kish,
# Survey Sampling, 1965, section 11.7).
Array = NDArray[np.float64]
Cells = NDArray[np.int32]

MAX_CELLS = 128
Counted = TypeVar("Counted", GridCounts, LevelCounts)

WEIGHT_BITS = 30  # binary digits that are kept of a weight


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnCells:
    """How a column's values are distinguished: cells of numbers, then of levels, the last the
    missing value.

    Parameters
    ----------
    name : str
    counts : float64 array (n_cells, n_classes)
    edges : float64 array (n_numbers − 1,), optional
        Of numbers: between two cells, the largest number of the lower one, as model files hold it.
    levels : list of str, optional
        Of strings, by themselves or beside numbers.
    """

    name: str
    counts: Array
    edges: Annotated[Array, Shape(None), Ascending()] | None = None
    levels: Distinct | None = None

    @property
    def n_cells(self) -> int:
        return len(self.counts)

    @property
    def is_number(self) -> bool:
        return self.edges is not None

    @property
    def n_numbers(self) -> int:
        """How many cells are of numbers; they are the first."""
        return 0 if self.edges is None else len(self.edges) + 1

    @property
    def starts(self) -> Array:
        """The smallest number of each cell but the first: a number is in the cell that counts the
        starts at or below it, as it is in :class:`tallybayes.families.binned.Bins`."""
        assert self.edges is not None
        return np.nextafter(self.edges, np.inf)

    def formula_cells(self) -> tuple[LevelCells | NumberCells, NDArray[np.intp]]:
        """The same cells for a formula, and the cell here of each of those, −1 for none."""
        order = np.array([self.n_cells - 1, *range(self.n_cells - 1), -1], dtype=np.intp)
        levels = list(self.levels or [])
        if self.edges is not None:
            return NumberCells(self.name, self.starts, levels, takes_others=True), order
        return LevelCells(self.name, levels), order

    def codes(self, column: Column) -> Cells:
        """The cell of each row, int32 (n_rows,); −1 for a value that is in no cell."""
        missing_cell = self.n_cells - 1
        if isinstance(column, Strings):
            return self._of_strings(column)
        codes = np.full(column.n_rows, missing_cell, dtype=np.int32)
        if isinstance(column, Empty):
            return codes
        numbers = column.numbers if isinstance(column, Mixed) else column
        assert isinstance(numbers, Numbers)
        values = np.require(numbers.values, requirements="A")
        if self.edges is None:  # the column has levels only
            absent = np.isnan(np.asarray(values, dtype=np.float64))
            codes[:] = np.where(absent, missing_cell, -1)
        else:  # what is beyond all edges is in the last cell, NaN in that of missing values
            _kernels.bin_entries(values[:, None], self.starts, codes, get_num_threads())
            codes -= 1
            np.minimum(codes, self.n_numbers - 1, out=codes)
            codes[codes < 0] = missing_cell
        if isinstance(column, Mixed):
            strings = column.strings
            codes = np.where(strings.codes < 0, codes, self._of_strings(strings))
        return codes

    def _of_strings(self, strings: Strings) -> Cells:
        """The cell of each row of a column of strings."""
        cell_of = self._cell_of_level
        # the last is for the code −1
        cells = [*(cell_of.get(level, -1) for level in strings.levels), self.n_cells - 1]
        return np.array(cells, dtype=np.int32)[strings.codes]

    @cached_property
    def _cell_of_level(self) -> dict[str, int]:
        return {level: i for i, level in enumerate(self.levels or [], start=self.n_numbers)}


def equal_frequency(weight: Array, max_cells: int) -> NDArray[np.intp]:
    """A label for each of consecutive values so that labels weigh alike.

    A value heavier than an equal share of what the lighter ones leave is by itself, and separates
    what lies on its two sides.

    Parameters
    ----------
    weight : float64 array (n_values,)
    max_cells : int
        Labels, about.

    Returns
    -------
    index array (n_values,)
        0, …, ascending.
    """
    label = np.empty(len(weight), dtype=np.intp)
    _kernels.equal_shares(weight, float(weight.sum()), max_cells, label)
    return label


def number_cells(
    name: str,
    grid: GridCounts,
    missing: Array,
    levels: list[str] | None = None,
    beside: Array | None = None,
) -> ColumnCells:
    """Cells of a column of numbers, from its grid counts.

    Parameters
    ----------
    name : str
    grid : GridCounts
    levels : list of str, optional
        The strings beside the numbers.
    beside : float64 array (n_classes, n_levels), optional
        Their counts.
    missing : float64 array (n_classes,)
        Rows without a value.
    """
    weight = grid.counts.sum(axis=0)
    most = int(min(MAX_CELLS, max(2.0, weight.sum() // 2)))
    label = equal_frequency(weight, most)
    first = np.flatnonzero(np.diff(label, prepend=-1) != 0)
    counts = (
        np.add.reduceat(grid.counts, first, axis=1) if len(first) else np.zeros((grid.n_classes, 0))
    )
    if grid.shift:  # a cell of the grid is not divided
        edges = np.nextafter(grid.lower_edges()[first[1:]], -np.inf)
    else:
        values = grid.values()
        edges = 0.5 * (values[first[1:] - 1] + values[first[1:]])
    strings = np.zeros((grid.n_classes, 0)) if beside is None else beside
    together = np.concatenate([counts, strings, missing[:, None]], axis=1)
    return ColumnCells(
        name=name, counts=np.ascontiguousarray(together.T), edges=edges, levels=levels
    )


def level_cells(name: str, levels: list[str], counts: Array, missing: Array) -> ColumnCells:
    """Cells of a column of strings: `counts` (n_classes, n_levels)."""
    together = np.concatenate([counts, missing[:, None]], axis=1)
    return ColumnCells(name=name, counts=np.ascontiguousarray(together.T), levels=levels)


def coarse(cells: ColumnCells, max_cells: int, max_levels: int = 32) -> NDArray[np.int32]:
    """For pairs: a coarser cell for each cell, int32 (n_cells,); numbers by weight, rare levels
    joined, the missing value by itself.

    Parameters
    ----------
    cells : ColumnCells
    max_cells : int
        Of numbers.
    max_levels : int
    """
    weight, n = cells.counts.sum(axis=1), cells.n_numbers
    if cells.is_number:
        label = equal_frequency(weight[:n], max_cells)
        first = int(label.max(initial=-1)) + 1
        return np.append(label, first + _fewer(weight[n:], max_levels)).astype(np.int32)
    return _fewer(weight, max_levels)


def _fewer(weight: Array, max_cells: int) -> NDArray[np.int32]:
    """A label for each level, those of the least weight together where there are too many."""
    if len(weight) <= max_cells:
        return np.arange(len(weight), dtype=np.int32)
    kept = np.argsort(-weight, kind="stable")[: max_cells - 1]
    joined = np.full(len(weight), len(kept), dtype=np.int32)
    joined[kept] = np.arange(len(kept), dtype=np.int32)
    return joined


def in_effective_rows(weight: Array, unit: float) -> Array:
    """Weights, or sums of them, in effective rows.

    They are rounded to 30 binary digits: rows of equal weight are then exactly 1 each, and the
    order in which weights were summed does not show.

    Parameters
    ----------
    weight : float64 array
    unit : float
        The weight of an effective row, above 0.
    """
    digits, exponent = np.frexp(weight / unit)
    rounded: Array = np.ldexp(np.round(np.ldexp(digits, WEIGHT_BITS)), exponent - WEIGHT_BITS)
    return rounded


class ColumnCounts(NamedTuple):
    """The counts of a column: numbers, levels, or both.

    Parameters
    ----------
    levels : list of str
    strings : LevelCounts, optional
    numbers : GridCounts, optional
    """

    levels: list[str]
    strings: LevelCounts | None = None
    numbers: GridCounts | None = None

    @property
    def counts(self) -> Array:
        """Of each cell of the grid and each level, float64 (n_classes, n)."""
        parts = [part.counts for part in (self.numbers, self.strings) if part is not None]
        return np.concatenate(parts, axis=1)


ROUNDING = 2.0**-26  # of the rows of a class

Held = dict[str, ColumnCounts]


def held_columns(tally: TableTally, classes: NDArray[np.intp], unit: float) -> Held:
    """What is counted of each column, by name.

    Parameters
    ----------
    tally : TableTally
        As it is read.
    classes : index array
        The classes that are looked at.
    unit : float
        The weight of an effective row, in which the counts are given.
    """
    held: Held = {}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.names is None:
            continue
        name = columns.names[0]
        found = held.get(name, ColumnCounts([]))
        if isinstance(group, GridCounts):
            held[name] = found._replace(numbers=_some(group, classes, unit))
        elif isinstance(group, LevelCounts):
            levels = [] if columns.levels is None else columns.levels[0].tolist()
            held[name] = found._replace(levels=levels, strings=_some(group, classes, unit))
    return held


def _some(group: Counted, classes: NDArray[np.intp], unit: float) -> Counted:
    """The counts of some classes, in effective rows."""
    some = copy(group)
    some.counts = in_effective_rows(group.counts[classes], unit)
    return some


def _missing(rows: Array, counts: Array) -> Array:
    """Rows of each class without a value."""
    missing = rows - counts.sum(axis=1)
    return np.where(missing <= ROUNDING * np.abs(rows), 0.0, missing)


def cells_of(name: str, held: Held, rows: Array) -> ColumnCells:
    """A column that is held, as cells.

    Parameters
    ----------
    name : str
    held : dict
    rows : float64 array (n_classes,)
        Effective rows of each class; none is 0.
    """
    levels, strings, numbers = held[name]
    missing = _missing(rows, held[name].counts)
    if strings is None:
        assert numbers is not None
        return number_cells(name, numbers, missing)
    order = sorted(range(len(levels)), key=levels.__getitem__)  # not as they came
    levels, counts = [levels[i] for i in order], strings.counts[:, order]
    if numbers is None:
        return level_cells(name, levels, counts, missing)
    return number_cells(name, numbers, missing, levels, counts)


def counted_again(column: ColumnCells, held: Held, rows: Array) -> ColumnCells:
    """The same cells with other counts.

    Levels that came since stand behind those there were, before the missing value. Where the
    column is held as another kind of thing, or not at all, nothing is counted.

    Parameters
    ----------
    column : ColumnCells
    held : dict
    rows : float64 array (n_classes,)
        Effective rows of each class; none is 0.
    """
    levels, strings, numbers = held.get(column.name, ColumnCounts([]))
    if column.is_number != (numbers is not None) or (numbers is None and strings is None):
        return replace(column, counts=np.zeros((column.n_cells, len(rows))))
    counts = np.zeros((len(rows), column.n_numbers))
    if column.edges is not None and numbers is not None:
        cell = np.searchsorted(column.starts, numbers.values(), side="right")
        for of_class, more in zip(counts, numbers.counts, strict=True):
            of_class[:] = np.bincount(cell, more, len(of_class))
    if column.levels is not None or strings is not None:
        known = column.levels or []
        all_levels = list(dict.fromkeys([*known, *levels]))
        at = {level: i for i, level in enumerate(all_levels)}
        of_levels = np.zeros((len(rows), len(all_levels)))
        if strings is not None:
            of_levels[:, [at[level] for level in levels]] = strings.counts
        counts = np.concatenate([counts, of_levels], axis=1)
        column = replace(column, levels=all_levels)
    together = np.concatenate([counts, _missing(rows, counts)[:, None]], axis=1)
    return replace(column, counts=np.ascontiguousarray(together.T))


# ---- counts of a number's cells summed over neighbouring cells, by triangular kernels ------------
# The distance of neighbours is in cells, or in the share of the rows between them ("rank").
MIN_WIDTH = 1e-12  # of a width, and of rows that are a share of


def spread(position: Array, width: float) -> Array:
    """Triangular weights between cells at these positions, 1 for a cell itself, (n, n)."""
    apart = np.abs(position[:, None] - position[None, :]) / max(width, MIN_WIDTH)
    return np.maximum(0.0, 1.0 - apart)


def position(weight: Array, kind: str) -> Array:
    """Where cells that hold these rows lie, ascending; `kind` is "cells" or "rank"."""
    if kind == "cells":
        return np.arange(len(weight), dtype=np.float64)
    share = weight / max(weight.sum(), MIN_WIDTH)
    middle: Array = np.cumsum(share) - 0.5 * share
    return middle


def over_neighbours(counts: Array, n_numbers: int, kind: str, widths: Sequence[float]) -> Array:
    """What `spread` makes of the counts of the first cells, those of numbers, for each width; the
    others, levels and the missing value, are by themselves.

    Parameters
    ----------
    counts : float64 array (n_cells, n_classes)
    n_numbers : int
    kind : {"cells", "rank"}
    widths : sequence of float

    Returns
    -------
    float64 array (n_widths, n_cells, n_classes)
    """
    found = np.empty((len(widths), *counts.shape))
    into_neighbours(counts, n_numbers, kind, widths, found)
    return found


def into_neighbours(
    counts: Array, n_numbers: int, kind: str, widths: Sequence[float], into: Array
) -> None:
    """Writes what :func:`over_neighbours` returns into an array."""
    at = position(counts[:n_numbers].sum(axis=1), kind)
    width = np.maximum(np.asarray(widths, dtype=np.float64), MIN_WIDTH)
    _kernels.neighbour_sums(np.ascontiguousarray(counts), at, width, into)


def neighbours_moved(
    counts: Array, width: float, cells: NDArray[np.integer[Any]], weight: Array
) -> Array:
    """How the sums of :func:`over_neighbours` by "rank" change in the cell of each row as the
    others come nearer, or go further away, when the row is taken out; the row itself stands at
    distance 0 and is not removed.

    Without a row of weight w of n the distance d of two cells, of which one held it, is
    (d·n − w/2) / (n − w).

    Parameters
    ----------
    counts : float64 array (n_cells, n_classes)
        Without the missing value.
    width : float
    cells : index array (n_rows,)
    weight : float64 array (n_rows,)

    Returns
    -------
    float64 array (n_rows, n_classes)
    """
    if len(cells) > len(counts) and weight.min() == weight.max():
        every = np.arange(len(counts))
        of_cell = neighbours_moved(counts, width, every, weight[: len(counts)])
        return np.asarray(of_cell[cells])
    rows, width = counts.sum(axis=1), max(width, MIN_WIDTH)
    at, n = position(rows, "rank"), max(float(rows.sum()), MIN_WIDTH)
    w = weight[:, None]
    apart = np.abs(at - at[cells][:, None])
    without = np.maximum(apart * n - 0.5 * w, 0.0) / np.maximum(n - w, MIN_WIDTH * n)
    without[np.arange(len(cells)), cells] = 0.0
    moved = np.maximum(0.0, 1.0 - without / width) - np.maximum(0.0, 1.0 - apart / width)
    return np.asarray(moved @ counts)
