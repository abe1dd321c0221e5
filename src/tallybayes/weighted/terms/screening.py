"""Column screening: the tables of columns, and which columns gain too little to be used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.terms.column_tables import NULL_TERM, ColumnTable, column_table
from tallybayes.weighted.terms.learning_rows import LearningRows, row_weights

__all__ = ["column_tables", "screened"]

Array = NDArray[np.float64]


def column_tables(columns: list[ColumnCells], p: Array, rows: LearningRows) -> list[ColumnTable]:
    """The tables of columns, with the smoothing that leave-one-out prefers; see `column_table`.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of `rows`.
    p : float64 array (n_classes,)
        Shares of the classes.
    rows : LearningRows
    """
    weights = row_weights(rows, [column.n_cells for column in columns])
    return [
        column_table(column, p, row_weight=weight)
        for column, weight in zip(columns, weights, strict=True)
    ]


def screened(
    columns: list[ColumnCells], tables: list[ColumnTable], p: Array, min_gain: float
) -> list[ColumnTable]:
    """The same tables, with null terms for columns that gain less than `min_gain` nats."""
    return [
        table if table.gain >= min_gain else column_table(column, p, NULL_TERM)
        for column, table in zip(columns, tables, strict=True)
    ]
