"""Gaussian features: x_j | c ~ N(μ_cj, σ²_cj), each column by itself.

    log p(x|c) = Σ_j −½ log(2π σ²_cj) − (x_j − μ_cj)² / (2σ²_cj)

Without a prior, μ and σ² are the weighted mean and the weighted mean squared deviation (maximum
likelihood). What is added to σ² is decided when the tally is read and is never stored in it:

1. ε = var_smoothing · max_j Var(x_j) over all classes together, weighted (scikit-learn takes the
   unweighted variance of the last batch); or, per feature, ε_j = var_smoothing · Var(x_j).
2. A variance that is still 0 becomes 1e-9 · Var(x_j), and 1 where the column is constant
   throughout: such a column is the same in every class and then adds nothing to any. A variance
   below 2.2e-308, of numbers that differ by less than 1e-154, has lost digits and counts as 0.
3. In a table, a class without spread (its variance at most 1e-9 of that within classes, or its rows
   at most ddof) takes the pooled variance within the classes that have spread,
   Σ_c Σ(x − μ_c)² / Σ_c (n_c − ddof); where no class has any, Var(x_j). What a class repeats is not
   evidence that it never varies.

A class without any observation in a column uses the mean and variance of all classes together.

With s `pooled_rows` each class is given s rows of the density of all classes besides its own n_c,

    p'(x|c) = (n_c p(x|c) + s p_0(x)) / (n_c + s),   p_0(x) = Σ_c n_c p(x|c) / Σ_c n_c,

so that a column cannot add more than its counts support: log p'(x|c) − log p'(x|c') is at most
log((n + s)(n_c' + s) / (s (n_c + s))), of the order of log n (the rule of succession).

Under a normal-inverse-gamma prior (μ_n, κ_n, a_n, b_n after the rows of a class) the posterior mean
of the parameters is μ_n and b_n / (a_n − 1), their mode μ_n and b_n / (a_n + 3/2), and with the
parameters integrated out x is Student-t with 2a_n degrees of freedom about μ_n, its squared scale
b_n (κ_n + 1) / (a_n κ_n); without a prior that is n − 1 degrees of freedom about the mean, squared
scale s² (1 + 1/n). Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, (86) to
(110).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import (
    GaussianEstimate,
    Predictive,
    Statistics,
)
from tallybayes.families.contract.column_family import Context, NumberCounts, NumberFamily
from tallybayes.families.contract.density import NumberDensity
from tallybayes.families.contract.group_family import GroupFamily
from tallybayes.families.multivariate.gaussian_group import GaussianGroup
from tallybayes.families.numeric.gaussian_density import GaussianDensity
from tallybayes.families.numeric.gaussian_without import scores_without
from tallybayes.families.numeric.pooled import Pooled
from tallybayes.families.priors.hyperparameters import check_estimate, number
from tallybayes.families.priors.normal_inverse_gamma import NormalInverseGamma
from tallybayes.families.priors.normal_inverse_wishart import NormalInverseWishart
from tallybayes.parameters import MomentsWithout, Quadratic
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, CrossMoments, Moments

__all__ = ["Gaussian", "MeanVariance"]

Array = NDArray[np.float64]


class MeanVariance(NamedTuple):
    """Estimates, float64 (n_classes, n_features), and the smoothing that was added to the
    variances."""

    mean: Array
    variance: Array
    epsilon: Array  # () or (n_features,)


@dataclass(frozen=True)
class Gaussian(GaussianEstimate, NumberFamily, GroupFamily):
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
    pooled_rows : float
        s: rows of the density of all classes that each class is given besides its own. For a
        single column of a table, without a transform.
    prior : NormalInverseGamma or NormalInverseWishart, optional
        The prior of mean and variance before the first row, for every column; of means and
        covariance with a full covariance.
    estimate : {"mean", "map", "mle", "posterior"}
        The parameters' posterior mean, their mode, maximum likelihood, or the parameters integrated
        out. Without a prior the first three are one.
    transform : {"log", "yeo-johnson"}, optional
        x is Gaussian after this transform. For columns of a table; see
        :mod:`tallybayes.families.numeric.transforms`.
    covariance : {"diag", "full"}
        Each column by itself, or a group of columns of a table with a covariance for each class,
        ``("height", "weight"): Gaussian(covariance="full")``; see
        :mod:`tallybayes.families.multivariate.gaussian_group`. There var_smoothing is a ridge, a
        share of each column's own variance; min_variance holds in every direction; only rows with a
        value in each of the columns are counted, and of a row with missing values the columns that
        are there are scored. A single column has no covariance: it is read as with "diag".
    """

    kind: ClassVar[Kind] = "moments"
    needs_squares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.covariance not in ("diag", "full"):
            raise ValueError(
                f"covariance is 'diag' (each column by itself) or 'full' (a group of columns "
                f"together), got {self.covariance!r}"
            )
        check_estimate(self, NormalInverseWishart if self.full else NormalInverseGamma)
        for name in ("var_smoothing", "ddof", "min_variance", "pooled_rows"):
            rule = f"Gaussian takes a finite {name} from 0 on"
            value = number(rule, getattr(self, name))
            if value < 0.0:
                raise ValueError(f"{rule}, got {value!r}")
            object.__setattr__(self, name, value)
        if self.relative_to not in ("largest", "feature"):
            raise ValueError(f"relative_to is 'largest' or 'feature', got {self.relative_to!r}")
        if self.transform not in (None, "log", "yeo-johnson"):
            raise ValueError(f"transform is None, 'log' or 'yeo-johnson', got {self.transform!r}")
        if self.full and self.transform is not None:
            raise ValueError(
                f"transform={self.transform!r} is for a single column: of a group with "
                "covariance='full' the numbers are counted as they are; transform them before"
            )
        if self.pooled_rows and (self.full or self.transform is not None):
            raise ValueError(
                f"pooled_rows={self.pooled_rows:g} is for a single column that is read as it is: "
                "leave out transform= and covariance='full', or pooled_rows"
            )

    # ---- as a family of columns of a table -------------------------------------------------------
    @property
    def together(self) -> Kind | None:
        return "cross" if self.full else None

    @property
    def least(self) -> int:
        return 2 if self.transform == "log" else 0

    @property
    def needs_values(self) -> bool:
        return self.transform is not None

    def check_group(self, n_columns: int) -> None:
        if isinstance(self.prior, NormalInverseWishart):
            self.prior.of(n_columns)

    def likelihood(self, counts: NumberCounts, context: Context) -> NumberDensity:
        if self.pooled_rows:
            return Pooled.read(self, counts.moments, counts.grid)
        return GaussianDensity.read(self, counts.moments, counts.grid)

    def likelihood_together(
        self, names: tuple[str, ...], tally: CrossMoments | None, context: Context
    ) -> GaussianGroup | None:
        if tally is None or not tally.n.any():
            return None
        return GaussianGroup.read(self, names, tally)

    def of_one_column(self) -> Gaussian:
        """The family as it reads a single column, which has no covariance."""
        prior = self.prior
        if isinstance(prior, NormalInverseWishart):
            prior = prior.of_one_column()
        return replace(self, covariance="diag", prior=prior) if self.full else self

    def mean_variance(self, tally: Moments) -> MeanVariance:
        """μ and σ² of every class and column of a tally.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        """
        predictive, epsilon = self._predictive_of(tally)
        return MeanVariance(predictive.centre, predictive.variance, epsilon)

    def _predictive_of(self, tally: Moments) -> tuple[Predictive, Array]:
        mean, squares = tally.mean_and_squares()
        pooled = tally.pooled()
        everyone = Statistics(pooled.n, *pooled.mean_and_squares())
        variance, each = everyone.variance, self.relative_to == "feature"
        relative = variance[0] if each else variance.max(initial=0.0)
        epsilon = np.asarray(self.var_smoothing * relative)
        return self.predictive(Statistics(tally.n, mean, squares), everyone, epsilon), epsilon

    def parameters(self, tally: Moments, classes: ClassCounts) -> Quadratic:
        """The parameters, as a score kind; see :meth:`Family.parameters`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        predictive, _ = self._predictive_of(tally)
        if self.pooled_rows:
            raise ValueError(
                "pooled_rows is for columns of a table: NaiveBayes(columns={…: "
                "Gaussian(pooled_rows=1)})"
            )
        if predictive.freedom is not None:
            raise ValueError(
                "estimate='posterior' is for columns of a table: NaiveBayes(columns={…: "
                "Gaussian(estimate='posterior')})"
            )
        mean, variance, _ = predictive
        return Quadratic(
            mean=mean,
            scale=1.0 / np.sqrt(2.0 * variance),
            offset=-0.5 * np.log(2.0 * np.pi * variance).sum(axis=1),
        )

    def without(self, tally: Moments, classes: ClassCounts) -> MomentsWithout:
        """The leave-one-out form; see :meth:`Family.without`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        tally, pooled = tally.copy(), tally.pooled()

        def exact(x: Array, index: NDArray[np.intp], weight: Array) -> Array:
            return scores_without(self, x, index, weight, tally, pooled)

        return MomentsWithout(
            tally=tally,
            everyone=pooled,
            var_smoothing=self.var_smoothing,
            each=self.relative_to == "feature",
            plain=(self.prior, self.ddof, self.min_variance) == (None, 0.0, 0.0)
            and self.estimate != "posterior",
            exact=exact,
        )

    def sample(
        self, tally: Moments, classes: ClassCounts, rows: NDArray[np.intp], rng: Any
    ) -> Array:
        """float64 (len(rows), n_features).

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        rows : index array (n_rows,)
            The class of each row to draw.
        rng : numpy.random.Generator
            The source of random numbers.
        """
        mean, variance, _ = self.mean_variance(tally)
        return rng.normal(mean[rows], np.sqrt(variance)[rows])  # type: ignore[no-any-return]
