"""Columns as cells, from a tally: when weights are learned, and later, with other counts.

Counts are in effective rows, so that a common factor of all weights changes nothing: smoothing,
penalties and thresholds are numbers of rows or of nats, and suit rows of weight 1. Other weights
are divided by that of Kish's effective row, u = Σw² / Σw, of which there are (Σw)² / Σw² (L. Kish,
Survey Sampling, 1965, section 11.7).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import GridCounts, LevelCounts, TableTally
from tallybayes.weighted.cells.columns import ColumnCells, level_cells, number_cells

__all__ = [
    "ColumnCounts",
    "Held",
    "cells_of",
    "counted_again",
    "held_columns",
    "in_effective_rows",
]

Array = NDArray[np.float64]
Counted = TypeVar("Counted", GridCounts, LevelCounts)

DIGITS = 30  # binary digits that are kept of a weight


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
    rounded: Array = np.ldexp(np.round(np.ldexp(digits, DIGITS)), exponent - DIGITS)
    return rounded


class ColumnCounts(NamedTuple):
    """What is counted of a column: numbers, levels, or both.

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


def held_columns(tally: TableTally, unit: float) -> Held:
    """What is counted of each column, by name.

    Parameters
    ----------
    tally : TableTally
        As it is read.
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
            held[name] = found._replace(numbers=_scaled(group, unit))
        elif isinstance(group, LevelCounts):
            levels = [] if columns.levels is None else columns.levels[0].tolist()
            held[name] = found._replace(levels=levels, strings=_scaled(group, unit))
    return held


def _scaled(group: Counted, unit: float) -> Counted:
    """The same counts in effective rows."""
    scaled = copy(group)
    scaled.counts = in_effective_rows(group.counts, unit)
    return scaled


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
