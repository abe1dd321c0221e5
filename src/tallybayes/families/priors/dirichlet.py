"""Conjugate priors of probabilities, as values: distributions before the first row.

A family takes one as ``prior=`` and reads the posterior's mean (``estimate="mean"``), its mode
("map"), or ignores the prior ("mle"). Gelman et al., Bayesian Data Analysis (2013), chapters 2, 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

from tallybayes.families.priors.gamma_ratios import log_counts_evidence
from tallybayes.families.priors.hyperparameters import Estimate, count_numbers, hold, number

__all__ = ["Beta", "Dirichlet", "Estimate"]

Array = NDArray[np.float64]

ROUNDING = 2.0**-40  # of a concentration of 1, by which a − 1 is not distinguished from 0


def _shares(values: Any, what: str) -> tuple[float, ...]:
    """Probabilities as a tuple; they sum to 1."""
    rule = f"{what} is a list of probabilities, one a level"
    try:
        given = np.asarray(values)
        shares = given.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{rule}, got {values!r}") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{rule}, got {values!r}")
    if shares.ndim != 1 or not len(shares) or not (shares >= 0.0).all():
        raise ValueError(f"{rule}, got {values!r}")
    total = float(shares.sum())
    exact = np.finfo(given.dtype).eps if given.dtype.kind == "f" else 0.0  # float32 sums less well
    if not abs(total - 1.0) <= max(1e-9, 4.0 * exact):
        raise ValueError(
            f"{what} must sum to 1; it sums to {total!r}: divide it by its sum, if these are "
            "relative frequencies"
        )
    if abs(total - 1.0) > 2.0**-49:  # else they would change each time that a prior is copied
        shares = shares / total
    return tuple(shares.tolist())


def _mode_strength(strength: Any) -> float:
    rule = "from_mode takes a finite strength from 0 on, in rows"
    value = number(rule, strength)
    if not value >= 0.0:
        raise ValueError(f"{rule}, got {value!r}")
    return value


def _hold_excess(prior: Any, n_levels: int) -> None:
    """Makes the excess of a prior float64, one for each level, where there is one."""
    if prior._excess is None:
        return
    rule = f"{type(prior).__name__} takes an excess for each of {n_levels} levels"
    if not isinstance(prior._excess, tuple) or len(prior._excess) != n_levels:
        raise ValueError(f"{rule}, got {prior._excess!r}")
    excess = tuple([number(rule, value) for value in prior._excess])
    object.__setattr__(prior, "_excess", excess)


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
    # concentrations − 1 where they were given as such: 1 + 1e-10 − 1 is not 1e-10
    _excess: tuple[float, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        rule = "Dirichlet takes a finite strength from 0 on, in rows"
        strength = number(rule, self.strength)
        if not strength >= 0.0:
            raise ValueError(f"{rule}, got {strength!r}")
        object.__setattr__(self, "strength", strength)
        if self.base is not None and not isinstance(self.base, str):
            object.__setattr__(self, "base", _shares(self.base, "base"))
        elif isinstance(self.base, str) and self.base != "marginal":
            raise ValueError(f"base is 'marginal', None or probabilities, got {self.base!r}")
        _hold_excess(self, len(self.base) if isinstance(self.base, tuple) else 0)

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
        return cls._with_excess(_mode_strength(strength) * np.array(_shares(mode, "mode")))

    @classmethod
    def _with_excess(cls, excess: Array) -> Dirichlet:
        """Concentrations 1 + excess."""
        total = (1.0 + excess).sum()
        base = (1.0 + excess) / total
        return cls(float(total), tuple(base.tolist()), tuple(excess.tolist()))

    def concentration(self, n_levels: int) -> Array:
        """strength·base, float64 (n_levels,).

        Parameters
        ----------
        n_levels : int
            How many levels there are.
        """
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
        """E p, float64 (n_levels,).

        Parameters
        ----------
        n_levels : int
            How many levels there are.
        """
        a = self.concentration(self._levels(n_levels))
        self._need_proper("mean")
        return np.asarray(a / a.sum())

    def excess(self, n_levels: int) -> Array:
        """The concentrations − 1, what a posterior mode adds to the counts, float64 (n_levels,).

        Parameters
        ----------
        n_levels : int
            How many levels there are.

        Raises
        ------
        ValueError
            If one is below 0: where no row need be, the density then grows without bound.
        """
        a = self.concentration(n_levels)
        if self._excess is not None:
            return np.array(self._excess)
        excess = a - 1.0
        if excess.min(initial=0.0) < -ROUNDING:
            raise ValueError(
                f"the mode is undefined: concentration {a.min().item()!r} is below 1, so that the "
                "density grows without bound; take the mean, or Dirichlet.from_mode"
            )
        return np.asarray(np.where(np.abs(excess) <= ROUNDING, 0.0, excess))

    def mode(self, n_levels: int | None = None) -> Array:
        """The p of largest density, (a − 1) / Σ(a − 1), float64 (n_levels,).

        Parameters
        ----------
        n_levels : int
            How many levels there are.

        Raises
        ------
        ValueError
            Where it is undefined: a concentration below 1, or all equal to 1.
        """
        excess = self.excess(self._levels(n_levels))
        if not excess.sum() > 0.0:
            raise ValueError(
                "the mode is undefined: every p is equally dense under a uniform prior; take the "
                "mean, or learn some rows"
            )
        return np.asarray(excess / excess.sum())

    def log_density(self, p: ArrayLike) -> float:
        """log of the density at p (n_levels,), probabilities that sum to 1, in nats.

        Parameters
        ----------
        p : float64 array (n_levels,)
            Probabilities of the levels.
        """
        at = np.array(_shares(p, "p"))
        a = self.concentration(len(at))
        self._need_proper("density")
        if (at[a == 0.0] > 0.0).any():
            return -np.inf
        a, at = a[a > 0.0], at[a > 0.0]  # a level of concentration 0 has p = 0 for certain
        return float(gammaln(a.sum()) - gammaln(a).sum() + xlogy(a - 1.0, at).sum())

    def updated(self, counts: ArrayLike) -> Dirichlet:
        """The posterior after these counts (n_levels,), from 0 on.

        Parameters
        ----------
        counts : float64 array (n_classes, n_levels)
            Counts of the levels.
        """
        k = count_numbers("Dirichlet.updated", counts)
        a = self.concentration(len(k)) + k
        if not a.sum() > 0.0:
            return self
        excess = None if self._excess is None else tuple((self._excess + k).tolist())
        return Dirichlet(float(a.sum()), tuple((a / a.sum()).tolist()), excess)

    def log_evidence(self, counts: ArrayLike) -> Array:
        """log P(rows) of rows that fall on the levels `counts` (…, n_levels) times, in their order:
        the Dirichlet-multinomial without its coefficient, in nats, float64 (…).

        Parameters
        ----------
        counts : float64 array (n_classes, n_levels)
            Counts of the levels.
        """
        k = count_numbers("Dirichlet.log_evidence", counts)
        a = self.concentration(k.shape[-1])
        self._need_proper("evidence")
        return log_counts_evidence(a, k)

    def _need_proper(self, what: str) -> None:
        if not self.strength:
            raise ValueError(
                f"a Dirichlet of strength 0 is improper: it has no {what}; give it some strength, "
                "or learn rows first"
            )

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
        Above 0: rows of yes and of no as pseudo-observations.
    """

    a: float
    b: float
    _excess: tuple[float, float] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        hold(self, "above 0", 0.0, "a", "b")
        _hold_excess(self, 2)

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
        rule = "from_mode takes a mode from 0 to 1"
        theta = number(rule, mode)
        if not 0.0 <= theta <= 1.0:
            raise ValueError(f"{rule}, got {theta!r}")
        strength = _mode_strength(strength)
        yes, no = strength * theta, strength * (1.0 - theta)
        return cls(1.0 + yes, 1.0 + no, (yes, no))

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
        yes, no = self.excess
        if not yes + no > 0.0:
            raise ValueError("the mode of Beta(1, 1) is undefined: it is uniform; take the mean")
        return yes / (yes + no)

    @property
    def excess(self) -> tuple[float, float]:
        """(a − 1, b − 1), what a posterior mode adds to the counts of yes and no.

        Raises
        ------
        ValueError
            If one is below 0: where no row need be, the density then grows without bound.
        """
        if self._excess is not None:
            return self._excess
        if self.a < 1.0 or self.b < 1.0:
            raise ValueError(
                f"the mode of Beta({self.a:g}, {self.b:g}) is undefined: with a parameter below 1 "
                "the density grows without bound; take the mean, or Beta.from_mode"
            )
        return self.a - 1.0, self.b - 1.0

    def density(self, theta: ArrayLike) -> Array:
        """θ^(a−1) (1−θ)^(b−1) / B(a, b), 0 outside 0 … 1, like theta.

        Parameters
        ----------
        theta : array-like
            Probabilities at which it is evaluated.
        """
        t = np.asarray(theta, dtype=np.float64)
        inside = ~((t < 0.0) | (t > 1.0))
        at = np.where(inside, t, 0.5)
        log = xlogy(self.a - 1.0, at) + xlog1py(self.b - 1.0, -at) - betaln(self.a, self.b)
        return np.asarray(np.where(inside, np.exp(log), 0.0))

    def updated(self, yes: float, no: float) -> Beta:
        """The posterior after rows of yes and of no, from 0 on.

        Parameters
        ----------
        yes : float64 array
            Rows of yes.
        no : float64 array
            Rows of no.
        """
        k = count_numbers("Beta.updated", [yes, no])
        excess = None if self._excess is None else (self._excess[0] + k[0], self._excess[1] + k[1])
        return Beta(self.a + k[0].item(), self.b + k[1].item(), excess)

    def log_evidence(self, yes: ArrayLike, no: ArrayLike) -> Array:
        """log P of rows of yes and no, in their order, in nats.

        Parameters
        ----------
        yes : float64 array
            Rows of yes.
        no : float64 array
            Rows of no.
        """
        counts = np.stack(np.broadcast_arrays(yes, no), axis=-1)
        return log_counts_evidence(
            np.array([self.a, self.b]), count_numbers("Beta.log_evidence", counts)
        )
