"""Learning on all rows where columns are few for them: of columns that say nearly the same, those
are used that the whole of the learning is best with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.copies import best_of_copies, near_copies
from tallybayes.weighted.doubt import least_gain
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.rounds import Asked, Rounds
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.screening import column_tables, silenced

__all__ = ["redundant", "told_apart"]

Array = NDArray[np.float64]


class _Screened:
    """Columns with their tables, those that gain too little silent; and the groups of near-copies
    among the others.

    Parameters are those of :func:`told_apart`.
    """

    def __init__(
        self, columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked
    ) -> None:
        self.columns, self.rows, self.p, self.asked = columns, rows, p, asked
        tables = column_tables(columns, p, rows)
        groups = near_copies(columns, tables, rows)
        n_different = len(columns) - sum(len(group) - 1 for group in groups)
        min_gain = least_gain(n_different, float(rows.weight.sum()))
        self.tables = silenced(columns, tables, p, min_gain)
        informative = [[j for j in group if tables[j].gain >= min_gain] for group in groups]
        self.groups = [group for group in informative if len(group) > 1]

    def _learn(self, kept: list[int]) -> Learned:
        columns, tables = [self.columns[j] for j in kept], [self.tables[j] for j in kept]
        learning = Rounds(columns, tables, self.rows.among(kept), self.p, self.asked)
        return learning.learned().among(self.columns, kept)

    def learned(self) -> Learned:
        return best_of_copies(self.groups, self._learn, self.rows)


def redundant(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked
) -> dict[int, int]:
    """Columns that say nearly the same as another, and that one, beside which they are left out;
    see `best_of_copies`. Parameters are those of `told_apart`."""
    screened = _Screened(columns, rows, p, asked)
    return screened.learned().nearly if screened.groups else {}


def told_apart(columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked) -> Learned:
    """What is learned of all rows; see `best_of_copies`.

    Parameters
    ----------
    columns : list of ColumnCells
        Different columns, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    asked : Asked
    """
    return _Screened(columns, rows, p, asked).learned()
