"""The warning about columns of numbers so small that their squares underflow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import UnderflowWarning, listed, warn_user
from tallybayes.tally import CrossMoments, Moments

__all__ = ["MIN_SQUARE", "tiny_columns", "warn_of_tiny"]

MIN_SQUARE = 1e-296
"""Of a mean square below this, the variance of a class without spread, 1e-9 of it, is rounding:
variances below 2.2e-308 are not full float64."""


def tiny_columns(tally: Moments | CrossMoments) -> NDArray[np.intp]:
    """The columns whose values differ, but whose squared differences underflow."""
    moments = tally if isinstance(tally, Moments) else tally.columns()
    rows, squares = moments.n.sum(axis=0), moments.s2_hi.sum(axis=0)
    differ = (moments.s1_hi != 0.0).any(axis=0)
    return np.flatnonzero(differ & (np.abs(squares) < MIN_SQUARE * rows))


def warn_of_tiny(names: Sequence[object], warned: set[Hashable]) -> None:
    """Warns, once for each fit, of the columns `names`."""
    if names:
        several = "columns" if len(names) > 1 else "column"
        warn_user(
            f"the numbers of the {several} {listed(map(repr, names))} differ by less than about "
            "1e-148, and the squares of such differences underflow: a Gaussian takes the numbers "
            "for constant. Multiply them by a constant, such as 1e160",
            UnderflowWarning,
            warned=warned,
        )
