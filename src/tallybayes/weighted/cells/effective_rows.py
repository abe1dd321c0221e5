"""Weights and counts in effective rows, so that a common factor of all weights changes nothing.

Smoothing, penalties and thresholds are numbers of rows or of nats: they suit rows of weight 1.
Other weights are divided by that of Kish's effective row, u = Σw² / Σw, of which there are
(Σw)² / Σw² (L. Kish, Survey Sampling, 1965, section 11.7).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_effective_rows"]

Array = NDArray[np.float64]

DIGITS = 30  # binary digits that are kept


def in_effective_rows(weight: Array, unit: float) -> Array:
    """Weights, or sums of them, in effective rows.

    They are rounded to 30 binary digits: rows of equal weight are then exactly 1 each, and the
    order in which weights were summed does not show.

    Parameters
    ----------
    weight : float64 array
    unit : float
        The weight of an effective row, above 0.
    """
    digits, exponent = np.frexp(weight / unit)
    rounded: Array = np.ldexp(np.round(np.ldexp(digits, DIGITS)), exponent - DIGITS)
    return rounded
