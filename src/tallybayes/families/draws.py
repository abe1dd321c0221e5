"""Draws from posteriors, in log space, so that tiny concentrations lose nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_beta", "log_dirichlet", "log_gamma"]

Array = NDArray[np.float64]


def log_gamma(shape: Array, rng: Any, size: tuple[int, ...]) -> Array:
    """log of Gamma(shape, 1) draws, float64 `size`; −inf where the shape is 0.

    Gamma(a) is Gamma(a + 1)·U^(1/a), U uniform.
    """
    some = np.where(shape > 0.0, shape, 1.0)
    with np.errstate(divide="ignore"):
        draws = np.log(rng.standard_gamma(some + 1.0, size=size))
        draws += np.log1p(-rng.random(size)) / some
    return np.where(shape > 0.0, draws, -np.inf)


def log_beta(a: Array, b: Array, rng: Any, size: tuple[int, ...]) -> Array:
    """log of Beta(a, b) draws, float64 `size`; 0 where b is 0."""
    x, y = log_gamma(a, rng, size), log_gamma(b, rng, size)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(x), -np.inf, x - np.logaddexp(x, y))


def log_dirichlet(a: Array, rng: Any, n: int) -> Array:
    """log of Dirichlet draws over the last axis, float64 (n, *a.shape)."""
    x = log_gamma(a, rng, (n, *a.shape))
    top = x.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True)))
