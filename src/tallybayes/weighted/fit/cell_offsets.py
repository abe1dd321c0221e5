"""Ridge-penalised cell offsets, fitted on top of the leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.optim.lbfgs import HALVINGS, descend

__all__ = [
    "ALL_FOLDS",
    "FOLDS",
    "SALT",
    "CorrectedRows",
    "Correction",
    "added",
    "correction",
    "solved",
    "stops_early",
]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
STEPS = 40
NEARLY = 0.1  # nats: what the last step may gain
STOP_RATIO = 1.4  # times the loss without correction: a lower ridge is not tried
FOLDS = 5
SALT = 2  # of the folds
LARGEST = 700.0  # of an exponent
ALL_FOLDS = 2000  # rows below which every fold is looked at for the ridge, else one
WORTH = 1.0  # nats that a correction has to gain


class CorrectedRows:
    """Rows whose cells are corrected.

    Parameters
    ----------
    cells : int32 array (n_rows, n_terms)
        Numbered over all terms; −1 for none.
    scores : float64 array (n_rows, n_classes)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_cells : int
    """

    def __init__(self, cells: Cells, scores: Array, y: Cells, weight: Array, n_cells: int) -> None:
        self.cells, self.scores, self.y, self.weight = cells, scores, y, weight
        self.shape = n_cells, scores.shape[1]

    def only(self, rows: NDArray[np.bool_]) -> CorrectedRows:
        """The same where other rows weigh nothing."""
        weight = np.where(rows, self.weight, 0.0)
        return CorrectedRows(self.cells, self.scores, self.y, weight, self.shape[0])

    def loss(self, q: Array) -> tuple[float, Array]:
        """Log-loss under corrections q (n_cells, n_classes), and its gradient."""
        gradient = np.zeros(self.shape)
        loss = _kernels.correction_gradient(
            self.cells, self.scores, self.y, self.weight, q, gradient, get_num_threads()
        )
        return loss, gradient

    def curvature(self) -> Array:
        """The diagonal of the Hessian in q, at q = 0."""
        diagonal = np.zeros(self.shape)
        _kernels.correction_curvature(
            self.cells, self.scores, self.weight, diagonal, get_num_threads()
        )
        return diagonal


def solved(
    rows: CorrectedRows,
    curvature: Array,
    ridge: float,
    start: Array,
    steps: int = STEPS,
    of_loss: float = 0.0,
) -> Array:
    """q of the least ridge-penalised loss, from where it starts, by at most so many steps, until
    the next gains less than a share of the loss (or 0.1 nats)."""
    inverse = 1.0 / (curvature + 2.0 * ridge).ravel()

    def objective(q: Array) -> tuple[float, Array]:
        loss, gradient = rows.loss(q.reshape(rows.shape))
        return loss + ridge * float(q @ q), daxpy(q, gradient.ravel(), a=2.0 * ridge)

    at = start.ravel()
    known = objective(at)
    found = descend(
        objective,
        at,
        lambda _: lambda gradient: inverse * gradient,
        refresh=STEPS,
        steps=steps,
        worth=max(NEARLY, of_loss * (known[0] - ridge * float(at @ at))),
        known=known,
    )
    return found.reshape(rows.shape)


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
    p = 1.0 / (1.0 + np.exp(np.minimum(-apart, LARGEST)))
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
    return float(weight[held_out] @ losses[held_out]) > without + WORTH


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
    folds = range(FOLDS if len(y) < ALL_FOLDS else 1)
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


def added(q: Array, cells: Cells) -> Array:
    """What corrections add to rows, (n_rows, n_classes)."""
    added = np.empty((len(cells), q.shape[1]))
    _kernels.corrections_added(cells, np.ascontiguousarray(q), added, get_num_threads())
    return added


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
        if test.loss(first)[0] > without + WORTH:
            return None
    best, least, before = None, without - WORTH, without
    for ridge in RIDGES:
        loss = 0.0
        for f, (train, test) in enumerate(parts):
            starts[f] = solved(train, curvatures[f], ridge, starts[f])
            loss += test.loss(starts[f])[0]
        if loss < least:
            best, least = (ridge, starts.copy()), loss
        elif loss > STOP_RATIO * without or (len(parts) == 1 and loss > before + WORTH):
            break
        before = max(loss, without)
    return best
