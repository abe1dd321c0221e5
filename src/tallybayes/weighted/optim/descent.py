"""Descent on a convex function of many parameters, and the linear systems that it solves.

L-BFGS with a preconditioner: J. Nocedal and S. Wright, Numerical Optimization, 2nd edition,
algorithm 7.4, where the initial matrix is an approximate inverse of the Hessian, made again every
few steps. For systems of few unknowns LAPACK is called directly: most of the time of
`scipy.linalg.cho_solve` is spent on finding out what its arguments are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

__all__ = [
    "FLOAT32_NOISE",
    "HALVINGS",
    "Cholesky",
    "descend",
]

Array = NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]
Inverse = Callable[[Array], Array]

HISTORY = 12  # steps that are remembered
HALVINGS = 30
FLOAT32_NOISE = 1e-7  # of a value summed of float32 terms: lower steps than this are not seen


def _direction(gradient: Array, pairs: list[tuple[Array, Array, float]], inverse: Inverse) -> Array:
    """−H⁻¹g, by the two loops over steps s and changes of gradient y."""
    q, factors = gradient.copy(), []
    for s, y, curvature in reversed(pairs):
        factors.append(float(s @ q) / curvature)
        q = daxpy(y, q, a=-factors[-1])
    d = inverse(q)
    if pairs:  # scaled by the last step (7.20), with the preconditioner in between
        _, y, curvature = pairs[-1]
        d *= curvature / float(y @ inverse(y))
    for (s, y, curvature), factor in zip(pairs, reversed(factors), strict=True):
        d = daxpy(s, d, a=factor - float(y @ d) / curvature)
    return -d


def descend(
    objective: Objective,
    start: Array,
    preconditioner: Callable[[Array], Inverse],
    *,
    refresh: int,
    steps: int,
    worth: float,
) -> Array:
    """Where a convex function is least.

    Parameters
    ----------
    objective : callable
        Value and gradient at a point.
    start : float64 array (n_parameters,)
    preconditioner : callable
        At a point: what a gradient is multiplied by, about the inverse of the Hessian.
    refresh : int
        Steps after which the preconditioner is made again.
    steps : int
        At most.
    worth : float
        It stops when a step is expected to lower the value by less than this.
    """
    at = start.astype(np.float64)
    value, gradient = objective(at)
    pairs: list[tuple[Array, Array, float]] = []
    for step in range(steps):
        if step % refresh == 0:
            inverse = preconditioner(at)
        d = _direction(gradient, pairs, inverse)
        slope = float(gradient @ d)
        if -0.5 * slope <= max(worth, FLOAT32_NOISE * abs(value)):
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = at + length * d
            lower, steeper = objective(there)
            if lower <= value + 1e-4 * length * slope + 0.1 * FLOAT32_NOISE * abs(value):
                break
            length *= 0.5
        else:
            break
        s, y = there - at, steeper - gradient
        if (curvature := float(s @ y)) > 0.0:
            pairs = [*pairs[1 - HISTORY :], (s, y, curvature)]
        at, value, gradient = there, lower, steeper
    return at


class Cholesky:
    """The Cholesky factor of a matrix.

    Parameters
    ----------
    matrix : float64 array (n, n)
        Symmetric.

    Raises
    ------
    LinAlgError
        If it is not positive definite.
    """

    def __init__(self, matrix: Array) -> None:
        self._factor, info = dpotrf(matrix, lower=0, clean=1)
        if info != 0:
            raise np.linalg.LinAlgError(
                f"a Cholesky factor needs a positive definite matrix, got {info=}"
            )

    def solve(self, b: Array) -> Array:
        """x of A·x = b, float64 (n,)."""
        if not len(b):
            return b
        x, _ = dpotrs(self._factor, b, lower=0)
        found: Array = x.ravel()
        return found

    def inverse(self) -> Array:
        """A⁻¹."""
        upper, _ = dpotri(self._factor, lower=0)  # 0 below, as the factor is
        whole: Array = upper + upper.T
        np.fill_diagonal(whole, upper.diagonal())
        return whole
