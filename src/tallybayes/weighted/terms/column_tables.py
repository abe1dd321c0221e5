"""What a column says of the classes: log-ratios, smoothed as leave-one-out likes best.

    T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]

C are counts, of numbers summed over neighbouring cells by a triangular kernel; p the class shares;
m_v = Σ_k C_vk. A rare cell adds nothing. The width of the kernel and a are those under which each
row's class is most probable with the row taken out: no pass over rows, a cell is enough. A narrow
kernel has many bumps to choose from, and pays for it: without that, of thousands of columns of
noise those with the narrowest kernels seem most informative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.cells.neighbours import over_neighbours

__all__ = ["NULL_TERM", "ColumnTable", "TableChoice", "column_table"]

Array = NDArray[np.float64]

STRENGTHS = 0.25 * 2.0 ** np.arange(12)
WIDTHS = (2.0, 4.0, 8.0, 16.0)  # in cells
RANK_WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # in shares of the rows
KINDS = (("none", 1.0), *(("cells", w) for w in WIDTHS), *(("rank", w) for w in RANK_WIDTHS))
LEAST = 1e-300
AT_ONCE = 1_000_000  # log-ratios that are compared at once


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


NULL_TERM = TableChoice("none", 1.0, 1e12)  # a prior so strong that the term is 0


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
        What it gains by leave-one-out over the class shares, less the price of its kernel, in
        nats; NaN if the choice was given.
    """

    full: Array
    smoothed: Array
    choice: TableChoice
    gain: float


def _over_neighbours(cells: ColumnCells, choice: TableChoice) -> Array:
    """Counts summed over neighbouring cells of numbers; each level and the missing value are by
    themselves."""
    counts, n = cells.counts, cells.n_numbers
    if choice.kernel == "none":
        return counts
    return np.vstack([over_neighbours(counts[:n], choice.kernel, [choice.width])[0], counts[n:]])


def _all_neighbours(counts: Array, n: int) -> Array:
    """Counts summed over neighbours among the first n cells by each of the kernels, (n_kernels,
    n_cells, K)."""
    cells = over_neighbours(counts[:n], "cells", WIDTHS)
    ranks = over_neighbours(counts[:n], "rank", RANK_WIDTHS)
    smoothed = np.concatenate([counts[None, :n], cells, ranks])
    others = np.broadcast_to(counts[n:], (len(smoothed), *counts[n:].shape))
    return np.concatenate([smoothed, others], axis=1)


def _best(cells: ColumnCells, p: Array, row_weight: Array) -> tuple[float, TableChoice]:
    """What the best choice gains over the class shares, by leave-one-out, in nats; and the choice.

    A row is taken from the count of its class and from its cell's, with its whole weight. A kernel
    pays for how many bumps it could have made: a width of a share h of the rows, or of the cells,
    costs log(1/h).
    """
    rows = cells.counts
    kinds, counts, price = KINDS[:1], rows[None], np.zeros(1)
    if cells.n_numbers > 1:
        kinds, counts = KINDS, _all_neighbours(rows, cells.n_numbers)
        share = [width / (1.0 if kind == "rank" else cells.n_numbers) for kind, width in kinds]
        price = -np.log(np.minimum(share, 1.0))
    v, k = np.nonzero(rows)
    some = rows[v, k]
    one = np.minimum(some, row_weight[v, k])
    part = (counts[:, v, k] - one)[:, None]
    whole = ((counts.sum(axis=2)[:, v] - one) * p[k])[:, None]
    prior = STRENGTHS[:, None] * p[k]
    gains = np.empty((len(kinds), len(STRENGTHS)))
    step = max(1, AT_ONCE // max(prior.size, 1))
    for some_kinds in (slice(i, i + step) for i in range(0, len(kinds), step)):
        ratio = np.maximum(part[some_kinds] + prior, LEAST)
        ratio /= np.maximum(whole[some_kinds] + prior, LEAST)
        gains[some_kinds] = np.log(ratio, out=ratio) @ some
    gains -= price[:, None]
    kind, strength = np.unravel_index(int(np.argmax(gains)), gains.shape)
    return float(gains[kind, strength]), TableChoice(*kinds[kind], float(STRENGTHS[strength]))


def column_table(
    cells: ColumnCells,
    p: Array,
    choice: TableChoice | None = None,
    row_weight: Array | float = 1.0,
) -> ColumnTable:
    """The table of a column.

    Parameters
    ----------
    cells : ColumnCells
    p : float64 array (n_classes,)
        Shares of the classes.
    choice : TableChoice, optional
        Chosen by leave-one-out unless given.
    row_weight : float64 array (n_cells, n_classes) or (n_classes,), or float
        What the rows of a cell and class weigh, on average over their weight: what leaving one out
        takes from the counts.
    """
    gain = np.nan
    if choice is None:
        gain, choice = _best(cells, p, np.broadcast_to(row_weight, cells.counts.shape))
    a = choice.strength
    counts = _over_neighbours(cells, choice)
    smoothed = counts + a * p
    full = np.log(smoothed / (counts.sum(axis=1, keepdims=True) + a) / p)
    return ColumnTable(full, smoothed, choice, gain)
