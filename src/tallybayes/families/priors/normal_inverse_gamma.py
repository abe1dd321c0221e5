"""The conjugate prior of a mean with a variance, as a value: normal-inverse-gamma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from tallybayes.families.priors.gamma_ratios import log_rising
from tallybayes.families.priors.hyperparameters import Estimate, hold

__all__ = ["NormalInverseGamma", "estimated_under"]

Array = NDArray[np.float64]


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
