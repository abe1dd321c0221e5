"""Checked arguments of the functions of Bayes' rule, and products of them.

Products are kept as mantissa and exponent: 1e-300 times 1e-300, or a thousand pieces of evidence,
do not underflow, and no digits are lost by taking logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "at_least_0",
    "first_wrong",
    "need_one_shape",
    "numbers",
    "output",
    "place_of",
    "probabilities",
    "product",
    "scaled",
]

Array = NDArray[np.float64]

MAX_EXPONENT = 4096  # powers of 2 beyond which a float64 is 0


def numbers(values: Any, name: str) -> Array:
    """A float64 array of what was given as `name`; ValueError for what is not a number."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"of type {given.dtype}")
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is a number or an array of numbers, got {values!r} ({error})"
        ) from error
    if np.isnan(array).any():
        raise ValueError(f"{name} holds NaN: leave out evidence that is not known")
    return array


def place_of(wrong: Any) -> tuple[tuple[int, ...], str]:
    """The index of the first wrong entry, and how errors call it."""
    at = tuple(np.argwhere(wrong)[0].tolist())
    return at, f" at {list(at)}" if at else ""


def first_wrong(array: Array, wrong: Any) -> str:
    """The first wrong value of an array, and where it is."""
    at, place = place_of(wrong)
    return f"{array[at].item()!r}{place}"


def probabilities(values: Any, name: str) -> Array:
    """Numbers from 0 to 1."""
    array = numbers(values, name)
    wrong = (array < 0.0) | (array > 1.0)
    if wrong.any():
        raise ValueError(
            f"{name} is a probability, from 0 to 1, got {first_wrong(array, wrong)}. Divide "
            "percentages by 100; of densities only ratios matter, so divide them by the largest."
        )
    return array


def at_least_0(values: Any, name: str) -> Array:
    """Numbers from 0 on."""
    array = numbers(values, name)
    if (array < 0.0).any():
        raise ValueError(f"{name} is a number from 0 on, got {first_wrong(array, array < 0.0)}")
    return array


def need_one_shape(**arrays: Array) -> None:
    """Raises ValueError, naming the arrays, where they do not broadcast."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"the shapes do not fit together: {shapes}. Each is a number, or they broadcast."
        ) from None


def output(values: Any) -> Any:
    """An array, or a float where there is one number."""
    array = np.asarray(values, dtype=np.float64)
    return array if array.ndim else float(array)


def product(*factors: Array) -> tuple[Array, NDArray[np.int64]]:
    """Mantissa, 0 or from ½ to 1, and exponent of a product, which neither over- nor underflows."""
    mantissa, exponent = np.frexp(factors[0])
    exponent = exponent.astype(np.int64)
    for factor in factors[1:]:
        more, by = np.frexp(factor)
        mantissa, carry = np.frexp(mantissa * more)
        exponent = exponent + by + carry
    return mantissa, exponent


def scaled(mantissa: Array, exponent: Any) -> Array:
    """mantissa · 2^exponent."""
    return np.asarray(
        np.ldexp(mantissa, np.clip(exponent, -MAX_EXPONENT, MAX_EXPONENT).astype(np.int32))
    )
