"""Arrays of terms: strings as NumPy's variable-width strings, or the numbers of hash buckets.

Strings are joined and looked up by Python. NumPy's ``searchsorted`` reads beyond the memory of
variable-width strings of more than 15 bytes (numpy/numpy#31533, mended in 2.5), and its comparison
of them ends at a NUL (numpy/numpy#31662).
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["places_of_terms", "term_array", "terms_ascend", "union_of_terms"]

Index = NDArray[np.intp]

CHUNK_TERMS = 1 << 16  # terms that are compared: Python's strings take several times their room
MIN_RATIO_FOR_SEARCH = 64
"""Terms held for each term that is looked up, from which a search beats a dict."""


def term_array(terms: Any) -> NDArray[Any]:
    """Terms as the tally holds them: strings as NumPy's variable-width strings, numbers of hash
    buckets as int64."""
    found = np.asarray(terms)
    if found.dtype.kind in "iu":
        return found.astype(np.int64)
    return np.asarray(terms, dtype=np.dtypes.StringDType())


def union_of_terms(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The terms of both, distinct and sorted, of arrays that are so.

    Parameters
    ----------
    a, b : array
    """
    if a.dtype.kind == "i":
        return np.union1d(a, b)
    new = np.flatnonzero(places_of_terms(a, b) < 0)
    if not new.size:
        return a
    return term_array(sorted(a.tolist() + b[new].tolist()))  # two runs, which sorting merges


def places_of_terms(held: NDArray[Any], terms: NDArray[Any]) -> Index:
    """The place of each of some terms among those held, (n_terms,), −1 for one that is not.

    Parameters
    ----------
    held : array
        Distinct and sorted.
    terms : array (n_terms,)
    """
    if not len(held) or not len(terms):
        return np.full(len(terms), -1)
    if held.dtype.kind == "i":
        at = np.minimum(np.searchsorted(held, terms), len(held) - 1)
        return np.where(held[at] == terms, at, -1)
    if len(terms) * MIN_RATIO_FOR_SEARCH < len(held):
        return np.array([_place(held, term) for term in terms.tolist()], dtype=np.intp)
    places = dict(zip(held.tolist(), range(len(held)), strict=True))
    return np.fromiter((places.get(term, -1) for term in terms.tolist()), np.intp, len(terms))


def terms_ascend(terms: NDArray[Any]) -> bool:
    """Whether terms are distinct and sorted."""
    if terms.dtype.kind == "i":
        return bool((terms[1:] > terms[:-1]).all())
    parts = (terms[i : i + CHUNK_TERMS + 1].tolist() for i in range(0, len(terms), CHUNK_TERMS))
    return all(a < b for part in parts for a, b in pairwise(part))


def _place(held: NDArray[Any], term: str) -> int:
    at = bisect_left(range(len(held)), term, key=held.__getitem__)
    return at if at < len(held) and held[at] == term else -1
