"""What a column says of the classes: log-ratios, smoothed as leave-one-out likes best.

    T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]

C are counts, of numbers summed over neighbouring cells by a triangular kernel; p the class shares;
m_v = Σ_k C_vk. A rare cell says nothing. The width of the kernel and a are those under which each
row's class is most probable with the row taken out: no pass over rows, a cell is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells

__all__ = ["ColumnTable", "TableChoice", "column_table", "spread"]

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
    """

    full: Array
    smoothed: Array
    choice: TableChoice


def spread(position: Array, width: float) -> Array:
    """Triangular weights between cells at these positions, 1 for a cell itself, (n, n)."""
    apart = np.abs(position[:, None] - position[None, :]) / max(width, 1e-12)
    return np.maximum(0.0, 1.0 - apart)


def _smoothed(counts: Array, rows: Array, p: Array) -> tuple[float, float]:
    """The best leave-one-out log-likelihood and its a."""
    m = counts.sum(axis=1)[None, :, None]
    a = STRENGTHS[:, None, None]
    one = np.minimum(rows, 1.0)[None]
    part = np.maximum(counts[None] - one + a * p, LEAST)
    whole = np.maximum(m - one + a, LEAST)
    scores = (rows[None] * (np.log(part) - np.log(whole))).sum(axis=(1, 2))
    best = int(np.argmax(scores))
    return float(scores[best]), float(STRENGTHS[best])


def _candidates(cells: ColumnCells) -> list[tuple[str, float]]:
    """Kernels and widths worth trying."""
    if not cells.is_number or cells.n_cells <= 2:
        return [("none", 1.0)]
    return [("none", 1.0), *(("cells", w) for w in WIDTHS), *(("rank", w) for w in RANK_WIDTHS)]


def _over_neighbours(counts: Array, kernel: str, width: float) -> Array:
    """Counts summed over neighbouring cells; the last, the gap, is by itself."""
    if kernel == "none":
        return counts
    position = np.arange(len(counts) - 1, dtype=np.float64)
    if kernel == "rank":
        weight = counts[:-1].sum(axis=1)
        share = weight / max(weight.sum(), LEAST)
        position = np.cumsum(share) - 0.5 * share
    return np.vstack([spread(position, width) @ counts[:-1], counts[-1:]])


def column_table(cells: ColumnCells, p: Array, choice: TableChoice | None = None) -> ColumnTable:
    """The table of a column.

    Parameters
    ----------
    cells : ColumnCells
    p : float64 array (n_classes,)
        Shares of the classes.
    choice : TableChoice, optional
        Chosen by leave-one-out unless given.
    """
    if choice is None:
        found = []
        for kernel, width in _candidates(cells):
            counts = _over_neighbours(cells.counts, kernel, width)
            found.append((*_smoothed(counts, cells.counts, p), kernel, width))
        _, strength, kernel, width = max(found, key=lambda f: f[0])
        choice = TableChoice(kernel, width, strength)
    a = choice.strength
    counts = _over_neighbours(cells.counts, choice.kernel, choice.width)
    smoothed = counts + a * p
    full = np.log(smoothed / (counts.sum(axis=1, keepdims=True) + a) / p)
    return ColumnTable(full, smoothed, choice)
