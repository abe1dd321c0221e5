"""Counts with more variance than Poisson's: x | c ~ negative binomial with mean m_c and size r_c.

    log p(x|c) = log Γ(r + x) − log Γ(r) − log x! + x log(m / (r + m)) + r log(r / (r + m))

with E[x] = m and Var[x] = m + m²/r. The mean has α rows at the column's overall mean, as in
:mod:`tallybayes.families.counts.poisson`. The size is the maximum-likelihood estimate at the
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
from scipy.special import gammaln, xlogy

from tallybayes.families.contract.column_family import Context, NumberCounts, NumberFamily
from tallybayes.families.contract.density import NumberDensity
from tallybayes.families.contract.family import less
from tallybayes.families.counts.count_term import count_term
from tallybayes.families.counts.distinct_rows import distinct_rows
from tallybayes.families.counts.sizes import MAX_LOG_SIZE, MIN_LOG_SIZE, Sizes, Sums
from tallybayes.families.priors.draws import log_gamma
from tallybayes.families.priors.gamma import Gamma
from tallybayes.families.priors.gamma_ratios import log_rising
from tallybayes.families.priors.hyperparameters import (
    cannot_estimate,
    hold_choice,
    smoothing_number,
)
from tallybayes.parameters import Description, Laws, Term
from tallybayes.parameters.formula import NumberLaw
from tallybayes.schema import Kind
from tallybayes.tally import GridCounts
from tallybayes.tally.base import RESIDUE

__all__ = ["NegativeBinomial"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

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

    def law(self) -> NumberLaw:
        mean, size = self.mean_and_size
        return NumberLaw(kind="counts", mean=mean, size=size)

    def term(self, column: str) -> Term:
        return count_term(column, self, self.grid, *self.mean_and_size)

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
