"""Leave-one-out look-ups in the cells of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import NegativeTally
from tallybayes.parameters import Cells
from tallybayes.threads import get_num_threads

__all__ = ["CellTables", "cells_without", "raise_unlearned", "weight_groups"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

MAX_WEIGHT_TABLES = 16  # different weights for each of which tables of all cells are made


def weight_groups(weight: Array) -> Iterator[tuple[float | None, slice | NDArray[np.intp]]]:
    """Rows of one weight, and the weight; None for all rows if there are too many weights."""
    if not len(weight):
        return
    if weight.min() == weight.max():
        yield float(weight[0]), slice(None)
        return
    several, which = np.unique(weight, return_inverse=True)
    if len(several) > MAX_WEIGHT_TABLES:
        yield None, slice(None)
        return
    for i, w in enumerate(several.tolist()):
        yield w, np.flatnonzero(which == i)


def raise_unlearned(codes: Any, start: NDArray[np.int64]) -> NoReturn:
    """Raises for the first code that its column does not have."""
    beyond = np.argwhere(np.asarray(codes) >= np.diff(start))
    row, column = beyond[0].tolist()
    raise NegativeTally(
        f"row {row}, column {column} holds the level {codes[row, column].item()!r}, which was not "
        "learned: leave-one-out takes the rows that were learned"
    )


def stacked(tables: Sequence[Array], n_classes: int) -> tuple[Array, NDArray[np.int64]]:
    """Tables (n_classes, cells) side by side, and where each begins."""
    start = np.cumsum([0, *(table.shape[1] for table in tables)], dtype=np.int64)
    whole = np.concatenate(tables, axis=1) if tables else np.empty((n_classes, 0))
    return np.ascontiguousarray(whole), start


class CellTables:
    """The cells of several columns, looked up by the kernels for rows of one weight.

    Parameters
    ----------
    laws : tuple of Cells
    """

    def __init__(self, laws: tuple[Cells, ...]) -> None:
        self.laws = laws
        self.others_change: bool = any(law.others_change for law in laws)
        self.start: NDArray[np.int64] = stacked([law.log_prob() for law in laws], 0)[1]

    def replace(self, x: Any, own: Index, weight: float, scores: Array) -> None:
        """Ordinary scores (n_rows, n_classes) of codes x (n_rows, n_columns) replaced, in place, by
        those without the row."""
        n_classes, threads = scores.shape[1], get_num_threads()
        if self.others_change:
            # a column of the kernel ends with an entry for codes beyond it, which never count
            tables = [np.pad(law.other_without(weight), ((0, 0), (0, 1))) for law in self.laws]
            table, start = stacked(tables, n_classes)
            scorer = _kernels.LaneScorer(table, None, np.zeros(n_classes), 0, threads)
            scorer.score_codes(x, start, scores, None, threads)
        mine, start = stacked([law.own_without(weight) for law in self.laws], n_classes)
        if _kernels.codes_without(x, start, mine, own, scores, threads):
            raise_unlearned(x, start)


def cells_without(law: Cells, cells: NDArray[np.intp], own: Index, weight: Array) -> Array:
    """log-probabilities (n_rows, n_classes) of rows in these cells of a column, each after it is
    taken out.

    Rows of one weight share a table of all cells; rows of different weight are cells themselves.

    Parameters
    ----------
    law : Cells
    cells, own : index arrays (n_rows,)
        The cell and the class of each row.
    weight : float64 array (n_rows,)
    """
    rows = np.arange(len(cells))
    if len(cells) and (weight == weight[0]).all():
        scores: Array = law.other_without(float(weight[0])).T[cells]
        scores[rows, own] = law.own_without(float(weight[0]))[own, cells]
        return scores
    taken = law.take(cells)
    scores = np.ascontiguousarray(taken.other_without(weight).T)
    scores[rows, own] = taken.own_without(weight)[own, rows]
    return scores
