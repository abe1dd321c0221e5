"""The interval of a number by buckets of equal width: a few look-ups where a tree compares seven
times.

With b = ⌊(x − lowest start)·k⌋, the starts ≤ x are those in buckets before b, and those of bucket b
itself that are ≤ x, which are compared. Rounding does no harm: b never falls while x rises.

Where starts are multiples of 1/k, a power of two, b = ⌊x·k⌋ − lowest start·k is exact, and each
bucket begins at a start or holds none, so that nothing is compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Buckets", "buckets_of"]

MIN_STARTS = 6  # starts, of which a tree takes longer
FINEST = 32  # buckets for each start, at most
MAX_BUCKETS = 4096  # buckets between which nothing is compared
MANY = 1024  # buckets with one start at most
MAX_IN_ONE = 3


class Buckets(NamedTuple):
    """Where starts are.

    Parameters
    ----------
    k : float
        Buckets for each unit of x.
    before : int64 array (n_buckets,)
        Starts in the buckets before each; of exact buckets, those at its beginning, too.
    within : float64 array (n, n_buckets)
        The starts in each, then ∞; none of exact buckets.
    exact : bool
    """

    k: float
    before: NDArray[np.int64]
    within: NDArray[np.float64]
    exact: bool


def buckets_of(starts: NDArray[np.float64]) -> Buckets | None:
    """Buckets of ascending starts for numbers from the first to below the last; None where they
    lie too close together, or are few."""
    n = len(starts)
    if n < MIN_STARTS:
        return None
    found = _exact(starts)
    size = n
    while found is None and size <= MANY:
        found = _of_width(starts, size, 1)
        size *= 2
    size = n
    while found is None and size <= FINEST * n:
        found = _of_width(starts, size, MAX_IN_ONE)
        size *= 2
    return found


def _exact(starts: NDArray[np.float64]) -> Buckets | None:
    """Buckets that begin at starts; None where they would be more than `MAX_BUCKETS`, or numbers
    too large for them."""
    span = float(starts[-1] - starts[0])
    if not 0.0 < span < np.inf:
        return None
    k = 2.0 ** np.floor(np.log2(MAX_BUCKETS / span))
    if not 2.0**-1000 < k < 2.0**1000:
        return None
    while (starts * (k / 2.0) % 1.0 == 0.0).all():
        k /= 2.0
    at = starts * k
    if not (at % 1.0 == 0.0).all() or np.abs(at).max() >= 2.0**31 - MAX_BUCKETS:
        return None
    bucket = (at - at[0]).astype(np.int64)
    held = np.bincount(bucket)[:-1]
    return Buckets(float(k), np.cumsum(held), np.empty((0, len(held))), True)


def _of_width(starts: NDArray[np.float64], size: int, most: int) -> Buckets | None:
    """Buckets, some `size` of them, with at most so many starts in one."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        k = float(size / (starts[-1] - starts[0]))
        at = np.floor((starts - starts[0]) * k)
    if not (np.isfinite(k) and k > 0.0 and np.isfinite(at).all()):
        return None
    bucket = at.astype(np.int64)
    held = np.bincount(bucket)
    if held.max() > most:
        return None
    before = np.cumsum(held) - held
    within = np.full((int(held.max()), len(held)), np.inf)
    within[np.arange(len(starts)) - before[bucket], bucket] = starts
    return Buckets(k, before, within, False)
