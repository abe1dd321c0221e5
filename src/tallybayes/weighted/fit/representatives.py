"""Fitting all rows where columns are few, with a representative for each group of near-copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.learned import Learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.redundancy import best_of_copies, near_copies
from tallybayes.weighted.fit.shrinkage import min_column_gain
from tallybayes.weighted.fit.stagewise import Rounds
from tallybayes.weighted.terms.learning_rows import LearningRows
from tallybayes.weighted.terms.screening import column_tables, screened

__all__ = ["fit_representatives", "represented"]

Array = NDArray[np.float64]


class _Screened:
    """Columns with their tables, null terms for those that gain too little; and the groups of
    near-copies among the others.

    Parameters are those of :func:`fit_representatives`.
    """

    def __init__(
        self, columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
    ) -> None:
        self.columns, self.rows, self.p, self.options = columns, rows, p, options
        tables = column_tables(columns, p, rows)
        groups = near_copies(columns, tables, rows)
        n_different = len(columns) - sum(len(group) - 1 for group in groups)
        min_gain = min_column_gain(n_different, float(rows.weight.sum()))
        self.tables = screened(columns, tables, p, min_gain)
        informative = [[j for j in group if tables[j].gain >= min_gain] for group in groups]
        self.groups = [group for group in informative if len(group) > 1]

    def _learn(self, kept: list[int]) -> Learned:
        columns, tables = [self.columns[j] for j in kept], [self.tables[j] for j in kept]
        learning = Rounds(columns, tables, self.rows.among(kept), self.p, self.options)
        return learning.learned().among(self.columns, kept)

    def learned(self) -> Learned:
        return best_of_copies(self.groups, self._learn, self.rows)


def represented(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> dict[int, int]:
    """Columns that are left out as near-copies of another, and their representative; see
    `best_of_copies`. Parameters are those of `fit_representatives`."""
    screened = _Screened(columns, rows, p, options)
    return screened.learned().nearly if screened.groups else {}


def fit_representatives(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """Fit all rows, with one representative for each group of near-copies; see `best_of_copies`.

    Parameters
    ----------
    columns : list of ColumnCells
        Different columns, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    """
    return _Screened(columns, rows, p, options).learned()
