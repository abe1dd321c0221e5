"""Conjugate priors of a family's parameters, their hyperparameters and draws; the class prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, log_softmax, multigammaln, xlog1py, xlogy

from tallybayes.errors import NegativeTally
from tallybayes.persistence import NonNegative, Shape, Within
from tallybayes.tally import ClassCounts
from tallybayes.tally.base import RESIDUE

__all__ = [
    "Beta",
    "ClassPrior",
    "Dirichlet",
    "Estimate",
    "Gamma",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "ParameterPrior",
    "PriorAndPosteriors",
    "PriorWithout",
    "best_alpha",
    "cannot_estimate",
    "check_estimate",
    "class_evidence",
    "correction",
    "each",
    "estimated_under",
    "hold",
    "hold_choice",
    "log",
    "log_betas",
    "log_counts_evidence",
    "log_dirichlet",
    "log_gamma",
    "log_rising",
    "number",
    "smoothing_number",
    "whole_number",
]


# ---- checks of the hyperparameters of families: alpha, a prior, and the estimate -----------------
Array = NDArray[np.float64]
Estimate = Literal["mean", "map", "mle", "posterior"]


def number(rule: str, value: Any) -> float:
    """A finite float64.

    Raises
    ------
    TypeError, ValueError
        With the rule, for what is not a number, or not finite.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, Real):
        raise TypeError(f"{rule}, got {value!r}: give a number")
    if not np.isfinite(float(value)):
        raise ValueError(f"{rule}, got {value!r}")
    return float(value)


def hold(prior: Any, rule: str, above: float | None, *names: str) -> None:
    """Makes these fields of a frozen value float64, or refuses what is not finite and `above`."""
    for name in names:
        what = f"{type(prior).__name__} takes a finite {name} {rule}".rstrip()
        value = number(what, getattr(prior, name))
        if above is not None and not value > above:
            raise ValueError(f"{what}, got {value!r}")
        object.__setattr__(prior, name, value)


def count_numbers(owner: str, values: ArrayLike) -> Array:
    """Counts as float64, or refused."""
    counts = np.asarray(values, dtype=np.float64)
    bad = ~((counts >= 0.0) & (counts < np.inf))
    if bad.any():
        raise ValueError(f"{owner} takes finite counts from 0 on, got {counts[bad][0].item()!r}")
    return counts


def whole_number(rule: str, value: Any, minimum: int, maximum: float = math.inf) -> int:
    """An int from `minimum` to `maximum`.

    Raises
    ------
    TypeError, ValueError
        With the rule, for what is not a whole number, too small or too large.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{rule}, got {value!r}")
    if not minimum <= int(value) <= maximum:
        raise ValueError(f"{rule}, got {value!r}")
    return int(value)


def hold_choice(family: Any, name: str, choices: Any) -> None:
    """Raises ValueError where a field of a family is none of the choices of its Literal type."""
    value = getattr(family, name)
    if not isinstance(value, str) or value not in get_args(choices):
        named = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{type(family).__name__} takes {name} from {named}, got {value!r}")


def smoothing_number(owner: str, value: Any) -> float:
    """alpha as float64, from 0 on."""
    rule = f"{owner} takes a finite alpha from 0 on, in rows"
    alpha = number(rule, value)
    if alpha < 0.0:
        raise ValueError(f"{rule}, got {alpha!r}; 0 is allowed and means no smoothing")
    return alpha


def check_estimate(family: Any, kind: type, *, each: bool = False) -> None:
    """Checks estimate, alpha and prior of a frozen family, and makes alpha float64.

    Parameters
    ----------
    family : dataclass
    kind : type
        The prior's.
    each : bool
        Whether alpha may be an array, a value a feature.

    Raises
    ------
    TypeError, ValueError
    """
    owner = type(family).__name__
    if family.estimate not in get_args(Estimate):
        raise ValueError(
            f"estimate is 'mean', 'map', 'mle' or 'posterior', got {family.estimate!r}"
        )
    given = [name for name in ("alpha", "prior") if getattr(family, name, None) is not None]
    if len(given) == 2 or (given and family.estimate == "mle"):
        raise ValueError(
            f"{owner} got {' and '.join([*given, f'estimate={family.estimate!r}'])}: give "
            "alpha or a prior, and neither with estimate='mle'"
        )
    if family.prior is not None and not isinstance(family.prior, kind):
        raise TypeError(f"{owner} takes a {kind.__name__} as prior, got {family.prior!r}")
    alpha = getattr(family, "alpha", None)
    if alpha is None:
        return
    if each and np.ndim(alpha):
        values = np.array(alpha, dtype=np.float64)
        for value in values[~((values >= 0.0) & (values < np.inf))].tolist():
            smoothing_number(owner, value)
        object.__setattr__(family, "alpha", values)
    else:
        object.__setattr__(family, "alpha", smoothing_number(owner, alpha))


def cannot_estimate(family: Any, where: str) -> ValueError:
    """The error of maximum likelihood where nothing was counted: 0/0 is not an estimate."""
    return ValueError(
        f"{type(family).__name__}(estimate='mle') cannot estimate {where}: nothing was counted "
        "there in any class, and 0/0 is not a probability. Learn some rows with values, or give a "
        "prior with estimate='mean' or 'map', which is then the estimate"
    )


# ---- the conjugate prior of a rate: Gamma --------------------------------------------------------
@dataclass(frozen=True)
class Gamma:
    """A prior of a rate: λ ~ Gamma(shape a, rate b), density ∝ λ^(a−1) e^(−bλ).

    Parameters
    ----------
    shape : float
        a: pseudo-events.
    rate : float
        b: in so many rows.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        hold(self, "above 0", 0.0, "shape", "rate")

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
        """The density at λ, 0 below 0, like `rate`.

        Parameters
        ----------
        rate : array-like
            Rates at which it is evaluated.
        """
        x = np.asarray(rate, dtype=np.float64)
        inside = ~((x < 0.0) | (x == np.inf))
        at = np.where(inside, x, 1.0)
        log = xlogy(self.shape, self.rate) - gammaln(self.shape)
        log = log + xlogy(self.shape - 1.0, at) - self.rate * at
        return np.asarray(np.where(inside, np.exp(log), 0.0))

    def updated(self, total: float, rows: float) -> Gamma:
        """The posterior after `rows` rows with `total` events, from 0 on.

        Parameters
        ----------
        total : float
            Their sum.
        rows : float
            Rows that were counted.
        """
        events, n = count_numbers("Gamma.updated", [total, rows]).tolist()
        return Gamma(self.shape + events, self.rate + n)


# ---- the conjugate priors of probabilities: Dirichlet, and Beta of two levels --------------------
# A family takes one as ``prior=`` and reads the posterior's mean (``estimate="mean"``), its mode
# ("map"), or ignores the prior ("mle"). Gelman et al., Bayesian Data Analysis (2013), chapters 2,
# 3.
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
        excess = _mode_strength(strength) * np.array(_shares(mode, "mode"))
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


# ---- the conjugate prior of a mean with a variance: normal-inverse-gamma -------------------------
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
        hold(self, "", None, "mean")
        hold(self, "above 0", 0.0, "strength", "shape", "scale")

    def posterior(self, n: Any, mean: Any, squares: Any) -> tuple[Any, Any, Any, Any]:
        """(μ_n, κ_n, a_n, b_n) after n rows of this mean and sum of squares about it; numbers or
        arrays.

        .. math::

            κ_n = κ₀ + n, μ_n = (κ₀·μ₀ + n·x̄) / κ_n, a_n = a₀ + n/2

            b_n = b₀ + (S + κ₀·n/κ_n · (x̄ − μ₀)²) / 2

        Parameters
        ----------
        n : float
            Rows.
        mean : float64 array
            Mean of the values.
        squares : float64 array
            Sum of squares about the mean.
        """
        strength = self.strength + n
        centre = (self.strength * self.mean + n * mean) / strength
        return centre, strength, self.shape + 0.5 * n, self.scale + self._added(n, mean, squares)

    def _added(self, n: Any, mean: Any, squares: Any) -> Any:
        """b_n − b₀."""
        apart = self.strength * n / (self.strength + n) * (mean - self.mean) ** 2
        return 0.5 * (squares + apart)

    def density_of_mean(self, mean: ArrayLike) -> Array:
        """The density of μ, whatever σ² is: Student-t of 2a₀ degrees of freedom about μ₀, with the
        scale √(b₀ / (a₀κ₀)).

        Parameters
        ----------
        mean : float64 array
            Means at which it is evaluated.
        """
        freedom, scale = 2.0 * self.shape, np.sqrt(self.scale / (self.shape * self.strength))
        t = (np.asarray(mean, dtype=np.float64) - self.mean) / scale
        half = 0.5 * (freedom + 1.0)
        log = gammaln(half) - gammaln(0.5 * freedom) - 0.5 * np.log(freedom * np.pi)
        return np.asarray(np.exp(log - half * np.log1p(t * t / freedom)) / scale)

    def log_density(self, mean: ArrayLike, variance: ArrayLike) -> Array:
        """log of the joint density at (μ, σ²), in nats.

        Parameters
        ----------
        mean : float64 array
            Means.
        variance : float64 array
            Variances.
        """
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        log = 0.5 * np.log(self.strength / (2.0 * np.pi * v))
        log = log - self.strength * (m - self.mean) ** 2 / (2.0 * v)
        log = log + self.shape * np.log(self.scale) - gammaln(self.shape)
        return np.asarray(log - (self.shape + 1.0) * np.log(v) - self.scale / v)

    def log_evidence(self, n: Any, mean: Any, squares: Any) -> Array:
        """log p of n rows of this mean and sum of squares about it, in nats.

        Parameters
        ----------
        n : float
            Rows.
        mean : float64 array
            Mean of the values.
        squares : float64 array
            Sum of squares about the mean.
        """
        _, strength, _, scale = self.posterior(n, mean, squares)
        half = 0.5 * np.asarray(n, dtype=np.float64)
        grown = np.log1p(self._added(n, mean, squares) / self.scale)  # log(b_n / b₀)
        return np.asarray(
            log_rising(self.shape, half)
            - self.shape * grown
            - half * (np.log(scale) + np.log(2.0 * np.pi))
            + 0.5 * np.log(self.strength / strength)
        )


def estimated_under(
    prior: NormalInverseGamma, estimate: Estimate, n: Array, mean: Array, squares: Array
) -> tuple[Array, Array, Array | None]:
    """Mean, variance and degrees of freedom of a value, by the posterior after n rows; None:
    of a Gaussian.

    Parameters
    ----------
    prior : NormalInverseGamma
    estimate : {"mean", "map", "mle", "posterior"}
        Of the parameters; "posterior" integrates them out.
    n, mean, squares : float64 arrays
        As for :meth:`NormalInverseGamma.posterior`.

    Raises
    ------
    ValueError
        If the posterior mean of the variance is requested, and is undefined.
    """
    centre, strength, shape, scale = prior.posterior(n, mean, squares)
    if estimate == "posterior":
        return centre, scale * (strength + 1.0) / (shape * strength), 2.0 * shape
    if estimate == "map":
        return centre, scale / (shape + 1.5), None
    if np.min(shape, initial=np.inf) <= 1.0:
        raise ValueError(
            "the posterior mean of the variance is undefined for a class of so few rows: it "
            f"needs shape + n/2 > 1, and the prior's shape is {prior.shape:g}; give a prior of "
            "shape above 1, or estimate='map' or 'posterior'"
        )
    return centre, scale / (shape - 1.0), None


# ---- the conjugate prior of a mean vector with a covariance matrix: normal-inverse-Wishart -------
def _nested(values: Array) -> Any:
    """An array as nested tuples, a number as a float: comparable and hashable."""
    if values.ndim == 0:
        return float(values)
    return tuple(_nested(v) for v in values)


@dataclass(frozen=True)
class NormalInverseWishart:
    """A prior of a mean and a covariance: Σ ~ IW(scale, freedom), μ | Σ ~ N(mean, Σ / strength).

    For one column it is the :class:`NormalInverseGamma` of shape ν₀/2 and scale Ψ₀/2.

    Parameters
    ----------
    mean : float or array (d,)
        μ₀, in units of the columns; a number for each of them alike.
    strength : float
        κ₀: rows that the belief in μ₀ is worth.
    freedom : float
        ν₀, above d − 1: rows that the belief in Σ is worth.
    scale : float, array (d,) or (d, d)
        Ψ₀: their sum of squares and products, symmetric and positive definite; a number or a vector
        is a diagonal. The prior mean of Σ is Ψ₀ / (ν₀ − d − 1).

    References
    ----------
    Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 9, (250) to
    (258).
    """

    mean: Any
    strength: float
    freedom: float
    scale: Any

    def __post_init__(self) -> None:
        hold(self, "above 0", 0.0, "strength", "freedom")
        for name, most in (("mean", 1), ("scale", 2)):
            given = getattr(self, name)
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                values = np.asarray(np.nan)
            if values.ndim > most or not np.isfinite(values).all() or not values.size:
                what = "number or vector" if most == 1 else "number, vector or matrix"
                raise ValueError(f"NormalInverseWishart takes a finite {what} as {name}: {given!r}")
            object.__setattr__(self, name, _nested(values))
        scale = np.asarray(self.scale)
        if scale.ndim < 2:
            definite = bool((scale > 0.0).all())
        else:
            symmetric = scale.shape[0] == scale.shape[1] and np.array_equal(scale, scale.T)
            definite = symmetric and np.linalg.eigvalsh(scale).min(initial=np.inf) > 0.0
        if not definite:
            raise ValueError(
                "NormalInverseWishart takes a symmetric, positive definite scale, got "
                f"{self.scale!r}"
            )

    def of(self, d: int) -> tuple[Array, Array]:
        """μ₀ (d,) and Ψ₀ (d, d).

        Parameters
        ----------
        d : int
            How many columns the group has.

        Raises
        ------
        ValueError
            Where they are for another number of columns, or ν₀ is not above d − 1.
        """
        mean, scale = np.asarray(self.mean, dtype=np.float64), np.asarray(self.scale)
        for what, found in (("mean", mean), ("scale", scale)):
            if found.ndim and found.shape[0] != d:
                raise ValueError(
                    f"the prior's {what} is for {found.shape[0]} columns, but the group has {d}"
                )
        if not self.freedom > d - 1:
            raise ValueError(
                f"a NormalInverseWishart of {d} columns needs freedom above {d - 1}, got "
                f"{self.freedom:g}"
            )
        matrix = scale if scale.ndim == 2 else np.diag(np.broadcast_to(scale, (d,)))
        return np.broadcast_to(mean, (d,)), matrix

    def of_one_column(self) -> NormalInverseGamma:
        """The same prior of a single column."""
        mean, scale = self.of(1)
        return NormalInverseGamma(
            mean=float(mean[0]),
            strength=self.strength,
            shape=0.5 * self.freedom,
            scale=0.5 * float(scale[0, 0]),
        )

    def posterior(self, n: Array, mean: Array, scatter: Array) -> tuple[Array, Array, Array, Array]:
        """(μ_n, κ_n, ν_n, Ψ_n) after n rows (…,) of this mean (…, d) and sum of squares and
        products about it (…, d, d).

        Parameters
        ----------
        n : float
            Rows.
        mean : float64 array
            Mean of the values.
        scatter : float64 array (d, d)
            Σ (x − x̄)(x − x̄)ᵀ.
        """
        prior_mean, prior_scale = self.of(mean.shape[-1])
        strength = self.strength + n
        centre = (self.strength * prior_mean + n[..., None] * mean) / strength[..., None]
        apart = mean - prior_mean
        share = self.strength * n / strength
        between = share[..., None, None] * (apart[..., :, None] * apart[..., None, :])
        return centre, strength, self.freedom + n, prior_scale + scatter + between

    def log_density(self, mean: Array, covariance: Array) -> float:
        """log of the joint density at (μ, Σ), in nats.

        Parameters
        ----------
        mean : float64 array
            Means.
        covariance : float64 array (d, d)
            A covariance matrix.
        """
        mu, sigma = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
        d = len(mu)
        prior_mean, prior_scale = self.of(d)
        apart = mu - prior_mean
        log = 0.5 * d * np.log(self.strength / (2.0 * np.pi)) - 0.5 * _log_det(sigma)
        log -= 0.5 * self.strength * apart @ np.linalg.solve(sigma, apart)
        log += 0.5 * self.freedom * (_log_det(prior_scale) - d * np.log(2.0))
        log -= multigammaln(0.5 * self.freedom, d)
        log -= 0.5 * (self.freedom + d + 1.0) * _log_det(sigma)
        return float(log - 0.5 * np.trace(np.linalg.solve(sigma, prior_scale)))

    def log_evidence(self, n: Array, mean: Array, scatter: Array) -> Array:
        """log p of n rows (…,) of this mean and sum of squares and products, in nats.

        Parameters
        ----------
        n : float
            Rows.
        mean : float64 array
            Mean of the values.
        scatter : float64 array (d, d)
            Σ (x − x̄)(x − x̄)ᵀ.
        """
        d = mean.shape[-1]
        _, strength, freedom, scale = self.posterior(n, mean, scatter)
        before = _log_det(self.of(d)[1])
        gammas = [multigammaln(0.5 * v, d) for v in freedom.ravel().tolist()]
        gamma = np.reshape(gammas, freedom.shape) - multigammaln(0.5 * self.freedom, d)
        log = gamma + 0.5 * self.freedom * before - 0.5 * freedom * _log_det(scale)
        return np.asarray(
            log + 0.5 * d * np.log(self.strength / strength) - 0.5 * n * d * np.log(np.pi)
        )


def _log_det(matrix: Array) -> Any:
    return np.linalg.slogdet(matrix)[1]


# ---- the distributions of a parameter of one column, before its rows and after them --------------
ParameterPrior = Beta | Gamma | NormalInverseGamma


class PriorAndPosteriors(NamedTuple):
    """A parameter of one column.

    A level's probability has a Beta distribution, the marginal of the column's Dirichlet: its mean
    is the Dirichlet's, its mode is not where there are more than two levels. A rate has a Gamma, a
    mean and variance a normal-inverse-gamma distribution.

    Parameters
    ----------
    parameter : str
        What it is.
    prior : Beta, Gamma or NormalInverseGamma
    posteriors : list
        The same of each class, after its rows.
    """

    parameter: str
    prior: ParameterPrior
    posteriors: list[ParameterPrior]


# ---- the strength of a prior that the counts choose ----------------------------------------------
MIN_LOG_ALPHA, MAX_LOG_ALPHA, GRID_POINTS = -6.0, 3.0, 19  # of log10 α
REFINEMENTS, POINTS_EACH_SIDE = 2, 5
"""Grids about the best point, and their points on either side of it."""


def best_alpha(score: Callable[[Array], Array]) -> float:
    """The α from 1e-6 to 1e3 of the largest score; 1 where the score does not decide.

    A grid in log α, finer ones between the neighbours of its best point, and the vertex of a
    parabola at last.

    Parameters
    ----------
    score : callable
        Of α, float64 array (n,), to scores like it.
    """

    def at(power: Array) -> Array:
        found = score(10.0**power)
        return np.where(np.isfinite(found), found, -np.inf)

    power = np.linspace(MIN_LOG_ALPHA, MAX_LOG_ALPHA, GRID_POINTS)
    values = at(power)
    finite = values[np.isfinite(values)]
    if not len(finite) or np.ptp(finite) < 1e-9:
        return 1.0
    for _ in range(REFINEMENTS):
        best = int(values.argmax())
        low, high = power[max(best - 1, 0)], power[min(best + 1, len(power) - 1)]
        power = np.linspace(low, high, 2 * POINTS_EACH_SIDE + 1)
        values = at(power)
    best = int(values.argmax())
    if not 0 < best < len(power) - 1:
        return float(10.0 ** power[best])
    left, middle, right = values[best - 1 : best + 2].tolist()
    bend = left - 2.0 * middle + right
    if not bend < -1e-12 * abs(middle):  # flat: what is left is rounding
        return float(10.0 ** power[best])
    vertex = 0.5 * np.clip((left - right) / bend, -1.0, 1.0)
    return float(10.0 ** (power[best] + vertex * (power[1] - power[0])))


def each(score: Callable[[float], float]) -> Callable[[Array], Array]:
    """A score of one α, for :func:`best_alpha`."""
    return lambda alpha: np.array([score(a) for a in alpha.tolist()])


def class_evidence(count: Array, alpha: float) -> float:
    """log P(labels) under a symmetric Dirichlet prior of the class probabilities, in nats."""
    return float(log_counts_evidence(np.full(len(count), alpha), count))


# ---- the class prior, equations (9) and (12) of article 1 in docs/origin.md ---------------------
class PriorWithout(NamedTuple):
    """log P(c) after each row is taken out, up to a term of the row that all classes share.

    Parameters
    ----------
    other : float64 array (n_classes,)
        In the classes that a row is not of.
    own : float64 array (n_rows,)
        In its own class.
    """

    other: Array
    own: Array

    def matrix(self, own: NDArray[np.int64]) -> Array:
        """The same as float64 (n_rows, n_classes); `own` is the class of each row."""
        wide = np.tile(self.other, (len(own), 1))
        wide[np.arange(len(own)), own] = self.own
        return wide


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """P(c) = (count_c + α) / (m + Kα), unless it is given.

    Parameters
    ----------
    alpha : float or None
        Smoothing λ of equation (12); 0 is the maximum likelihood of equation (9); None: the one of
        the largest evidence.
    given : float64 array (n_classes,), optional
        A prior that no count changes.
    """

    alpha: NonNegative | None = 0.0
    given: Annotated[Array, Shape("n_classes"), Within(0.0)] | None = None

    def strength(self, classes: ClassCounts) -> float:
        """α, in rows of weight 1; where it is chosen, by the evidence of the effective rows.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        """
        if self.alpha is not None:
            return self.alpha
        unit = classes.pooled_row_weight
        return unit * best_alpha(each(lambda alpha: class_evidence(classes.count / unit, alpha)))

    def need_rows(self, classes: ClassCounts) -> None:
        """Check that there is something to estimate the prior from.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.

        Raises
        ------
        ValueError
            If there are no rows, and the prior is neither smoothed nor given.
        """
        if self.given is not None or classes.count.sum() > 0.0:
            return
        if not (classes.count + self.strength(classes)).sum() > 0.0:
            raise ValueError(
                "the class prior cannot be estimated from no rows (the counts, or weights, sum to "
                "0): learn some rows, smooth the prior with class_alpha > 0, or give it"
            )

    def log(self, classes: ClassCounts) -> Array:
        """log P(c), float64 (n_classes,), in nats; −inf for a class that cannot occur.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        """
        if self.given is not None:
            return log(self.given)
        smoothed = classes.count + self.strength(classes)
        total = smoothed.sum()
        if not total > 0.0:
            self.need_rows(classes)
        prior: Array = log(smoothed) - np.log(total)
        return prior

    def drawn(self, classes: ClassCounts, rng: Any, n: int) -> Array:
        """log P(c) drawn from its posterior, float64 (n, n_classes); as it is, where given.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        rng : numpy.random.Generator
            The source of random numbers.
        n : int
            How many draws.
        """
        if self.given is not None:
            return np.broadcast_to(log(self.given), (n, len(self.given)))
        return log_dirichlet(classes.count + self.strength(classes), rng, n)

    def log_without(
        self, classes: ClassCounts, own: NDArray[np.int64], weight: Array
    ) -> PriorWithout:
        """log P(c) after each row is taken out.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight of each row.

        Raises
        ------
        NegativeTally
            If a row weighs more than its class holds: it was not counted.
        ValueError
            If nothing is left, and the prior is neither smoothed nor given.
        """
        rest = classes.count[own] - weight
        rest[np.abs(rest) <= RESIDUE * classes.count[own]] = 0.0
        if rest.min(initial=0.0) < 0.0:
            i = int(np.flatnonzero(rest < 0.0)[0])
            raise NegativeTally(
                f"row {i} weighs {weight[i]:g}, more than the {classes.count[own[i]]:g} that its "
                "class holds: leave-one-out takes the rows that were learned, with their weights"
            )
        if self.given is not None:
            given = log(self.given)
            return PriorWithout(given, given[own])
        alpha = self.strength(classes)
        everything, pseudo = classes.count.sum(), alpha * len(classes.count)
        least = everything - weight.max(initial=0.0)
        if not (least if least > RESIDUE * everything else 0.0) + pseudo > 0.0:
            i = int(weight.argmax())
            raise ValueError(
                f"row {i} has all of the weight that was learned, {everything:g}: without it no "
                "rows are left to estimate the class prior from. Smooth the prior with "
                "class_alpha > 0, or give it"
            )
        rest += alpha
        return PriorWithout(log(classes.count + alpha), log(rest))


# ---- ratios of Gamma functions, to full precision where their logarithms are large and equal -----
# log Γ(10¹²) is 2.7·10¹³ and, as a float64, known to 4·10⁻³ only. So log Γ(a + k) − log Γ(a) is
# never computed by subtracting large values. With Stirling's formula log Γ(x) = (x − ½) log x − x
# + ½ log 2π + c(x), whose large terms are combined by hand,
#
#     log Γ(a + k) − log Γ(a) = k log(a + k) + (a − ½) log(1 + k/a) − k + c(a + k) − c(a)
#
# Abramowitz and Stegun (1964), 6.1.40.
MIN_FOR_SERIES = 16.0  # from here on five terms of Stirling's series are exact to 1e-15
MAX_RATIO = 1e16
SERIES = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0)


def correction(x: Array) -> Array:
    """c(x), for x > 0."""
    inverse = 1.0 / np.maximum(x, MIN_FOR_SERIES)
    square = inverse * inverse
    total = np.zeros_like(inverse)
    for term in reversed(SERIES):
        total = term + square * total
    total = np.asarray(total * inverse)
    near = np.asarray(x < MIN_FOR_SERIES)
    if near.any():
        small = x[near]
        stirling = (small - 0.5) * np.log(small) - small + 0.5 * np.log(2.0 * np.pi)
        total[near] = gammaln(small) - stirling
    return total


def _shift(a: Array, k: Array) -> Array:
    """(a − ½) log(1 + k/a) + c(a + k) − c(a): what is left of the difference without k log(a + k)
    and k."""
    ratio = np.where(
        k < MAX_RATIO * a, np.log1p(k / np.maximum(a, k / MAX_RATIO)), np.log(a + k) - np.log(a)
    )  # k / a might overflow
    return np.asarray((a - 0.5) * ratio + correction(a + k) - correction(a))


def log_rising(a: ArrayLike, k: ArrayLike) -> Array:
    """log Γ(a + k) − log Γ(a), for a > 0 and k ≥ 0; shapes broadcast.

    For whole k the logarithm of a (a + 1) … (a + k − 1).
    """
    base, more = np.asarray(a, dtype=np.float64), np.asarray(k, dtype=np.float64)
    near = base + more < MIN_FOR_SERIES
    if near.all():  # here the plain difference loses nothing
        return np.asarray(gammaln(base + more) - gammaln(base))
    base, more = np.broadcast_arrays(base, more)
    result = np.asarray(more * np.log(base + more) - more + _shift(base, more))
    if near.any():
        result[near] = gammaln(base[near] + more[near]) - gammaln(base[near])
    return result


def log_counts_evidence(concentration: Array, counts: Array) -> Array:
    """log P of rows that fall on cells `counts` times, in their order, with p ~ Dirichlet(a):

        Σ_j [log Γ(a_j + k_j) − log Γ(a_j)] − [log Γ(A + n) − log Γ(A)]

    in nats, float64 (…), for concentrations (n_cells,) and counts (…, n_cells). A cell of
    concentration 0 rules its rows out.
    """
    a, k = concentration, counts
    here = a > 0.0
    ruled_out = (~here & (k > 0.0)).any(axis=-1)
    k = np.where(here, k, 0.0)
    whole, n = a.sum(axis=-1), k.sum(axis=-1)
    updated = a + k
    # Σ k_j log((a_j + k_j) / (A + n)); the largest share, maybe near 1, from what is beside it
    top = updated.argmax(axis=-1)[..., None]
    largest = np.take_along_axis(updated, top, -1)
    others = updated.copy()
    np.put_along_axis(others, top, 0.0, -1)
    beside = others.sum(axis=-1, keepdims=True)
    each = xlogy(k, np.where(here, updated / (largest + beside), 1.0))
    np.put_along_axis(each, top, np.take_along_axis(k, top, -1) * -np.log1p(beside / largest), -1)
    each = each + np.where(here, _shift(np.where(here, a, 1.0), k), 0.0)
    result = each.sum(axis=-1) - _shift(whole, n)
    return np.asarray(np.where(ruled_out, -np.inf, result))


# ---- draws from posteriors, in log space, which is exact for tiny concentrations -----------------
def log_gamma(shape: Array, rng: Any, size: tuple[int, ...]) -> Array:
    """log of Gamma(shape, 1) draws, float64 `size`; −inf where the shape is 0.

    Gamma(a) is Gamma(a + 1)·U^(1/a), U uniform.
    """
    some = np.where(shape > 0.0, shape, 1.0)
    with np.errstate(divide="ignore"):
        draws = np.log(rng.standard_gamma(some + 1.0, size=size))
        draws += np.log1p(-rng.random(size)) / some
    return np.where(shape > 0.0, draws, -np.inf)


def log_betas(a: Array, b: Array, cells: NDArray[np.intp], seed: int, n: int) -> Array:
    """log of Beta(a, b) draws, float64 (n, *a.shape); 0 where b is 0 and −inf where a is.

    Parameters
    ----------
    a, b : float64 arrays (n_classes, n_cells)
    cells : index array (n_cells,)
        The number of each cell: it has a stream of random numbers of its own.
    seed : int
    n : int
    """
    both = np.stack([a, b], axis=-1).transpose(1, 0, 2)  # (n_cells, n_classes, 2)
    some = np.where(both > 0.0, both, 1.0)
    draws = np.empty((len(cells), n, *both.shape[1:]))
    even = np.empty_like(draws)
    for i, cell in enumerate(cells.tolist()):
        stream = np.random.Generator(np.random.Philox(key=[seed, cell]))
        stream.standard_gamma(some[i] + 1.0, out=draws[i])
        stream.random(out=even[i])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(draws) + np.log1p(-even) / some[:, None]
        log[np.broadcast_to(both[:, None] <= 0.0, log.shape)] = -np.inf
        x, y = log[..., 0], log[..., 1]
        beta = np.where(np.isneginf(x), -np.inf, x - np.logaddexp(x, y))
    return np.ascontiguousarray(beta.transpose(1, 2, 0))


def log_dirichlet(a: Array, rng: Any, n: int) -> Array:
    """log of Dirichlet draws over the last axis, float64 (n, *a.shape)."""
    return np.asarray(log_softmax(log_gamma(a, rng, (n, *a.shape)), axis=-1))


def log(probability: Array) -> Array:
    """Natural logarithm with log 0 = −inf: a deliberate certainty, not a numerical accident."""
    with np.errstate(divide="ignore"):
        result: Array = np.log(probability)
    return result
