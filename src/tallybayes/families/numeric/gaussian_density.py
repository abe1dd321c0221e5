"""A column of numbers as Gaussians: log-densities in each class, with every row or without one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import (
    TINY,
    Cells,
    GaussianEstimate,
    Predictive,
    Spread,
    Statistics,
    log_density,
)
from tallybayes.families.contract.density import LearningDensity, TunableDensity
from tallybayes.families.contract.family import sums_of_others
from tallybayes.families.numeric.gaussian_columns import GaussianColumns
from tallybayes.families.numeric.transforms import Transform, class_moments, transform_of
from tallybayes.families.priors.draws import log_gamma
from tallybayes.families.priors.normal_inverse_gamma import NormalInverseGamma
from tallybayes.families.priors.prior_and_posteriors import ParameterPrior, PriorAndPosteriors
from tallybayes.parameters import Description, ImproperPrior, Laws, QuadraticTerms, Term
from tallybayes.parameters.formula import NumberLaw, Power, Powers, StudentTerm
from tallybayes.tally import GridCounts, Moments

__all__ = ["GaussianDensity"]

Array = NDArray[np.float64]

MIN_VARIANCE = 1e-300
"""A variance below this is none: a part of it would be 0 in float64."""
Index = NDArray[np.intp]
Counts = tuple[Array, Array, Array]

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
        epsilon = self._epsilon(self.everyone)
        return self.family.predictive(self.own, self.everyone, epsilon, self._within)

    @cached_property
    def _within(self) -> Spread:
        """The spread within classes, (1,)."""
        return self.family.spread(self.own)

    @cached_property
    def _has_spread(self) -> NDArray[np.bool_]:
        """Which classes have a variance of their own, (n_classes,)."""
        has = self._within.has
        return self.family.has_spread(self.own, self._within.typical) if has is None else has

    @cached_property
    def all_have_spread(self) -> bool:
        """Whether every class has a variance of its own, whatever row of another is taken out."""
        return bool(self.family.has_spread(self.own, 4.0 * self._within.typical).all())

    @cached_property
    def _others(self) -> tuple[Spread, Array]:
        """What all classes but one give to the spread within classes, (n_classes,), and their
        rows."""
        has, n, squares = self._has_spread, self.own.n, self.own.squares
        freedom = np.where(has, n - self.family.divisor_less, 0.0)
        parts = np.where(has, squares, 0.0), freedom, squares, n
        squares_of, freedom_of, typical, rows = (sums_of_others(part) for part in parts)
        return Spread(squares_of, freedom_of, typical), rows

    def _epsilon(self, everyone: Statistics) -> Array:
        return np.asarray(self.family.var_smoothing * everyone.variance)

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
            lacks = ~self._has_spread
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
        variance = np.clip(variance + self._epsilon(self.everyone), 1e-300, 1e300)
        mean = centre + rng.standard_normal(size) * np.sqrt(variance / strength)
        apart = (g[None, :, None] - mean[:, None, :]) ** 2 / variance[:, None, :]
        scores = -0.5 * (np.log(2.0 * np.pi * variance)[:, None, :] + apart)
        return np.asarray(scores + np.reshape(slope, (1, -1, 1)))

    def quadratic(self) -> QuadraticTerms | None:
        centre, variance, freedom = self.predictive
        if self.transform is not None or freedom is not None:
            return None
        constant = -0.5 * np.log(2.0 * np.pi * variance)
        return QuadraticTerms(constant, np.zeros_like(centre), centre, np.sqrt(0.5 / variance))

    def law(self) -> NumberLaw:
        centre, variance, freedom = self.predictive
        constant, transform = log_density(centre, self.predictive), None
        if self.transform is not None:
            transform = (self.transform.kind, self.transform.exponent)
        if freedom is None:
            scale = np.sqrt(0.5 / variance)
            return NumberLaw(
                kind="gaussian", mean=centre, constant=constant, scale=scale, transform=transform
            )
        return NumberLaw(
            kind="student",
            mean=centre,
            constant=constant,
            scale=np.sqrt(1.0 / (freedom * variance)),
            half=0.5 * (freedom + 1.0),
            transform=transform,
        )

    def term(self, column: str) -> Term:
        centre, variance, freedom = self.predictive
        change, power = self.transform, None
        if change is not None:
            power = Power(change.kind, change.exponent)
        at_centre = log_density(centre, self.predictive)
        if freedom is not None:
            scale = np.sqrt(1.0 / (freedom * variance))
            return StudentTerm(column, at_centre, 0.5 * (freedom + 1.0), centre, scale, power)
        if power is None:
            return super().term(column)
        scale = np.sqrt(0.5 / variance)
        return Powers(
            column, QuadraticTerms(at_centre, np.zeros_like(centre), centre, scale), power
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

    def _recount(self, moments: Moments, x: Array, own: Index, weight: Array) -> Counts:
        """n, mean and sum of squares of classes, each without a row."""
        if isinstance(self.counted, GridCounts):
            x = self._in(self.counted.value_of(x))[0]
        return moments.without(own, np.zeros_like(own), x, weight)

    def _own_without(self, x: Array, g: Array, own: Index, weight: Array | float) -> Statistics:
        """Of the row's own class, after the row is taken out; shapes broadcast."""
        shape = np.broadcast_shapes(x.shape, own.shape, np.shape(weight))

        def recount(at: Cells) -> Counts:
            rows = (np.broadcast_to(part, shape)[at] for part in (x, own, weight))
            return self._recount(self._moments[0], *rows)

        return Statistics(*(part[own] for part in self.own)).without(g, weight, recount)

    def _everyone_without(self, x: Array, g: Array, weight: Array | float) -> Statistics:
        """Of all classes together."""
        shape = np.broadcast_shapes(x.shape, np.shape(weight))

        def recount(at: Cells) -> Counts:
            value, taken = (np.broadcast_to(part, shape)[at] for part in (x, weight))
            return self._recount(self._moments[1], value, np.zeros(len(value), np.intp), taken)

        return self.everyone.without(g, weight, recount)

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
        everyone = self._everyone_without(x, g, weight)
        left = self._own_without(x, g, own, weight)
        others, rows = self._others
        typical = (others.typical[own] + left.squares) / np.maximum(rows[own] + left.n, TINY)
        has = self.family.has_spread(left, typical)
        freedom = left.n - self.family.divisor_less
        within = Spread(
            others.squares[own] + np.where(has, left.squares, 0.0),
            others.freedom[own] + np.where(has, freedom, 0.0),
            typical,
        )
        predictive = self.family.predictive(left, everyone, self._epsilon(everyone), within)
        return np.asarray(log_density(g, predictive) + slope)

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        g, slope = self._in(x)
        everyone = self._everyone_without(x, g, weight)
        epsilon = self._epsilon(everyone)
        moved = np.abs(epsilon - self._epsilon(self.everyone)).max(initial=0.0)
        rows = np.arange(len(x))
        # what a class without spread borrows changes with every row
        if self.all_have_spread and moved <= MAX_UNSEEN_CHANGE * self.predictive.variance.min():
            scores = self.log_density(x)
            scores[rows, own] = self.own_without(x, own, weight)
            return np.asarray(scores)
        left = self._own_without(x, g, own, weight)
        classes = Statistics(*(np.repeat(part[None, :], len(x), axis=0) for part in self.own))
        for part, mine in zip(classes, left, strict=True):
            part[rows, own] = mine
        wide = Statistics(*(part[:, None] for part in everyone))
        within = self.family.spread(classes)
        predictive = self.family.predictive(classes, wide, epsilon[:, None], within)
        return np.asarray(log_density(g[:, None], predictive) + np.reshape(slope, (-1, 1)))
