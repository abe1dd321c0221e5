"""Hashes of rows as cells: pseudo-random numbers that follow what a row is, not where it stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_keys", "salted"]

Cells = NDArray[np.int32]
Keys = NDArray[np.uint64]

CHUNK = 1 << 16  # rows whose keys are made at a time
GOLDEN = 0x9E3779B97F4A7C15
LABEL = 1 << 32  # the salt of labels, which no column has
NONE = 1 << 33  # the cell of what is in none


def salted(keys: Keys, salt: int) -> Keys:
    """The finalizer of SplitMix64 on keys plus a multiple of the golden ratio: independent hashes
    for different salts."""
    z = keys + np.uint64((salt * GOLDEN) & (2**64 - 1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = z ^ (z >> np.uint64(31))
    return mixed


def _hashes(column: Cells, salt: int) -> Keys:
    """A random number for each cell of a column, and, at the end, for −1."""
    cells = np.arange(int(column.max(initial=-1)) + 2, dtype=np.uint64)
    cells[-1] = NONE
    return salted(cells, salt)


def row_keys(cells: Sequence[Cells], y: Cells) -> Keys:
    """A 64-bit hash of the cells and the label of each row.

    It is the sum of a random number for each cell (tabulation hashing): two different rows have the
    same with a probability of 2⁻⁶⁴.

    Parameters
    ----------
    cells : sequence of int32 arrays (n_rows,)
        Of each column; −1 for none.
    y : int32 array (n_rows,)
    """
    tables = [_hashes(column, j + 1) for j, column in enumerate(cells)]
    labels = _hashes(y, LABEL)
    keys = np.empty(len(y), dtype=np.uint64)
    for begin in range(0, len(y), CHUNK):
        part = slice(begin, begin + CHUNK)
        into = keys[part]
        into[:] = labels[y[part]]
        for table, column in zip(tables, cells, strict=True):
            into += table[column[part]]
    return keys
