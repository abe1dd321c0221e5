"""Weight, mean and spread of a column in each class, and the predictive density of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors.gamma_ratios import log_rising
from tallybayes.tally.base import RESIDUE

__all__ = [
    "TINY",
    "ZERO_VARIANCE",
    "Cells",
    "Predictive",
    "Recount",
    "Spread",
    "Statistics",
    "log_density",
]

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

    def variance(self, everyone: Statistics) -> Array:
        """The pooled variance within classes; that of all classes together where none has any."""
        some = self.freedom > 0.0
        pooled = self.squares / np.where(some, self.freedom, 1.0)
        return np.where(some, pooled, everyone.variance)


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
