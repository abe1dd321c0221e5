"""Columns that say the same of every row: one of them is learned, the others weigh nothing."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct"]

Cells = NDArray[np.int32]


def distinct(cells: Cells) -> tuple[list[int], dict[int, int]]:
    """The columns to keep, and of each other column the kept one that has the same cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    """
    first: dict[bytes, int] = {}
    duplicates = {}
    for j, column in enumerate(cells):
        same = first.setdefault(hashlib.sha256(column.tobytes()).digest(), j)
        if same != j:
            duplicates[j] = same
    return list(first.values()), duplicates
