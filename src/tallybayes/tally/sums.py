"""Sums of non-negative features by class: Σ w·x, or Σ w·[x > threshold]."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tally.base import Tally

__all__ = ["FeatureSums"]


class FeatureSums(Tally):
    """Feature sums.

    Parameters
    ----------
    sums : float64 array (n_classes, n_features)
    """

    additive: ClassVar[tuple[str, ...]] = ("sums",)

    def __init__(self, sums: NDArray[np.float64]) -> None:
        self.sums = sums

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> FeatureSums:
        """No rows counted. A large table is in huge pages, where the system has them."""
        table = _kernels.huge_table(n_classes, n_features)
        return cls(np.zeros((n_classes, n_features)) if table is None else table)
