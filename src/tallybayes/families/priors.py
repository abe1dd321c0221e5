"""Conjugate priors as values: what is believed of a parameter before the first row.

A family takes one as ``prior=`` and reads the posterior's mean (``estimate="mean"``), its mode
("map"), or ignores the prior ("mle"). Gelman et al., Bayesian Data Analysis (2013), chapters 2, 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

__all__ = ["Beta", "Dirichlet", "Estimate", "Gamma", "NormalInverseGamma"]

Array = NDArray[np.float64]
Estimate = Literal["mean", "map", "mle", "posterior"]


def _positive(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{owner} takes a finite {name} above 0, got {value!r}")


def _shares(values: Any, what: str) -> tuple[float, ...]:
    """Probabilities as a tuple; they sum to 1."""
    shares = np.asarray(values, dtype=np.float64)
    if shares.ndim != 1 or not len(shares) or not (shares >= 0.0).all():
        raise ValueError(f"{what} is a list of probabilities, one a level, got {values!r}")
    if not np.isclose(shares.sum(), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"{what} must sum to 1; it sums to {shares.sum().item()!r}")
    return tuple((shares / shares.sum()).tolist())


@dataclass(frozen=True)
class Dirichlet:
    """A prior of the probabilities of N levels: p ~ Dirichlet(strength·base).

    Parameters
    ----------
    strength : float
        Σ of the concentrations, in rows; 0 is the improper prior that adds nothing.
    base : sequence of float, "marginal" or None
        The prior mean of p. None: every level alike, 1/N. "marginal": the level's share among all
        classes, so that a class's probabilities shrink towards the column's (a hierarchical prior).
    """

    strength: float
    base: Sequence[float] | Literal["marginal"] | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise ValueError(
                f"Dirichlet takes a finite strength from 0 on, in rows, got {self.strength!r}"
            )
        if self.base is not None and not isinstance(self.base, str):
            object.__setattr__(self, "base", _shares(self.base, "base"))
        elif isinstance(self.base, str) and self.base != "marginal":
            raise ValueError(f"base is 'marginal', None or probabilities, got {self.base!r}")

    @classmethod
    def from_mode(cls, mode: Sequence[float], strength: float) -> Dirichlet:
        """The prior whose density is largest at `mode`, and whose mode after k of N rows is
        (k + strength·mode) / (N + strength): concentrations 1 + strength·mode.

        Parameters
        ----------
        mode : sequence of float
            Probabilities, one a level.
        strength : float
            λ, in rows.
        """
        theta = np.array(_shares(mode, "mode"))
        if not (np.isfinite(strength) and strength >= 0.0):
            raise ValueError(f"from_mode takes a finite strength from 0 on, got {strength!r}")
        concentration = 1.0 + strength * theta
        total = concentration.sum()
        return cls(float(total), tuple((concentration / total).tolist()))

    def concentration(self, n_levels: int) -> Array:
        """strength·base, float64 (n_levels,)."""
        if self.base == "marginal":
            raise ValueError("a marginal base is known only beside counts")
        if self.base is None:
            return np.full(n_levels, self.strength / n_levels)
        if len(self.base) != n_levels:
            raise ValueError(
                f"the base has {len(self.base)} probabilities for {n_levels} levels: give one a "
                "level, in the order of the levels"
            )
        return self.strength * np.asarray(self.base, dtype=np.float64)

    def mean(self, n_levels: int | None = None) -> Array:
        """E p, float64 (n_levels,)."""
        a = self.concentration(self._levels(n_levels))
        if not self.strength:
            raise ValueError("a Dirichlet of strength 0 is improper: it has no mean")
        return np.asarray(a / a.sum())

    def mode(self, n_levels: int | None = None) -> Array:
        """The p of largest density, (a − 1) / Σ(a − 1), float64 (n_levels,).

        Raises
        ------
        ValueError
            Where it is undefined: a concentration below 1, or all equal to 1.
        """
        a = self.concentration(self._levels(n_levels))
        if a.min() < 1.0:
            raise ValueError(
                f"the mode is undefined: concentration {a.min().item()!r} is below 1, so that the "
                "density grows without bound; take the mean"
            )
        excess = a - 1.0
        if not excess.sum() > 0.0:
            raise ValueError(
                "the mode is undefined: every p is equally dense under a uniform prior; take the "
                "mean, or learn some rows"
            )
        return np.asarray(excess / excess.sum())

    def log_density(self, p: ArrayLike) -> float:
        """log of the density at p (n_levels,), in nats."""
        at = np.asarray(p, dtype=np.float64)
        a = self.concentration(len(at))
        return float(gammaln(a.sum()) - gammaln(a).sum() + xlogy(a - 1.0, at).sum())

    def updated(self, counts: ArrayLike) -> Dirichlet:
        """The posterior after these counts (n_levels,)."""
        k = np.asarray(counts, dtype=np.float64)
        a = self.concentration(len(k)) + k
        return Dirichlet(float(a.sum()), tuple((a / a.sum()).tolist()))

    def log_evidence(self, counts: ArrayLike) -> Array:
        """log P(rows) of rows that fall on the levels `counts` (…, n_levels) times, in their order:
        the Dirichlet-multinomial without its coefficient, in nats, float64 (…)."""
        k = np.asarray(counts, dtype=np.float64)
        a = self.concentration(k.shape[-1])
        here = a > 0.0
        each = np.where(
            here, gammaln(k + np.where(here, a, 1.0)) - gammaln(np.where(here, a, 1.0)), 0.0
        )
        each = np.where(~here & (k > 0.0), -np.inf, each)
        return np.asarray(each.sum(-1) + gammaln(a.sum()) - gammaln(a.sum() + k.sum(-1)))

    def _levels(self, n_levels: int | None) -> int:
        if n_levels is not None:
            return n_levels
        if self.base is None or isinstance(self.base, str):
            raise ValueError("say how many levels there are: a base of None fits any number")
        return len(self.base)


@dataclass(frozen=True)
class Beta:
    """A prior of one probability: θ ~ Beta(a, b), the Dirichlet of two levels.

    Parameters
    ----------
    a, b : float
        Above 0: rows of yes and of no that are believed to have been seen.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        _positive("Beta", a=self.a, b=self.b)

    @classmethod
    def from_mode(cls, mode: float, strength: float) -> Beta:
        """Beta(1 + λθ₀, 1 + λ(1 − θ₀)): its density is proportional to θ^(λθ₀) (1 − θ)^(λ(1 − θ₀)).

        Parameters
        ----------
        mode : float
            θ₀, from 0 to 1.
        strength : float
            λ, in rows.
        """
        if not 0.0 <= mode <= 1.0 or not (np.isfinite(strength) and strength >= 0.0):
            raise ValueError(
                "from_mode takes a mode from 0 to 1 and a finite strength from 0 on, got "
                f"{mode!r} and {strength!r}"
            )
        return cls(1.0 + strength * mode, 1.0 + strength * (1.0 - mode))

    @property
    def mean(self) -> float:
        """a / (a + b)."""
        return self.a / (self.a + self.b)

    @property
    def mode(self) -> float:
        """(a − 1) / (a + b − 2).

        Raises
        ------
        ValueError
            Where it is undefined.
        """
        if self.a < 1.0 or self.b < 1.0:
            raise ValueError(
                f"the mode of Beta({self.a:g}, {self.b:g}) is undefined: with a parameter below 1 "
                "the density grows without bound; take the mean"
            )
        if self.a == self.b == 1.0:
            raise ValueError("the mode of Beta(1, 1) is undefined: it is uniform; take the mean")
        return (self.a - 1.0) / (self.a + self.b - 2.0)

    def density(self, theta: ArrayLike) -> Array:
        """θ^(a−1) (1−θ)^(b−1) / B(a, b), 0 outside 0 … 1, like theta."""
        t = np.asarray(theta, dtype=np.float64)
        inside = (t >= 0.0) & (t <= 1.0)
        at = np.where(inside, t, 0.5)
        log = xlogy(self.a - 1.0, at) + xlog1py(self.b - 1.0, -at) - betaln(self.a, self.b)
        return np.asarray(np.where(inside, np.exp(log), 0.0))

    def updated(self, yes: float, no: float) -> Beta:
        """The posterior after rows of yes and of no."""
        return Beta(self.a + yes, self.b + no)

    def log_evidence(self, yes: ArrayLike, no: ArrayLike) -> Array:
        """log P of rows of yes and no, in their order, in nats."""
        return np.asarray(
            betaln(self.a + np.asarray(yes), self.b + np.asarray(no)) - betaln(self.a, self.b)
        )


@dataclass(frozen=True)
class Gamma:
    """A prior of a rate: λ ~ Gamma(shape a, rate b), density ∝ λ^(a−1) e^(−bλ).

    Parameters
    ----------
    shape : float
        a: events believed to have been seen.
    rate : float
        b: in so many rows.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _positive("Gamma", shape=self.shape, rate=self.rate)

    @property
    def mean(self) -> float:
        """a / b."""
        return self.shape / self.rate

    @property
    def mode(self) -> float:
        """(a − 1) / b.

        Raises
        ------
        ValueError
            Where it is undefined, for a < 1.
        """
        if self.shape < 1.0:
            raise ValueError(
                f"the mode of Gamma(shape={self.shape:g}) is undefined: with a shape below 1 the "
                "density grows without bound at 0; take the mean"
            )
        return (self.shape - 1.0) / self.rate

    def density(self, rate: ArrayLike) -> Array:
        """The density at λ, 0 below 0, like `rate`."""
        x = np.asarray(rate, dtype=np.float64)
        at = np.where(x >= 0.0, x, 1.0)
        log = xlogy(self.shape, self.rate) - gammaln(self.shape)
        log = log + xlogy(self.shape - 1.0, at) - self.rate * at
        return np.asarray(np.where(x >= 0.0, np.exp(log), 0.0))

    def updated(self, total: float, rows: float) -> Gamma:
        """The posterior after `rows` rows with `total` events."""
        return Gamma(self.shape + total, self.rate + rows)


@dataclass(frozen=True)
class NormalInverseGamma:
    """A prior of a mean and a variance: σ² ~ IG(shape, scale), μ | σ² ~ N(mean, σ² / strength).

    Parameters
    ----------
    mean : float
        μ₀, in units of the column.
    strength : float
        κ₀: rows that the belief in μ₀ is worth.
    shape : float
        a₀: half of the rows that the belief in σ² is worth.
    scale : float
        b₀: half of their sum of squares; the prior mean of σ² is b₀ / (a₀ − 1).
    """

    mean: float
    strength: float
    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.mean):
            raise ValueError(f"NormalInverseGamma takes a finite mean, got {self.mean!r}")
        _positive("NormalInverseGamma", strength=self.strength, shape=self.shape, scale=self.scale)

    def posterior(self, n: Any, mean: Any, squares: Any) -> tuple[Any, Any, Any, Any]:
        """(μ_n, κ_n, a_n, b_n) after n rows of this mean and sum of squares about it; numbers or
        arrays."""
        strength = self.strength + n
        centre = (self.strength * self.mean + n * mean) / strength
        apart = self.strength * n / strength * (mean - self.mean) ** 2
        return centre, strength, self.shape + 0.5 * n, self.scale + 0.5 * (squares + apart)

    def log_density(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """log of the joint density at (μ, σ²), in nats."""
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        log = 0.5 * np.log(self.strength / (2.0 * np.pi * v))
        log = log - self.strength * (m - self.mean) ** 2 / (2.0 * v)
        log = log + self.shape * np.log(self.scale) - gammaln(self.shape)
        return np.asarray(log - (self.shape + 1.0) * np.log(v) - self.scale / v)

    def log_evidence(self, n: Any, mean: Any, squares: Any) -> Array:
        """log p of n rows of this mean and sum of squares about it, in nats."""
        _, strength, shape, scale = self.posterior(n, mean, squares)
        return np.asarray(
            gammaln(shape)
            - gammaln(self.shape)
            + self.shape * np.log(self.scale)
            - shape * np.log(scale)
            + 0.5 * np.log(self.strength / strength)
            - 0.5 * np.asarray(n) * np.log(2.0 * np.pi)
        )
