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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract import (
    Context,
    GroupFamily,
    LearningDensity,
    NumberCounts,
    NumberDensity,
    NumberFamily,
    TunableDensity,
    sums_of_others,
)
from tallybayes.families.normal import (
    TINY,
    Cells,
    GaussianEstimate,
    Predictive,
    Spread,
    Statistics,
    Transform,
    class_moments,
    log_density,
    transform_of,
)
from tallybayes.families.priors import (
    NormalInverseGamma,
    NormalInverseWishart,
    ParameterPrior,
    PriorAndPosteriors,
    check_estimate,
    log_gamma,
    number,
)
from tallybayes.schema import Kind
from tallybayes.score import (
    Description,
    ImproperPrior,
    LawMixture,
    Laws,
    MomentsWithout,
    NumberLaw,
    PooledLess,
    Power,
    Quadratic,
)
from tallybayes.tally import UNIT_ROWS, ClassCounts, CrossMoments, GridCounts, Moments, RowWeights
from tallybayes.tally.base import less

if TYPE_CHECKING:
    from tallybayes.families.gaussian_group import GaussianGroup

__all__ = [
    "Atoms",
    "Gaussian",
    "GaussianDensity",
    "MeanVariance",
    "Pooled",
    "PooledRows",
    "any_nearly_constant",
    "atom_cells",
    "mixed",
    "scores_without",
]

Array = NDArray[np.float64]


# ---- the family: its options, and what it estimates from moments ---------------------------------
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
        :mod:`tallybayes.families.normal`.
    covariance : {"diag", "full"}
        Each column by itself, or a group of columns of a table with a covariance for each class,
        ``("height", "weight"): Gaussian(covariance="full")``; see
        :mod:`tallybayes.families.gaussian_group`. There var_smoothing is a ridge, a
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
        from tallybayes.families.gaussian_group import GaussianGroup

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


# ---- a column of numbers as Gaussians: log-densities, with every row or without one --------------
MIN_VARIANCE = 1e-300
"""A variance below this is none: a part of it would be 0 in float64."""
Index = NDArray[np.intp]

MAX_UNSEEN_CHANGE = 1e-14  # of a variance: a change that no log-density shows


@dataclass(frozen=True, eq=False)
class GaussianDensity(TunableDensity, LearningDensity):
    """A column as Gaussians, or Student-t where the parameters are integrated out.

    Parameters
    ----------
    family : GaussianEstimate
    own : Statistics
        Of each class, float64 (n_classes,), after the transform.
    everyone : Statistics
        Of all classes together, float64 (1,).
    transform : Transform, optional
    counted : Moments or GridCounts, optional
        The tally that they are read from; without it no row can be taken out.
    """

    family: GaussianEstimate
    own: Statistics
    everyone: Statistics
    transform: Transform | None = None
    counted: Moments | GridCounts | None = None

    @property
    def n(self) -> Array:
        """Rows of each class, float64 (n_classes,)."""
        return self.own.n

    @classmethod
    def read(cls, family: GaussianEstimate, moments: Moments, grid: GridCounts) -> GaussianDensity:
        """The density of one column, from its moments or, with a transform, its grid counts."""
        transform = transform_of(family.transform, grid)
        if transform is None:
            pooled = moments.pooled()
            mean, squares = (part[:, 0] for part in moments.mean_and_squares())
            overall = (part[:, 0] for part in pooled.mean_and_squares())
            everyone = Statistics(pooled.n[:, 0], *overall)
            own = Statistics(moments.n[:, 0], mean, squares)
            return cls(family, own, everyone, counted=moments)
        return cls.of_grid(family, grid, transform)

    @classmethod
    def of_grid(
        cls, family: GaussianEstimate, grid: GridCounts, transform: Transform | None = None
    ) -> GaussianDensity:
        """The density of values from their grid counts: see :func:`class_moments`."""
        together = GridCounts(grid.shift, grid.keys, grid.counts.sum(axis=0, keepdims=True))
        own = Statistics(*class_moments(grid, transform))
        everyone = Statistics(*class_moments(together, transform))
        return cls(family, own, everyone, transform, grid)

    def scaled(self, factor: float) -> GaussianDensity:
        """The density of the same rows with `factor` times their weights."""
        counted = None if self.counted is None else self.counted * factor
        return replace(self.faded(factor), counted=counted)

    def faded(self, factor: float) -> GaussianDensity:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        own, everyone = (s.faded(factor) for s in (self.own, self.everyone))
        return replace(self, own=own, everyone=everyone, counted=None)

    def learned(self, x: float, k: int, weight: float) -> GaussianDensity:
        """The density after a row of value x and class k is added, transform and prior as they
        are."""
        g = self._transformed(x)
        own, everyone = self.own.learned(g, k, weight), self.everyone.learned(g, 0, weight)
        return replace(self, own=own, everyone=everyone, counted=None)

    def _transformed(self, x: float) -> float:
        return x if self.transform is None else float(self._in(np.array([x]))[0][0])

    def forgotten(self, x: float, k: int, weight: float) -> GaussianDensity | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        g = self._transformed(x)
        own, everyone = self.own.forgotten(g, k, weight), self.everyone.forgotten(g, 0, weight)
        if own is None or everyone is None:
            return None
        return replace(self, own=own, everyone=everyone, counted=None)

    @property
    def side_by_side(self) -> Hashable | None:
        return self.family if self.transform is None else None

    @staticmethod
    def following(densities: Sequence[GaussianDensity]) -> GaussianColumns:
        own, everyone = zip(*((d.own, d.everyone) for d in densities), strict=True)
        return GaussianColumns(densities[0].family, own, everyone)

    @property
    def tunable(self) -> GaussianDensity | None:
        free = self.family.prior is None and float(self.everyone.variance[0]) > MIN_VARIANCE
        return self if free else None

    def under(self, strength: float) -> GaussianDensity:
        """The density under a prior about the mean and variance of all classes together."""
        mean, variance = float(self.everyone.mean[0]), float(self.everyone.variance[0])
        prior = NormalInverseGamma(
            mean=mean,
            strength=strength,
            shape=1.0 + 0.5 * strength,
            scale=0.5 * strength * variance,
        )
        return replace(self, family=replace(self.family, prior=prior, ddof=0.0))

    def log_evidence(self) -> float:
        """log p(rows) under the family's prior, every class by itself, in nats.

        Raises
        ------
        ValueError
            Without a prior: an improper one has no evidence.
        """
        prior = self.family.column_prior
        if prior is None:
            raise ValueError("a Gaussian without a prior has no evidence")
        return float(prior.log_evidence(*self.own).sum())

    def log_evidence_of(self, grid: GridCounts) -> float:
        if self.family.prior is None:
            raise ImproperPrior(
                "is read as a Gaussian without a prior",
                "declare Gaussian(prior=NormalInverseGamma(…)), or let alpha='auto' with "
                "criterion='evidence' choose one",
            )
        if self.transform is None:
            return self.log_evidence()
        rows = grid.counts.sum(axis=0)
        return self.log_evidence() + float((rows * self.transform.log_slope(grid.values())).sum())

    def prior_and_posteriors(self, column: str) -> PriorAndPosteriors:
        prior = self.family.prior
        if not isinstance(prior, NormalInverseGamma):
            raise ImproperPrior(
                "is read as a Gaussian without a prior",
                "declare Gaussian(prior=NormalInverseGamma(…)) for it",
            )
        each = np.broadcast_arrays(*prior.posterior(*self.own))
        of_classes = zip(*(part.tolist() for part in each), strict=True)
        posteriors: list[ParameterPrior] = [NormalInverseGamma(*four) for four in of_classes]
        scale = "" if self.transform is None else f" after {self.transform}"
        return PriorAndPosteriors(f"mean of {column}{scale}", prior, posteriors)

    def distribution(self, laws: Laws) -> Any:
        centre, variance, freedom = self.predictive
        scale = np.sqrt(variance)
        if self.transform is not None and self.transform.kind == "log" and freedom is None:
            return laws.scipy("lognorm", s=scale, scale=np.exp(centre))
        law = (
            laws.scipy("norm", loc=centre, scale=scale)
            if freedom is None
            else laws.scipy("t", df=freedom, loc=centre, scale=scale)
        )
        if self.transform is None:
            return law
        return laws.transformed(law, self.transform, freedom is None)

    @property
    def what(self) -> str:
        shape = "Student-t" if self.predictive.freedom is not None else "Gaussian"
        return shape if self.transform is None else f"{shape} after {self.transform}"

    @cached_property
    def predictive(self) -> Predictive:
        """What a value of each class is expected to be, (n_classes,), by its own rows."""
        epsilon = self.family.var_smoothing * self.everyone.variance
        return self.family.predictive(self.own, self.everyone, epsilon, self._within)

    @cached_property
    def _within(self) -> Spread:
        """The spread within classes, (1,)."""
        return self.family.spread(self.own)

    @cached_property
    def all_have_spread(self) -> bool:
        """Whether every class has a variance of its own, whatever row of another is taken out."""
        return bool(self.family.has_spread(self.own, 4.0 * self._within.typical).all())

    @cached_property
    def _others(self) -> tuple[Spread, Array]:
        """What all classes but one give to the spread within classes, (n_classes,), and their
        rows."""
        has, n, squares = self._within.has, self.own.n, self.own.squares
        assert has is not None
        freedom = np.where(has, n - self.family.divisor_less, 0.0)
        parts = np.where(has, squares, 0.0), freedom, squares, n
        squares_of, freedom_of, typical, rows = (sums_of_others(part) for part in parts)
        return Spread(squares_of, freedom_of, typical), rows

    def _in(self, x: Array) -> tuple[Array, Array | float]:
        if self.transform is None:
            return x, 0.0
        return self.transform.forward(x), self.transform.log_slope(x)

    def log_density(self, x: Array) -> Array:
        g, slope = self._in(x)
        return np.asarray(log_density(g[:, None], self.predictive) + np.reshape(slope, (-1, 1)))

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        g, slope = self._in(x)
        own, prior = self.own, self.family.column_prior
        if prior is not None:
            centre, strength, shape, scale = prior.posterior(*own)
        else:  # the reference prior 1/σ²; a class without spread has that of the others
            assert self._within.has is not None
            lacks = ~self._within.has
            others = np.maximum(self._within.freedom + 1.0, 2.0)
            rows = np.where(lacks, others, own.n)
            centre = np.where(own.n > 0.0, own.mean, self.everyone.mean)
            strength = np.where(own.n > 0.0, own.n, np.maximum(self.everyone.n, 2.0))
            shape = 0.5 * (rows - 1.0)
            spread = self.predictive.variance * (rows - 1.0)
            scale = np.where(lacks, spread, own.squares)
            scale = 0.5 * np.maximum(scale, self.predictive.variance * 1e-12)
        size = (n, len(own.n))
        with np.errstate(over="ignore"):
            variance = scale * np.exp(-log_gamma(np.asarray(shape), rng, size))
        variance += self.family.var_smoothing * self.everyone.variance
        variance = np.clip(variance, 1e-300, 1e300)
        mean = centre + rng.standard_normal(size) * np.sqrt(variance / strength)
        apart = (g[None, :, None] - mean[:, None, :]) ** 2 / variance[:, None, :]
        scores = -0.5 * (np.log(2.0 * np.pi * variance)[:, None, :] + apart)
        return np.asarray(scores + np.reshape(slope, (1, -1, 1)))

    @cached_property
    def law(self) -> NumberLaw:
        centre, variance, freedom = self.predictive
        at_centre, change = log_density(centre, self.predictive), self.transform
        power = None if change is None else Power(change.kind, change.exponent)
        if freedom is None:
            scale = np.sqrt(0.5 / variance)
            return NumberLaw(
                kind="quadratic", mean=centre, constant=at_centre, scale=scale, power=power
            )
        return NumberLaw(
            kind="student",
            mean=centre,
            constant=at_centre,
            scale=np.sqrt(1.0 / (freedom * variance)),
            half=0.5 * (freedom + 1.0),
            power=power,
        )

    def described(self) -> Description:
        centre, variance, freedom = self.predictive
        names, values = ["mean", "standard deviation"], [centre, np.sqrt(variance)]
        if freedom is not None:
            names, values = ["centre", "scale", "degrees of freedom"], [*values, freedom]
        return Description(self.what, names, np.stack(values, axis=1))

    @cached_property
    def _moments(self) -> tuple[Moments, Moments]:
        """Of each class and of all together, after the transform."""
        if self.counted is None:
            raise ValueError("no row can be taken out of a density that is not read from a tally")
        moments = self.counted
        if isinstance(moments, GridCounts):
            moments = Moments.of_values(self._in(moments.values())[0], moments.counts)
        return moments, moments.pooled()

    def _without(self, x: Array, g: Array, own: Index | None, weight: Array | float) -> Statistics:
        """Of the row's own class, after the row is taken out, or of all classes together where
        `own` is None; shapes broadcast."""
        everyone, statistics = own is None, self.own
        if own is None:
            own, statistics = np.zeros(1, dtype=np.intp), self.everyone
        of_class = own
        shape = np.broadcast_shapes(x.shape, own.shape, np.shape(weight))

        def recount(at: Cells) -> tuple[Array, Array, Array]:
            value, k, taken = (np.broadcast_to(part, shape)[at] for part in (x, of_class, weight))
            if isinstance(self.counted, GridCounts):
                value = self._in(self.counted.value_of(value))[0]
            return self._moments[everyone].without(k, np.zeros_like(k), value, taken)

        return Statistics(*(part[own] for part in statistics)).without(g, weight, recount)

    def own_without(self, x: Array, own: Index, weight: Array | float) -> Array:
        """log p(x | c) by the rows of the row's own class, after the row is taken out; shapes
        broadcast. Whether other classes have spread is taken as it is.

        Parameters
        ----------
        x : float64 array
        own : index array
            The class of each row.
        weight : float or float64 array
        """
        g, slope = self._in(x)
        everyone = self._without(x, g, None, weight)
        left = self._without(x, g, own, weight)
        others, rows = self._others
        typical = (others.typical[own] + left.squares) / np.maximum(rows[own] + left.n, TINY)
        has = self.family.has_spread(left, typical)
        freedom = left.n - self.family.divisor_less
        within = Spread(
            others.squares[own] + np.where(has, left.squares, 0.0),
            others.freedom[own] + np.where(has, freedom, 0.0),
            typical,
        )
        epsilon = self.family.var_smoothing * everyone.variance
        predictive = self.family.predictive(left, everyone, epsilon, within)
        return np.asarray(log_density(g, predictive) + slope)

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        g, slope = self._in(x)
        everyone = self._without(x, g, None, weight)
        epsilon = self.family.var_smoothing * everyone.variance
        before = self.family.var_smoothing * self.everyone.variance
        moved = np.abs(epsilon - before).max(initial=0.0)
        rows = np.arange(len(x))
        # what a class without spread borrows changes with every row
        if self.all_have_spread and moved <= MAX_UNSEEN_CHANGE * self.predictive.variance.min():
            scores = self.log_density(x)
            scores[rows, own] = self.own_without(x, own, weight)
            return np.asarray(scores)
        left = self._without(x, g, own, weight)
        classes = Statistics(*(np.repeat(part[None, :], len(x), axis=0) for part in self.own))
        for part, mine in zip(classes, left, strict=True):
            part[rows, own] = mine
        wide = Statistics(*(part[:, None] for part in everyone))
        within = self.family.spread(classes)
        predictive = self.family.predictive(classes, wide, epsilon[:, None], within)
        return np.asarray(log_density(g[:, None], predictive) + np.reshape(slope, (-1, 1)))


# ---- columns of arrays, with each row taken out of the mean, the variance and its smoothing ------
# This is the slow path for options that the kernel does not have: priors, a divisor of n − ddof, a
# minimum variance.
def scores_without(
    family: GaussianEstimate,
    x: Array,
    index: NDArray[np.intp],
    weight: Array,
    tally: Moments,
    pooled: Moments,
) -> Array:
    """log p(x | c) in every class, float64 (n_rows, n_classes), in nats, each row taken out.

    Parameters
    ----------
    family : GaussianEstimate
    x : float64 array (n_rows, n_features)
    index : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    tally : Moments
        Of the classes.
    pooled : Moments
        Of all classes together.
    """
    own = Statistics(tally.n, *tally.mean_and_squares())
    everyone = Statistics(*(part[0] for part in (pooled.n, *pooled.mean_and_squares())))

    def all_others(at: Cells) -> tuple[Array, Array, Array]:
        return pooled.without(np.zeros_like(at[0]), at[1], x[at], weight[at[0]])

    def of_class(at: Cells) -> tuple[Array, Array, Array]:
        return tally.without(index[at[0]], at[1], x[at], weight[at[0]])

    together = everyone.without(x, weight[:, None], all_others)
    epsilon = family.var_smoothing * together.variance
    if family.relative_to == "largest":
        epsilon = epsilon.max(axis=1, initial=0.0, keepdims=True)
    scores = np.empty((len(x), len(own.n)))
    for k in range(len(own.n)):
        other = Statistics(*(np.broadcast_to(part[k], x.shape) for part in own))
        predictive = family.predictive(other, together, epsilon)
        scores[:, k] = log_density(x, predictive).sum(axis=1)
    mine = Statistics(*(part[index] for part in own)).without(x, weight[:, None], of_class)
    predictive = family.predictive(mine, together, epsilon)
    scores[np.arange(len(x)), index] = log_density(x, predictive).sum(axis=1)
    return scores


# ---- columns of one Gaussian family, updated together when rows are learned one by one -----------
# A row takes a handful of array operations, however many columns it has.
class GaussianColumns:
    """Statistics of columns, float64 (n_columns, n_classes), that follow rows.

    Parameters
    ----------
    family : GaussianEstimate
    own : sequence of Statistics
        Of each class, (n_classes,), a column each.
    everyone : sequence of Statistics
        Of all classes together, (1,), a column each.
    """

    everyone: Statistics

    def __init__(
        self, family: GaussianEstimate, own: Sequence[Statistics], everyone: Sequence[Statistics]
    ) -> None:
        self.family = family
        self.own: Statistics = Statistics(*(np.stack(part) for part in zip(*own, strict=True)))
        self.everyone = Statistics(*(np.stack(part) for part in zip(*everyone, strict=True)))

    def learn(self, columns: list[int], x: list[float], k: int, weight: float) -> None:
        """Adds a row of class k that has these values in these columns; its weight is above 0."""
        values = np.array(x)
        _add(self.own, columns, k, values, weight)
        _add(self.everyone, columns, 0, values, weight)

    def forget(self, columns: list[int], x: list[float], k: int, weight: float) -> bool:
        """Takes such a row out; whether enough digits of the others are left."""
        values = np.array(x)
        return self.own.take_out((columns, k), values, weight) and self.everyone.take_out(
            (columns, 0), values, weight
        )

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left."""
        self.own, self.everyone = self.own.faded(factor), self.everyone.faded(factor)

    def log_density(self, columns: list[int], x: list[float]) -> Array:
        """Σ log p(x | c) over these columns, float64 (n_classes,)."""
        own = Statistics(*(part[columns] for part in self.own))
        everyone = Statistics(*(part[columns] for part in self.everyone))
        epsilon = self.family.var_smoothing * everyone.variance
        predictive = self.family.predictive(own, everyone, epsilon, self.family.spread(own))
        return np.asarray(log_density(np.array(x)[:, None], predictive).sum(axis=0))


def _add(statistics: Statistics, columns: list[int], k: int, x: Array, weight: float) -> None:
    """Adds a row to class k of some columns, in place; see :meth:`Statistics.learned`."""
    n, mean, squares = (part[columns, k] for part in statistics)
    total = n + weight
    apart = np.where(n > 0.0, x - mean, 0.0)
    statistics.n[columns, k] = total
    statistics.mean[columns, k] = np.where(n > 0.0, mean + apart * weight / total, x)
    more = apart * apart * weight * n / total
    statistics.squares[columns, k] = np.where(n > 0.0, squares + more, 0.0)


# ---- atoms of a column of numbers: values that repeat more than a density allows -----------------
# A sentinel (999 for "never") or the zeros of a zero-inflated column hold far more rows than the
# values beside them. Rounded values are not atoms: each age repeats, and so do its neighbours. The
# count t_i of a value is compared with what a place nearby holds:
#
#     t_i ≥ MIN_ATOM_ROWS  and
#     t_i ≥ MIN_DENSITY_RATIO · (rows of the neighbours) / (places of the neighbours)
#
# The neighbours are the NEIGHBOURS different values on the side where places hold more. The places
# are as far apart as neighbours are, by the median: a value among integers has a place for each
# integer, one far from the others has many places between them and itself.
NEIGHBOURS = 4  # different values on either side
MIN_ATOM_ROWS = 5.0  # effective rows
MIN_DENSITY_RATIO = 5.0


def atom_cells(grid: GridCounts, row: float = 1.0) -> NDArray[np.bool_]:
    """Which cells of the grid are atoms, bool (n_cells,); `row` is the weight of a row."""
    rows, values = grid.counts.sum(axis=0), grid.values()
    n = len(rows)
    if n < 3:
        return np.zeros(n, dtype=bool)
    at = np.arange(n)
    low, high = np.maximum(at - NEIGHBOURS, 0), np.minimum(at + NEIGHBOURS, n - 1)
    gaps = np.full((n, 2 * NEIGHBOURS), np.nan)
    apart = np.diff(values)
    for k in range(2 * NEIGHBOURS):
        j = low + k
        there = j < high
        gaps[there, k] = apart[j[there]]
    gaps.sort(axis=1)  # what is not there comes last
    n_gaps = high - low
    pitch = 0.5 * gaps[at, (n_gaps - 1) // 2] + 0.5 * gaps[at, n_gaps // 2]  # the median
    before = np.concatenate([[0.0], np.cumsum(rows)])
    expected = np.zeros(n)
    for side, held in ((low, before[at] - before[low]), (high, before[high + 1] - before[at + 1])):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            places = np.round(np.abs(values - values[side]) / pitch)
        places = np.maximum(places, np.maximum(np.abs(at - side), 1))
        np.maximum(expected, held / places, out=expected)
    return np.asarray((rows >= MIN_ATOM_ROWS * row) & (rows >= MIN_DENSITY_RATIO * expected))


def any_nearly_constant(grid: GridCounts, cells: NDArray[np.bool_], row: float = 1.0) -> bool:
    """Whether a class has an atom and, beside it, other values in fewer than MIN_ATOM_ROWS rows,
    which is too few to determine its spread."""
    if not cells.any():
        return False
    at_atom = np.where(cells, grid.counts, 0.0).max(axis=1)
    others = grid.counts.sum(axis=1) - at_atom
    few = (others > 0.0) & (others < MIN_ATOM_ROWS * row) & (at_atom >= MIN_DENSITY_RATIO * others)
    return bool((few & (at_atom >= MIN_ATOM_ROWS * row)).any())


@dataclass(frozen=True, eq=False)
class Atoms:
    """Values with a probability each.

    Parameters
    ----------
    values : float64 array (n_atoms,)
    low, high : float64 arrays (n_atoms,)
        x is at an atom where low ≤ x < high: the cells of the grid that hold them.
    counts : float64 array (n_classes, n_atoms)
        Rows, or weight, of each.
    """

    values: Array
    low: Array
    high: Array
    counts: Array

    @classmethod
    def none(cls, n_classes: int) -> Atoms:
        return cls(np.empty(0), np.empty(0), np.empty(0), np.zeros((n_classes, 0)))

    def __len__(self) -> int:
        return len(self.low)

    def cell(self, x: Array) -> NDArray[np.intp]:
        """The atom of each value, n_atoms where it is at none; like x."""
        if not len(self):
            return np.zeros(x.shape, dtype=np.intp)
        at = self.low.searchsorted(x, side="right") - 1
        there = (at >= 0) & (x < self.high[at])
        return np.where(there, at, len(self))


# ---- a column of numbers, each class with some pooled rows of all classes ------------------------
# With n_c rows of class c, k_ca of them at atom a and k_c at none, the mass of a value in a class
# is
#
#     M_c(x) = k_ca at an atom a,  k_c f_c(x) beside them,
#
# f_c a density, and with s rows of all classes
#
#     p'(x|c) = (M_c(x) + s Σ_c M_c(x) / n) / (n_c + s).
#
# The mixture is a distribution. It bounds the log-ratios of the column by what its counts support
# (the rule of succession): log p'(x|c) − log p'(x|c') ≤ log((n + s)(n_c' + s) / (s (n_c + s))). A
# class without a row of a kind is not ruled out by it.
def mixed(mass: Array, n: Array, rows: float) -> Array:
    """log p'(x | c) of log M, (…, n_classes), and n_c shaped alike; 0 where x has no mass in any
    class: it then adds nothing."""
    top = mass.max(axis=-1, keepdims=True)
    some = np.isfinite(top)
    least = TINY * max(rows, 1.0)  # a share is finite where no row is left
    share = rows / np.maximum(n.sum(axis=-1, keepdims=True), least)
    if some.all():
        mass = np.exp(mass - top)
        pooled = share * mass.sum(axis=-1, keepdims=True)
        found: Array = np.log(mass + pooled) + top - np.log(n + rows)
        return found
    top = np.where(some, top, 0.0)
    mass = np.exp(mass - top)
    pooled = np.where(some, share * mass.sum(axis=-1, keepdims=True), 1.0)
    return np.where(some, np.log(mass + pooled) + top - np.log(n + rows), 0.0)


def mixture_weights(of_class: Array, n: Array, rows: float) -> Array:
    """p'(· | c) as a mixture: the probability of a draw from the distribution of each class.

    Parameters
    ----------
    of_class : float64 array (n_classes, n_parts)
        Rows of each class in each part of the mixture.
    n : float64 array (n_classes,)
        n_c, all rows of the class.
    rows : float
        s.

    Returns
    -------
    float64 array (n_classes, n_parts)
    """
    share = rows / max(float(n.sum()), TINY)
    return np.asarray((of_class + share * of_class.sum(axis=0)) / (n + rows)[:, None])


@dataclass(frozen=True, eq=False)
class PooledRows(LearningDensity):
    """A density, beside atoms or not, with rows of all classes.

    Parameters
    ----------
    density : LearningDensity
        Of the values at no atom; its `n` are their rows in each class.
    atoms : Atoms
    rows : float
        s.
    """

    density: Any
    atoms: Atoms
    rows: float = 1.0

    @cached_property
    def n(self) -> Array:
        """n_c, float64 (n_classes,)."""
        return np.asarray(self.density.n + self.atoms.counts.sum(axis=1))

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """p'(· | c) as a mixture: the probability of each atom, float64 (n_classes, n_atoms), and
        of a draw from the density of each class, (n_classes, n_classes)."""
        atoms = mixture_weights(self.atoms.counts, self.n, self.rows)
        return atoms, mixture_weights(np.diag(self.density.n), self.n, self.rows)

    def learned(self, x: float, k: int, weight: float) -> Self:
        """The density after a row of value x and class k is added, atoms being the same values."""
        at = int(self.atoms.cell(np.array([x]))[0])
        if at == len(self.atoms):
            return replace(self, density=self.density.learned(x, k, weight))
        counts = self.atoms.counts.copy()
        counts[k, at] += weight
        return replace(self, atoms=replace(self.atoms, counts=counts))

    def forgotten(self, x: float, k: int, weight: float) -> Self | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        at = int(self.atoms.cell(np.array([x]))[0])
        if at == len(self.atoms):
            density = self.density.forgotten(x, k, weight)
            return None if density is None else replace(self, density=density)
        counts = self.atoms.counts.copy()
        counts[k, at] = max(counts[k, at] - weight, 0.0)
        return replace(self, atoms=replace(self.atoms, counts=counts))

    def faded(self, factor: float) -> Self:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        atoms = replace(self.atoms, counts=factor * self.atoms.counts)
        return replace(self, density=self.density.faded(factor), atoms=atoms)

    @cached_property
    def law(self) -> NumberLaw:
        with np.errstate(divide="ignore"):
            mixture = LawMixture(
                low=self.atoms.low,
                high=self.atoms.high,
                atoms=np.ascontiguousarray(np.log(self.atoms.counts.T)),
                rest=np.log(self.density.n),
                shift=np.log(self.n + self.rows),
                share=self.rows / max(float(self.n.sum()), TINY * max(self.rows, 1.0)),
            )
        law: NumberLaw = replace(self.density.law, mixture=mixture)
        return law

    @property
    def what(self) -> str:
        what: str = self.density.what
        shown = ", ".join(f"{value:.6g}" for value in self.atoms.values.tolist()[:3])
        if not shown:
            return what
        n = len(self.atoms)
        more = ", …" if n > 3 else ""
        return f"{what} beside {n} atom{'s' * (n > 1)} ({shown}{more})"

    def described(self) -> Description:
        what, rows, values = self.density.described()
        if not len(self.atoms):
            return Description(what, rows, values)
        shares = self.atoms.counts / np.maximum(self.n, 1e-300)[:, None]
        names = [f"share of {value:.6g}" for value in self.atoms.values.tolist()]
        return Description(self.what, [*rows, *names], np.concatenate([values, shares], axis=1))

    def distribution(self, laws: Laws) -> Any:
        law = self.density.distribution(laws)
        return laws.beside_atoms(law, self.atoms.values, *self.weights)


@dataclass(frozen=True, eq=False)
class Pooled(PooledRows, TunableDensity):
    """A Gaussian, beside atoms or not, with rows of all classes."""

    density: GaussianDensity

    @classmethod
    def read(cls, family: GaussianEstimate, moments: Moments, grid: GridCounts) -> Pooled:
        """The density of one column without atoms."""
        density = GaussianDensity.read(family, moments, grid)
        return cls(density, Atoms.none(len(moments.n)), family.pooled_rows)

    @classmethod
    def beside_atoms(
        cls, family: GaussianEstimate, grid: GridCounts, cells: NDArray[np.bool_]
    ) -> Pooled:
        """The density of the values of one column that are not in `cells` of the grid, beside the
        probabilities of those that are."""
        keys, counts = grid.keys[cells], grid.counts[:, cells]
        here, after = (GridCounts(grid.shift, k, counts) for k in (keys, keys + 1))
        atoms = Atoms(here.values(), here.lower_edges(), after.lower_edges(), counts)
        rest = GridCounts(grid.shift, grid.keys[~cells], grid.counts[:, ~cells])
        return cls(GaussianDensity.of_grid(family, rest), atoms, family.pooled_rows)

    def scaled(self, factor: float) -> Self:
        """The density of the same rows with `factor` times their weights."""
        atoms = replace(self.atoms, counts=factor * self.atoms.counts)
        return replace(
            self, density=self.density.scaled(factor), atoms=atoms, rows=factor * self.rows
        )

    @property
    def tunable(self) -> Self | None:
        return None if self.density.tunable is None else self

    def under(self, strength: float) -> Self:
        return replace(self, density=self.density.under(strength))

    def log_evidence(self) -> float:
        """log p(values at no atom) under the density's prior, in nats. The rows of all classes are
        not part of it: they are as many in every reading."""
        return self.density.log_evidence()

    def log_evidence_of(self, grid: GridCounts) -> float:
        if len(self.atoms):
            raise ImproperPrior(
                "is read as a density beside atoms",
                "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
            )
        return self.density.log_evidence_of(grid)

    def prior_and_posteriors(self, column: str) -> PriorAndPosteriors:
        return self.density.prior_and_posteriors(column)

    def _mass(self, x: Array, density: Array) -> Array:
        """log M_c(x), (…, n_rows, n_classes), where `density` is log f_c(x)."""
        with np.errstate(divide="ignore"):
            mass = density + np.log(self.density.n)
            at = self.atoms.cell(x)
            there = at < len(self.atoms)
            if there.any():
                mass[..., there, :] = np.log(self.atoms.counts).T[at[there]]
        return mass

    def log_density(self, x: Array) -> Array:
        return mixed(self._mass(x, self.density.log_density(x)), self.n, self.rows)

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        return mixed(self._mass(x, self.density.drawn(x, rng, n)), self.n, self.rows)

    def pooled_less(self) -> PooledLess | None:
        own, family = self.density.own, self.density.family
        plain = family.prior is None and family.estimate != "posterior"
        if not plain or family.var_smoothing or not self.density.all_have_spread:
            return None
        return PooledLess(
            counts=np.ascontiguousarray(self.atoms.counts.T),
            rest=own.n,
            squares=np.maximum(own.squares, 0.0),
            n=self.n,
            rows=self.rows,
            less=family.ddof,
            least=family.min_variance,
        )

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        at = self.atoms.cell(x)
        beside = at == len(self.atoms)
        rows = np.arange(len(x))
        mass = self._mass(x, self.density.log_density(x))
        n = np.repeat(self.n[None, :], len(x), axis=0)
        n[rows, own] = less(n[rows, own], weight)
        with np.errstate(divide="ignore"):
            k, c = rows[~beside], own[~beside]
            mass[k, c] = np.log(less(self.atoms.counts[c, at[k]], weight[k]))
            if beside.any():
                k, c = rows[beside], own[beside]
                scores = self.density.without(x[k], c, weight[k])
                left = np.repeat(self.density.n[None, :], len(k), axis=0)
                left[np.arange(len(k)), c] = less(self.density.n[c], weight[k])
                mass[k] = scores + np.log(left)
        return mixed(mass, n, self.rows)

    # ---- how well it tells the classes apart -----------------------------------------------------
    def likelihood(
        self, grid: GridCounts, classes: Array, row_weights: RowWeights = UNIT_ROWS
    ) -> float:
        """L of :mod:`tallybayes.families.cells`, each grid cell at one value. What
        classes without spread borrow from others is taken as it is."""
        values, step = grid.values(), max(1, (1 << 18) // len(classes))
        if len(values) > step:
            blocks = (slice(start, start + step) for start in range(0, len(values), step))
            parts = (GridCounts(grid.shift, grid.keys[b], grid.counts[:, b]) for b in blocks)
            return sum(self.likelihood(part, classes, row_weights) for part in parts)
        x, counts = values, grid.counts
        one = np.minimum(counts, row_weights.by_class)
        k, s, n = self.density.n[:, None], self.rows, self.n[:, None]
        mass = self._mass(x, self.density.log_density(x)).T
        left = self.density.own_without(x[None, :], np.arange(len(n))[:, None], one)
        with np.errstate(divide="ignore", invalid="ignore"):
            left += np.log(less(np.broadcast_to(k, one.shape), one))
            at = self.atoms.cell(x)
            there = at < len(self.atoms)
            rest = less(self.atoms.counts[:, at[there]], one[:, there])
            left[:, there] = np.log(rest)
            top = np.maximum(mass, left).max(axis=0)
            top = np.where(np.isfinite(top), top, 0.0)
            mass, left = np.exp(mass - top), np.exp(left - top)
            prior = classes[:, None]
            scale = prior / (n + s)
            pooled = s * (sums_of_others(mass) + left) / (n.sum() - one)
            others = sums_of_others(scale * mass) + pooled * sums_of_others(scale)
            own = np.maximum(prior - one, 0.0) * (left + pooled) / (less(n + 0.0 * one, one) + s)
            share = np.log(own / (own + others))
            share = np.where(np.isnan(share), np.log(classes / classes.sum())[:, None], share)
        used = counts > 0.0
        return float((counts[used] * share[used]).sum())
