"""The score of one row as a dict, by compiled code: what a weighted model gives for a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.one_row import empty_scorer
from tallybayes.tables.columns import entries_of_bits
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.terms.scorer import WeightedScore

__all__ = ["weighted_row_scorer"]

Array = NDArray[np.float64]


def weighted_row_scorer(
    score: WeightedScore, dates: Sequence[str], watched: Sequence[str]
) -> _kernels.RowScorer | None:
    """The compiled score of one row; None where columns of text add to it.

    Parameters
    ----------
    score : WeightedScore
    dates : sequence of str
        The columns that hold dates.
    watched : sequence of str
        Columns with a warning of odd values.
    """
    if score.text_parts:
        return None
    scorer = empty_scorer(score.offset, score.fallback, dates)
    n = len(score.columns)
    place: dict[int, int] = {}
    for j in score.columns_read:
        place[j] = len(place)
        table = score.tables[j] if j in score.speaking else np.zeros_like(score.tables[j])
        _add_column(scorer, score.columns[j], table)
    for t in score.speaking:
        if t >= n:
            pair = score.pairs[t - n]
            first, second = (
                _by_entry(score.columns[j], coarse, -1)
                for j, coarse in zip((pair.first, pair.second), pair.maps, strict=True)
            )
            table = np.ascontiguousarray(score.tables[t])
            at = place[pair.first], place[pair.second]
            scorer.add_pair(*at, first, second, pair.sizes[1], table)
    scorer.watch(list(watched))
    return scorer


def _add_column(scorer: _kernels.RowScorer, column: ColumnCells, table: Array) -> None:
    entries = _by_entry(column, table, 0.0)
    levels = column.levels or []
    if column.is_number:
        first = 1 + column.n_numbers
        strings = {level: first + i for i, level in enumerate(levels)}
        scorer.add_bins(column.name, column.starts, entries, strings)
        return
    entry = {level: 1 + i for i, level in enumerate(levels)}
    scorer.add_levels(column.name, entry, len(entry) + 1, entries, entries_of_bits(entry))


def _by_entry(column: ColumnCells, of_cells: NDArray[Any], other: float) -> NDArray[Any]:
    """Values of cells in the order of the scorer's entries: the missing value, numbers, levels; of
    what is in no cell, `other`."""
    order = [column.n_cells - 1, *range(column.n_cells - 1)]
    padding = [(0, 1)] + [(0, 0)] * (of_cells.ndim - 1)
    return np.ascontiguousarray(np.pad(of_cells[order], padding, constant_values=other))
