"""Model files: a safetensors file with one header entry and a checksum over every byte.

Nothing in a file is executed. The header is JSON; its checksum is SHA-256 of the whole file, taken
with the checksum's own digits set to 0, so one flipped bit anywhere is found. A checksum shows
damage, not intent: whoever alters a file can compute it again. So every value of a file is checked
before it is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Never

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as save_tensors

from tallybayes.errors import ModelFileError
from tallybayes.replacing import Replace, replacing

__all__ = [
    "FORMAT",
    "Check",
    "Unfit",
    "anything",
    "array",
    "decode",
    "dtype_of",
    "each",
    "either",
    "encode",
    "flag",
    "label",
    "mapping",
    "name_of",
    "need",
    "number",
    "one_of",
    "optional",
    "packed",
    "read",
    "record",
    "refusing",
    "text",
    "unique",
    "unpacked",
    "whole",
    "write",
]


# ---- the bytes of a file -------------------------------------------------------------------------
FORMAT = 1
"""Version of the file format; a reader refuses a higher one."""

_BLANK = b"0" * 64
_MARK = b'"sha256":"'
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
"""Types of arrays that a model has; safetensors knows more."""


def packed(header: Any, arrays: dict[str, NDArray[Any]]) -> bytes:
    """A model file as bytes: the same ones for the same content, in every process.

    Parameters
    ----------
    header : JSON value
    arrays : dict of numeric arrays
    """
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True)
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    meta = {"format": str(FORMAT), "sha256": _BLANK.decode(), "tallybayes": text}
    data = save_tensors(tensors, metadata=meta)
    end = 8 + int.from_bytes(data[:8], "little")
    # safetensors writes the entries of the metadata in an order that differs between processes
    ordered = {
        "__metadata__": meta,
        **{k: v for k, v in json.loads(data[8:end]).items() if k != "__metadata__"},
    }
    head = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)
    whole = bytearray(len(head).to_bytes(8, "little") + head + data[end:])
    at = _checksum_at(whole)
    whole[at : at + 64] = _checksum(whole, at)
    return bytes(whole)


def write(
    path: str | os.PathLike[str] | BinaryIO,
    header: Any,
    arrays: dict[str, NDArray[Any]],
    replace: Replace | None = None,
) -> None:
    """Writes a model file; an existing file is replaced whole or not at all.

    Parameters
    ----------
    path : path-like or binary file
        A file is written to where it stands, and stays open.
    header : JSON value
    arrays : dict of numeric arrays
    replace : callable, optional
        Puts the new file in the old one's place; see :func:`replacing`.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    data = packed(header, arrays)
    if not isinstance(path, str | os.PathLike):
        _need_binary(path, "wb")
        rest = memoryview(data)
        while rest:  # a raw file may take less than all at once
            rest = rest[path.write(rest) or 0 :]
        return
    with replacing(path, replace) as file:
        file.write(data)


def _checksum_at(data: bytes | bytearray) -> int:
    """Where the 64 digits of the checksum stand in the header; −1 if they do not."""
    if len(data) < 8:
        return -1
    end = 8 + int.from_bytes(data[:8], "little")
    at = data.find(_MARK, 8, min(end, len(data)))
    if at < 0 or at + len(_MARK) + 64 > len(data):
        return -1
    return at + len(_MARK)


def _checksum(data: bytes | bytearray, at: int) -> bytes:
    digest = hashlib.sha256()
    whole = memoryview(data)
    for part in (whole[:at], _BLANK, whole[at + 64 :]):
        digest.update(part)
    return digest.hexdigest().encode()


def name_of(path: str | os.PathLike[str] | BinaryIO) -> str:
    """What messages call a path or an open file."""
    if isinstance(path, str | os.PathLike):
        return str(path)
    return str(getattr(path, "name", f"the {type(path).__name__}"))


def _need_binary(file: Any, mode: str) -> None:
    verb = "write" if mode == "wb" else "read"
    if isinstance(file, io.TextIOBase) or not callable(getattr(file, verb, None)):
        raise TypeError(
            f"a model file is a path or a file opened in the mode {mode!r}, got a "
            f"{type(file).__name__}"
        )


def read(path: str | os.PathLike[str] | BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Header and arrays of a model file; of an open file, from where it stands to its end.

    Raises
    ------
    FileNotFoundError, OSError
        If the file cannot be read.
    ModelFileError
        If it is another kind of file, was cut off or altered, or has a newer format.
    """
    if isinstance(path, str | os.PathLike):
        return unpacked(Path(path).read_bytes(), str(path))
    _need_binary(path, "rb")
    return unpacked(path.read(), name_of(path))


def unpacked(data: bytes, name: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The inverse of :func:`packed`; `name` is what errors call the file.

    Raises
    ------
    ModelFileError
    """
    at = _checksum_at(data)
    if at < 0:
        raise ModelFileError(
            f"{name} is not a tallybayes model file, or its beginning is damaged: save a model "
            "with model.save(path), and load pickles with pickle or joblib"
        )
    if _checksum(data, at) != data[at : at + 64]:
        raise ModelFileError(
            f"{name} is damaged: its checksum does not fit its content (it was cut off or altered "
            "after it was saved). Take a fresh copy, or train again"
        )
    head = _json(data[8 : 8 + int.from_bytes(data[:8], "little")], name)
    meta = head.get("__metadata__") if isinstance(head, dict) else None
    if not isinstance(meta, dict) or not all(isinstance(v, str) for v in meta.values()):
        raise _foreign(name, "its header has no metadata")
    if not {"format", "sha256", "tallybayes"} <= meta.keys():
        raise _foreign(name, "its metadata lack the format, the checksum or the model")
    if not meta["format"].isascii() or not meta["format"].isdecimal() or len(meta["format"]) > 9:
        raise _foreign(name, f"its format is {meta['format'][:50]!r}")
    if int(meta["format"]) > FORMAT:
        raise ModelFileError(
            f"{name} has format {meta['format']}; this version of tallybayes reads formats up to "
            f"{FORMAT}. Upgrade tallybayes to load it"
        )
    return _json(meta["tallybayes"], name), _arrays(data, name)


def _foreign(name: str, reason: str) -> ModelFileError:
    return ModelFileError(f"{name} is whole, but no model of tallybayes: {reason}")


def _json(text: str | bytes, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, or nested without end
        raise _foreign(name, f"its header cannot be read ({type(error).__name__})") from error


def _arrays(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    try:
        views: Any = deserialize(data)  # type: ignore[no-untyped-call]
        # which compares types, shapes and offsets with the file's size
    except SafetensorError as error:
        raise _foreign(name, f"its arrays cannot be read ({error})") from error
    arrays = {}
    for key, view in views:
        dtype = _DTYPES.get(view["dtype"])
        if dtype is None:
            raise _foreign(name, f"it holds an array of {view['dtype']}")
        values = np.frombuffer(view["data"], dtype=dtype)
        if max(view["shape"], default=0) > len(data):  # beside a 0, where any size would fit
            raise _foreign(name, f"it holds an array of the shape {view['shape']}")
        arrays[key] = values.reshape(view["shape"])
    return arrays


# ---- values to JSON and back; sizes that a file states are checked before memory is allocated ----
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


# ---- rules for the values of a file: small checks that combine like the values -------------------
# A check takes a value and where it stands, and returns the value or raises :class:`Unfit`.
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


# ---- errors in the content of a file, as one error that names the file ---------------------------
@contextmanager
def refusing(name: str, what: str) -> Iterator[None]:
    """Whatever the content of a file leads to is a ModelFileError with the file's name.

    Parameters
    ----------
    name : str
        What messages call the file.
    what : str
        What it should hold, such as "model".
    """
    problem = f"{name} is whole, but is not a {what} of tallybayes as this version writes it"
    try:
        yield
    except Unfit as error:
        raise ModelFileError(f"{problem}: {error}. Save the {what} again") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{problem} ({type(error).__name__}: {error}): save the {what} again"
        ) from error
