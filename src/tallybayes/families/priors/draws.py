"""Draws from posteriors, in log space, which is exact for tiny concentrations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

__all__ = ["log_betas", "log_dirichlet", "log_gamma"]

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


def log_betas(a: Array, b: Array, cells: NDArray[np.intp], seed: int, n: int) -> Array:
    """log of Beta(a, b) draws, float64 (n, *a.shape); 0 where b is 0 and −inf where a is.

    Parameters
    ----------
    a, b : float64 arrays (n_classes, n_cells)
    cells : index array (n_cells,)
        The number of each cell: it has a stream of random numbers of its own.
    seed : int
    n : int
    """
    both = np.stack([a, b], axis=-1).transpose(1, 0, 2)  # (n_cells, n_classes, 2)
    some = np.where(both > 0.0, both, 1.0)
    draws = np.empty((len(cells), n, *both.shape[1:]))
    even = np.empty_like(draws)
    for i, cell in enumerate(cells.tolist()):
        stream = np.random.Generator(np.random.Philox(key=[seed, cell]))
        stream.standard_gamma(some[i] + 1.0, out=draws[i])
        stream.random(out=even[i])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(draws) + np.log1p(-even) / some[:, None]
        log[np.broadcast_to(both[:, None] <= 0.0, log.shape)] = -np.inf
        x, y = log[..., 0], log[..., 1]
        beta = np.where(np.isneginf(x), -np.inf, x - np.logaddexp(x, y))
    return np.ascontiguousarray(beta.transpose(1, 2, 0))


def log_dirichlet(a: Array, rng: Any, n: int) -> Array:
    """log of Dirichlet draws over the last axis, float64 (n, *a.shape)."""
    return np.asarray(log_softmax(log_gamma(a, rng, (n, *a.shape)), axis=-1))
