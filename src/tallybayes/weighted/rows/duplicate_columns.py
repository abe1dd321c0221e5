"""Columns that say the same of every row: one of them is learned, the others weigh nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct"]

Cells = NDArray[np.int32]

LOOKED = 1000  # rows that distinguish most columns


def distinct(cells: Cells, names: list[str]) -> tuple[list[int], dict[int, int]]:
    """The columns to keep, in the order of their names, and of each other column the kept one that
    has the same cells: the first of them.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    names : list of str
        Of the columns.
    """
    step = max(1, cells.shape[1] // LOOKED)
    alike: dict[bytes, list[int]] = {}
    kept, duplicates = [], {}
    for j, column in enumerate(cells):
        others = alike.setdefault(column[::step].tobytes(), [])
        same = next((i for i in others if np.array_equal(cells[i], column)), None)
        if same is None:
            others.append(j)
            kept.append(j)
        else:
            duplicates[j] = same
    return sorted(kept, key=names.__getitem__), duplicates
