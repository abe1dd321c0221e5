"""Rules for the values of a file: small checks that combine like the values.

A check takes a value and where it stands, and returns the value or raises :class:`Unfit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Check",
    "Unfit",
    "anything",
    "array",
    "each",
    "either",
    "flag",
    "label",
    "mapping",
    "need",
    "number",
    "one_of",
    "optional",
    "record",
    "text",
    "unique",
    "whole",
]

Check = Callable[[Any, str], Any]


class Unfit(ValueError):
    """A file holds a value that no model has."""


def _refuse(where: str, rule: str, value: Any) -> Never:
    shown = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    raise Unfit(f"{where} {rule}, got {shown[:100]}")


def need(condition: bool, message: str) -> None:
    """Raises :class:`Unfit` unless the condition holds."""
    if not condition:
        raise Unfit(message)


def anything(value: Any, where: str) -> Any:
    """Whatever it is: what takes it checks it."""
    return value


def text(value: Any, where: str) -> str:
    """A string."""
    if not isinstance(value, str):
        _refuse(where, "is a string", value)
    return value


def label(value: Any, where: str) -> Any:
    """A class label: a string, a number or a boolean."""
    if not isinstance(value, str | int | float):
        _refuse(where, "is a label", value)
    return value


def flag(value: Any, where: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        _refuse(where, "is true or false", value)
    return value


def whole(minimum: int = 0, maximum: int = 2**31) -> Check:
    """An integer from `minimum` to `maximum`."""

    def check(value: Any, where: str) -> int:
        if type(value) is not int or not minimum <= value <= maximum:
            _refuse(where, f"is a whole number from {minimum} to {maximum}", value)
        return value

    return check


def number(minimum: float = -math.inf, above: float | None = None) -> Check:
    """A finite number from `minimum` on, or above a bound."""

    def check(value: Any, where: str) -> float:
        fits = type(value) in (int, float) and abs(value) <= 1e308
        if not fits or value < minimum or (above is not None and not value > above):
            bound = f" above {above:g}" if above is not None else f" from {minimum:g} on"
            _refuse(where, f"is a finite number{bound}", value)
        return value  # type: ignore[no-any-return]

    return check


def one_of(*choices: str) -> Check:
    """One of these strings."""

    def check(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in choices:
            _refuse(where, f"is one of {', '.join(choices)}", value)
        return value

    return check


def optional(check: Check) -> Check:
    """None, or what fits."""
    return lambda value, where: None if value is None else check(value, where)


def either(*checks: Check) -> Check:
    """What fits one of the checks."""

    def check(value: Any, where: str) -> Any:
        for one in checks[:-1]:
            try:
                return one(value, where)
            except Unfit:
                continue
        return checks[-1](value, where)

    return check


def each(check: Check, *, of: Any = list, length: int | None = None) -> Check:
    """A list (or a tuple) whose elements fit; of this length, if it is given."""

    def checked(value: Any, where: str) -> Any:
        if type(value) is not of:
            _refuse(where, f"is a {of.__name__}", value)
        if length is not None and len(value) != length:
            _refuse(where, f"has {length} elements", len(value))
        return of([check(v, f"{where}[{i}]") for i, v in enumerate(value)])

    return checked


def unique(check: Check) -> Check:
    """The same for a list or tuple whose elements all differ."""

    def checked(value: Any, where: str) -> Any:
        found = check(value, where)
        if len(set(found)) < len(found):
            _refuse(where, "names nothing twice", len(found))
        return found

    return checked


def mapping(key: Check, value: Check) -> Check:
    """A dict whose keys and values fit."""

    def checked(given: Any, where: str) -> dict[Any, Any]:
        if not isinstance(given, dict):
            _refuse(where, "is a dict", given)
        return {key(k, f"a key of {where}"): value(v, f"{where}[{k!r}]") for k, v in given.items()}

    return checked


def record(checks: Mapping[str, Check], defaults: Mapping[str, Any] | None = None) -> Check:
    """A dict with these keys. Those with a default may be absent, as they are in older files."""
    defaults = defaults or {}

    def checked(given: Any, where: str) -> dict[str, Any]:
        if not isinstance(given, dict):
            _refuse(where, "is a dict", given)
        for key in given:
            if key not in checks:
                raise Unfit(f"{where} has {key!r}, which this version does not know")
        found = {**defaults, **given}
        for key in checks:
            if key not in found:
                raise Unfit(f"{where} lacks {key!r}")
        return {key: check(found[key], f"{where}.{key}") for key, check in checks.items()}

    return checked


def array(dtype: str, *shape: int, minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """A numeric array of this type and shape (−1 for any size), all of it finite, from `minimum` to
    `maximum`."""

    def check(value: Any, where: str) -> NDArray[Any]:
        if not isinstance(value, np.ndarray) or value.dtype != np.dtype(dtype):
            _refuse(where, f"is an array of {dtype}", getattr(value, "dtype", None))
        fits = len(value.shape) == len(shape) and all(
            expected in (-1, found) for expected, found in zip(shape, value.shape, strict=True)
        )
        if not fits:
            _refuse(where, f"has the shape {shape}", str(value.shape))
        if value.size and not np.isfinite(value).all():
            _refuse(where, "is finite", "NaN or infinity")
        if value.size and (value.min() < minimum or value.max() > maximum):
            _refuse(where, f"is from {minimum:g} to {maximum:g}", str(value.min()))
        return value

    return check
