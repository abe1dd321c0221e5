"""Covariance matrices from sums of squares and products, made invertible by a stated floor.

A covariance is held as standard deviations and the Cholesky factor L of the correlations, which
makes it independent of the units of the columns: Σ = diag(s) L Lᵀ diag(s). If it is singular:

1. A variance of 0 becomes 1e-9 of the column's variance over all classes together, and 1 where the
   column is constant throughout; such a column is not correlated with any other.
2. An eigenvalue of the correlations below 2⁻⁴⁰ counts as 0 and becomes 1e-9, the variance of a
   direction in which the rows do not vary (fewer rows than columns, or a column twice).
3. An eigenvalue of Σ below the requested minimum of the variance is raised to it.

Other matrices stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import TINY, ZERO_VARIANCE, Recount, Statistics
from tallybayes.families.priors.gamma_ratios import log_rising

__all__ = ["Scatter", "Shape", "log_density", "log_of_distance", "shaped"]

Array = NDArray[np.float64]

SINGULAR = 2.0**-40
"""An eigenvalue of correlations below this is rounding."""


class Scatter(NamedTuple):
    """Weight (…,), mean (…, d) and sum of squares and products about it (…, d, d)."""

    n: Array
    mean: Array
    squares: Array

    @property
    def variance(self) -> Array:
        """Of each column, 0 without rows, (…, d)."""
        squares = np.einsum("...jj->...j", self.squares)
        return np.asarray(np.maximum(squares, 0.0) / np.maximum(self.n, 1e-300)[..., None])

    def without(self, x: Array, weight: Array, recount: Recount) -> Scatter:
        """The statistics after a row x (…, d) of this weight (…,) is taken out; those that keep no
        digits of what the others have, as of ``Statistics.without``, are counted again."""
        squares = np.einsum("...jj->...j", self.squares)
        each, lost = Statistics(self.n[..., None], self.mean, squares).less(x, weight[..., None])
        left = each.n[..., 0]
        apart = x - self.mean
        share = weight * self.n / np.where(left > 0.0, left, 1.0)
        products = apart[..., :, None] * apart[..., None, :]
        there = (left > 0.0)[..., None, None]
        rest = np.where(there, self.squares - share[..., None, None] * products, 0.0)
        mean, again = each.mean, lost.any(axis=-1)
        if again.any():
            at = np.nonzero(again)
            left[at], mean[at], rest[at] = recount(at)
        return Scatter(left, mean, rest)


class Shape(NamedTuple):
    """A Gaussian, or Student-t where `freedom` is given: its centre (…, d), and Σ, or the squared
    scale, as deviations (…, d) and the Cholesky factor of correlations (…, d, d); and the smallest
    eigenvalue of the correlations (…,), 0 where a floor was needed."""

    centre: Array
    deviation: Array
    factor: Array
    least: Array
    freedom: Array | None = None

    @property
    def covariance(self) -> Array:
        """Σ, or the squared scale, (…, d, d)."""
        wide = self.deviation[..., :, None] * self.factor
        return np.asarray(wide @ np.swapaxes(wide, -1, -2))

    @property
    def log_det(self) -> Array:
        """log |Σ|, (…,)."""
        each = np.log(self.deviation) + np.log(np.einsum("...jj->...j", self.factor))
        return np.asarray(2.0 * each.sum(axis=-1))


def _decomposed(covariance: Array, floor: Array) -> tuple[Array, Array, Array]:
    """Deviations, correlations without eigenvalues near 0, and the smallest one that was."""
    variance = np.einsum("...jj->...j", covariance)
    flat = variance < TINY
    variance = np.where(flat, floor, variance)
    deviation = np.sqrt(variance)
    lone = flat[..., :, None] | flat[..., None, :]
    products = deviation[..., :, None] * deviation[..., None, :]
    correlation = np.where(lone, 0.0, covariance / products)
    np.einsum("...jj->...j", correlation)[...] = 1.0
    values, vectors = np.linalg.eigh(correlation)
    low = values < SINGULAR
    some = np.asarray(low.any(axis=-1))
    least = np.where(flat.any(axis=-1) | some, 0.0, values[..., 0])
    if some.any():
        raised = np.where(low, ZERO_VARIANCE, values)
        whole = (vectors * raised[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        correlation = np.where(some[..., None, None], whole, correlation)
    return deviation, correlation, least


def shaped(
    centre: Array,
    covariance: Array,
    everyone: Array,
    min_variance: float,
    freedom: Array | None = None,
) -> Shape:
    """A covariance with the floors above.

    Parameters
    ----------
    centre : float64 array (…, d)
    covariance : float64 array (…, d, d)
    everyone : float64 array (…, d)
        The columns' variance over all classes together.
    min_variance : float
    freedom : float64 array (…,), optional
    """
    floor = ZERO_VARIANCE * everyone
    floor = np.where(floor < TINY, 1.0, floor)
    deviation, correlation, least = _decomposed(covariance, floor)
    if min_variance > 0.0:
        whole = deviation[..., :, None] * deviation[..., None, :] * correlation
        values, vectors = np.linalg.eigh(whole)
        low = np.asarray((values < min_variance).any(axis=-1))
        raised = (vectors * np.maximum(values, min_variance)[..., None, :]) @ np.swapaxes(
            vectors, -1, -2
        )
        again, other, _ = _decomposed(raised, floor)
        deviation = np.where(low[..., None], again, deviation)
        correlation = np.where(low[..., None, None], other, correlation)
        least = np.where(low, 0.0, least)
    factor = np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)
    return Shape(centre, deviation, factor, least, freedom)


def log_of_distance(distance: Array, log_det: Array, d: int, freedom: Array | None) -> Array:
    """log p of rows at a squared distance (x−μ)ᵀΣ⁻¹(x−μ), in nats; shapes broadcast."""
    if freedom is None:
        return np.asarray(-0.5 * (d * np.log(2.0 * np.pi) + log_det + distance))
    constant = log_rising(0.5 * freedom, 0.5 * d) - 0.5 * (d * np.log(np.pi * freedom) + log_det)
    return np.asarray(constant - 0.5 * (freedom + d) * np.log1p(distance / freedom))


def log_density(x: Array, shape: Shape) -> Array:
    """log p(x), in nats, (…,) of rows (…, d)."""
    apart = (x - shape.centre) / shape.deviation
    turned = np.linalg.solve(shape.factor, apart[..., None])[..., 0]
    return log_of_distance((turned**2).sum(axis=-1), shape.log_det, x.shape[-1], shape.freedom)
