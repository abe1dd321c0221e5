"""Learning on all rows where columns are few for them: of columns that say nearly the same, those
are heard that the whole of the learning is best with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.copies import best_of_copies, near_copies
from tallybayes.weighted.doubt import least_gain
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.rounds import Asked, Rounds
from tallybayes.weighted.rows import LearningRows, row_weights
from tallybayes.weighted.tables import SILENT, ColumnTable, column_table, column_tables

__all__ = ["copied", "told_apart"]

Array = NDArray[np.float64]


def _heard(
    columns: list[ColumnCells], rows: LearningRows, p: Array
) -> tuple[list[ColumnTable], list[list[int]]]:
    """The tables of columns, those that gain too little silent; and groups of near-copies among the
    others."""
    tables = column_tables(columns, p, row_weights(rows, [c.n_cells for c in columns]))
    groups = near_copies(columns, tables, rows)
    n_told = len(columns) - sum(len(group) - 1 for group in groups)
    least = least_gain(n_told, float(rows.weight.sum()))
    loud = [table.gain >= least for table in tables]
    for j, column in enumerate(columns):
        if not loud[j]:
            tables[j] = column_table(column, p, SILENT)
    told = [[j for j in group if loud[j]] for group in groups]
    return tables, [group for group in told if len(group) > 1]


def copied(columns: list[ColumnCells], rows: LearningRows, p: Array) -> bool:
    """Whether some columns say nearly the same."""
    return bool(_heard(columns, rows, p)[1])


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
    tables, groups = _heard(columns, rows, p)

    def learn(kept: list[int]) -> Learned:
        some = [columns[j] for j in kept], [tables[j] for j in kept]
        return Rounds(*some, rows.among(kept), p, asked).learned().among(columns, kept)

    return best_of_copies(groups, learn, rows)
