"""Sorted class labels: where they stand among others, and joined, without rounding.

NumPy compares int64 with uint64, and either with floats, as float64, in which whole numbers beyond
2⁵³ coincide. Labels of such mixed types are compared as Python's numbers here, which are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies

__all__ = [
    "are_among",
    "joined_labels",
    "numbered_strings",
    "places_among",
    "ranked_whole_numbers",
]

Labels = NDArray[Any]

MAX_LABEL_RANGE = 1 << 22  # whole-number labels are ranked by a table up to this range


def _comparable(a: Labels, b: Labels) -> tuple[Labels, Labels]:
    """The same labels, as Python's numbers where NumPy would round them to compare them."""
    if a.dtype == b.dtype:
        return a, b
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds <= set("iuf") and len(kinds) == 2:
        return a.astype(object), b.astype(object)
    return a, b


def places_among(labels: Labels, classes: Labels) -> NDArray[np.intp]:
    """Where each label stands, or would stand, in the sorted `classes`, (n_labels,)."""
    labels, classes = _comparable(labels, classes)
    return np.searchsorted(classes, labels)


def are_among(labels: Labels, classes: Labels) -> NDArray[np.bool_]:
    """Whether each label is one of the sorted `classes`, (n_labels,)."""
    labels, classes = _comparable(labels, classes)
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.broadcast_to(np.asarray(classes[place] == labels, dtype=bool), labels.shape)


def ranked_whole_numbers(y: Labels, threads: int) -> tuple[Labels, NDArray[np.int32]] | None:
    """The sorted distinct values of whole numbers or booleans, and each row's index among them;
    None where they lie too far apart."""
    codes = np.empty(len(y), dtype=np.int32)
    widest = min(MAX_LABEL_RANGE, max(4096, 4 * len(y)))
    values = _kernels.rank_labels(y, widest, codes, threads)
    return None if values is None else (values.astype(y.dtype), codes)


def numbered_strings(y: Labels) -> tuple[Labels, NDArray[np.int32]]:
    """The distinct strings of an array in order of appearance, and each row's index among them."""
    codes = np.empty(len(y), dtype=np.int32)
    items = np.ascontiguousarray(y).view(np.uint8).reshape(len(y), y.dtype.itemsize)
    return y[_kernels.rank_items(items, codes)], codes


def joined_labels(a: Labels, b: Labels) -> Labels:
    """The distinct labels of both, sorted.

    Raises
    ------
    IncompatibleTallies
        For strings and other labels, or where no type of NumPy holds all of them exactly.
    """
    if a.dtype == b.dtype and np.array_equal(a, b):
        return a
    if not len(a) or not len(b):  # of a model that holds no rows
        return a if len(a) else b
    if _are_strings(a) != _are_strings(b):
        raise IncompatibleTallies(
            f"class labels of type {a.dtype} and {b.dtype} cannot be joined; use one type of label "
            "in every part"
        )
    exact_a, exact_b = _comparable(a, b)
    if exact_a is a:
        return np.union1d(a, b)
    found = sorted({*exact_a.tolist(), *exact_b.tolist()})
    whole = "f" not in (a.dtype.kind, b.dtype.kind)
    types: list[Any] = [np.int64, np.uint64] if whole else [np.float64]
    for dtype in types:
        limits = np.iinfo(dtype) if whole else None
        if limits is not None and not limits.min <= found[0] <= found[-1] <= limits.max:
            continue
        joined = np.array(found, dtype=dtype)
        if joined.tolist() == found:
            return joined
    raise IncompatibleTallies(
        f"the class labels {a.tolist()[:3]} of type {a.dtype} and {b.tolist()[:3]} of type "
        f"{b.dtype} have no type in common that holds them exactly: use one type in every part"
    )


def _are_strings(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "US" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.tolist())
    )
