"""Ratios of Gamma functions, to full precision where their logarithms are large and nearly equal.

log Γ(10¹²) is 2.7·10¹³ and, as a float64, known to 4·10⁻³ only. So log Γ(a + k) − log Γ(a) is never
computed by subtracting large values. With Stirling's formula log Γ(x) = (x − ½) log x − x + ½ log
2π + c(x), whose large terms are combined by hand,

    log Γ(a + k) − log Γ(a) = k log(a + k) + (a − ½) log(1 + k/a) − k + c(a + k) − c(a)

Abramowitz and Stegun (1964), 6.1.40.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

__all__ = ["correction", "log_counts_evidence", "log_rising"]

Array = NDArray[np.float64]

MIN_FOR_SERIES = 16.0  # from here on five terms of Stirling's series are exact to 1e-15
MAX_RATIO = 1e16
SERIES = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0)


def correction(x: Array) -> Array:
    """c(x), for x > 0."""
    inverse = 1.0 / np.maximum(x, MIN_FOR_SERIES)
    square = inverse * inverse
    total = np.zeros_like(inverse)
    for term in reversed(SERIES):
        total = term + square * total
    total = np.asarray(total * inverse)
    near = np.asarray(x < MIN_FOR_SERIES)
    if near.any():
        small = x[near]
        stirling = (small - 0.5) * np.log(small) - small + 0.5 * np.log(2.0 * np.pi)
        total[near] = gammaln(small) - stirling
    return total


def _shift(a: Array, k: Array) -> Array:
    """(a − ½) log(1 + k/a) + c(a + k) − c(a): what is left of the difference without k log(a + k)
    and k."""
    ratio = np.where(
        k < MAX_RATIO * a, np.log1p(k / np.maximum(a, k / MAX_RATIO)), np.log(a + k) - np.log(a)
    )  # k / a might overflow
    return np.asarray((a - 0.5) * ratio + correction(a + k) - correction(a))


def log_rising(a: ArrayLike, k: ArrayLike) -> Array:
    """log Γ(a + k) − log Γ(a), for a > 0 and k ≥ 0; shapes broadcast.

    For whole k the logarithm of a (a + 1) … (a + k − 1).
    """
    base, more = np.asarray(a, dtype=np.float64), np.asarray(k, dtype=np.float64)
    near = base + more < MIN_FOR_SERIES
    if near.all():  # here the plain difference loses nothing
        return np.asarray(gammaln(base + more) - gammaln(base))
    base, more = np.broadcast_arrays(base, more)
    result = np.asarray(more * np.log(base + more) - more + _shift(base, more))
    if near.any():
        result[near] = gammaln(base[near] + more[near]) - gammaln(base[near])
    return result


def log_counts_evidence(concentration: Array, counts: Array) -> Array:
    """log P of rows that fall on cells `counts` times, in their order, with p ~ Dirichlet(a):

        Σ_j [log Γ(a_j + k_j) − log Γ(a_j)] − [log Γ(A + n) − log Γ(A)]

    in nats, float64 (…), for concentrations (n_cells,) and counts (…, n_cells). A cell of
    concentration 0 rules its rows out.
    """
    a, k = concentration, counts
    here = a > 0.0
    ruled_out = (~here & (k > 0.0)).any(axis=-1)
    k = np.where(here, k, 0.0)
    whole, n = a.sum(axis=-1), k.sum(axis=-1)
    updated = a + k
    # Σ k_j log((a_j + k_j) / (A + n)); the largest share, maybe near 1, from what is beside it
    top = updated.argmax(axis=-1)[..., None]
    largest = np.take_along_axis(updated, top, -1)
    others = updated.copy()
    np.put_along_axis(others, top, 0.0, -1)
    beside = others.sum(axis=-1, keepdims=True)
    each = xlogy(k, np.where(here, updated / (largest + beside), 1.0))
    np.put_along_axis(each, top, np.take_along_axis(k, top, -1) * -np.log1p(beside / largest), -1)
    each = each + np.where(here, _shift(np.where(here, a, 1.0), k), 0.0)
    result = each.sum(axis=-1) - _shift(whole, n)
    return np.asarray(np.where(ruled_out, -np.inf, result))
