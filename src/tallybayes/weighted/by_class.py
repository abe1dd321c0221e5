"""Weights that deviate by class: descent with a Hessian that is made now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tallybayes.weighted.descent import Inverse, descend
from tallybayes.weighted.objective import Loss
from tallybayes.weighted.terms import Weights

__all__ = ["class_weights"]

Array = NDArray[np.float64]

MOST = 4000  # parameters, of a Hessian
CURVED = 4000  # rows that it is made of, at least


def class_weights(loss: Loss, start: Weights, *, steps: int, worth: float) -> Weights:
    """Weights, deviations and offsets of the least penalised log-loss.

    Parameters
    ----------
    loss : Loss
    start : Weights
    steps : int
        At most.
    worth : float
        In nats; it stops when a step is expected to gain less.
    """
    size = loss.n_classes * (loss.d + 1)
    some = loss.some(max(CURVED, 2 * size))

    def preconditioner(q: Array) -> Inverse:
        if size > MOST:
            diagonal = some.class_diagonal(q)
            return lambda gradient: gradient / diagonal
        try:
            factor = cho_factor(some.class_curvature(q), overwrite_a=True, check_finite=False)
        except LinAlgError:  # rounding of nearly flat directions: it only leads to slower steps
            diagonal = some.class_diagonal(q)
            return lambda gradient: gradient / diagonal

        def apply(gradient: Array) -> Array:
            solved: Array = cho_solve(factor, gradient, check_finite=False)
            return solved

        return apply

    q = np.column_stack([start.by_class(), start.offsets]).ravel()
    refresh = min(max(size // 40, 1), 25)  # a Hessian costs as much as so many gradients
    found = descend(loss.by_class, q, preconditioner, refresh=refresh, steps=steps, worth=worth)
    return loss.weights(found)
