"""Numbers as JSON: exact float64 arrays in base64, and short ones as decimal digits."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact", "rounded"]

DIGITS = 7  # significant, of a number that is shown


def exact(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float64 values the page reads bit by bit; infinities and NaN as they are."""
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "b64": base64.b64encode(data.tobytes()).decode("ascii")}


def rounded(value: Any) -> Any:
    """Numbers of nested lists to 7 significant digits; None for what is not finite."""
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
    return float(f"{value:.{DIGITS}g}")
