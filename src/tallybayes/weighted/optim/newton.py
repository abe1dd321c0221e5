"""Weights that all classes share: Newton's method under w ≥ 0.

D. Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J.
Control and Optimization 20 (1982): weights at 0 that would fall stay, the others take a Newton
step, which ends at 0 where it would cross it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tallybayes.weighted.optim.descent import HALVINGS, NOISE, Cholesky
from tallybayes.weighted.optim.loss import CENTRE, Loss
from tallybayes.weighted.terms.term_scores import Weights

__all__ = ["penalty_takes", "shared_weights"]

Array = NDArray[np.float64]

MOST = 1500  # parameters, of Newton's method
ENOUGH, OF_A_WEIGHT = 4096, 16  # rows of a Hessian, in all or a parameter, while the end is far
CLOSE = 1.0  # nats that a step gains, from which on all rows are worth it if the end is to be exact
SURE = 0.5  # of what a step may gain that is not taken, by an older Hessian


def shared_weights(loss: Loss, start: Weights, *, steps: int, worth: float) -> Weights:
    """Weights w and offsets b of the least penalised log-loss, without deviations.

    Parameters
    ----------
    loss : Loss
    start : Weights
    steps : int
        At most.
    worth : float
        In nats; it stops when a step is expected to gain less.
    """
    d = len(start.terms)
    q = np.concatenate([start.terms, start.offsets])
    found = _newton(loss, q, d, steps, worth) if len(q) <= MOST else _limited(loss, q, d, worth)
    return Weights(found[:d], np.zeros_like(start.deviations), found[d:], loss.scale)


def penalty_takes(loss: Loss, found: Weights) -> float:
    """About how much a penalty of γ = 1 takes from the log-likelihood at weights that were found
    without deviations, in nats: ½ g'H⁻¹g, g its gradient; infinite of too many weights."""
    q = np.concatenate([found.terms, found.offsets])
    if len(q) > MOST:
        return np.inf
    free = np.append(found.terms > 0.0, np.ones(len(found.offsets), dtype=bool))
    of_terms = 2.0 * loss.ridge / loss.scale * (found.terms - CENTRE)
    g = np.append(of_terms, np.zeros_like(found.offsets))[free]
    curved = loss.some(max(ENOUGH, OF_A_WEIGHT * len(q)))
    factor = Cholesky(_among(curved.shared_curvature(q), free))
    return 0.5 * float(g @ factor.solve(g))


def _among(matrix: Array, some: NDArray[np.bool_]) -> Array:
    """Some rows of a matrix, and the same columns."""
    return matrix if some.all() else matrix[np.ix_(some, some)]


def _newton(loss: Loss, q: Array, d: int, steps: int, worth: float) -> Array:
    value, gradient = loss.shared(q)
    curved = loss.some(max(ENOUGH, OF_A_WEIGHT * len(q)))
    factor, before = None, np.empty(0, dtype=bool)
    for _ in range(steps):
        free = np.ones(len(q), dtype=bool)
        free[:d] = (q[:d] > 0.0) | (gradient[:d] < 0.0)
        enough = max(worth, NOISE * abs(value))
        if factor is not None and np.array_equal(free, before):
            g = gradient[free]
            left = 0.5 * float(g @ factor.solve(g))
            if left <= SURE * enough:  # by the Hessian of the step before, about the same by now
                break
        factor, before = Cholesky(_among(curved.shared_curvature(q), free)), free
        step = np.zeros(len(q))
        step[free] = -factor.solve(gradient[free])
        slope = float(gradient @ step)
        if curved is not loss and enough < -0.5 * slope <= CLOSE and worth < CLOSE / 100.0:
            curved, factor = loss, None
            continue
        if -0.5 * slope <= enough:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = q + length * step
            np.maximum(there[:d], 0.0, out=there[:d])
            lower, steeper = loss.shared(there)
            if lower <= value + 1e-4 * float(gradient @ (there - q)) + 0.1 * NOISE * abs(value):
                break
            length *= 0.5
        else:
            if curved is loss:
                break
            curved, factor = loss, None
            continue
        q, value, gradient = there, lower, steeper
    return q


def _limited(loss: Loss, q: Array, d: int, worth: float) -> Array:
    """L-BFGS-B, where a Hessian would be too large."""
    found = minimize(
        loss.shared,
        q,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * d + [(None, None)] * (len(q) - d),
        options={"maxiter": 200, "maxfun": 400, "ftol": worth / max(1.0, abs(loss.shared(q)[0]))},
    )
    at: Array = found.x
    return at
