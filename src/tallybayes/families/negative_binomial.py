"""Counts with more variance than Poisson's: x | c ~ negative binomial with mean m_c and size r_c.

    log p(x|c) = log Γ(r + x) − log Γ(r) − log x! + x log(m / (r + m)) + r log(r / (r + m))

with E[x] = m and Var[x] = m + m²/r. The mean has α rows at the column's overall mean, as in
:mod:`tallybayes.families.poisson`. The size is the maximum-likelihood estimate at the
class's own mean x̄, the root of

    Σ_x n_x [ψ(r + x) − ψ(r)] − n log(1 + x̄/r),

which is unique, and finite just where Σ n_x (x − x̄)² > n x̄ (B. Levin and J. Reeds, Annals of
Statistics 5, 1977); elsewhere the class is Poisson. Under a Gamma(a, b) prior of the dispersion 1/r
it is the mode of its posterior. R. A. Fisher, Annals of Eugenics 11, 1941.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi, xlogy

from tallybayes import _kernels
from tallybayes.families.contract import (
    Context,
    NumberCounts,
    NumberDensity,
    NumberFamily,
)
from tallybayes.families.gaussian import Atoms, PooledRows, mixed
from tallybayes.families.priors import (
    Gamma,
    cannot_estimate,
    hold_choice,
    log_gamma,
    log_rising,
    smoothing_number,
)
from tallybayes.schema import Kind
from tallybayes.score import Description, Laws, NumberLaw
from tallybayes.tally import GridCounts
from tallybayes.tally.base import RESIDUE, less

__all__ = [
    "MAX_COUNT_OF_SIZES",
    "MAX_LOG_SIZE",
    "NegativeBinomial",
    "PooledCounts",
    "Sizes",
    "Sums",
    "distinct_rows",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- the family, and the likelihood of a column of counts ----------------------------------------
MAX_TABLE = 4096  # numbers of the table of log p(0), log p(1), …
MAX_DEVIATION = 3.0  # standard deviation of log r in draws


@dataclass(frozen=True)
class NegativeBinomial(NumberFamily):
    """Negative binomial likelihood for a column of whole numbers from 0 on.

    A fraction is read, its factorial by the gamma function, with a ``FamilyWarning`` when it is
    learned or predicted. A negative number or a string is refused.

    Parameters
    ----------
    alpha : float, optional
        Rows at the column's overall mean that each class has besides its own; the model's alpha by
        default. Not with estimate="mle".
    prior : Gamma, optional
        Of the dispersion 1/r. Without it the dispersion is the one of maximum likelihood.
    estimate : {"mean", "mle"}
        Whether the mean is smoothed, or maximum likelihood (a ValueError where there are no rows).

    See Also
    --------
    Poisson : Counts whose variance is their mean.
    """

    kind: ClassVar[Kind] = "grid"
    whole: ClassVar[bool] = True
    alpha: float | None = None
    prior: Gamma | None = None
    estimate: Literal["mean", "mle"] = "mean"

    def __post_init__(self) -> None:
        hold_choice(self, "estimate", Literal["mean", "mle"])
        if self.prior is not None and not isinstance(self.prior, Gamma):
            raise TypeError(f"NegativeBinomial takes a Gamma as prior, got {self.prior!r}")
        if self.alpha is not None:
            if self.estimate == "mle":
                raise ValueError(
                    f"NegativeBinomial got alpha={self.alpha!r} and estimate='mle': maximum "
                    "likelihood is not smoothed; leave one of them out"
                )
            object.__setattr__(self, "alpha", smoothing_number("NegativeBinomial", self.alpha))

    @property
    def least(self) -> int:
        return 1

    def likelihood(self, counts: NumberCounts, context: Context) -> NegativeBinomialDensity:
        alpha = context.alpha if self.alpha is None else self.alpha
        if self.estimate == "mle":
            alpha = 0.0
            if not counts.grid.counts.any():
                raise cannot_estimate(self, "the column")
        return NegativeBinomialDensity(self, counts.grid, alpha)


class _Learned(NamedTuple):
    """Sums, and log r, of each class and, last, of all together."""

    sums: Sums
    log_size: Array


def table_size(grid: GridCounts) -> int:
    """How many of 0, 1, … a table of scores has: those up to the largest that was learned."""
    values = grid.values()
    most = float(values.max()) if len(values) else 0.0
    return min(int(most), MAX_TABLE // len(grid.counts)) + 1


@dataclass(frozen=True, eq=False)
class NegativeBinomialDensity(NumberDensity):
    """A column as negative binomial.

    Parameters
    ----------
    family : NegativeBinomial
    grid : GridCounts
    alpha : float
        Rows at the overall mean.
    learned_since : _Learned, optional
        What the rows learned one by one since have made of it.
    """

    family: NegativeBinomial
    grid: GridCounts
    alpha: float
    learned_since: _Learned | None = None
    what = "negative binomial"

    # ---- estimates -------------------------------------------------------------------------------
    @cached_property
    def _sizes(self) -> Sizes:
        """Of each class and, last, of all together, as they were counted."""
        counts = self.grid.counts
        together = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
        return Sizes(self.grid.values(), together, self.family.prior)

    @property
    def n(self) -> Array:
        """Rows of each class, float64 (n_classes,)."""
        return self._sums.n[:-1]

    def learned(self, x: float, k: int, weight: float) -> NegativeBinomialDensity:
        """The density after a row of value x and class k is added: its mean; sizes are as they
        were read."""
        sums = Sums(*(part.copy() for part in self._sums))
        size = np.where(sums.n > 0.0, self.log_size, self.log_size[-1])
        for part, more in zip(sums, (weight, weight * x), strict=True):
            part[[k, -1]] += more
        return replace(self, learned_since=_Learned(sums, size))

    def forgotten(self, x: float, k: int, weight: float) -> NegativeBinomialDensity | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        left = self.learned(x, k, -weight)
        rest = zip(left._sums, self._sums, strict=True)
        enough = left._sums.n[k] > 0.0 and all(r[k] >= RESIDUE * was[k] for r, was in rest)
        return left if enough else None

    def faded(self, factor: float) -> NegativeBinomialDensity:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        sums = Sums(*(factor * part for part in self._sums))
        return replace(self, learned_since=_Learned(sums, self.log_size))

    @cached_property
    def _sums(self) -> Sums:
        """Of each class and, last, of all together, float64 (n_classes + 1,)."""
        return self._sizes.sums if self.learned_since is None else self.learned_since.sums

    @cached_property
    def log_size(self) -> Array:
        """log r of each class and, last, of all together, float64 (n_classes + 1,)."""
        if self.learned_since is not None:
            return self.learned_since.log_size
        return self._sizes.of_all

    @cached_property
    def mean_and_size(self) -> tuple[Array, Array]:
        """m and r of each class, float64 (n_classes,)."""
        own, everyone = self._sums.of(slice(-1)), self._sums.of(-1)
        size = np.where(own.n > 0.0, self.log_size[:-1], self.log_size[-1])
        return self._mean(own, everyone), np.exp(size)

    def _log_sizes_without(self, of: Index, x: Array, weight: Array) -> Array:
        """log r of the rows of classes `of`, each without a row of value x and some weight."""
        if self.learned_since is None:
            return self._sizes.without(of, x, weight)
        left = self._sums.of(of).without(x, weight)
        return self._sizes.solved(of, x, weight, left, self.log_size[of])

    def _mean(self, own: Sums, everyone: Sums) -> Array:
        """m of classes; a class without rows is like all classes together."""
        overall = np.where(everyone.n > 0.0, everyone.mean, 1.0)
        smoothed = own.total + self.alpha * overall
        rows = own.n + self.alpha
        mean = smoothed / np.where(rows > 0.0, rows, 1.0)
        return np.asarray(np.where(own.n > 0.0, mean, overall))

    # ---- scores ----------------------------------------------------------------------------------
    def log_density(self, x: Array) -> Array:
        return _log_density(x[:, None], *self.mean_and_size)

    @cached_property
    def _of_counts(self) -> Array:
        return self.log_density(np.arange(table_size(self.grid), dtype=np.float64))

    def of_counts(self) -> Array | None:
        return self._of_counts if self.learned_since is None else None

    def table(self, n: int) -> Array:
        """log p(x | c) of x = 0 … n − 1, float64 (n, n_classes), up to rounding."""
        mean, size = self.mean_and_size
        x = np.arange(n - 1.0)[:, None]
        steps = np.log((size + x) / (x + 1.0) * (mean / (size + mean)))
        first = -size * np.log1p(mean / size)
        return np.cumsum(np.concatenate([first[None, :], steps]), axis=0)

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        """A class that the row was the last of is like all classes together."""
        rows, place = distinct_rows(own, x, weight)
        return self.without_distinct(x[rows], own[rows], weight[rows]).take(place, axis=0)

    def without_distinct(self, x: Array, own: Index, weight: Array) -> Array:
        """:meth:`without`, for rows of which few are equal."""
        on_grid = self.grid.value_of(x)
        rows, pooled = np.arange(len(x)), np.full(len(x), len(self.grid.counts))
        everyone = self._sums.of(pooled).without(on_grid, weight)
        n = np.repeat(self._sums.n[None, :-1], len(x), axis=0)
        total = np.repeat(self._sums.total[None, :-1], len(x), axis=0)
        n[rows, own] = less(n[rows, own], weight)
        total[rows, own] = np.where(
            n[rows, own] > 0.0, less(total[rows, own], weight * on_grid), 0.0
        )
        size = np.repeat(self.log_size[None, :-1], len(x), axis=0)
        size[rows, own] = self._log_sizes_without(own, on_grid, weight)
        blank = n == 0.0
        lone = np.flatnonzero(blank.any(axis=1))
        if len(lone):
            of_all = self._log_sizes_without(pooled[lone], on_grid[lone], weight[lone])
            size[lone] = np.where(blank[lone], of_all[:, None], size[lone])
        mean = self._mean(Sums(n, total), Sums(everyone.n[:, None], everyone.total[:, None]))
        return _log_density(x[:, None], mean, np.exp(size))

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        """log r is drawn from the normal distribution that has the curvature of its likelihood, the
        mean given r from its Beta-prime posterior."""
        size = np.log(self.mean_and_size[1])
        of = np.where(self._sums.n[:-1] > 0.0, np.arange(len(size)), len(size))
        none = np.zeros(len(size))
        bend = self._sizes.slope(size, of, none, self._sums.of(of), none).bend
        deviation = np.minimum(1.0 / np.sqrt(np.maximum(-bend, 1e-300)), MAX_DEVIATION)
        drawn = np.clip(
            size + deviation * rng.standard_normal((n, len(size))), MIN_LOG_SIZE, MAX_LOG_SIZE
        )
        overall = float(self._sums.mean[-1]) if self._sums.n[-1] > 0.0 else 1.0
        events = self._sums.total[of] + self.alpha * overall
        failures = (self._sums.n[of] + self.alpha) * np.exp(drawn)
        log_mean = drawn + log_gamma(events, rng, drawn.shape)
        log_mean -= log_gamma(failures, rng, drawn.shape)
        mean = np.exp(np.clip(log_mean, -700.0, 700.0))[:, None, :]
        return _log_density(x[None, :, None], mean, np.exp(drawn)[:, None, :])

    @cached_property
    def law(self) -> NumberLaw:
        mean, size = self.mean_and_size
        largest = float(self.grid.values().max(initial=0.0))
        return NumberLaw(kind="counts", mean=mean, size=size, largest=largest)

    # ---- what it is ------------------------------------------------------------------------------
    def described(self) -> Description:
        mean, size = self.mean_and_size
        return Description(self.what, ["mean", "dispersion"], np.stack([mean, 1.0 / size], axis=1))

    def distribution(self, laws: Laws) -> Any:
        mean, size = self.mean_and_size
        return laws.scipy("nbinom", n=size, p=size / (size + mean))


def _log_density(x: Array, mean: Array, size: Array) -> Array:
    """log p(x); shapes broadcast."""
    ways = log_rising(size, x) - gammaln(x + 1.0)
    return np.asarray(ways + xlogy(x, mean) - xlogy(x, size + mean) - size * np.log1p(mean / size))


# ---- a column of counts, each class with some pooled rows of all classes -------------------------
# It is the mixture of :mod:`tallybayes.families.gaussian` without atoms, and bounds the log-ratios
# of the column in the same way. A value below 0 has no probability in any class and adds nothing.
@dataclass(frozen=True, eq=False)
class PooledCounts(PooledRows):
    """Negative binomials with rows of all classes."""

    density: NegativeBinomialDensity

    @classmethod
    def read(cls, grid: GridCounts, alpha: float, rows: float) -> PooledCounts:
        """A column whose family nobody declared; `alpha` are rows at its overall mean."""
        family = NegativeBinomial()
        atoms = Atoms.none(len(grid.counts))
        return cls(NegativeBinomialDensity(family, grid, alpha), atoms, rows)

    def takes(self, x: float) -> bool:
        return x >= 0.0 and x.is_integer()

    # ---- scores ----------------------------------------------------------------------------------
    def _mixed(self, scores: Array, n: Array) -> Array:
        with np.errstate(divide="ignore"):
            return mixed(scores + np.log(n), n, self.rows)

    def _of(self, x: Array) -> Array:
        """The scores of values, one by one."""
        scores = np.full((len(x), len(self.n)), -np.inf)
        counts = x >= 0.0
        scores[counts] = self.density.log_density(x[counts])
        return self._mixed(scores, self.n)

    @cached_property
    def _table(self) -> Array:
        """The scores of 0, 1, …"""
        scores = self.density.table(table_size(self.density.grid))
        return self._mixed(scores, self.n)

    def of_counts(self) -> Array | None:
        return None if self.density.learned_since is not None else self._table

    def log_density(self, x: Array) -> Array:
        if self.density.learned_since is not None:
            return self._of(x)
        at = np.clip(x, 0.0, len(self._table) - 1.0).astype(np.intp)
        scores = self._table[at]
        beyond = np.flatnonzero(at != x)
        if len(beyond):
            scores[beyond] = self._of(x[beyond])
        return scores

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        rows, place = distinct_rows(own, x, weight)
        x, own, weight = x[rows], own[rows], weight[rows]
        at = np.arange(len(rows)), own
        n = np.repeat(self.n[None, :], len(rows), axis=0)
        n[at] = less(n[at], weight)
        return self._mixed(self.density.without_distinct(x, own, weight), n).take(place, axis=0)

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        counts = x >= 0.0
        scores = np.full((n, len(x), len(self.n)), -np.inf)
        scores[:, counts] = self.density.drawn(x[counts], rng, n)
        return self._mixed(scores, self.n)


# ---- the sizes r, whose dispersion is 1/r, from counted values -----------------------------------
# The equation stands at the top. Sizes of maximum likelihood of small whole numbers are found by a
# kernel (``src/kernels/leave_one_out/choice.hpp``), all others here.
MIN_LOG_SIZE, MAX_LOG_SIZE = -14.0, 14.0  # r of a million: the variance is Poisson's but for m/r
MAX_STEPS = 60  # of Newton's method and bisection
TOLERANCE = 1e-12  # change of log r that ends them
MAX_COUNT_OF_SIZES = 4095.0  # up to which sizes are estimated by the kernel
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
        return (
            self.prior is None
            and len(self.values) > 0
            and _are_counts(self.values, MAX_COUNT_OF_SIZES)
        )

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
        finite = np.ones(len(of), dtype=bool)
        if self.prior is None:
            squares = self._squares[of] - weight * x * x
            finite = squares - left.total * left.mean > left.total
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


# ---- the distinct rows of a column: what follows from a row's content is computed once for each --
MAX_CODE = 1 << 16  # of codes that are marked in an array; beyond, they are sorted


def distinct_rows(*columns: NDArray[Any]) -> tuple[Index, Index]:
    """One row of each content, and for each row the place of its content among these.

    Parameters
    ----------
    *columns : arrays (n_rows,)
        What a row holds, without missing values.

    Returns
    -------
    rows : index array (n_distinct,)
    place : index array (n_rows,)
        ``column[rows][place]`` is `column`.
    """
    key, n_codes = _codes(columns[0])
    for column in columns[1:]:
        codes, n = _codes(column)
        if n > 1:
            key, n_codes = _codes(key * n + codes)
    rows = np.full(n_codes, -1, dtype=np.intp)
    rows[key] = np.arange(len(key))
    used = np.flatnonzero(rows >= 0)
    place = np.empty(n_codes, dtype=np.intp)
    place[used] = np.arange(len(used))
    return rows[used], place[key]


def _codes(column: NDArray[Any]) -> tuple[Index, int]:
    """A code from 0 on for each entry, equal for equal entries, and a bound above all codes."""
    if not len(column):
        return np.zeros(0, dtype=np.intp), 1
    low, high = column.min(), column.max()
    if low == high:
        return np.zeros(len(column), dtype=np.intp), 1
    if low >= 0 and high < MAX_CODE:
        whole = column.astype(np.intp)
        if (whole == column).all():
            return whole, int(high) + 1
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)
