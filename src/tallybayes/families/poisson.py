"""Counts of events: x | c ~ Poisson(λ_c).

    λ_c = (Σ x + a) / (n_c + b),    log p(x | c) = x log λ_c − λ_c − log x!

The mean of the Gamma(a, b) posterior; by default b = α pseudo-rows at the column's overall mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.schema import Kind
from tallybayes.tally import Moments

__all__ = ["Poisson"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Poisson:
    """Poisson likelihood for a column of whole numbers from 0 on.

    Parameters
    ----------
    alpha : float, optional
        b, in rows; the model's alpha by default.
    """

    kind: ClassVar[Kind] = "moments"
    alpha: float | None = None

    def rates(self, tally: Moments, alpha: float) -> Array:
        """λ_c, float64 (n_classes,); the overall rate in a class without rows."""
        n = tally.n[:, 0]
        total = tally.mean_and_squares()[0][:, 0] * n
        alpha = alpha if self.alpha is None else self.alpha
        overall = total.sum() / n.sum() if n.sum() > 0.0 else 1.0
        weight = np.where(n > 0.0, n, 1.0)
        rate = np.where(n > 0.0, (total + alpha * overall) / (weight + alpha), overall)
        return np.maximum(rate, 1e-300)
