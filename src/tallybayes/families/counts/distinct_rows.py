"""The distinct rows of a column: a function of a row's content is computed once for each
content."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_CODE = 1 << 16  # of codes that are marked in an array; beyond, they are sorted


def distinct_rows(*columns: NDArray[Any]) -> tuple[Index, Index]:
    """One row of each content, and for each row the place of its content among these.

    Parameters
    ----------
    *columns : arrays (n_rows,)
        What a row holds, without missing values.

    Returns
    -------
    rows : index array (n_distinct,)
    place : index array (n_rows,)
        ``column[rows][place]`` is `column`.
    """
    key, n_codes = _codes(columns[0])
    for column in columns[1:]:
        codes, n = _codes(column)
        if n > 1:
            key, n_codes = _codes(key * n + codes)
    rows = np.full(n_codes, -1, dtype=np.intp)
    rows[key] = np.arange(len(key))
    used = np.flatnonzero(rows >= 0)
    place = np.empty(n_codes, dtype=np.intp)
    place[used] = np.arange(len(used))
    return rows[used], place[key]


def _codes(column: NDArray[Any]) -> tuple[Index, int]:
    """A code from 0 on for each entry, equal for equal entries, and a bound above all codes."""
    if not len(column):
        return np.zeros(0, dtype=np.intp), 1
    low, high = column.min(), column.max()
    if low == high:
        return np.zeros(len(column), dtype=np.intp), 1
    if low >= 0 and high < MAX_CODE:
        whole = column.astype(np.intp)
        if (whole == column).all():
            return whole, int(high) + 1
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)
