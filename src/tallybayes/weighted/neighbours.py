"""Counts of a number's cells summed over neighbouring cells, by triangular kernels.

Neighbours are apart by cells, or by the share of the rows that lies between them ("rank").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_neighbours", "position", "spread"]

Array = NDArray[np.float64]

LEAST = 1e-12  # of a width, and of rows that are a share of


def spread(position: Array, width: float) -> Array:
    """Triangular weights between cells at these positions, 1 for a cell itself, (n, n)."""
    apart = np.abs(position[:, None] - position[None, :]) / max(width, LEAST)
    return np.maximum(0.0, 1.0 - apart)


def position(weight: Array, kind: str) -> Array:
    """Where cells that hold these rows lie, ascending; `kind` is "cells" or "rank"."""
    if kind == "cells":
        return np.arange(len(weight), dtype=np.float64)
    share = weight / max(weight.sum(), LEAST)
    middle: Array = np.cumsum(share) - 0.5 * share
    return middle


def over_neighbours(counts: Array, kind: str, widths: Sequence[float]) -> Array:
    """What `spread` makes of counts, for each width, without a weight for each two cells: the rows
    up to a cell, and where they lie, are summed once.

    Parameters
    ----------
    counts : float64 array (n_cells, n_classes)
        Without the gap.
    kind : {"cells", "rank"}
    widths : sequence of float

    Returns
    -------
    float64 array (n_widths, n_cells, n_classes)
    """
    at = position(counts.sum(axis=1), kind)
    width = np.maximum(np.asarray(widths, dtype=np.float64), LEAST)[:, None]
    n, n_classes = counts.shape
    sums = np.zeros((n + 1, 2, n_classes))  # of rows, and of where they lie
    np.cumsum(np.stack([counts, at[:, None] * counts], axis=1), axis=0, out=sums[1:])
    begin = np.searchsorted(at, at - width)
    end = np.searchsorted(at, at + width, side="right")
    upto = sums[1:]
    left, right = upto - sums[begin], sums[end] - upto
    here = (at / width)[:, :, None]
    apart = (right[:, :, 1] - left[:, :, 1]) / width[:, :, None]
    found: Array = (1.0 - here) * left[:, :, 0] + (1.0 + here) * right[:, :, 0] - apart
    return found
