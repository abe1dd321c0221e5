"""Counts of a number's cells summed over neighbouring cells, by triangular kernels.

Neighbours are apart by cells, or by the share of the rows that lies between them ("rank").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["neighbours_moved", "over_neighbours", "position", "spread"]

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
        Without the missing value.
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


def neighbours_moved(
    counts: Array, width: float, cells: NDArray[np.integer[Any]], weight: Array
) -> Array:
    """How the sums of :func:`over_neighbours` by "rank" change in the cell of each row as the
    others come nearer, or go further away, when the row is taken out; the row itself stands at
    distance 0 and is not taken away.

    Without a row of weight w of n the distance d of two cells, of which one held it, is
    (d·n − w/2) / (n − w).

    Parameters
    ----------
    counts : float64 array (n_cells, n_classes)
        Without the missing value.
    width : float
    cells : index array (n_rows,)
    weight : float64 array (n_rows,)

    Returns
    -------
    float64 array (n_rows, n_classes)
    """
    if len(cells) > len(counts) and weight.min() == weight.max():
        every = np.arange(len(counts))
        of_cell = neighbours_moved(counts, width, every, weight[: len(counts)])
        return np.asarray(of_cell[cells])
    rows, width = counts.sum(axis=1), max(width, LEAST)
    at, n = position(rows, "rank"), max(float(rows.sum()), LEAST)
    w = weight[:, None]
    apart = np.abs(at - at[cells][:, None])
    without = np.maximum(apart * n - 0.5 * w, 0.0) / np.maximum(n - w, LEAST * n)
    without[np.arange(len(cells)), cells] = 0.0
    moved = np.maximum(0.0, 1.0 - without / width) - np.maximum(0.0, 1.0 - apart / width)
    return np.asarray(moved @ counts)
