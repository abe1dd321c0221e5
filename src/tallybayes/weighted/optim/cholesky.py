"""Positive definite systems that are solved many times, of few unknowns.

LAPACK is called directly: of small systems most of the time of `scipy.linalg.cho_solve` is spent on
finding out what its arguments are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

__all__ = ["Cholesky"]

Array = NDArray[np.float64]


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
            raise LinAlgError(f"a Cholesky factor needs a positive definite matrix, got {info=}")

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
