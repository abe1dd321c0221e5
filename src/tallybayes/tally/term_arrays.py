"""Arrays of terms: strings as NumPy's variable-width strings, or the numbers of hash buckets.

Strings are joined and looked up by the kernels. NumPy's ``searchsorted`` reads beyond the memory of
variable-width strings of more than 15 bytes (numpy/numpy#31533, mended in 2.5), and its comparison
of them ends at a NUL (numpy/numpy#31662).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels

__all__ = ["places_of_terms", "term_array", "terms_ascend", "union_of_terms"]

Index = NDArray[np.intp]

MIN_RATIO_FOR_SEARCH = 64
"""Terms held for each term that is looked up, from which Python's search of the array beats reading
all of it."""


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
    place, known = _kernels.term_places(*_kernels.read_terms(a), *_kernels.read_terms(b))
    new = np.flatnonzero(known == 0)
    if not new.size:
        return a
    at = place[new] + np.arange(len(new))
    joined = np.empty(len(a) + len(new), dtype=np.dtypes.StringDType())
    ours = np.ones(len(joined), dtype=bool)
    ours[at] = False
    joined[ours], joined[at] = a, b[new]
    return joined


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
    if not terms_ascend(terms):  # in no order, or some of them twice
        distinct = sorted(set(names := terms.tolist()))
        places = dict(zip(distinct, places_of_terms(held, term_array(distinct)), strict=True))
        return np.array([places[name] for name in names], dtype=np.intp)
    place, known = _kernels.term_places(*_kernels.read_terms(held), *_kernels.read_terms(terms))
    return np.where(known, place, -1)


def terms_ascend(terms: NDArray[Any]) -> bool:
    """Whether terms are distinct and sorted."""
    if terms.dtype.kind == "i":
        return bool((terms[1:] > terms[:-1]).all())
    return _kernels.terms_ascend(*_kernels.read_terms(terms))


def _place(held: NDArray[Any], term: str) -> int:
    at = bisect_left(range(len(held)), term, key=held.__getitem__)
    return at if at < len(held) and held[at] == term else -1
