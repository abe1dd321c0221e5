"""Weights that deviate by class: descent with a Hessian that is updated every few steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.optim.descent import Cholesky, Inverse, descend
from tallybayes.weighted.optim.loss import Loss
from tallybayes.weighted.terms.term_scores import Weights

__all__ = ["Curvature", "class_weights"]

Array = NDArray[np.float64]

MAX_PARAMETERS = 4000  # parameters, of a Hessian
MAX_WHOLE_PARAMETERS = 400  # parameters up to which it is whole, and not made of blocks
MAX_HESSIAN_AGE = 25  # steps after which it is made again
MIN_HESSIAN_ROWS = 4000  # rows that it is made of


class Curvature:
    """The Hessian of rows at some weights. It may serve descents on other, similar rows, because it
    only has to be approximate."""

    def __init__(self) -> None:
        self._of_data: Array | None = None
        self._weight = 0.0

    @property
    def known(self) -> bool:
        return self._of_data is not None

    def look(self, loss: Loss, q: Array) -> None:
        """At the rows of a loss, at these weights."""
        self._of_data = loss.data_curvature(q) if _whole(loss) else loss.data_blocks(q)
        self._weight = max(float(loss.weight.sum()), 1e-300)

    def inverse(self, loss: Loss, q: Array) -> Inverse:
        """Of the Hessian of a loss, about."""
        assert self._of_data is not None
        of_data = self._of_data * (float(loss.weight.sum()) / self._weight)
        if _whole(loss):
            return Cholesky(loss.whole_with_penalty(of_data, q)).solve
        return _inverse_of_blocks(*loss.blocks_with_penalty(of_data, q))


def _whole(loss: Loss) -> bool:
    """Whether a Hessian is whole, and not made of blocks."""
    return bool(loss.n_classes * (loss.d + 1) <= MAX_WHOLE_PARAMETERS)


def class_weights(
    loss: Loss, start: Weights, *, steps: int, tolerance: float, curvature: Curvature | None = None
) -> Weights:
    """Weights, deviations and offsets of the least penalised log-loss.

    Parameters
    ----------
    loss : Loss
    start : Weights
    steps : int
        At most.
    tolerance : float
        In nats; it stops when a step is expected to gain less.
    curvature : Curvature, optional
        As another descent has left it; this one starts with it and leaves what it has seen later.
    """
    size = loss.n_classes * (loss.d + 1)
    some = loss.some(max(MIN_HESSIAN_ROWS, 2 * size))
    seen = curvature or Curvature()
    at_once = seen.known

    def preconditioner(q: Array) -> Inverse:
        nonlocal at_once
        if size <= MAX_PARAMETERS:
            try:
                if not at_once:
                    seen.look(some, q)
                at_once = False
                return seen.inverse(some, q)
            except np.linalg.LinAlgError:  # rounding of nearly flat directions: steps are slower
                pass
        diagonal = some.class_diagonal(q)
        return lambda gradient: gradient / diagonal

    q = np.column_stack([start.by_class(), start.offsets]).ravel()
    refresh = min(max(size // 40, 3), MAX_HESSIAN_AGE)  # a Hessian costs as many gradients, or less
    found = descend(loss.by_class, q, preconditioner, refresh=refresh, steps=steps, worth=tolerance)
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
    inverse = np.stack([Cholesky(block).inverse() for block in blocks])
    some = np.flatnonzero(shared > 0.0)
    inner = -inverse[:, some[:, None], some].sum(axis=0)
    inner[np.arange(len(some)), np.arange(len(some))] += 1.0 / shared[some]
    of_shared = Cholesky(inner)

    def apply(gradient: Array) -> Array:
        by_class = gradient.reshape(len(blocks), -1, 1)
        solved = inverse @ by_class
        back = np.zeros(by_class.shape[1:])
        back[some, 0] = of_shared.solve(solved[:, some, 0].sum(axis=0))
        found: Array = (solved + inverse @ back).ravel()
        return found

    return apply
