"""Counts of events: x | c ~ Poisson(λ_c).

    log p(x | c) = x log λ_c − λ_c − log x!

Under a Gamma(a, b) prior and n rows with T events, λ is Gamma(a + T, b + n): its mean is
(a + T) / (b + n), its mode (a + T − 1) / (b + n); with λ integrated out x is negative binomial,

    p(x | c) = Γ(r + x) / (Γ(r) x!) · q^r (1 − q)^x,   r = a + T,  q = (b + n) / (b + n + 1).

By default b is α rows at the column's overall mean. Gelman et al. (2013), section 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from tallybayes.families.contract import (
    Context,
    LearningDensity,
    NumberCounts,
    NumberFamily,
    TunableDensity,
)
from tallybayes.families.priors import (
    Estimate,
    Gamma,
    ParameterPrior,
    PriorAndPosteriors,
    cannot_estimate,
    check_estimate,
    log_gamma,
    log_rising,
)
from tallybayes.schema import Kind
from tallybayes.score import Description, ImproperPrior, Laws, NumberLaw
from tallybayes.tally import GridCounts, Moments
from tallybayes.tally.base import RESIDUE, less

__all__ = ["Poisson", "PoissonDensity"]


Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_COUNTS = 1024
"""How many of 0, 1, … a table of scores holds at most."""


@dataclass(frozen=True)
class Poisson(NumberFamily):
    """Poisson likelihood for a column of whole numbers from 0 on.

    A fraction is read, its factorial by the gamma function, with a ``FamilyWarning`` when it is
    learned or predicted. A negative number or a string is refused.

    Parameters
    ----------
    alpha : float, optional
        b, in rows; the model's alpha by default.
    prior : Gamma, optional
        In place of alpha.
    estimate : {"mean", "map", "mle", "posterior"}
        The rate's posterior mean, its mode, maximum likelihood (a ValueError where there are no
        rows), or the rate integrated out.
    """

    kind: ClassVar[Kind] = "moments"
    whole: ClassVar[bool] = True
    alpha: float | None = None
    prior: Gamma | None = None
    estimate: Estimate = "mean"

    def __post_init__(self) -> None:
        check_estimate(self, Gamma)
        if self.estimate == "map" and self.prior is not None and self.prior.shape < 1.0:
            raise ValueError(
                f"the posterior mode under Gamma(shape={self.prior.shape:g}) is undefined where no "
                "event need be: give a prior of shape 1 or more, or estimate='mean'"
            )

    @property
    def least(self) -> int:
        return 1

    @property
    def needs_values(self) -> bool:
        return False

    @property
    def follows(self) -> bool:
        return self.alpha is None and self.prior is None and self.estimate != "mle"

    def likelihood(self, counts: NumberCounts, context: Context) -> PoissonDensity:
        return self.read(counts.moments, context.alpha)

    def read(self, moments: Moments, alpha: float) -> PoissonDensity:
        """The density of one column; `alpha` is the model's.

        Parameters
        ----------
        moments : Moments
            Moments of the column.
        alpha : float
            Pseudo-counts of each level.
        """
        n = moments.n[:, 0]
        if self.estimate == "mle" and not n.any():
            raise cannot_estimate(self, "the column")
        total = np.maximum(moments.mean_and_squares()[0][:, 0] * n, 0.0)
        alpha = alpha if self.alpha is None else self.alpha
        return PoissonDensity(self, n, total, 0.0 if self.estimate == "mle" else alpha)


@dataclass(frozen=True, eq=False)
class PoissonDensity(TunableDensity, LearningDensity):
    """A column as Poisson, or negative binomial where the rates are integrated out.

    Parameters
    ----------
    family : Poisson
    n, total : float64 arrays (n_classes,)
        Rows and events of each class.
    alpha : float
        Pseudo-rows at the overall mean, where the family gives no prior.
    """

    family: Poisson
    n: Array
    total: Array
    alpha: float

    def scaled(self, factor: float) -> PoissonDensity:
        """The density of the same rows with `factor` times their weights."""
        return replace(self, n=factor * self.n, total=factor * self.total)

    def learned(self, x: float, k: int, weight: float) -> PoissonDensity:
        """The density after a row of value x and class k is added."""
        n, total = self.n.copy(), self.total.copy()
        n[k] += weight
        total[k] += weight * x
        return PoissonDensity(self.family, n, total, self.alpha)

    def forgotten(self, x: float, k: int, weight: float) -> PoissonDensity | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        left = self.learned(x, k, -weight)
        enough = left.n[k] > RESIDUE * self.n[k] and left.total[k] >= RESIDUE * self.total[k]
        return left if enough else None

    def faded(self, factor: float) -> PoissonDensity:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        return self.scaled(factor)

    @property
    def tunable(self) -> PoissonDensity | None:
        return self if self.family.follows else None

    def under(self, strength: float) -> PoissonDensity:
        """The density with other pseudo-rows at the overall mean."""
        return replace(self, alpha=strength)

    @property
    def what(self) -> str:
        return "negative binomial" if self.family.estimate == "posterior" else "Poisson"

    def _posterior(self, n: Array, total: Array, rows: Array, events: Array) -> tuple[Array, Array]:
        """Shape and rate of the Gamma posterior; `rows` and `events` are of all classes."""
        blank = n == 0.0
        if self.family.prior is not None:
            return self.family.prior.shape + total, self.family.prior.rate + n
        if not blank.any():
            return total + self.alpha * (events / rows), n + self.alpha
        # no rows at all: one event a row, in every class
        events, rows = np.where(rows > 0.0, events, 1.0), np.where(rows > 0.0, rows, 1.0)
        overall = events / rows
        shape, rate = total + self.alpha * overall, n + self.alpha
        # a class without rows is like all classes together
        return (
            np.where(blank, events + self.alpha * overall, shape),
            np.where(blank, rows + self.alpha, rate),
        )

    def _score(self, x: Array, shape: Array, rate: Array) -> Array:
        if self.family.estimate == "posterior":
            some = np.maximum(shape, 1e-300)
            score = log_rising(some, x) - some * np.log1p(1.0 / rate)
            return np.asarray(score - xlog1py(x, rate) - gammaln(x + 1.0))
        if self.family.estimate == "map" and self.family.prior is not None:
            shape = np.maximum(shape - 1.0, 0.0)
        mean = shape / rate
        return np.asarray(xlogy(x, mean) - mean - gammaln(x + 1.0))

    def log_evidence(self) -> float:
        """log P(rows) under the family's prior, or the one that alpha is short for, in nats; the
        factorials of the counts, which no prior changes, are left out."""
        if self.family.prior is not None:
            shape, rate = self.family.prior.shape, self.family.prior.rate
        elif not self.total.any():
            return 0.0  # no event, as the prior about no event expects
        else:
            shape, rate = self.alpha * self.total.sum() / max(self.n.sum(), 1e-300), self.alpha
            shape += self.family.estimate == "map"  # alpha is then short for the prior's mode
        if not (shape > 0.0 and rate > 0.0):
            return -np.inf
        each = log_rising(shape, self.total)
        each -= shape * np.log1p(self.n / rate) + self.total * np.log(rate + self.n)
        return float(each.sum())

    def log_evidence_of(self, grid: GridCounts) -> float:
        if self.family.prior is None and self.alpha == 0.0:
            raise ImproperPrior(
                "is read as Poisson without a prior",
                "declare Poisson(prior=Gamma(…)), or give an alpha above 0",
            )
        rows = grid.counts.sum(axis=0)
        return self.log_evidence() - float((rows * gammaln(grid.values() + 1.0)).sum())

    def prior_and_posteriors(self, column: str) -> PriorAndPosteriors:
        prior = self.family.prior
        shapes, rates = self.posterior
        if prior is None:
            rows, events = float(self.n.sum()), float(self.total.sum())
            overall = events / rows if rows and events else 1.0
            if not self.alpha > 0.0:
                raise ImproperPrior(
                    "is read as Poisson without a prior",
                    "give Poisson an alpha above 0, or a Gamma prior",
                )
            # under "map" alpha is short for the prior's mode, and the density holds one less
            more = float(self.family.estimate == "map")
            prior = Gamma(self.alpha * overall + more, self.alpha)
            shapes = shapes + more
        posteriors: list[ParameterPrior] = [
            Gamma(float(a), float(b)) for a, b in zip(shapes, rates, strict=True)
        ]
        return PriorAndPosteriors(f"rate of {column}", prior, posteriors)

    def distribution(self, laws: Laws) -> Any:
        if self.family.estimate != "posterior":
            return laws.scipy("poisson", mu=self.rate)
        shape, rate = self.posterior
        return laws.scipy("nbinom", n=np.maximum(shape, 1e-300), p=rate / (rate + 1.0))

    @cached_property
    def posterior(self) -> tuple[Array, Array]:
        """Shape a + T and rate b + n of each class's Gamma posterior, float64 (n_classes,)."""
        return self._posterior(self.n, self.total, self.n.sum(), self.total.sum())

    @cached_property
    def rate(self) -> Array:
        """λ_c as estimated, float64 (n_classes,)."""
        shape, rate = self.posterior
        if self.family.estimate == "map" and self.family.prior is not None:
            shape = np.maximum(shape - 1.0, 0.0)
        return np.asarray(shape / rate)

    def log_density(self, x: Array) -> Array:
        return self._score(x[:, None], *self.posterior)

    @cached_property
    def _of_counts(self) -> Array | None:
        shape, rate = self.posterior
        top = float((shape / rate).max())
        most = top + 8.0 * np.sqrt(top) + 16.0  # nearly all rows that the rates expect
        return self.log_density(np.arange(most)) if most <= MOST_COUNTS else None

    def of_counts(self) -> Array | None:
        return self._of_counts

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        shape, rate = self._posterior(self.n, self.total, self.n.sum(), self.total.sum())
        log_mean = log_gamma(shape, rng, (n, len(shape))) - np.log(rate)
        with np.errstate(invalid="ignore"):
            term = np.where(x[:, None] == 0.0, 0.0, x[:, None] * log_mean[:, None, :])
        return np.asarray(term - np.exp(log_mean)[:, None, :] - gammaln(x + 1.0)[:, None])

    @cached_property
    def law(self) -> NumberLaw | None:
        if self.family.estimate == "posterior":
            return None
        with np.errstate(divide="ignore"):
            return NumberLaw.of_slopes(np.log(self.rate), -self.rate)

    def described(self) -> Description:
        return Description(self.what, ["rate"], self.rate[:, None])

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        rows = less(self.n.sum() + np.zeros(len(x)), weight)
        events = np.where(rows > 0.0, less(self.total.sum() + np.zeros(len(x)), weight * x), 0.0)
        n = np.broadcast_to(self.n, (len(x), len(self.n)))
        scores = self._score(
            x[:, None], *self._posterior(n, self.total, rows[:, None], events[:, None])
        )
        left = less(self.n[own], weight)
        total = np.where(left > 0.0, less(self.total[own], weight * x), 0.0)
        mine = self._score(x, *self._posterior(left, total, rows, events))
        scores[np.arange(len(x)), own] = mine
        return scores
