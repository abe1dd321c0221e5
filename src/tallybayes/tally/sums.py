"""Sums of non-negative features by class: Σ w·x, or Σ w·[x > threshold]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.base import Tally

__all__ = ["FeatureSums"]


class FeatureSums(Tally):
    """Feature sums.

    Parameters
    ----------
    sums : float64 array (n_classes, n_features)
    """

    additive = ("sums",)

    def __init__(self, sums: NDArray[np.float64]) -> None:
        self.sums = sums

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> FeatureSums:
        return cls(np.zeros((n_classes, n_features)))
