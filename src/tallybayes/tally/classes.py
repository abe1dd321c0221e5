"""Rows, or weight, of each class: Σ I(y = c), the numerator of equation (9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.base import Tally

__all__ = ["ClassCounts"]


class ClassCounts(Tally):
    """Class counts.

    Parameters
    ----------
    count : float64 array (n_classes,)
        Rows, or weight, of each class.
    """

    additive = ("count",)

    def __init__(self, count: NDArray[np.float64]) -> None:
        self.count = count

    @classmethod
    def zeros(cls, n_classes: int) -> ClassCounts:
        return cls(np.zeros(n_classes))
