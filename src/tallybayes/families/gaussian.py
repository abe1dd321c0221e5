"""Gaussian features: x_j | c ~ N(μ_cj, σ²_cj), each column by itself.

    log p(x|c) = Σ_j −½ log(2π σ²_cj) − (x_j − μ_cj)² / (2σ²_cj)

μ and σ² are the weighted mean and the weighted mean squared deviation (maximum likelihood). What is
added to σ² is decided when the tally is read and is never stored in it:

1. ε = var_smoothing · max_j Var(x_j) over all classes together, weighted (scikit-learn takes the
   unweighted variance of the last batch); or, per feature, ε_j = var_smoothing · Var(x_j).
2. A variance that is still 0 becomes 1e-9 · Var(x_j), and 1 where the column is constant
   throughout: such a column is the same in every class and then says nothing about any.

A class without any observation in a column uses the mean and variance of all classes together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters import Quadratic
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, Moments

__all__ = ["Gaussian", "MeanVariance"]

Array = NDArray[np.float64]

ZERO_VARIANCE = 1e-9  # share of the column's variance that stands for a variance of 0


class MeanVariance(NamedTuple):
    """Estimates, float64 (n_classes, n_features), and what was added to the variances."""

    mean: Array
    variance: Array
    epsilon: Array  # () or (n_features,)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian likelihood.

    Parameters
    ----------
    var_smoothing : float
        Share of a variance that is added to every variance.
    relative_to : {"largest", "feature"}
        Which variance: the largest of all columns, or each column's own.
    ddof : float
        The divisor of a class's sum of squares is n − ddof: 0 is maximum likelihood, 1 the unbiased
        estimate. A class of no more rows than ddof uses the variance of all classes together.
    min_variance : float
        No variance is smaller, smoothed or not, in squared units of the column.
    """

    kind: ClassVar[Kind] = "moments"
    var_smoothing: float = 1e-9
    relative_to: Literal["largest", "feature"] = "largest"
    ddof: float = 0.0
    min_variance: float = 0.0

    def mean_variance(self, tally: Moments) -> MeanVariance:
        mean, squares = tally.mean_and_squares()
        pooled = tally.pooled()
        pooled_mean, pooled_squares = pooled.mean_and_squares()
        pooled_variance = np.maximum(pooled_squares, 0.0) / np.maximum(pooled.n, 1e-300)
        freedom = tally.n - self.ddof
        variance = np.maximum(squares, 0.0) / np.where(freedom > 0.0, freedom, 1.0)
        blank = tally.n == 0.0
        if blank.any():
            mean = np.where(blank, pooled_mean, mean)
        blank = freedom <= 0.0
        if blank.any():
            variance = np.where(blank, pooled_variance, variance)
        if self.relative_to == "feature":
            epsilon = self.var_smoothing * pooled_variance[0]
        else:
            epsilon = np.asarray(self.var_smoothing * pooled_variance.max(initial=0.0))
        variance = variance + epsilon
        flat = variance < np.finfo(np.float64).tiny
        if flat.any():
            floor = ZERO_VARIANCE * pooled_variance
            floor = np.where(floor < np.finfo(np.float64).tiny, 1.0, floor)
            variance = np.where(flat, floor, variance)
        return MeanVariance(mean, np.maximum(variance, self.min_variance), epsilon)

    def estimate(self, tally: Moments, classes: ClassCounts) -> Quadratic:
        mean, variance, _ = self.mean_variance(tally)
        return Quadratic(
            mean=mean,
            scale=1.0 / np.sqrt(2.0 * variance),
            offset=-0.5 * np.log(2.0 * np.pi * variance).sum(axis=1),
        )

    def sample(
        self, tally: Moments, classes: ClassCounts, rows: NDArray[np.intp], rng: Any
    ) -> Array:
        """float64 (len(rows), n_features)."""
        mean, variance, _ = self.mean_variance(tally)
        return rng.normal(mean[rows], np.sqrt(variance)[rows])  # type: ignore[no-any-return]
