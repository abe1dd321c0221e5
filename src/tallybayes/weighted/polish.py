"""A last correction of every cell, ridge-penalised, from the leave-one-out scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads

__all__ = ["correction"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
STEPS = 40
WORTH = 1.0  # nats that a correction has to gain


def _solved(
    cells: Cells, scores: Array, y: Cells, weight: Array, ridge: float, start: Array
) -> Array:
    gradient = np.empty_like(start)

    def objective(q: Array) -> tuple[float, Array]:
        gradient[:] = 0.0
        now = q.reshape(start.shape)
        loss = _kernels.correction_gradient(
            cells, scores, y, weight, now, gradient, get_num_threads()
        )
        return loss + ridge * float((q * q).sum()), (gradient + 2.0 * ridge * now).ravel()

    found = minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    solved: Array = found.x.reshape(start.shape)
    return solved


def _loss(cells: Cells, scores: Array, y: Cells, weight: Array, q: Array) -> float:
    scratch = np.zeros_like(q)
    return _kernels.correction_gradient(cells, scores, y, weight, q, scratch, get_num_threads())


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
    n, n_classes = scores.shape
    nothing = np.zeros((n_cells, n_classes))
    fold = np.random.default_rng(2).permutation(n) % 5
    loss = np.zeros(len(RIDGES) + 1)
    for f in range(5 if n < 2000 else 1):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        outside = (
            np.ascontiguousarray(cells[test]),
            np.ascontiguousarray(scores[test]),
            y[test],
            weight[test],
        )
        loss[0] += _loss(*outside, nothing)
        inside = (
            np.ascontiguousarray(cells[train]),
            np.ascontiguousarray(scores[train]),
            y[train],
            weight[train],
        )
        q = nothing
        for i, ridge in enumerate(RIDGES):
            q = _solved(*inside, ridge, q)
            loss[i + 1] += _loss(*outside, q)
    best = int(np.argmin(loss))
    if best == 0 or loss[0] - loss[best] <= WORTH:
        return None
    q = nothing
    for ridge in RIDGES[:best]:
        q = _solved(cells, scores, y, weight, ridge, q)
    return q
