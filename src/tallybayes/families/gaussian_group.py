"""Columns of numbers read together: x | c ~ N(μ_c, Σ_c) with a covariance for each class.

    log p(x|c) = −½ log |2πΣ_c| − ½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c)

What is counted is n, mean m and sum of squares and products S of each class; a ridge E, diagonal,
var_smoothing of each column's variance over all classes together, is added when it is read:

    Σ = S / (n − ddof) + E        without a prior
    Σ = Ψ_n / (ν_n − d − 1) + E   the posterior mean under a normal-inverse-Wishart prior
    Σ = Ψ_n / (ν_n + d + 2) + E   the mode of (μ, Σ)

With the parameters integrated out x is Student-t: without a prior with n − d degrees of freedom
about m, squared scale S (n + 1) / (n (n − d)); under a prior with ν_n − d + 1, squared scale
Ψ_n (κ_n + 1) / (κ_n (ν_n − d + 1)). Murphy (2007), Conjugate Bayesian analysis of the Gaussian
distribution, section 9; Gelman et al. (2013), Bayesian Data Analysis, section 3.6. One column gives
the formulas of :mod:`tallybayes.families.gaussian`.

A class of too few rows (n ≤ ddof; with the parameters integrated out n ≤ d) has the covariance of
all classes together. A singular covariance is made invertible by a stated floor.

Leave-one-out is in closed form, a change of rank one: with a = x − m, c = nw / (n − w), Σ = sS + E,

    S − c a aᵀ,   |Σ − s c a aᵀ| = |Σ| (1 − s c aᵀΣ⁻¹a),
    (Σ − s c a aᵀ)⁻¹ = Σ⁻¹ + s c uuᵀ / (1 − s c aᵀu),   u = Σ⁻¹a

(determinant lemma; Sherman and Morrison, 1950). The ridge changes by some 1/n of itself, of which
the first order is taken. Rows for which this could be off by more than 1e-12 (singular covariances,
a class of few rows, a row that makes most of its class's spread) are read again without the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tallybayes.families.normal import (
    TINY,
    ZERO_VARIANCE,
    Cells,
    GaussianEstimate,
    Recount,
    Statistics,
)
from tallybayes.families.priors import NormalInverseWishart, log_gamma, log_rising
from tallybayes.score import (
    Correlated,
    Description,
    ImproperPrior,
    TriangularTerms,
    missing_patterns,
)
from tallybayes.tally import CrossMoments, Moments
from tallybayes.tally.base import RESIDUE

__all__ = [
    "GaussianGroup",
    "LeftOut",
    "Shape",
    "log_density",
    "shaped",
]


# ---- covariance matrices from sums of squares and products, made invertible by a stated floor ----
# A covariance is held as standard deviations and the Cholesky factor L of the correlations, which
# makes it independent of the units of the columns: Σ = diag(s) L Lᵀ diag(s). If it is singular:
#
# 1. A variance of 0 becomes 1e-9 of the column's variance over all classes together, and 1 where
#    the column is constant throughout; such a column is not correlated with any other.
# 2. An eigenvalue of the correlations below 2⁻⁴⁰ counts as 0 and becomes 1e-9, the variance of a
#    direction in which the rows do not vary (fewer rows than columns, or a column twice).
# 3. An eigenvalue of Σ below the requested minimum of the variance is raised to it.
#
# Other matrices stay as they are.
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


# ---- the likelihood of a group: estimates, scores, evidence and draws ----------------------------
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GaussianGroup(Correlated):
    """Columns as a Gaussian, or Student-t where the parameters are integrated out.

    Parameters
    ----------
    family : GaussianEstimate
        With a full covariance.
    names : tuple of str
        The columns.
    own : Scatter
        Of each class, float64 (n_classes,), (n_classes, d), (n_classes, d, d).
    everyone : Scatter
        Of all classes together, (), (d,), (d, d).
    tally : CrossMoments
        What they are read from.
    """

    holds = "numbers"

    family: GaussianEstimate
    names: tuple[str, ...]
    own: Scatter
    everyone: Scatter
    tally: CrossMoments

    @classmethod
    def read(
        cls, family: GaussianEstimate, names: tuple[str, ...], tally: CrossMoments
    ) -> GaussianGroup:
        """The group's columns from their cross moments.

        Raises
        ------
        ValueError
            Where the prior is for another number of columns, or has no posterior mean.
        """
        pooled = tally.pooled()
        everyone = Scatter(pooled.n[0], *(part[0] for part in pooled.mean_and_scatter()))
        group = cls(family, names, Scatter(tally.n, *tally.mean_and_scatter()), everyone, tally)
        group.scales(group.own.n, everyone.n)  # refused now, if at all
        return group

    @property
    def d(self) -> int:
        return len(self.names)

    @property
    def what(self) -> str:
        return "Student-t" if self.family.estimate == "posterior" else "Gaussian"

    @property
    def in_schema(self) -> str:
        return self.described().what

    @property
    def prior(self) -> NormalInverseWishart | None:
        prior = self.family.prior
        assert prior is None or isinstance(prior, NormalInverseWishart)
        return prior

    # ---- estimates -------------------------------------------------------------------------------
    def scales(self, n: Array, rows: Array) -> tuple[Array, Array | None, Mask]:
        """s of Σ = sS + E and the degrees of freedom for classes of weight n, and which of them
        have too few rows, so that S is that of all classes together; `rows` is the weight of all.
        """
        d, posterior = self.d, self.family.estimate == "posterior"
        if self.prior is not None:
            self.prior.of(d)
            strength, freedom = self.prior.strength + n, self.prior.freedom + n
            few = np.zeros(np.shape(n), dtype=bool)
            if posterior:
                left = freedom - d + 1.0
                return (strength + 1.0) / (strength * left), left, few
            if self.family.estimate == "map":
                return 1.0 / (freedom + d + 2.0), None, few
            left = freedom - d - 1.0
            if np.min(left, initial=np.inf) <= 0.0:
                raise ValueError(
                    "the posterior mean of the covariance is undefined for a class of so few rows: "
                    f"it needs freedom + n > d + 1, and the prior's freedom is "
                    f"{self.prior.freedom:g} for {d} columns; give a prior of more freedom, or "
                    "estimate='map' or 'posterior'"
                )
            return 1.0 / left, None, few
        left = np.asarray(n - (d if posterior else self.family.ddof))
        few = left <= RESIDUE * n  # fractional weights add up to a row and a little
        scale = 1.0 / np.where(few, np.maximum(rows, 1e-300), left)
        if not posterior:
            return scale, None, few
        many = np.where(few, np.maximum(rows, d + 1.0), np.maximum(n, 1.0 + 1e-300))
        return scale * (1.0 + 1.0 / many), np.where(few, many - d, left), few

    def _centred(self, own: Scatter, everyone: Scatter) -> tuple[Array, Array, Array]:
        """Centre, strength and sum of squares and products of classes: under the prior, if any."""
        if self.prior is None:
            blank = (own.n == 0.0)[..., None]
            return np.where(blank, everyone.mean, own.mean), own.n, own.squares
        centre, strength, _, scale = self.prior.posterior(*own)
        return centre, strength, scale

    def ridge(self, variance: Array) -> Array:
        return self.family.var_smoothing * variance

    def expected(self, own: Scatter, everyone: Scatter) -> Shape:
        """What a row of a class is expected to be, elementwise; leading shapes are equal."""
        scale, freedom, few = self.scales(own.n, everyone.n)
        centre, _, squares = self._centred(own, everyone)
        squares = np.where(few[..., None, None], everyone.squares, squares)
        covariance = scale[..., None, None] * squares
        variance = everyone.variance
        np.einsum("...jj->...j", covariance)[...] += self.ridge(variance)
        return shaped(centre, covariance, variance, self.family.min_variance, freedom)

    @cached_property
    def shape(self) -> Shape:
        """What a row of each class is expected to be."""
        wide = (np.broadcast_to(p, (len(self.own.n), *p.shape)) for p in self.everyone)
        return self.expected(self.own, Scatter(*wide))

    # ---- scores ----------------------------------------------------------------------------------
    def terms(self, there: tuple[int, ...]) -> TriangularTerms:
        centre, deviation, factor, _, freedom = self.shape
        at = np.array(there, dtype=np.intp)
        if len(at) < self.d:
            correlation = factor @ np.swapaxes(factor, -1, -2)
            factor = np.asarray(np.linalg.cholesky(correlation[:, at[:, None], at]), np.float64)
        s = deviation[:, at]
        eye = np.eye(len(at))
        rotation = np.stack([solve_triangular(f, eye, lower=True) for f in factor])
        diagonal = np.einsum("kjj->kj", factor)
        constant = -np.log(s) - np.log(diagonal)
        if freedom is None:
            constant = constant - 0.5 * np.log(2.0 * np.pi)
        else:
            nu = freedom[:, None]
            ratio = log_rising(0.5 * (nu + np.arange(len(at))), np.full((1, len(at)), 0.5))
            constant = constant + ratio - 0.5 * np.log(np.pi * nu)
        return TriangularTerms(
            mean=np.ascontiguousarray(centre[:, at]),
            rotation=np.ascontiguousarray(rotation / s[:, None, :]),
            constant=constant,
            freedom=freedom,
        )

    def described(self) -> Description:
        centre, deviation, factor, _, freedom = self.shape
        correlation = factor @ np.swapaxes(factor, -1, -2)
        scale = "standard deviation" if freedom is None else "scale"
        rows = [f"mean of {name}" for name in self.names]
        rows += [f"{scale} of {name}" for name in self.names]
        values = [centre, deviation * np.sqrt(np.einsum("kjj->kj", correlation))]
        for i in range(self.d):
            for j in range(i):
                rows.append(f"correlation of {self.names[j]} and {self.names[i]}")
                values.append(correlation[:, i, j, None])
        if freedom is not None:
            rows.append("degrees of freedom")
            values.append(freedom[:, None])
        what = f"{self.what} of {self.d} columns, full covariance"
        return Description(what, rows, np.concatenate(values, axis=1))

    def log_evidence(self) -> float:
        """log p(rows) under the family's prior, every class by itself, in nats.

        Raises
        ------
        ImproperPrior
            Without a prior.
        """
        if self.prior is None:
            raise ImproperPrior(
                "is read as a Gaussian without a prior",
                "declare Gaussian(covariance='full', prior=NormalInverseWishart(…))",
            )
        return float(self.prior.log_evidence(*self.own).sum())

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log p(x | c) of rows (n_rows, d), NaN for missing values, under (μ, Σ) drawn from their
        posterior, float64 (n, n_rows, n_classes): the normal-inverse-Wishart of the prior or,
        without one, of the reference prior |Σ|^(−(d+1)/2); a class of no more rows than columns has
        the covariance of all classes together."""
        centre, strength, freedom, root = self._posterior()
        classes, d = centre.shape
        lower = rng.standard_normal((n, classes, d, d))
        lower = np.tril(lower, -1)
        half = 0.5 * (freedom[:, None] - np.arange(d))
        lower[..., np.arange(d), np.arange(d)] = np.sqrt(
            2.0 * np.exp(log_gamma(half, rng, (n, classes, d)))
        )
        # Σ = C T⁻ᵀ T⁻¹ Cᵀ, T Bartlett's factor of a Wishart of the identity
        spread = root @ np.swapaxes(np.linalg.inv(lower), -1, -2)
        mean = centre + np.einsum(
            "nkij,nkj->nki", spread, rng.standard_normal((n, classes, d))
        ) / np.sqrt(strength[:, None])
        covariance = spread @ np.swapaxes(spread, -1, -2)
        scores = np.zeros((n, len(x), classes))
        for there, rows in missing_patterns(x):
            at = np.array(there, dtype=np.intp)
            part = np.linalg.cholesky(covariance[..., at[:, None], at])
            apart = x[rows][:, at] - mean[:, :, None, at]  # (n, classes, rows, d)
            turned = np.linalg.solve(part, np.swapaxes(apart, -1, -2))
            log_det = 2.0 * np.log(np.einsum("nkjj->nkj", part)).sum(axis=-1)
            distance = (turned**2).sum(axis=-2)
            log = log_of_distance(distance, log_det[..., None], len(at), None)
            scores[:, rows] = np.swapaxes(log, -1, -2)
        return scores

    def _posterior(self) -> tuple[Array, Array, Array, Array]:
        """Centre, strength, degrees of freedom and the root of the scale of the posterior."""
        ridge = self.ridge(self.everyone.variance)
        if self.prior is not None:
            centre, strength, freedom, scale = self.prior.posterior(*self.own)
            scale = scale + freedom[:, None, None] * np.diag(ridge)
            return centre, strength, freedom, np.asarray(np.linalg.cholesky(scale), np.float64)
        few = self.own.n <= self.d
        many = np.where(few, np.maximum(self.everyone.n, self.d + 1.0), self.own.n)
        squares = np.where(few[:, None, None], self.everyone.squares, self.own.squares)
        covariance = squares / many[:, None, None] + np.diag(ridge)
        wide = np.broadcast_to(self.everyone.variance, self.own.mean.shape)
        least = shaped(self.own.mean, covariance, wide, self.family.min_variance)
        centre = self._centred(self.own, self.everyone)[0]
        strength = np.where(self.own.n > 0.0, self.own.n, many)
        root = np.sqrt(many)[:, None, None] * least.deviation[:, :, None] * least.factor
        return centre, strength, many - 1.0, root

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        return self._left_out.scores(x, own, weight)

    @cached_property
    def _left_out(self) -> LeftOut:
        return LeftOut(self)


# ---- the same with each row left out: first-order changes of a covariance, or the rest counted aga
MIN_EIGENVALUE = 1e-4  # smallest eigenvalue of correlations with which an inverse is precise enough
MAX_FIRST_ORDER_CHANGE = 1e-6  # relative change of a covariance of which the square is neglected
MIN_REMAINING_SHARE = 1e-3
"""The share of a class's spread that a row that is taken out has to leave."""

MAX_UNKNOWN_SHARE = 1e-9
"""The share of what is left that the rounding of the mean may be."""

MAX_INTERMEDIATE = 1 << 20  # numbers of the intermediate results of rows that are read again


class LeftOut:
    """The leave-one-out likelihood of a group of columns for rows that were counted.

    Parameters
    ----------
    group : GaussianGroup
    """

    def __init__(self, group: GaussianGroup) -> None:
        self.group = group

    @cached_property
    def _pooled(self) -> CrossMoments:
        """All classes together."""
        return self.group.tally.pooled()

    @cached_property
    def _columns(self) -> Moments:
        """The columns of all classes together, one by one."""
        return self._pooled.columns()

    @cached_property
    def _inverse(self) -> tuple[Array, Array, Mask]:
        """Σ⁻¹ (n_classes, d, d), log |Σ| and for which classes the closed form is precise."""
        shape = self.group.shape
        terms = self.group.terms(tuple(range(self.group.d)))
        inverse = np.swapaxes(terms.rotation, -1, -2) @ terms.rotation
        few = self.group.scales(self.group.own.n, self.group.everyone.n)[2]
        fine = (shape.least > MIN_EIGENVALUE) & ~few & (self.group.own.n > 0.0)
        return inverse, shape.log_det, fine & (self.group.family.min_variance == 0.0)

    def scores(self, x: Array, own: Index, weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), in nats, of rows (n_rows, d) without missing values;
        `own` is the class of each, `weight` its weight."""
        squares = np.einsum("jj->j", self.group.everyone.squares)
        everyone = Statistics(self.group.everyone.n, self.group.everyone.mean, squares)

        def recount(at: Cells) -> tuple[Array, Array, Array]:
            return self._columns.without(np.zeros_like(at[0]), at[1], x[at], weight[at[0]])

        left = everyone.without(x, weight[:, None], recount)
        ridge = self.group.ridge(left.variance)
        scores = np.empty((len(x), len(self.group.own.n)))
        again = np.empty(scores.shape, dtype=bool)
        for k in range(scores.shape[1]):
            scores[:, k], again[:, k] = self._others(x, k, ridge)
            mine = np.flatnonzero(own == k)
            scores[mine, k], again[mine, k] = self._downdated(
                x[mine], k, weight[mine], ridge[mine], left.n[mine, 0]
            )
        rows, classes = np.nonzero(again)
        step = max(1, MAX_INTERMEDIATE // (self.group.d * self.group.d))
        for start in range(0, len(rows), step):
            i, of = rows[start : start + step], classes[start : start + step]
            taken = np.where(own[i] == of, weight[i], 0.0)
            scores[i, of] = self._again(x[i], of, taken, weight[i])
        return scores

    def _others(self, x: Array, k: int, ridge: Array) -> tuple[Array, Mask]:
        """log p(x | k) of rows that class k does not hold, after the ridge has changed; and for
        which of them this is not precise enough."""
        inverse, log_det, fine = self._inverse
        apart = x - self.group.shape.centre[k]
        u = apart @ inverse[k]
        moved = ridge - self.group.ridge(self.group.everyone.variance)
        diagonal = np.einsum("jj->j", inverse[k])
        distance = (apart * u).sum(axis=1) - (moved * u**2).sum(axis=1)
        freedom = None if self.group.shape.freedom is None else self.group.shape.freedom[k]
        log = log_of_distance(distance, log_det[k] + moved @ diagonal, self.group.d, freedom)
        return log, (np.abs(moved) @ diagonal > MAX_FIRST_ORDER_CHANGE) | ~fine[k]

    def _downdated(
        self, x: Array, k: int, weight: Array, ridge: Array, everyone: Array
    ) -> tuple[Array, Mask]:
        """log p(x | k) of rows that class k holds, each after it is taken out; and for which of
        them this is not precise enough."""
        inverse, log_det, fine = self._inverse
        if not fine[k] or not len(x):
            return np.zeros(len(x)), np.ones(len(x), dtype=bool)
        n = self.group.own.n[k]
        left = n - weight
        some = left > RESIDUE * n
        left = np.where(some, left, 1.0)
        strength = n if self.group.prior is None else self.group.prior.strength + n
        rest = strength - np.where(some, weight, 0.0)
        was = self.group.scales(self.group.own.n, self.group.everyone.n)[0][k]
        scale, freedom, few = self.group.scales(left, everyone)
        grown = scale / was
        apart = x - self.group.shape.centre[k]
        u = apart @ inverse[k]
        distance = (apart * u).sum(axis=1)
        share = was * strength * weight / rest
        shrunk = 1.0 - share * distance
        # the mean is known to its last place, and differences from it to no more
        centre, deviation = self.group.shape.centre[k], self.group.shape.deviation[k]
        place = (np.spacing(np.abs(centre)) / deviation).max(initial=0.0)
        place *= np.sqrt(self.group.d / self.group.shape.least[k])
        unknown = share * (2.0 * np.sqrt(distance) + place) * place
        again = ~some | few | (shrunk < MIN_REMAINING_SHARE) | (left < MIN_REMAINING_SHARE * n)
        again |= unknown > MAX_UNKNOWN_SHARE * shrunk
        shrunk = np.where(again, 1.0, shrunk)
        moved = ridge / grown[:, None] - self.group.ridge(self.group.everyone.variance)
        diagonal = np.einsum("jj->j", inverse[k]) + (share / shrunk)[:, None] * u**2
        log = (
            log_det[k]
            + np.log(shrunk)
            + self.group.d * np.log(grown)
            + (moved * diagonal).sum(axis=1)
        )
        distance = distance / shrunk - (moved * (u / shrunk[:, None]) ** 2).sum(axis=1)
        distance = distance / grown * (strength / rest) ** 2  # from the mean of the others
        again |= (np.abs(moved) * diagonal).sum(axis=1) > MAX_FIRST_ORDER_CHANGE
        return log_of_distance(distance, log, self.group.d, freedom), again

    def _again(self, x: Array, k: Index, taken: Array, weight: Array) -> Array:
        """log p(x | k) of rows, read from the sums that are left when each is taken out: `taken` of
        its class k, `weight` of all together."""

        def of_class(at: Cells) -> tuple[Array, Array, Array]:
            return self.group.tally.without(k[at], x[at], taken[at])

        def of_all(at: Cells) -> tuple[Array, Array, Array]:
            return self._pooled.without(np.zeros_like(k[at]), x[at], weight[at])

        own = Scatter(*(part[k] for part in self.group.own))
        left = own.without(x, taken, of_class)
        there = taken > 0.0
        own = Scatter(
            np.where(there, left.n, own.n),
            np.where(there[:, None], left.mean, own.mean),
            np.where(there[:, None, None], left.squares, own.squares),
        )
        return log_density(
            x, self.group.expected(own, self.group.everyone.without(x, weight, of_all))
        )
