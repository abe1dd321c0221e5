"""The family of a column of numbers, chosen when its tally is read.

Candidates are a Gaussian, bins of equal weight and a smoothed density; the one that tells the
classes apart best by leave-one-out (:mod:`tallybayes.families.loo`) is taken, the earlier of
equals. Nothing but the tally enters, so the choice is the same for a batch, a row at a time or
merged parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import Binned, BinnedTable
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.loo import conditional
from tallybayes.families.smooth import Smooth
from tallybayes.tally import GridCounts, Moments

__all__ = ["GaussianReading", "choose", "gaussian_reading"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianReading:
    """A column's Gaussians: mean and variance of each class, float64 (n_classes,)."""

    mean: Array
    variance: Array
    likelihood: float


def _log_density(x: Array, mean: Array, variance: Array) -> Array:
    return -0.5 * (np.log(2.0 * np.pi * variance) + (x - mean) ** 2 / variance)


def gaussian_reading(
    family: Gaussian, moments: Moments, grid: GridCounts, classes: Array
) -> GaussianReading:
    """Mean and variance, and how well they tell the classes apart by leave-one-out.

    Without a row of value v, n' = n − 1, μ' = (nμ − v) / n', S' = S − (v − μ)²·n / n'.
    """
    estimate = family.mean_variance(moments)
    mean, variance = estimate.mean[:, 0], estimate.variance[:, 0]
    floor = float(np.min(variance)) * 1e-6
    _, squares = moments.mean_and_squares()
    n, values = moments.n, grid.values()[None, :]
    one = np.minimum(grid.counts, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = n - one
        own_mean = (n * mean[:, None] - one * values) / left
        own_squares = squares - (values - mean[:, None]) ** 2 * one * n / left
        own_variance = np.maximum(own_squares / (left - family.ddof), 0.0)
        own_variance += np.reshape(estimate.epsilon, (1, -1))
        own_variance = np.maximum(own_variance, floor)
        alone = ~(left > family.ddof)  # without its only row a class is like all classes together
        pooled = family.mean_variance(moments.pooled())
        own_mean = np.where(alone, pooled.mean, own_mean)
        own_variance = np.where(alone, pooled.variance, own_variance)
        prior = classes[:, None]
        full = np.log(prior) + _log_density(values, mean[:, None], variance[:, None])
        own = np.log(np.maximum(prior - one, 0.0)) + _log_density(values, own_mean, own_variance)
        likelihood = conditional(grid.counts, full, own)
    return GaussianReading(mean, variance, likelihood)


def choose(
    moments: Moments, grid: GridCounts, classes: Array, alpha: float
) -> GaussianReading | BinnedTable:
    """The best reading of a column of numbers.

    Parameters
    ----------
    moments, grid : tallies of one column
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
        Smoothing of bins, in rows.
    """
    candidates: list[GaussianReading | BinnedTable] = [
        gaussian_reading(Gaussian(relative_to="feature"), moments, grid, classes)
    ]
    if grid.counts.any():
        candidates.append(Binned().read(grid, classes, alpha))
        candidates.append(Smooth().read(grid, classes, alpha))
    return max(candidates, key=lambda reading: reading.likelihood)
