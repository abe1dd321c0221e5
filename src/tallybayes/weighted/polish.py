"""A last correction of every cell, ridge-penalised, from the leave-one-out scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.descent import descend

__all__ = ["correction"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
STEPS = 40
NEARLY = 0.1  # nats: what the last step may gain
HOPELESS = 1.4  # times the loss without correction: a lower ridge is not tried
WORTH = 1.0  # nats that a correction has to gain


class _Rows:
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

    def take(self, rows: NDArray[np.bool_]) -> _Rows:
        cells, scores = self.cells[rows], self.scores[rows]
        return _Rows(cells, scores, self.y[rows], self.weight[rows], self.shape[0])

    def loss(self, q: Array) -> tuple[float, Array]:
        """Log-loss under corrections q (n_cells, n_classes), and its gradient."""
        gradient = np.zeros(self.shape)
        loss = _kernels.correction_gradient(
            self.cells, self.scores, self.y, self.weight, q, gradient, get_num_threads()
        )
        return loss, gradient

    def curvature(self) -> Array:
        """The diagonal of the Hessian in q, at q = 0."""
        p = softmax(self.scores, axis=1)
        p *= (1.0 - p) * self.weight[:, None]
        diagonal = np.zeros(self.shape)
        some = self.cells >= 0
        for k in range(self.shape[1]):
            spread = np.broadcast_to(p[:, k, None], self.cells.shape)[some]
            diagonal[:, k] = np.bincount(self.cells[some], spread, self.shape[0])
        return diagonal


def _solved(rows: _Rows, curvature: Array, ridge: float, start: Array) -> Array:
    """q of the least ridge-penalised loss, from where it starts."""
    inverse = 1.0 / (curvature + 2.0 * ridge).ravel()

    def objective(q: Array) -> tuple[float, Array]:
        now = q.reshape(rows.shape)
        loss, gradient = rows.loss(now)
        return loss + ridge * float(q @ q), (gradient + 2.0 * ridge * now).ravel()

    found = descend(
        objective,
        start.ravel(),
        lambda _: lambda gradient: inverse * gradient,
        refresh=STEPS,
        steps=STEPS,
        worth=NEARLY,
    )
    return found.reshape(rows.shape)


def correction(cells: Cells, scores: Array, y: Cells, weight: Array, n_cells: int) -> Array | None:
    """What is added to each cell, float64 (n_cells, n_classes), or None if nothing is worth it.

    Parameters
    ----------
    cells : int32 array (n_rows, n_terms)
        The cells of each row, numbered over all terms; −1 for none.
    scores : float64 array (n_rows, n_classes)
        S, each row taken out.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_cells : int
    """
    rows = _Rows(cells, scores, y, weight, n_cells)
    ridge = _validated(rows)
    if ridge is None:
        return None
    curvature, q = rows.curvature(), np.zeros(rows.shape)
    return _solved(rows, curvature, ridge, q)


def _validated(rows: _Rows) -> float | None:
    """The ridge of cross-validation; None if no correction is worth it."""
    n = len(rows.y)
    fold = np.random.default_rng(2).permutation(n) % 5
    parts = [(rows.take(fold != f), rows.take(fold == f)) for f in range(5 if n < 2000 else 1)]
    nothing = np.zeros(rows.shape)
    without = sum(test.loss(nothing)[0] for _, test in parts)
    starts = [nothing] * len(parts)
    curvatures = [train.curvature() for train, _ in parts]
    best, least = None, without - WORTH
    for ridge in RIDGES:
        loss = 0.0
        for f, (train, test) in enumerate(parts):
            starts[f] = _solved(train, curvatures[f], ridge, starts[f])
            loss += test.loss(starts[f])[0]
        if loss < least:
            best, least = ridge, loss
        elif loss > HOPELESS * without:
            break
    return best
