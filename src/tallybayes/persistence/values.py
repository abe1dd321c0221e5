"""Values to JSON and back; the sizes that a file states are checked before memory is allocated."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tallybayes.errors import ModelFileError

__all__ = ["decode", "dtype_of", "encode"]

MAX_DEPTH = 40
"""Levels of nesting that a value may have."""

PADDING = 1 << 20
"""Bytes that an array of strings may take beyond 16 a character, because its strings differ in
length."""

MAX_PADDING = 8 * PADDING
"""The same of all arrays of a file together."""

DTYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|12|16)|U\d{1,7}|O)")
MAX_SIZES = 1 << 16
"""What the sizes of an array without elements may multiply to, zeros left aside."""


def encode(value: Any) -> Any:
    """A value as JSON can hold it: None, bool, numbers, strings, sequences, dicts and arrays.

    Raises
    ------
    ModelFileError
        For any other type.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        items = value.ravel().tolist()
        wide = value.dtype.kind == "U" and _padding(items, value.itemsize) > PADDING
        return {
            "array": "|O" if wide else value.dtype.str,
            "values": [encode(v) for v in items],
            "shape": list(value.shape),
        }
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    raise ModelFileError(
        f"a model file cannot hold a {type(value).__name__} ({value!r}); it holds numbers, "
        "strings, booleans, None, and lists, tuples, dicts and arrays of them. Use such labels and "
        "parameters, or pickle the model"
    )


def decode(value: Any) -> Any:
    """The inverse of :func:`encode`.

    Raises
    ------
    ModelFileError
        For what :func:`encode` does not write.
    """
    return _Decoder().decoded(value, 0)


def _is_key(key: Any) -> bool:
    if isinstance(key, tuple):
        return all(map(_is_key, key))
    return key is None or isinstance(key, bool | int | float | str)


def dtype_of(text: Any) -> np.dtype[Any]:
    """The type of an array, from its name."""
    if not isinstance(text, str) or not DTYPE.fullmatch(text):
        raise ModelFileError(f"{str(text)[:100]!r} is not a type of an array")
    try:
        return np.dtype(text)
    except TypeError:  # a wide float of another machine
        raise ModelFileError(f"the type {text!r} is not known on this machine") from None


PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (int, float),
    "U": (str,),
}


class _Decoder:
    """Reads one value. The memory that all of its arrays may take beyond their content is
    limited."""

    def __init__(self) -> None:
        self.padding = MAX_PADDING

    def decoded(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelFileError(f"values are nested more than {MAX_DEPTH} deep")
        if isinstance(value, list):
            return [self.decoded(v, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
            return tuple([self.decoded(v, depth + 1) for v in value["tuple"]])
        if value.keys() == {"dict"} and isinstance(value["dict"], list):
            return self._dict(value["dict"], depth)
        if value.keys() == {"array", "values", "shape"}:
            return self._array(dtype_of(value["array"]), value["values"], value["shape"])
        keys = ", ".join(map(repr, value))[:200]
        raise ModelFileError(f"an object with the keys {keys} is not a value")

    def _dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ModelFileError("a dict is written as pairs of a key and a value")
            key, value = (self.decoded(v, depth + 1) for v in pair)
            if not _is_key(key) or key in found:
                raise ModelFileError(f"{str(key)[:100]!r} is a key twice, or can be none")
            found[key] = value
        return found

    def _array(self, dtype: np.dtype[Any], items: Any, shape: Any) -> np.ndarray[Any, Any]:
        if not isinstance(items, list) or not isinstance(shape, list) or len(shape) > 4:
            raise ModelFileError("an array has a list of values, and at most four sizes")
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ModelFileError(f"an array has the sizes {str(shape)[:100]}")
        sizes = math.prod(max(n, 1) for n in shape)
        if math.prod(shape) != len(items) or sizes > max(len(items), MAX_SIZES):
            raise ModelFileError(f"{len(items)} values are not an array of {str(shape)[:100]}")
        if dtype.kind == "O":
            array = np.empty(len(items), dtype=object)
            array[:] = [_scalar(v) for v in items]
            return array.reshape(shape)
        if any(type(v) not in PYTHON_TYPES[dtype.kind] for v in items):
            raise ModelFileError(f"an array of {dtype} holds values of another type")
        if dtype.kind == "U":
            self._take_padding(items, dtype)
        try:
            return np.array(items, dtype=dtype).reshape(shape)
        except OverflowError:
            raise ModelFileError(f"an array of {dtype} holds numbers beyond it") from None

    def _take_padding(self, strings: list[str], dtype: np.dtype[Any]) -> None:
        self.padding -= max(0, _padding(strings, dtype.itemsize))
        if self.padding < 0:
            raise ModelFileError(f"strings are much shorter than their type, {dtype.str}")
        if max(map(len, strings), default=0) * 4 > dtype.itemsize:
            raise ModelFileError(f"an array of {dtype} holds longer strings")


def _padding(strings: list[str], width: int) -> int:
    """Bytes that an array of strings of one width takes beyond 16 a character."""
    return len(strings) * width - 16 * sum(len(text) + 1 for text in strings)


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ModelFileError(f"an array holds a {type(value).__name__}, which is not a single value")
