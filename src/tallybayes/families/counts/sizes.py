"""The sizes r of negative binomials, whose dispersion is 1/r, from counted values.

The equation is in :mod:`tallybayes.families.counts.negative_binomial`. Sizes of maximum likelihood
of small whole numbers are found by a kernel (``src/kernels/leave_one_out/choice_counts.hpp``), all
others here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma, psi

from tallybayes import _kernels
from tallybayes.families.contract.family import less
from tallybayes.families.priors.gamma import Gamma

__all__ = ["MAX_COUNT", "MAX_LOG_SIZE", "MIN_LOG_SIZE", "Sizes", "Sums"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MIN_LOG_SIZE, MAX_LOG_SIZE = -14.0, 14.0  # r of a million: the variance is Poisson's but for m/r
MAX_STEPS = 60  # of Newton's method and bisection
TOLERANCE = 1e-12  # change of log r that ends them
MAX_COUNT = 4095.0  # up to which sizes are estimated by the kernel
MAX_INTERMEDIATE = 1 << 20  # numbers of an intermediate result


class Sums(NamedTuple):
    """Rows and events: arrays of one shape."""

    n: Array
    total: Array

    @property
    def mean(self) -> Array:
        return np.asarray(self.total / np.where(self.n > 0.0, self.n, 1.0))

    def of(self, classes: Index | slice | int) -> Sums:
        """The sums of some classes."""
        return Sums(self.n[classes], self.total[classes])

    def without(self, x: Array, weight: Array) -> Sums:
        """The sums, each without a row of value x and some weight."""
        return Sums(less(self.n, weight), less(self.total, weight * x))


class Slope(NamedTuple):
    """The first two derivatives of a log-likelihood by log r."""

    slope: Array
    bend: Array


@dataclass(frozen=True, eq=False)
class Sizes:
    """log r of groups of rows that were counted by value.

    Parameters
    ----------
    values : float64 array (n_values,)
        Ascending.
    counts : float64 array (n_groups, n_values)
    prior : Gamma, optional
        Of the dispersion 1/r; its posterior's mode is found instead of maximum likelihood.
    """

    values: Array
    counts: Array
    prior: Gamma | None

    @cached_property
    def sums(self) -> Sums:
        """Of each group, float64 (n_groups,)."""
        return Sums(self.counts.sum(axis=1), self.counts @ self.values)

    @cached_property
    def _squares(self) -> Array:
        """Σ n_x x² of each group, float64 (n_groups,)."""
        return np.asarray(self.counts @ self.values**2)

    @cached_property
    def _has_kernel(self) -> bool:
        return self.prior is None and len(self.values) > 0 and _are_counts(self.values, MAX_COUNT)

    @cached_property
    def of_all(self) -> Array:
        """log r of each group, float64 (n_groups,)."""
        if self._has_kernel:
            sizes = np.empty(len(self.counts))
            _kernels.counts_sizes(self.counts, self.values, sizes)
            return sizes
        none = np.zeros(len(self.counts))
        return self.solved(np.arange(len(none)), none, none, self.sums, none)

    def without(self, of: Index, x: Array, weight: Array) -> Array:
        """log r of groups `of`, each without a row of value x and some weight; arrays (n,)."""
        if self._has_kernel and _are_counts(x, float(self.values[-1])):
            sizes = np.empty(len(of))
            _kernels.counts_sizes_without(self.counts, self.values, of, x, weight, sizes)
            return sizes
        left = self.sums.of(of).without(x, weight)
        return self.solved(of, x, weight, left, self.of_all[of])

    def solved(self, of: Index, x: Array, weight: Array, left: Sums, first: Array) -> Array:
        """The same, solved in NumPy; `left` are the sums without the row. All arrays are (n,).

        Newton's method from a first estimate, and bisection where it would leave the bracket; an
        entry that has converged is left as it is, so that none depends on the others.
        """
        low, high = np.full(len(of), MIN_LOG_SIZE), np.full(len(of), MAX_LOG_SIZE)
        finite = self._finite(of, x, left, weight)
        at = np.where(finite, first, MAX_LOG_SIZE)
        open_ = (left.n > 0.0) & finite
        for _ in range(MAX_STEPS):
            some = np.flatnonzero(open_)
            if not len(some):
                break
            slope, bend = self.slope(at[some], of[some], x[some], left.of(some), weight[some])
            up = slope > 0.0
            low[some] = np.where(up, at[some], low[some])
            high[some] = np.where(up, high[some], at[some])
            step = at[some] - slope / np.where(bend < 0.0, bend, -1.0)
            fits = (bend < 0.0) & (step > low[some]) & (step < high[some])
            new = np.where(fits, step, 0.5 * (low[some] + high[some]))
            open_[some] = np.abs(new - at[some]) > TOLERANCE
            at[some] = new
        return np.where(left.n > 0.0, at, MAX_LOG_SIZE)

    def _finite(self, of: Index, x: Array, left: Sums, weight: Array) -> NDArray[np.bool_]:
        """Whether an estimate of r is finite."""
        if self.prior is not None:
            return np.ones(len(of), dtype=bool)
        mean = left.mean
        return np.asarray(self._squares[of] - weight * x * x - left.total * mean > left.total)

    def slope(self, at: Array, of: Index, x: Array, left: Sums, weight: Array) -> Slope:
        """How the log-likelihood, and that of the prior, change with log r."""
        size = np.exp(at)
        first, second = self._polygammas(size, of)
        first -= weight * psi(size + x) + left.n * psi(size)
        second -= weight * polygamma(1, size + x) + left.n * polygamma(1, size)
        mean = left.mean
        first -= left.n * np.log1p(mean / size)
        second += left.n * mean / (size * (size + mean))
        slope, bend = size * first, size * (first + size * second)
        if self.prior is not None:
            dispersion = self.prior.rate / size
            slope += dispersion - (self.prior.shape - 1.0)
            bend -= dispersion
        return Slope(slope, bend)

    def _polygammas(self, size: Array, of: Index) -> tuple[Array, Array]:
        """Σ_x n_x ψ(r + x) and Σ_x n_x ψ'(r + x) over the rows of a group, like `size`."""
        first, second = np.empty(len(of)), np.empty(len(of))
        for k in np.unique(of).tolist():
            used = self.counts[k] > 0.0
            values, counts = self.values[used], self.counts[k, used]
            mine = np.flatnonzero(of == k)
            step = max(1, MAX_INTERMEDIATE // max(len(values), 1))
            for start in range(0, len(mine), step):
                rows = mine[start : start + step]
                each = size[rows, None] + values
                first[rows] = (counts * psi(each)).sum(axis=1)
                second[rows] = (counts * polygamma(1, each)).sum(axis=1)
        return first, second


def _are_counts(x: Array, largest: float) -> bool:
    """Whether values are whole numbers from 0 to `largest`."""
    if not len(x):
        return True
    return bool(x.min() >= 0.0 and x.max() <= largest and (x == np.floor(x)).all())
