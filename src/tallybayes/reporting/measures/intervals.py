"""Intervals of shares and means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Z", "wilson"]

Array = NDArray[np.float64]

Z = 1.959964
"""Standard errors on either side of a 95 % interval."""


def wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share of n rows; E. B. Wilson, JASA 22 (1927), 209-212."""
    n = np.maximum(n, 1e-300)
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
