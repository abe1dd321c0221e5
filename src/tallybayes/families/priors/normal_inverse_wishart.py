"""The conjugate prior of a mean vector with a covariance matrix, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import multigammaln

from tallybayes.families.priors.hyperparameters import hold
from tallybayes.families.priors.normal_inverse_gamma import NormalInverseGamma

__all__ = ["NormalInverseWishart"]

Array = NDArray[np.float64]


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
            definite = symmetric and not _is_singular(scale)
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


def _is_singular(matrix: Array) -> bool:
    return bool(np.linalg.eigvalsh(matrix).min(initial=np.inf) <= 0.0)


def _log_det(matrix: Array) -> Any:
    return np.linalg.slogdet(matrix)[1]
