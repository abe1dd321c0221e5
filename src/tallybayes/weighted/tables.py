"""What a column says of the classes: log-ratios, smoothed as leave-one-out likes best.

    T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]

C are counts, of numbers summed over neighbouring cells by a triangular kernel; p the class shares;
m_v = Σ_k C_vk. A rare cell says nothing. The width of the kernel and a are those under which each
row's class is most probable with the row taken out: no pass over rows, a cell is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells

__all__ = ["SILENT", "ColumnTable", "TableChoice", "column_table", "spread"]

Array = NDArray[np.float64]

STRENGTHS = 0.25 * 2.0 ** np.arange(12)
WIDTHS = (2.0, 4.0, 8.0, 16.0)  # in cells
RANK_WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # in shares of the rows
LEAST = 1e-300


@dataclass(frozen=True)
class TableChoice:
    """How a column's counts are smoothed: plain values that a file can hold.

    Parameters
    ----------
    kernel : {"none", "cells", "rank"}
        Whether neighbouring cells of a number are summed, and what their distance is measured in:
        cells, or the share of the rows that lies between them.
    width : float
        Of the triangular kernel, in that unit; 1 cell is none.
    strength : float
        a, in rows.
    """

    kernel: str
    width: float
    strength: float


SILENT = TableChoice("none", 1.0, 1e12)  # so strong a prior that the column says nothing


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """A column's log-ratios.

    Parameters
    ----------
    full : float64 array (n_cells, n_classes)
        T, with every row, in nats.
    smoothed : float64 array (n_cells, n_classes)
        C + a·p: counts over neighbouring cells, and the prior.
    choice : TableChoice
    gain : float
        What it gains by leave-one-out over the class shares, in nats; NaN if the choice was given.
    """

    full: Array
    smoothed: Array
    choice: TableChoice
    gain: float


def spread(position: Array, width: float) -> Array:
    """Triangular weights between cells at these positions, 1 for a cell itself, (n, n)."""
    apart = np.abs(position[:, None] - position[None, :]) / max(width, 1e-12)
    return np.maximum(0.0, 1.0 - apart)


@lru_cache(maxsize=4)  # columns of numbers without ties all have the same
def _kernels_of(weights: bytes) -> tuple[list[tuple[str, float]], Array]:
    """Kernels over the cells of a number that hold these rows (float64), and as one array
    (n_kernels, n_cells, n_cells)."""
    weight = np.frombuffer(weights)
    kinds = [("none", 1.0), *(("cells", w) for w in WIDTHS), *(("rank", w) for w in RANK_WIDTHS)]
    return kinds, np.stack([_kernel(weight, kernel, width) for kernel, width in kinds])


def _kernel(weight: Array, kernel: str, width: float) -> Array:
    """What each cell takes of each, (n_cells, n_cells)."""
    position = np.arange(len(weight), dtype=np.float64)
    if kernel == "none":
        return np.eye(len(weight))
    if kernel == "rank":
        share = weight / max(weight.sum(), LEAST)
        position = np.cumsum(share) - 0.5 * share
    return spread(position, width)


def _over_neighbours(counts: Array, choice: TableChoice) -> Array:
    """Counts summed over neighbouring cells; the last, the gap, is by itself."""
    if choice.kernel == "none":
        return counts
    kernel = _kernel(counts[:-1].sum(axis=1), choice.kernel, choice.width)
    return np.vstack([kernel @ counts[:-1], counts[-1:]])


def _best(cells: ColumnCells, p: Array) -> tuple[float, TableChoice]:
    """What the best choice gains over the class shares, by leave-one-out, in nats; and the choice.

    A row is taken from the count of its class and from its cell's.
    """
    rows = cells.counts
    kinds, counts = [("none", 1.0)], rows[None]
    if cells.is_number and cells.n_cells > 2:
        kinds, kernels = _kernels_of(np.ascontiguousarray(rows[:-1].sum(axis=1)).tobytes())
        gap = np.broadcast_to(rows[-1:], (len(kinds), 1, rows.shape[1]))
        counts = np.concatenate([kernels @ rows[:-1], gap], axis=1)
    v, k = np.nonzero(rows)
    some, a = rows[v, k], STRENGTHS[:, None]
    one = np.minimum(some, 1.0)
    best = (0.0, SILENT)
    for (kernel, width), smoothed in zip(kinds, counts, strict=True):
        part = np.maximum(smoothed[v, k] - one + a * p[k], LEAST)
        whole = np.maximum((smoothed.sum(axis=1)[v] - one + a) * p[k], LEAST)
        gains = np.log(part / whole) @ some
        top = int(np.argmax(gains))
        if gains[top] > best[0] or best[1] is SILENT:
            best = float(gains[top]), TableChoice(kernel, width, float(STRENGTHS[top]))
    return best


def column_table(
    cells: ColumnCells, p: Array, choice: TableChoice | None = None, *, worth: float = -np.inf
) -> ColumnTable:
    """The table of a column.

    Parameters
    ----------
    cells : ColumnCells
    p : float64 array (n_classes,)
        Shares of the classes.
    choice : TableChoice, optional
        Chosen by leave-one-out unless given.
    worth : float
        What a column has to gain by leave-one-out over the class shares, in nats, to say anything.
    """
    gain = np.nan
    if choice is None:
        gain, choice = _best(cells, p)
        if gain < worth:
            choice = SILENT
    a = choice.strength
    counts = _over_neighbours(cells.counts, choice)
    smoothed = counts + a * p
    full = np.log(smoothed / (counts.sum(axis=1, keepdims=True) + a) / p)
    return ColumnTable(full, smoothed, choice, gain)
