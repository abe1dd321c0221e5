"""The log-ratio table of a column, with smoothing chosen by leave-one-out.

    T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]

C are counts, of numbers summed over neighbouring cells by a triangular kernel; p the class shares;
m_v = Σ_k C_vk. A rare cell adds nothing. The width of the kernel and a maximise the leave-one-out
likelihood, which is computed by cells, without a pass over rows. A narrow kernel fits more noise
and is penalised; otherwise, among thousands of columns of noise, those with the narrowest kernels
would seem most informative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import Positive
from tallybayes.weighted.cells import ColumnCells, into_neighbours, over_neighbours
from tallybayes.weighted.rows import MIN_COUNT, LearningRows

__all__ = [
    "NULL_TERM",
    "ColumnTable",
    "TableChoice",
    "column_table",
    "column_tables",
    "column_values",
    "row_weights",
    "screened",
]


Array = NDArray[np.float64]
Cells = NDArray[np.int32]

STRENGTHS = np.array([0.25 * 2.0**i for i in range(12)])
WIDTHS = (2.0, 4.0, 8.0, 16.0)  # in cells
RANK_WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # in shares of the rows
KINDS: tuple[tuple[Literal["none", "cells", "rank"], float], ...]
KINDS = (("none", 1.0), *(("cells", w) for w in WIDTHS), *(("rank", w) for w in RANK_WIDTHS))


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

    kernel: Literal["none", "cells", "rank"]
    width: Positive
    strength: Positive


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


def _best(
    cells: ColumnCells, p: Array, row_weight: Array | float
) -> tuple[float, TableChoice, Array]:
    """What the best choice gains over the class shares, by leave-one-out, in nats; the choice; and
    the counts over neighbouring cells.

    A row is taken from the count of its class and from its cell's, with its whole weight. A kernel
    pays for how many bumps it could have made: a width of a share h of the rows, or of the cells,
    costs log(1/h).
    """
    rows = cells.counts
    kinds, counts, price = KINDS[:1], rows[None], np.zeros(1)
    if cells.n_numbers > 1:
        kinds, counts = KINDS, np.empty((len(KINDS), *rows.shape))
        ranks = 1 + len(WIDTHS)
        counts[0] = rows
        into_neighbours(rows, cells.n_numbers, "cells", WIDTHS, counts[1:ranks])
        into_neighbours(rows, cells.n_numbers, "rank", RANK_WIDTHS, counts[ranks:])
        share = [width / (1.0 if kind == "rank" else cells.n_numbers) for kind, width in kinds]
        price = -np.log(np.minimum(share, 1.0))
    gains = np.empty((len(kinds), len(STRENGTHS)))
    removed = np.ascontiguousarray(np.broadcast_to(row_weight, rows.shape))
    _kernels.table_gains(rows, removed, p, counts, STRENGTHS, gains)
    gains -= price[:, None]
    kind, strength = np.unravel_index(int(np.argmax(gains)), gains.shape)
    choice = TableChoice(*kinds[kind], float(STRENGTHS[strength]))
    return float(gains[kind, strength]), choice, counts[kind]


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
    if choice is None:
        gain, choice, counts = _best(cells, p, row_weight)
    else:
        gain, counts = np.nan, cells.counts
        if choice.kernel != "none":
            near = over_neighbours(counts, cells.n_numbers, choice.kernel, [choice.width])
            counts = near[0]
    a = choice.strength
    smoothed = counts + a * p
    full = np.log(smoothed / (counts.sum(axis=1, keepdims=True) + a) / p)
    return ColumnTable(full, smoothed, choice, gain)


def column_tables(columns: list[ColumnCells], p: Array, rows: LearningRows) -> list[ColumnTable]:
    """The tables of columns, with the smoothing that leave-one-out prefers; see `column_table`.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of `rows`.
    p : float64 array (n_classes,)
        Shares of the classes.
    rows : LearningRows
    """
    weights = row_weights(rows, [column.n_cells for column in columns])
    return [
        column_table(column, p, row_weight=weight)
        for column, weight in zip(columns, weights, strict=True)
    ]


def screened(
    columns: list[ColumnCells], tables: list[ColumnTable], p: Array, min_gain: float
) -> list[ColumnTable]:
    """The same tables, with null terms for columns that gain less than `min_gain` nats."""
    return [
        table if table.gain >= min_gain else column_table(column, p, NULL_TERM)
        for column, table in zip(columns, tables, strict=True)
    ]


def row_weights(rows: LearningRows, sizes: list[int]) -> list[Array]:
    """What leaving a row out takes from a count: what the rows of a cell and class weigh, averaged
    over their weight, Σw² / Σw. Leave-one-out by counts alone needs no more of the weights.

    Parameters
    ----------
    rows : LearningRows
    sizes : list of int
        Cells of each column.

    Returns
    -------
    list of float64 arrays (n_cells, n_classes), or (n_classes,) where the rows of a class weigh
    alike
    """
    y, w, n_classes = rows.y, rows.weight, rows.n_classes
    of_class = np.ones(n_classes)
    of_class[y] = w
    if (w == of_class[y]).all():
        return [of_class] * len(sizes)
    of_class = _mean_weight(y, w, n_classes, np.ones(n_classes))
    found = []
    for size, cells in zip(sizes, rows.cells, strict=True):
        at = (cells + 1) * np.intp(n_classes) + y  # the first cell is that of −1
        usual = np.tile(of_class, size + 1)
        found.append(_mean_weight(at, w, len(usual), usual).reshape(-1, n_classes)[1:])
    return found


def _mean_weight(of: NDArray[np.integer], w: Array, size: int, usual: Array) -> Array:
    """Σw² / Σw of the rows of each of so many groups, or what is usual."""
    total = np.bincount(of, w, size)
    mean = np.bincount(of, w * w, size) / np.where(total > 0.0, total, 1.0)
    return np.where(total > 0.0, mean, usual)


def column_values(
    table: ColumnTable, cells: Cells, y: Cells, removed: Array, share: Array
) -> NDArray[np.float32]:
    """What a column adds to each row with the row taken out, centred over classes, float32
    (n_classes, n_rows); 0 where the cell is −1.

    Only the count of the row's own class differs from the table: m, which all classes have in
    common, is lost in the centring.

    Parameters
    ----------
    table : ColumnTable
    cells, y : int32 arrays (n_rows,)
    removed : float64 array (n_rows,)
    share : float64 array (n_classes,)
        p.
    """
    n_classes = len(share)
    full = np.log(np.maximum(table.smoothed, MIN_COUNT) / share)
    if full.size * n_classes <= len(y) and (removed == 1.0).all() and (cells >= 0).all():
        contributions = np.repeat(full[:, None], n_classes, axis=1)  # by cell and class of the row
        every = np.arange(n_classes)
        contributions[:, every, every] = np.log(np.maximum(table.smoothed - 1.0, MIN_COUNT) / share)
        contributions -= contributions.mean(axis=2, keepdims=True)
        by_class = contributions.reshape(-1, n_classes).T.astype(np.float32)
        return np.take(by_class, cells * n_classes + y, axis=1)
    index = np.arange(len(y))
    values = full[cells]
    own = table.smoothed[cells, y] - removed
    values[index, y] = np.log(np.maximum(own, MIN_COUNT) / share[y])
    values -= values.mean(axis=1, keepdims=True)
    values[cells < 0] = 0.0
    return np.ascontiguousarray(values.T.astype(np.float32))
