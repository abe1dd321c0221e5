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

__all__ = ["ColumnTable", "column_table", "spread"]

Array = NDArray[np.float64]

STRENGTHS = 0.25 * 2.0 ** np.arange(12)
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)  # in cells
RANK_WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # in shares of the rows
LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """A column's log-ratios (n_cells, n_classes), in nats.

    Parameters
    ----------
    full : array
        With every row.
    own, other : arrays
        For a row that is taken out: of its class, and of the other classes.
    """

    full: Array
    own: Array
    other: Array


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


def column_table(cells: ColumnCells, p: Array) -> ColumnTable:
    """The table of a column.

    Parameters
    ----------
    cells : ColumnCells
    p : float64 array (n_classes,)
        Shares of the classes.
    """
    rows = cells.counts
    candidates = [rows]
    if cells.is_number and len(rows) > 2:
        weight = rows[:-1].sum(axis=1)
        share = weight / max(weight.sum(), LEAST)
        rank = np.cumsum(share) - 0.5 * share
        index = np.arange(len(rank), dtype=np.float64)
        positions = [(index, w) for w in WIDTHS[1:]] + [(rank, w) for w in RANK_WIDTHS]
        for position, width in positions:
            candidates.append(np.vstack([spread(position, width) @ rows[:-1], rows[-1:]]))
    found = [(*_smoothed(c, rows, p), c) for c in candidates]
    _, a, counts = max(found, key=lambda f: f[0])
    m = counts.sum(axis=1, keepdims=True)
    with_prior = counts + a * p
    without = np.maximum(with_prior - 1.0, 1e-9)
    less = np.maximum(m - 1.0 + a, 1e-9)
    return ColumnTable(
        full=np.log(with_prior / (m + a) / p),
        own=np.log(without / less / p),
        other=np.log(with_prior / less / p),
    )
