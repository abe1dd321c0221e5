"""The rows that weights are learned on, and what each term says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.tables import ColumnTable

__all__ = ["LearningRows", "column_values"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows as cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_classes : int
    """

    cells: Cells
    y: Cells
    weight: Array
    n_classes: int

    @property
    def n(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.intp]) -> LearningRows:
        """Some rows."""
        return LearningRows(
            np.ascontiguousarray(self.cells[:, rows]),
            self.y[rows],
            self.weight[rows],
            self.n_classes,
        )


def column_values(table: ColumnTable, cells: Cells, y: Cells) -> NDArray[np.float32]:
    """What a column says of each row with the row taken out, centred over classes, float32
    (n_classes, n_rows); 0 where the cell is −1."""
    rows = np.arange(len(y))
    values = table.other[cells]
    values[rows, y] = table.own[cells, y]
    values -= values.mean(axis=1, keepdims=True)
    values[cells < 0] = 0.0
    return np.ascontiguousarray(values.T.astype(np.float32))
