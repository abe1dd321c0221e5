"""Hashes of rows, and a fair sample that is the same in every engine: by a hash of the number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FACTORS", "SHIFTS", "finalized", "row_hashes", "sampled_rows"]

FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)


def finalized(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: a one-to-one map that mixes all bits of each key.

    References
    ----------
    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA.
    """
    keys = (keys ^ (keys >> np.uint64(SHIFTS[0]))) * np.uint64(FACTORS[1])
    keys = (keys ^ (keys >> np.uint64(SHIFTS[1]))) * np.uint64(FACTORS[2])
    return keys ^ (keys >> np.uint64(SHIFTS[2]))


def row_hashes(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each row's number, which counts from 0."""
    return finalized((numbers + np.uint64(1)) * np.uint64(FACTORS[0]))


def sampled_rows(n_rows: int, n: int) -> NDArray[np.intp]:
    """The rows of the n smallest hashes, ascending."""
    if n >= n_rows:
        return np.arange(n_rows)
    hashes = row_hashes(np.arange(n_rows, dtype=np.uint64))  # the hash is one-to-one: no ties
    return np.sort(np.argpartition(hashes, n)[:n])
