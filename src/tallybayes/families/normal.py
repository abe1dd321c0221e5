"""The statistics of normal distributions, and transforms that make a column more Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors import (
    Estimate,
    NormalInverseGamma,
    NormalInverseWishart,
    estimated_under,
    log_rising,
)
from tallybayes.tally import GridCounts
from tallybayes.tally.base import RESIDUE

__all__ = [
    "TINY",
    "ZERO_VARIANCE",
    "Cells",
    "GaussianEstimate",
    "Predictive",
    "Recount",
    "Spread",
    "Statistics",
    "Transform",
    "class_moments",
    "log_density",
    "transform_of",
]


# ---- statistics of a column in each class: weight, mean and spread, and what is estimated from the
# Weight, mean and spread of a column in each class; the mean and variance that are estimated from
# them, with their floors; and the predictive density of a value.
Array = NDArray[np.float64]

ZERO_VARIANCE = 1e-9  # share of the column's variance that stands for a variance of 0
TINY = float(np.finfo(np.float64).tiny)

MAX_CANCELLATION = 2.0**16
"""By this factor a difference may be less precise than what it is taken of; beyond it the rows that
are left are read from the tally again."""

Cells = tuple[NDArray[np.intp], ...]
Recount = Callable[[Cells], tuple[Array, Array, Array]]
"""n, mean and sum of squares of some entries of an array, by their indices, without a row."""


class Statistics(NamedTuple):
    """Weight, mean and sum of squares about it: arrays of one shape."""

    n: Array
    mean: Array
    squares: Array

    @property
    def variance(self) -> Array:
        """Σ(x − mean)² / n, 0 without rows."""
        return np.asarray(np.maximum(self.squares, 0.0) / np.maximum(self.n, 1e-300))

    def learned(self, x: float, k: int, weight: float) -> Statistics:
        """The statistics (n_classes,) after a row of value x and class k is added; its weight is
        above 0."""
        n, mean, squares = (float(part[k]) for part in self)
        total = n + weight
        apart = x - mean if n > 0.0 else 0.0
        grown = Statistics(*(part.copy() for part in self))
        grown.n[k] = total
        grown.mean[k] = mean + apart * weight / total if n > 0.0 else x
        grown.squares[k] = squares + apart * apart * weight * n / total if n > 0.0 else 0.0
        return grown

    def forgotten(self, x: float, k: int, weight: float) -> Statistics | None:
        """The statistics (n_classes,) after a row of value x and class k is taken out; None where
        too few digits of the others are left."""
        left = Statistics(*(part.copy() for part in self))
        return left if left.take_out(k, x, weight) else None

    def take_out(self, at: Any, x: Array | float, weight: float) -> bool:
        """Takes rows of value x and this weight out of the entries `at`, in place; whether enough
        digits of the others are left. Otherwise nothing has changed."""
        n, mean, squares = (part[at] for part in self)
        total = n - weight
        if not np.all(n < MAX_CANCELLATION * total):
            return False
        apart = x - mean
        taken = apart * apart * weight * n / total
        left = squares - taken
        digits = _digits(apart, mean)
        if not np.all((taken <= MAX_CANCELLATION * left * digits) | (taken == 0.0)):
            return False
        self.n[at], self.mean[at], self.squares[at] = total, mean - apart * weight / total, left
        return True

    def faded(self, factor: float) -> Statistics:
        """The statistics of the same rows with `factor` times their weights."""
        return Statistics(factor * self.n, self.mean, factor * self.squares)

    def without(self, x: Array, weight: Array | float, recount: Recount) -> Statistics:
        """The statistics after a row of value x and this weight is taken out.

        A row that carries nearly all of the sum of squares, or of the weight, leaves no digits of
        what the others have: such entries are counted again.
        """
        rest, lost = self.less(x, weight)
        if lost.any():
            at = np.nonzero(lost)
            rest = Statistics(*(np.array(np.broadcast_to(part, lost.shape)) for part in rest))
            for part, exact in zip(rest, recount(at), strict=True):
                part[at] = exact
        return Statistics(rest.n, rest.mean, np.maximum(rest.squares, 0.0))

    def less(self, x: Array, weight: Array | float) -> tuple[Statistics, NDArray[np.bool_]]:
        """The same in float64 arithmetic, and which entries are left with too few digits."""
        left = np.asarray(self.n - weight)
        left[left <= RESIDUE * np.broadcast_to(self.n, left.shape)] = 0.0
        some = np.where(left > 0.0, left, 1.0)
        apart = x - self.mean
        mean = np.where(left > 0.0, self.mean - apart * weight / some, self.mean)
        taken = apart**2 * weight * self.n / some
        squares = np.where(left > 0.0, self.squares - taken, 0.0)
        digits = _digits(apart, self.mean)
        lost = (taken > MAX_CANCELLATION * squares * digits) | (self.n > MAX_CANCELLATION * left)
        return Statistics(left, mean, squares), lost & (left > 0.0) & (weight != 0.0)


def _digits(apart: Array, mean: Array) -> Array:
    """The share of a float64's digits that a difference from the mean has: it is known to as many
    places as the mean is."""
    far = np.abs(apart)
    return np.asarray(far / np.maximum(far + np.abs(mean), TINY))


class Spread(NamedTuple):
    """The spread within classes: arrays of one shape."""

    squares: Array  # Σ(x − mean)² of the classes that have spread
    freedom: Array  # what it is divided by, Σ(n − ddof) of these classes
    typical: Array  # Σ(x − mean)² / n of all classes, by which a class has spread or not
    has: NDArray[np.bool_] | None = None  # which of these classes have, where they are all known


class Predictive(NamedTuple):
    """The predictive distribution of a value: Gaussian, or Student-t if `freedom` is given."""

    centre: Array
    variance: Array  # squared scale
    freedom: Array | None = None


def log_density(x: Array, predictive: Predictive) -> Array:
    """log p(x), in nats; shapes broadcast."""
    centre, variance, freedom = predictive
    with np.errstate(over="ignore"):  # a square beyond float64 is infinite
        apart = (x - centre) ** 2 / variance
    if freedom is None:
        return np.asarray(-0.5 * (np.log(2.0 * np.pi * variance) + apart))
    half = 0.5 * (freedom + 1.0)
    constant = log_rising(0.5 * freedom, 0.5) - 0.5 * np.log(np.pi * freedom * variance)
    return np.asarray(constant - half * np.log1p(apart / freedom))


@dataclass(frozen=True)
class GaussianEstimate:
    """How the mean and the variance of each class follow from the counts; see
    :mod:`tallybayes.families.gaussian`, whose :class:`Gaussian` describes the options."""

    var_smoothing: float = 1e-9
    relative_to: Literal["largest", "feature"] = "largest"
    ddof: float = 0.0
    min_variance: float = 0.0
    pooled_rows: float = 0.0
    prior: NormalInverseGamma | NormalInverseWishart | None = None
    estimate: Estimate = "mean"
    transform: Literal["log", "yeo-johnson"] | None = None
    covariance: Literal["diag", "full"] = "diag"

    @property
    def full(self) -> bool:
        """Whether it is for a group of columns that are read together."""
        return self.covariance == "full"

    @property
    def column_prior(self) -> NormalInverseGamma | None:
        """The prior of a column by itself.

        Raises
        ------
        ValueError
            With a full covariance, which is for a group of columns.
        """
        if self.full or isinstance(self.prior, NormalInverseWishart):
            raise ValueError(
                "Gaussian(covariance='full') is for a group of columns of a NaiveBayes: "
                "NaiveBayes(columns={('height', 'weight'): Gaussian(covariance='full')})"
            )
        return self.prior

    @property
    def divisor_less(self) -> float:
        """What is taken from the rows of a class to divide its sum of squares."""
        return 1.0 if self.estimate == "posterior" else self.ddof

    def has_spread(self, own: Statistics, typical: Array) -> NDArray[np.bool_]:
        """Which classes have a variance of their own, where `typical` is that within classes.

        Parameters
        ----------
        own : float64 array
            Variances of the classes.
        typical : float64 array
            Variances to compare with.
        """
        # fractional weights add up to ddof rows and a little
        many = own.n - self.divisor_less > RESIDUE * own.n
        least = np.maximum(ZERO_VARIANCE * typical, TINY)  # of less float64 keeps no digits
        return many & (own.squares > least * own.n)

    def spread(self, classes: Statistics) -> Spread:
        """The spread within classes, (…, n_classes), their axis kept with length 1.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        """
        n, squares = classes.n, np.maximum(classes.squares, 0.0)
        rows = np.maximum(n.sum(axis=-1, keepdims=True), TINY)
        typical = squares.sum(axis=-1, keepdims=True) / rows
        has = self.has_spread(classes, typical)
        return Spread(
            np.where(has, squares, 0.0).sum(axis=-1, keepdims=True),
            np.where(has, n - self.divisor_less, 0.0).sum(axis=-1, keepdims=True),
            typical,
            has,
        )

    def predictive(
        self,
        own: Statistics,
        everyone: Statistics,
        epsilon: Array,
        within: Spread | None = None,
    ) -> Predictive:
        """What a value of each class is expected to be, elementwise.

        Parameters
        ----------
        own, everyone : Statistics
            Of a class, and of all classes together.
        epsilon : array
            Added to every variance.
        within : Spread, optional
            Of all classes together: the spread of a class that has none. Without it such a class
            has what `epsilon` adds, as in scikit-learn.
        """
        prior = self.column_prior
        if prior is not None:
            centre, squared, freedom = estimated_under(
                prior, self.estimate, own.n, own.mean, own.squares
            )
        else:  # those of other classes where a class has too few rows, or no spread
            blank = own.n == 0.0
            centre = np.where(blank, everyone.mean, own.mean) if blank.any() else own.mean
            left = own.n - self.divisor_less
            few = left <= RESIDUE * own.n
            squared = np.maximum(own.squares, 0.0) / np.where(few, 1.0, left)
            rows = np.maximum(everyone.n, 2.0)
            if within is None:
                lacks, borrowed = few, everyone.variance
            else:
                has = within.has
                lacks = ~(self.has_spread(own, within.typical) if has is None else has)
                some = within.freedom > 0.0
                pooled = within.squares / np.where(some, within.freedom, 1.0)
                borrowed = np.where(~blank & some, pooled, everyone.variance)
                rows = np.where(~blank & some, np.maximum(within.freedom + 1.0, 2.0), rows)
            if lacks.any():
                squared = np.where(lacks, borrowed, squared)
            freedom = None
            if self.estimate == "posterior":
                rows = np.where(lacks, rows, np.maximum(own.n, 1.0 + 1e-300))
                squared = squared * (1.0 + 1.0 / rows)
                freedom = np.where(lacks, rows - 1.0, left)
        variance = squared + epsilon
        flat = variance < TINY
        if flat.any():
            floor = ZERO_VARIANCE * everyone.variance
            variance = np.where(flat, np.where(floor < TINY, 1.0, floor), variance)
        return Predictive(centre, np.maximum(variance, self.min_variance), freedom)


# ---- transforms that make a column of numbers more Gaussian --------------------------------------
#     log:          g(x) = log x, for x > 0
#     Yeo–Johnson:  g(x) = ((x + 1)^λ − 1) / λ for x ≥ 0,  −((1 − x)^(2−λ) − 1) / (2 − λ) for x < 0
#
# with log(x + 1) at λ = 0 and −log(1 − x) at λ = 2. The density of x is that of g(x) times g'(x).
# Yeo and Johnson (2000), equations (2.1) and (3.1).
MIN_POSITIVE = 1e-300
IMPOSSIBLE = -1e300
MAX_ROUNDING = 2.0**-50
"""Deviations of less than this share of the values are rounding of their mean."""


@dataclass(frozen=True)
class Transform:
    """A fitted transform.

    Parameters
    ----------
    kind : {"log", "yeo-johnson"}
    exponent : float
        λ of Yeo–Johnson.
    """

    kind: Literal["log", "yeo-johnson"]
    exponent: float = 0.0

    def forward(self, x: Array) -> Array:
        """g(x), like x: NaN for the log of what is not positive, ±inf beyond float64."""
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(x > 0.0, np.log(x), np.nan)
        up, down = np.maximum(x, 0.0), np.maximum(-x, 0.0)
        with np.errstate(over="ignore"):  # a power beyond float64 is infinite
            up, down = _power(up, self.exponent), _power(down, 2.0 - self.exponent)
        return np.where(x >= 0.0, up, -down)

    def backward(self, g: Array) -> Array:
        """x with g(x) = g, like g; for g within the bounds."""
        if self.kind == "log":
            return np.asarray(np.exp(g))
        up, down = np.maximum(g, 0.0), np.maximum(-g, 0.0)
        return np.where(g >= 0.0, _root(up, self.exponent), -_root(down, 2.0 - self.exponent))

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what g(x) lies for all x: Yeo–Johnson is bounded for λ < 0 and λ > 2."""
        if self.kind == "log":
            return -np.inf, np.inf
        above = -1.0 / self.exponent if self.exponent < 0.0 else np.inf
        below = 1.0 / (2.0 - self.exponent) if self.exponent > 2.0 else -np.inf
        return below, above

    def log_slope(self, x: Array) -> Array:
        """log g'(x), like x."""
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(x > 0.0, -np.log(x), np.nan)
        return np.asarray((self.exponent - 1.0) * np.sign(x) * np.log1p(np.abs(x)))

    def __str__(self) -> str:
        return "log" if self.kind == "log" else f"Yeo–Johnson, λ = {self.exponent:.3g}"


def _power(x: Array, exponent: float) -> Array:
    """((x + 1)^λ − 1) / λ, exact near λ = 0."""
    log = np.log1p(x)
    return log if exponent == 0.0 else np.asarray(np.expm1(exponent * log) / exponent)


def _root(power: Array, exponent: float) -> Array:
    """The x ≥ 0 with :func:`_power` of this value; +inf at the bound of a negative exponent."""
    with np.errstate(divide="ignore"):
        log = power if exponent == 0.0 else np.log1p(exponent * power) / exponent
    return np.asarray(np.expm1(log))


def class_moments(
    grid: GridCounts, transform: Transform | None = None
) -> tuple[Array, Array, Array]:
    """n, mean and sum of squares of g(x), or of x, in each class, float64 (n_classes,), from grid
    counts.

    They are exact where the column has no more different values than cells; else as fine as the
    cells, whose width is below 1/100 of a value where a column spans fewer than 40 octaves.
    """
    g = grid.values() if transform is None else transform.forward(grid.values())
    weight = np.ascontiguousarray(grid.counts)  # sums in one order, however the counts lie
    n = weight.sum(axis=1)
    some = np.where(n > 0.0, n, 1.0)
    mean = np.where(weight > 0.0, weight * g, 0.0).sum(axis=1) / some
    apart = np.abs(g[None, :] - mean[:, None])
    apart[apart <= MAX_ROUNDING * np.abs(g)] = 0.0
    return n, mean, np.where(weight > 0.0, weight * apart**2, 0.0).sum(axis=1)


def _log_likelihood(grid: GridCounts, exponent: float) -> float:
    """Profile log-likelihood of λ under a Gaussian in each class, up to a constant; −1e300 where
    there is none, or where squares of g(x) are beyond float64."""
    transform = Transform("yeo-johnson", exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        n, _, squares = class_moments(grid, transform)
    used = (n > 1.0) & (squares > MIN_POSITIVE)
    if not np.isfinite(squares).all() or not used.any():
        return IMPOSSIBLE
    slope = transform.log_slope(grid.values())
    jacobian = (grid.counts[used] * slope).sum()
    return float(jacobian - 0.5 * (n[used] * np.log(squares[used] / n[used])).sum())


def transform_of(kind: Any, grid: GridCounts) -> Transform | None:
    """The transform that a family declares, λ fitted to the grid counts by maximum likelihood."""
    if kind is None:
        return None
    if kind == "log":
        return Transform("log")
    from scipy.optimize import minimize_scalar  # slow to import, and few need it

    best = minimize_scalar(
        lambda exponent: -_log_likelihood(grid, exponent), bounds=(-5.0, 7.0), method="bounded"
    )
    return Transform("yeo-johnson", float(best.x) if best.fun < -IMPOSSIBLE else 1.0)
