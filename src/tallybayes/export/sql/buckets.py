"""The interval of a number by buckets of equal width: a few look-ups where a tree compares seven
times.

With b = ⌊(x − lowest start)·k⌋, the starts ≤ x are those in buckets before b, and those of bucket b
itself that are ≤ x, which are compared. Rounding does no harm: b never falls while x rises.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Buckets", "buckets_of"]

FEWEST = 12  # starts, of which a tree takes longer
FINEST = 32  # buckets for each start, at most
MOST_IN_ONE = 3


class Buckets(NamedTuple):
    """Where starts are.

    Parameters
    ----------
    k : float
        Buckets for each unit of x.
    before : int64 array (n_buckets,)
        Starts in the buckets before each.
    within : float64 array (n, n_buckets)
        The starts in each, then ∞.
    """

    k: float
    before: NDArray[np.int64]
    within: NDArray[np.float64]


def buckets_of(starts: NDArray[np.float64]) -> Buckets | None:
    """Buckets of ascending starts for numbers from the first to below the last; None where they
    lie too close together, or are few."""
    n = len(starts)
    if n < FEWEST:
        return None
    finest = FINEST * n
    size = n
    while size <= finest:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            k = float(size / (starts[-1] - starts[0]))
            at = np.floor((starts - starts[0]) * k)
        if not (np.isfinite(k) and k > 0.0 and np.isfinite(at).all()):
            return None
        bucket = at.astype(np.int64)
        held = np.bincount(bucket)
        if held.max() <= MOST_IN_ONE:
            before = np.cumsum(held) - held
            within = np.full((int(held.max()), len(held)), np.inf)
            within[np.arange(n) - before[bucket], bucket] = starts
            return Buckets(k, before, within)
        size *= 2
    return None
