"""Equality by content, through containers and arrays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["same"]


def same(a: Any, b: Any) -> bool:
    """Whether two values hold the same, arrays and dataclasses by their content.

    Arrays of one shape are equal where their elements are, NaN equal to NaN; an array never equals
    a list. Frames and other values are equal where ``==`` is true throughout.
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if type(a) is not type(b):
        numbers = isinstance(a, int | float | np.number) and isinstance(b, int | float | np.number)
        return bool(numbers and a == b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    equal = a == b
    try:
        return bool(equal) or bool(a != a and b != b)
    except (TypeError, ValueError):  # a frame or series: a truth value for each cell
        return bool(np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object)))


def _same_arrays(a: Any, b: Any) -> bool:
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    if a.dtype.kind == b.dtype.kind == "O":
        return a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    return bool(np.array_equal(a, b, equal_nan="f" in (a.dtype.kind, b.dtype.kind)))
