"""Numbers as JSON: exact arrays in base64, and short numbers as decimal digits."""

from __future__ import annotations

import base64
import math
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact", "exact_single", "front_coded", "rounded", "whole"]

SIGNIFICANT_DIGITS = 7  # significant, of a number that is shown


def exact(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float64 values the page reads bit by bit; infinities and NaN as they are."""
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "b64": base64.b64encode(data.tobytes()).decode("ascii")}


def exact_single(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float32 values the page reads bit by bit."""
    data = np.ascontiguousarray(values, dtype="<f4")
    return {"single": base64.b64encode(data.tobytes()).decode("ascii")}


def whole(values: NDArray[Any]) -> dict[str, Any]:
    """Whole numbers from 0 on, seven bits a byte, the lowest first; the eighth bit is set if
    more follow."""
    left = np.ascontiguousarray(values, dtype=np.uint64).ravel()
    n_bytes = np.ones(len(left), dtype=np.int64)
    for bits in range(7, 64, 7):
        n_bytes += left >= np.uint64(1 << bits)
    end = np.cumsum(n_bytes)
    data = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.uint8)
    start = end - n_bytes
    for i in range(int(n_bytes.max(initial=0))):
        on = np.flatnonzero(n_bytes > i)
        seven = (left[on] >> np.uint64(7 * i)) & np.uint64(127)
        data[start[on] + i] = seven + np.where(n_bytes[on] > i + 1, 128, 0).astype(np.uint64)
    return {"whole": base64.b64encode(data.tobytes()).decode("ascii")}


def front_coded(strings: list[str]) -> dict[str, Any]:
    """Sorted strings, each as the number of characters that it shares with the one before, and the
    rest."""
    shared, rest, before = [], [], ""
    for string in strings:
        pairs = zip(before, string, strict=False)
        n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        shared.append(n)
        rest.append(string[n:])
        before = string
    return {"shared": whole(np.array(shared, dtype=np.int64)), "rest": rest}


def rounded(value: Any) -> Any:
    """Numbers of nested lists to 7 significant digits, but whole numbers as they are; None for what
    is not finite."""
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    if value.is_integer():
        return value
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
