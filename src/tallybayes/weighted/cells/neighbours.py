"""Counts of a number's cells summed over neighbouring cells, by triangular kernels.

The distance of neighbours is in cells, or in the share of the rows between them ("rank").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels

__all__ = ["into_neighbours", "neighbours_moved", "over_neighbours", "position", "spread"]

Array = NDArray[np.float64]

MIN_WIDTH = 1e-12  # of a width, and of rows that are a share of


def spread(position: Array, width: float) -> Array:
    """Triangular weights between cells at these positions, 1 for a cell itself, (n, n)."""
    apart = np.abs(position[:, None] - position[None, :]) / max(width, MIN_WIDTH)
    return np.maximum(0.0, 1.0 - apart)


def position(weight: Array, kind: str) -> Array:
    """Where cells that hold these rows lie, ascending; `kind` is "cells" or "rank"."""
    if kind == "cells":
        return np.arange(len(weight), dtype=np.float64)
    share = weight / max(weight.sum(), MIN_WIDTH)
    middle: Array = np.cumsum(share) - 0.5 * share
    return middle


def over_neighbours(counts: Array, n_numbers: int, kind: str, widths: Sequence[float]) -> Array:
    """What `spread` makes of the counts of the first cells, those of numbers, for each width; the
    others, levels and the missing value, are by themselves.

    Parameters
    ----------
    counts : float64 array (n_cells, n_classes)
    n_numbers : int
    kind : {"cells", "rank"}
    widths : sequence of float

    Returns
    -------
    float64 array (n_widths, n_cells, n_classes)
    """
    found = np.empty((len(widths), *counts.shape))
    into_neighbours(counts, n_numbers, kind, widths, found)
    return found


def into_neighbours(
    counts: Array, n_numbers: int, kind: str, widths: Sequence[float], into: Array
) -> None:
    """Writes what :func:`over_neighbours` returns into an array."""
    at = position(counts[:n_numbers].sum(axis=1), kind)
    width = np.maximum(np.asarray(widths, dtype=np.float64), MIN_WIDTH)
    _kernels.neighbour_sums(np.ascontiguousarray(counts), at, width, into)


def neighbours_moved(
    counts: Array, width: float, cells: NDArray[np.integer[Any]], weight: Array
) -> Array:
    """How the sums of :func:`over_neighbours` by "rank" change in the cell of each row as the
    others come nearer, or go further away, when the row is taken out; the row itself stands at
    distance 0 and is not removed.

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
    rows, width = counts.sum(axis=1), max(width, MIN_WIDTH)
    at, n = position(rows, "rank"), max(float(rows.sum()), MIN_WIDTH)
    w = weight[:, None]
    apart = np.abs(at - at[cells][:, None])
    without = np.maximum(apart * n - 0.5 * w, 0.0) / np.maximum(n - w, MIN_WIDTH * n)
    without[np.arange(len(cells)), cells] = 0.0
    moved = np.maximum(0.0, 1.0 - without / width) - np.maximum(0.0, 1.0 - apart / width)
    return np.asarray(moved @ counts)
