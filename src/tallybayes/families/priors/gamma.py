"""The conjugate prior of a rate, as a value: Gamma."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from tallybayes.families.priors.hyperparameters import count_numbers, hold

__all__ = ["Gamma"]

Array = NDArray[np.float64]


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
