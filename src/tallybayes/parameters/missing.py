"""Which columns of a group have values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["missing_patterns"]


def missing_patterns(
    x: NDArray[np.float64],
) -> list[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """The columns that are there, and the rows that have just these, for each pattern of missing
    values.

    Parameters
    ----------
    x : float64 array (n_rows, d)
        NaN for missing values. Rows without any value are in no pattern.
    """
    there = ~np.isnan(x)
    if there.all():
        return [(tuple(range(x.shape[1])), np.arange(len(x)))] if len(x) else []
    found, which = np.unique(there, axis=0, return_inverse=True)
    which = which.ravel()
    return [
        (tuple(np.flatnonzero(columns).tolist()), np.flatnonzero(which == i))
        for i, columns in enumerate(found)
        if columns.any()
    ]
