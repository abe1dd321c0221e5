"""The rows that weights are learned on, and what each term says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.tables import ColumnTable

__all__ = ["LEAST", "LearningRows", "column_values"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

LEAST = 1e-9  # of a smoothed count that rounding has left at or below zero


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows as cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
        A row of weight 2 is two equal rows, one of weight 0 is none.
    n_classes : int
    """

    cells: Cells
    y: Cells
    weight: Array
    n_classes: int

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def removed(self) -> Array:
        """What leaving a row out takes from a count: one row, or as much of it as there is."""
        return np.minimum(self.weight, 1.0)

    def take(self, rows: NDArray[np.intp]) -> LearningRows:
        """Some rows."""
        return LearningRows(
            np.ascontiguousarray(self.cells[:, rows]),
            self.y[rows],
            self.weight[rows],
            self.n_classes,
        )


def column_values(
    table: ColumnTable, cells: Cells, y: Cells, removed: Array, share: Array
) -> NDArray[np.float32]:
    """What a column says of each row with the row taken out, centred over classes, float32
    (n_classes, n_rows); 0 where the cell is −1.

    Only the count of the row's own class differs from the table: m, which all classes have in
    common, is lost in the centring.

    Parameters
    ----------
    table : ColumnTable
    cells, y : int32 arrays (n_rows,)
    removed : float64 array (n_rows,)
    share : float64 array (n_classes,)
        p.
    """
    n_classes = len(share)
    full = np.log(np.maximum(table.smoothed, LEAST) / share)
    if full.size * n_classes <= len(y) and (removed == 1.0).all() and (cells >= 0).all():
        said = np.repeat(full[:, None], n_classes, axis=1)  # by cell and class of the row
        every = np.arange(n_classes)
        said[:, every, every] = np.log(np.maximum(table.smoothed - 1.0, LEAST) / share)
        said -= said.mean(axis=2, keepdims=True)
        by_class = said.reshape(-1, n_classes).T.astype(np.float32)
        return np.take(by_class, cells * n_classes + y, axis=1)
    index = np.arange(len(y))
    values = full[cells]
    own = table.smoothed[cells, y] - removed
    values[index, y] = np.log(np.maximum(own, LEAST) / share[y])
    values -= values.mean(axis=1, keepdims=True)
    values[cells < 0] = 0.0
    return np.ascontiguousarray(values.T.astype(np.float32))
