"""Columns as cells, from a tally: when weights are learned, and later, with other counts."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import GridCounts, LevelCounts, TableTally
from tallybayes.weighted.cells import ColumnCells, level_cells, number_cells
from tallybayes.weighted.effective import in_effective_rows

__all__ = ["Held", "cells_of", "counted_again", "held_columns"]

Array = NDArray[np.float64]


ROUNDING = 2.0**-26  # of the rows of a class

Held = dict[str, tuple[list[str], GridCounts | LevelCounts]]


def held_columns(tally: TableTally, unit: float) -> Held:
    """The levels (of texts) and the counts of each column, by name.

    Parameters
    ----------
    tally : TableTally
    unit : float
        The weight of an effective row, in which the counts are given.
    """
    held: Held = {}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.names is not None and isinstance(group, GridCounts | LevelCounts):
            levels = [] if columns.levels is None else columns.levels[0].tolist()
            scaled = copy(group)
            scaled.counts = in_effective_rows(group.counts, unit)
            held[columns.names[0]] = levels, scaled
    return held


def _gaps(rows: Array, counts: Array) -> Array:
    """Rows of each class without a value."""
    gaps = rows - counts.sum(axis=1)
    return np.where(gaps <= ROUNDING * np.abs(rows), 0.0, gaps)


def cells_of(name: str, held: Held, rows: Array) -> ColumnCells:
    """A column that is held, as cells.

    Parameters
    ----------
    name : str
    held : dict
    rows : float64 array (n_classes,)
        Effective rows of each class; none is 0.
    """
    levels, group = held[name]
    gaps = _gaps(rows, group.counts)
    if isinstance(group, GridCounts):
        return number_cells(name, group, gaps)
    order = sorted(range(len(levels)), key=levels.__getitem__)  # not as they came
    return level_cells(name, [levels[i] for i in order], group.counts[:, order], gaps)


def counted_again(column: ColumnCells, held: Held, rows: Array) -> ColumnCells:
    """The same cells with other counts.

    Levels that came since stand behind those there were, before the gap. Where the
    column is held as another kind of thing, or not at all, nothing is counted.

    Parameters
    ----------
    column : ColumnCells
    held : dict
    rows : float64 array (n_classes,)
        Effective rows of each class; none is 0.
    """
    levels, group = held.get(column.name, ([], None))
    if column.edges is not None and isinstance(group, GridCounts):
        cell = np.searchsorted(column.edges, group.values(), side="left")
        counts = np.empty((len(rows), column.n_cells - 1))
        for of_class, more in zip(counts, group.counts, strict=True):
            of_class[:] = np.bincount(cell, more, len(of_class))
    elif column.levels is not None and isinstance(group, LevelCounts):
        known = set(column.levels)
        all_levels = [*column.levels, *(level for level in levels if level not in known)]
        at = {level: i for i, level in enumerate(all_levels)}
        counts = np.zeros((len(rows), len(all_levels)))
        counts[:, [at[level] for level in levels]] = group.counts
        column = replace(column, levels=all_levels)
    else:
        return replace(column, counts=np.zeros((column.n_cells, len(rows))))
    together = np.concatenate([counts, _gaps(rows, counts)[:, None]], axis=1)
    return replace(column, counts=np.ascontiguousarray(together.T))
