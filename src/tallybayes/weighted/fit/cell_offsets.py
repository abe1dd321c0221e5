"""Ridge-penalised cell offsets, fitted on top of the leave-one-out scores: which cells of terms are
corrected, how they are numbered, on how many rows, and their offsets under one ridge or several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.optim.descent import HALVINGS
from tallybayes.weighted.optim.ridge_descent import CorrectedRows, added, solved
from tallybayes.weighted.rows import LearningRows, sampled

__all__ = [
    "FOLDS",
    "MAX_ROWS_ALL_FOLDS",
    "SALT",
    "TOLERANCE_OF_LOSS",
    "CorrectedCells",
    "Correction",
    "CorrectionPath",
    "correction",
    "stops_early",
]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
STOP_RATIO = 1.4  # times the loss without correction: a lower ridge is not tried
FOLDS = 5
SALT = 2  # of the folds
MAX_EXPONENT = 700.0
MAX_ROWS_ALL_FOLDS = 2000  # below which every fold judges the ridge; above, one does
MIN_GAIN = 1.0  # nats that a correction has to gain
Index = NDArray[np.intp]

MAX_VALUES = 1_000_000  # cells times classes
MAX_ROW_CELLS = 10_000_000  # rows times ways in which a term is corrected
MAX_ROW_VALUES = 100_000_000  # those times classes
TOLERANCE_OF_LOSS = 2e-3  # what the last step under a ridge may gain
CHUNK = 4096  # rows that are numbered at a time: few enough to stay in the cache


class Correction(NamedTuple):
    """What cells are corrected by, in nats.

    Parameters
    ----------
    cells : float64 array (n_cells, n_classes)
        What is added to each cell.
    tested : index array (n_tested,)
        Rows on which the ridge was chosen: all of few rows, a fifth of many.
    left_out : float64 array (n_tested, n_classes)
        What is added to them by corrections that were learned without their fold.
    """

    cells: Array
    tested: NDArray[np.intp]
    left_out: Array


def _log_loss(against: Array) -> Array:
    """log(1 + exp x) of rows that the scores of the other class pass their own by x."""
    losses: Array = np.log1p(np.exp(-np.abs(against)))
    losses += np.maximum(against, 0.0)
    return losses


def stops_early(
    codes: Iterable[Cells], scores: Array, y: Cells, weight: Array, held_out: NDArray[np.bool_]
) -> bool:
    """An early-stopping test for cell offsets of many rows of two classes.

    If the first step under the strongest ridge already increases the loss of the held-out rows, so
    do all others, and no offsets are fitted. The step is computed term by term, so the cells of all
    terms are never in memory together.

    Parameters
    ----------
    codes : iterable of int32 arrays (n_rows,)
        The cell of each row in each term; −1 for none.
    scores : float64 array (n_rows, 2)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    held_out : bool array (n_rows,)
    """
    within = np.where(held_out, 0.0, weight)
    sign = np.where(y == 1, -1.0, 1.0)
    apart = scores[:, 1] - scores[:, 0]
    p = 1.0 / (1.0 + np.exp(np.minimum(-apart, MAX_EXPONENT)))
    residual, curved = within * (p - (y == 1)), within * p * (1.0 - p)
    more, slope, penalty = np.zeros(len(y)), 0.0, 0.0
    for code in codes:
        at = np.add(code, 1, dtype=np.intp)  # −1 is the first cell, which is not corrected
        g, h = np.bincount(at, residual), np.bincount(at, curved)
        step = g / (h + 2.0 * RIDGES[0])
        step[0] = 0.0
        more -= (2.0 * step)[at]  # one class is corrected by as much as the other, against it
        slope -= 2.0 * float(g @ step)
        penalty += 2.0 * RIDGES[0] * float(step @ step)
    losses = _log_loss(sign * apart)
    before, without = float(within @ losses), float(weight[held_out] @ losses[held_out])
    length = 1.0
    for _ in range(HALVINGS):
        losses = _log_loss(sign * (apart + length * more))
        if float(within @ losses) + length**2 * penalty <= before + 1e-4 * length * slope:
            break
        length *= 0.5
    return float(weight[held_out] @ losses[held_out]) > without + MIN_GAIN


def correction(
    cells: Cells, scores: Array, y: Cells, weight: Array, n_cells: int, fold: NDArray[np.intp]
) -> Correction | None:
    """The corrections of cells, or None if nothing is worth it.

    Parameters
    ----------
    cells : int32 array (n_rows, n_terms)
        The cells of each row, numbered over all terms; −1 for none.
    scores : float64 array (n_rows, n_classes)
        S, each row taken out.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_cells : int
    fold : index array (n_rows,)
        The fold of each row, one of `FOLDS`.
    """
    rows = CorrectedRows(cells, scores, y, weight, n_cells)
    folds = range(FOLDS if len(y) < MAX_ROWS_ALL_FOLDS else 1)
    found = _validated([(rows.only(fold != f), rows.only(fold == f)) for f in folds])
    if found is None:
        return None
    ridge, without = found
    tested = [np.flatnonzero(fold == f) for f in folds]
    left_out = [added(q, cells[at]) for q, at in zip(without, tested, strict=True)]
    return Correction(
        solved(rows, rows.curvature(), ridge, np.zeros(rows.shape)),
        np.concatenate(tested),
        np.concatenate(left_out),
    )


def _validated(
    parts: list[tuple[CorrectedRows, CorrectedRows]],
) -> tuple[float, list[Array]] | None:
    """The ridge that is best for rows that were not learned from, and what was learned without
    them; None if no correction is worth it."""
    nothing = np.zeros(parts[0][0].shape)
    without = sum(test.loss(nothing)[0] for _, test in parts)
    starts = [nothing] * len(parts)
    curvatures = [train.curvature() for train, _ in parts]
    if len(parts) == 1 and nothing.shape[1] > 2:  # `stops_early` tests two classes
        train, test = parts[0]
        first = solved(train, curvatures[0], RIDGES[0], nothing, steps=1)
        if test.loss(first)[0] > without + MIN_GAIN:
            return None
    best, least, before = None, without - MIN_GAIN, without
    for ridge in RIDGES:
        loss = 0.0
        for f, (train, test) in enumerate(parts):
            starts[f] = solved(train, curvatures[f], ridge, starts[f])
            loss += test.loss(starts[f])[0]
        if loss < least:
            best, least = (ridge, starts.copy()), loss
        elif loss > STOP_RATIO * without or (len(parts) == 1 and loss > before + MIN_GAIN):
            break
        before = max(loss, without)
    return best


class CorrectedCells:
    """The cells that are corrected, numbered over all terms.

    Parameters
    ----------
    maps : list of (int, int32 array (n_cells,))
        Each way in which a term is corrected: the term, and the corrected cell of each of its
        cells. A term can have several.
    n_classes : int
    """

    maps: list[tuple[int, Cells]]
    n_classes: int

    def __init__(self, maps: list[tuple[int, Cells]], n_classes: int) -> None:
        self.maps, self.n_classes = maps, n_classes
        sizes = [int(cells.max(initial=-1)) + 1 for _, cells in maps]
        self.starts: NDArray[np.int64] = np.cumsum([0, *sizes])
        """The first cell of each way, and the number of all."""

    @property
    def n(self) -> int:
        """How many cells are corrected."""
        return int(self.starts[-1])

    @property
    def feasible(self) -> bool:
        """Whether there is a cell to correct, and not too many."""
        return bool(self.maps) and self.n * self.n_classes <= MAX_VALUES

    def among(self, terms: Collection[int], corrections: Array) -> tuple[CorrectedCells, Array]:
        """The cells of some terms alone, and their rows of corrections (n, n_classes)."""
        each = np.split(corrections, self.starts[1:-1])
        kept = [i for i, (t, _) in enumerate(self.maps) if t in terms]
        some = CorrectedCells([self.maps[i] for i in kept], self.n_classes)
        return some, np.concatenate([corrections[:0], *(each[i] for i in kept)])

    def learning_rows(self, rows: LearningRows) -> tuple[Index, Array]:
        """A sample of rows that corrections are learned on; see `sampled`."""
        max_cells = min(MAX_ROW_CELLS, MAX_ROW_VALUES // self.n_classes)
        max_rows = max(1, max_cells // len(self.maps))
        return sampled(rows.y, rows.weight, self.n_classes, max_rows)

    def numbered(self, codes: Callable[[int, Cells], Cells], cells: Cells, index: Index) -> Cells:
        """The corrected cells of some rows, int32 (n_some, n_maps); −1 where a row has none.

        Parameters
        ----------
        codes : callable
            Of a term and the cells of rows (n_columns, n_some): each row's cell of the term, or −1.
        cells : int32 array (n_columns, n_rows)
        index : index array (n_some,)
        """
        sizes = [len(corrected) + 1 for _, corrected in self.maps]
        flat = np.full(sum(sizes), -1, dtype=np.int32)  # −1 reads the last of a map
        ends, lookups = np.cumsum(sizes).tolist(), []
        for (t, corrected), start, size, end in zip(
            self.maps, self.starts.tolist(), sizes, ends, strict=False
        ):
            lookup = flat[end - size : end]
            np.add(corrected, start, out=lookup[:-1])
            lookups.append((t, lookup))
        found = np.empty((len(index), len(lookups)), dtype=np.int32)
        for begin in range(0, len(index), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            some = np.ascontiguousarray(cells[:, index[chunk]])
            for place, (t, lookup) in enumerate(lookups):
                found[chunk, place] = lookup[codes(t, some)]
        return found

    def of_terms(self, corrections: Array, sizes: list[int]) -> list[Array]:
        """What is added to each cell of each term, centred over classes.

        Parameters
        ----------
        corrections : float64 array (n, n_classes)
        sizes : list of int
            The cells of each term.
        """
        found = [np.zeros((size, self.n_classes)) for size in sizes]
        centred = corrections - corrections.mean(axis=1, keepdims=True)
        for (t, cells), more in zip(self.maps, np.split(centred, self.starts[1:-1]), strict=True):
            found[t] += more[cells]
        return found


class CorrectionPath:
    """Corrections of the cells of terms under one ridge after the other.

    Parameters
    ----------
    cells : CorrectedCells
    rows : CorrectedRows
        Rows that are learned from, with S of each taken out.
    cells_left_out : int32 array (n_left_out, n_maps)
        Of the rows left out.
    scores_left_out : float64 array (n_left_out, n_classes)
    """

    cells: CorrectedCells
    rows: CorrectedRows

    def __init__(
        self,
        cells: CorrectedCells,
        rows: CorrectedRows,
        cells_left_out: Cells,
        scores_left_out: Array,
    ) -> None:
        self.cells, self.rows = cells, rows
        self._curvature = rows.curvature()
        self._left_out = cells_left_out, scores_left_out
        self.q: Array = np.zeros(rows.shape)

    @property
    def left_out(self) -> Array:
        """Scores of the rows left out, corrected, (n_left_out, n_classes)."""
        cells, scores = self._left_out
        return scores + added(self.q, cells)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, corrected, (n_left_out, n_classes)."""
        self.q = solved(self.rows, self._curvature, ridge, self.q, of_loss=TOLERANCE_OF_LOSS)
        return self.left_out
