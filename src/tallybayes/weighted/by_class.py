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
WHOLE = 400  # parameters up to which it is whole, and not made of blocks
REFRESH = 25  # steps after which it is made again, at most
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
            if size > WHOLE:
                return _inverse_of_blocks(*some.class_blocks(q))
            factor = cho_factor(some.class_curvature(q), overwrite_a=True, check_finite=False)
        except LinAlgError:  # rounding of nearly flat directions: it only leads to slower steps
            diagonal = some.class_diagonal(q)
            return lambda gradient: gradient / diagonal

        def apply(gradient: Array) -> Array:
            solved: Array = cho_solve(factor, gradient, check_finite=False)
            return solved

        return apply

    q = np.column_stack([start.by_class(), start.offsets]).ravel()
    refresh = min(max(size // 40, 3), REFRESH)  # a Hessian costs as many gradients, or less
    found = descend(loss.by_class, q, preconditioner, refresh=refresh, steps=steps, worth=worth)
    return loss.weights(found)


def _inverse_of_blocks(blocks: Array, shared: Array) -> Inverse:
    """What a gradient is multiplied by: the inverse of B − U·F·Uᵀ, B blocks of classes, F the
    diagonal of what is shared and U one unit matrix a class, by Woodbury's identity,

        B⁻¹ + B⁻¹·U·(F⁻¹ − Uᵀ·B⁻¹·U)⁻¹·Uᵀ·B⁻¹.

    Parameters
    ----------
    blocks : float64 array (n_classes, n_terms + 1, n_terms + 1)
    shared : float64 array (n_terms,)
    """
    inverse = np.linalg.inv(blocks)
    some = np.flatnonzero(shared > 0.0)
    inner = -inverse[:, some[:, None], some].sum(axis=0)
    inner[np.arange(len(some)), np.arange(len(some))] += 1.0 / shared[some]
    factor = cho_factor(inner, overwrite_a=True, check_finite=False)

    def apply(gradient: Array) -> Array:
        by_class = gradient.reshape(len(blocks), -1, 1)
        solved = inverse @ by_class
        back = np.zeros(by_class.shape[1:])
        back[some, 0] = cho_solve(factor, solved[:, some, 0].sum(axis=0), check_finite=False)
        found: Array = (solved + inverse @ back).ravel()
        return found

    return apply
