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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import cache
from inspect import signature
from itertools import repeat
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    BinaryIO,
    Literal,
    Never,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as save_tensors

from tallybayes.errors import ModelFileError

if TYPE_CHECKING:
    from tallybayes.replacing import Replace

__all__ = [
    "FORMAT",
    "MAX_WEIGHT",
    "Arrays",
    "Ascending",
    "Bounded",
    "Check",
    "Count",
    "Distinct",
    "Label",
    "NonNegative",
    "Positive",
    "Shape",
    "Size",
    "Sizes",
    "Tree",
    "Unfit",
    "Weight",
    "Within",
    "constructed",
    "digest_of",
    "distinct",
    "dtype_of",
    "fit",
    "flat",
    "joined",
    "need",
    "nested",
    "numbered",
    "opened",
    "write",
]


# ---- the bytes of a file -------------------------------------------------------------------------
Arrays = dict[str, NDArray[Any]]
Tree = dict[Any, Any]

FORMAT = 1
"""Version of the file format; a reader refuses a higher one."""

_BLANK = b"0" * 64
_MARK = b'"sha256":"'
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
"""Types of arrays that a model has; safetensors knows more."""


def _packed(header: Any, arrays: Arrays) -> bytes:
    """A model file as bytes: the same ones for the same content, in every process."""
    text = json.dumps(_encoded(header), separators=(",", ":"), ensure_ascii=True)
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
    tree: Tree,
    replace: Replace | None = None,
) -> None:
    """Writes a model file; an existing file is replaced whole or not at all.

    Parameters
    ----------
    path : path-like or binary file
        A file is written to where it stands, and stays open.
    header : dict
        Values as JSON can hold them: None, bool, numbers, strings, sequences, dicts and arrays.
    tree : dict
        Numeric arrays, in dicts and lists; see :func:`nested`.
    replace : callable, optional
        Puts the new file in the old one's place; see :func:`replacing`.

    Raises
    ------
    ModelFileError
        If the header holds something else.
    OSError
        If the file cannot be written.
    """
    data = _packed(header, flat(tree))
    if not isinstance(path, str | os.PathLike):
        _need_binary(path, "wb")
        rest = memoryview(data)
        while rest:  # a raw file may take less than all at once
            rest = rest[path.write(rest) or 0 :]
        return
    from tallybayes.replacing import replacing

    with replacing(path, replace) as file:
        file.write(data)


def digest_of(arrays: Iterable[NDArray[Any]], names: str = "") -> str:
    """A digest of counts, which depends on the bytes of every array of numbers, and on what names
    them."""
    digest = hashlib.blake2b(names.encode(errors="surrogatepass"), digest_size=16)
    for array in arrays:
        if array.dtype.kind in "biuf":
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def opened(path: str | os.PathLike[str] | BinaryIO, what: str) -> Iterator[tuple[Any, Tree]]:
    """Header and arrays of a model file; of an open file, from where it stands to its end.

    Whatever its content leads to within the context is a ModelFileError that names the file.

    Parameters
    ----------
    path : path-like or binary file
    what : str
        What it should hold, such as "model".

    Raises
    ------
    FileNotFoundError, OSError
        If the file cannot be read.
    ModelFileError
        If it is another kind of file, was cut off or altered, has a newer format, or holds what
        is refused within.
    """
    if isinstance(path, str | os.PathLike):
        name, data = str(path), Path(path).read_bytes()
    else:
        _need_binary(path, "rb")
        name, data = str(getattr(path, "name", f"the {type(path).__name__}")), path.read()
    problem = f"{name} is whole, but is not a {what} of tallybayes as this version writes it"
    try:
        encoded, arrays = _unpacked(data)
        yield _Decoder().decoded(encoded, 0), nested(arrays)
    except Unfit as error:
        raise ModelFileError(f"{problem}: {error}. Save the {what} again") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (RecursionError, SafetensorError, *UNFORESEEN) as error:
        raise ModelFileError(
            f"{problem} ({type(error).__name__}: {error}): save the {what} again"
        ) from error


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


def _need_binary(file: Any, mode: str) -> None:
    verb = "write" if mode == "wb" else "read"
    if isinstance(file, io.TextIOBase) or not callable(getattr(file, verb, None)):
        raise TypeError(
            f"a model file is a path or a file opened in the mode {mode!r}, got a "
            f"{type(file).__name__}"
        )


def _unpacked(data: bytes) -> tuple[Any, Arrays]:
    """The inverse of :func:`_packed`."""
    at = _checksum_at(data)
    if at < 0:
        raise ModelFileError(
            "this is not a tallybayes model file, or its beginning is damaged: save a model with "
            "model.save(path), and load pickles with pickle or joblib"
        )
    if _checksum(data, at) != data[at : at + 64]:
        raise ModelFileError(
            "the file is damaged: its checksum does not fit its content (it was cut off or altered "
            "after it was saved). Take a fresh copy, or train again"
        )
    head = fit(dict[str, Any], json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]), "it")
    meta = fit(dict[str, str], head.get("__metadata__"), "its metadata")
    need({"format", "tallybayes"} <= meta.keys(), "its metadata have the format and the model")
    need(re.fullmatch("[0-9]{1,9}", meta["format"]) is not None, "its format is a number")
    if int(meta["format"]) > FORMAT:
        raise ModelFileError(
            f"the file has format {meta['format']}; this version of tallybayes reads formats up to "
            f"{FORMAT}. Upgrade tallybayes to load it"
        )
    arrays = {}
    views: Any = deserialize(data)  # type: ignore[no-untyped-call]
    for key, view in views:  # types, shapes and offsets of which fit the file's size
        need(view["dtype"] in _DTYPES, f"it holds no array of {view['dtype']}")
        values = np.frombuffer(view["data"], dtype=_DTYPES[view["dtype"]])
        small = max(view["shape"], default=0) <= len(data)  # beside a 0, where any size would fit
        need(small, f"it holds no array of the shape {view['shape']}")
        arrays[key] = values.reshape(view["shape"])
    return json.loads(meta["tallybayes"]), arrays


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


def _encoded(value: Any) -> Any:
    """A value as JSON can hold it."""
    times = isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "mM"
    if isinstance(value, np.generic) and not times:
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and not times:
        items = value.ravel().tolist()
        wide = value.dtype.kind == "U" and _padding(items, value.itemsize) > PADDING
        return {
            "array": "|O" if wide else value.dtype.str,
            "values": [_encoded(v) for v in items],
            "shape": list(value.shape),
        }
    if isinstance(value, tuple):
        return {"tuple": [_encoded(v) for v in value]}
    if isinstance(value, list):
        return [_encoded(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[_encoded(k), _encoded(v)] for k, v in value.items()]}
    kind = str(value.dtype) if times else type(value).__name__  # NumPy makes numbers of some times
    raise ModelFileError(
        f"a model file cannot hold a {kind} ({value!r}); it holds numbers, "
        "strings, booleans, None, and lists, tuples, dicts and arrays of them. Use such labels and "
        "parameters, or pickle the model"
    )


def _padding(strings: list[str], width: int) -> int:
    """Bytes that an array of strings of one width takes beyond 16 a character."""
    return len(strings) * width - 16 * sum(len(text) + 1 for text in strings)


def dtype_of(text: Any) -> np.dtype[Any]:
    """The type of an array, from its name."""
    known = isinstance(text, str) and DTYPE.fullmatch(text) is not None
    need(known, f"{str(text)[:100]!r} is not a type of an array")
    found: np.dtype[Any] = constructed(np.dtype, text, text)  # none: a wide float of elsewhere
    return found


PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (int, float),
    "U": (str,),
    "O": (str, int, float, bool, NoneType),
}


class _Decoder:
    """Reads one value. The memory that all of its arrays may take beyond their content is
    limited."""

    def __init__(self) -> None:
        self.padding = MAX_PADDING

    def decoded(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Unfit(f"values are nested more than {MAX_DEPTH} deep")
        if isinstance(value, list):
            return [self.decoded(v, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
            return tuple([self.decoded(v, depth + 1) for v in value["tuple"]])
        if value.keys() == {"array", "values", "shape"}:
            return self._array(dtype_of(value["array"]), value["values"], value["shape"])
        if value.keys() != {"dict"} or not isinstance(value["dict"], list):
            keys = ", ".join(map(repr, value))[:200]
            raise Unfit(f"an object with the keys {keys} is not a value")
        found: dict[Any, Any] = {}
        for pair in value["dict"]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise Unfit("a dict is written as pairs of a key and a value")
            key, one = (self.decoded(v, depth + 1) for v in pair)
            if not _is_key(key) or key in found:
                raise Unfit(f"{str(key)[:100]!r} is a key twice, or can be none")
            found[key] = one
        return found

    def _array(self, dtype: np.dtype[Any], items: Any, shape: Any) -> NDArray[Any]:
        lists = isinstance(items, list) and isinstance(shape, list) and len(shape) <= 4
        need(lists, "an array has a list of values, and at most four sizes")
        fits = all(type(n) is int and n >= 0 for n in shape) and math.prod(shape) == len(items)
        fits = fits and math.prod(max(n, 1) for n in shape) <= max(len(items), MAX_SIZES)
        need(fits, "the sizes of an array are those of its values")
        known = PYTHON_TYPES[dtype.kind]
        need(all(type(v) in known for v in items), f"an array of {dtype.str} holds its own type")
        if dtype.kind == "U":
            self.padding -= max(0, _padding(items, dtype.itemsize))
            need(self.padding >= 0, f"strings are much shorter than their type, {dtype.str}")
            longest = max(map(len, items), default=0)
            need(longest * 4 <= dtype.itemsize, f"an array of {dtype.str} holds no longer strings")
        array: NDArray[Any] = constructed(np.array, f"an array of {dtype.str}", items, dtype=dtype)
        return array.reshape(shape)


def _is_key(key: Any) -> bool:
    if isinstance(key, tuple):
        return all(map(_is_key, key))
    return key is None or isinstance(key, Label)


# ---- rules for the values of a file: the annotations of what they become -------------------------
class Unfit(ValueError):
    """A file holds a value that no model has."""


def _refuse(where: str, rule: str, value: Any) -> Never:
    shown = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    raise Unfit(f"{where} {rule}, got {shown[:100]}")


def need(condition: bool, message: str) -> None:
    """Raises :class:`Unfit` unless the condition holds."""
    if not condition:
        raise Unfit(message)


Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]
"""What an ``Annotated`` type may name: it takes a value, the place in the file, and the sizes that
are known there, and raises :class:`Unfit` for a value that does not fit."""


@dataclass(frozen=True)
class Within:
    """A number, or all numbers of an array, from `minimum` to `maximum`; above or below a bound."""

    minimum: float = -math.inf
    maximum: float = math.inf
    above: float | None = None
    below: float | None = None

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        least = most = value
        if isinstance(value, np.ndarray):
            if not value.size:
                return
            least, most = value.min().item(), value.max().item()
        if least < self.minimum or most > self.maximum:
            end = "on" if self.maximum == math.inf else f"to {self.maximum:g}"
            wrong = least if least < self.minimum else most
            _refuse(where, f"is from {self.minimum:g} {end}", wrong)
        if self.above is not None and not least > self.above:
            _refuse(where, f"is above {self.above:g}", least)
        if self.below is not None and not most < self.below:
            _refuse(where, f"is below {self.below:g}", most)


class Shape:
    """An array of these sizes: numbers, names, or None for any.

    A name stands for one size throughout the parameters of a class. It is known from the caller or
    a whole number among them, or the first array that has it says it.
    """

    def __init__(self, *sizes: int | str | None) -> None:
        self.sizes = sizes

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        fits = len(self.sizes) == value.ndim and all(
            n is None or found == (sizes.setdefault(n, found) if isinstance(n, str) else n)
            for n, found in zip(self.sizes, value.shape, strict=True)
        )
        if not fits:
            known = ["any" if n is None else str(sizes.get(str(n), n)) for n in self.sizes]
            _refuse(where, f"has the shape ({', '.join(known)})", str(value.shape))


@dataclass(frozen=True)
class Ascending:
    """An array whose elements ascend, by default strictly."""

    strictly: bool = True

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        low, high = value[:-1], value[1:]
        need(bool((high > low if self.strictly else high >= low).all()), f"{where} ascends")


def distinct(value: Any, where: str, sizes: Sizes) -> None:
    """A list, tuple or array whose elements all differ."""
    elements = value.tolist() if isinstance(value, np.ndarray) else value
    if len(set(elements)) < len(elements):
        _refuse(where, "names nothing twice", len(elements))


MAX_WEIGHT = 1e100
"""Weights, offsets and counts of learned terms beyond this are damage; products stay finite."""

Bounded = Within(-MAX_WEIGHT, MAX_WEIGHT)
Count = Annotated[int, Within(0, 2**31)]
Size = Annotated[int, Within(1, 2**31)]
Weight = Annotated[float, Within(0.0, MAX_WEIGHT)]
NonNegative = Annotated[float, Within(0.0)]
Positive = Annotated[float, Within(above=0.0)]
Distinct = Annotated[list[str], distinct]
Label = bool | int | float | str

PLAIN: dict[Any, str] = {str: "a string", bool: "true or false", int: "a whole number"}


def fit(hint: Any, value: Any, where: str, sizes: Sizes | None = None) -> Any:
    """A value of a file as the annotation of what it becomes has it.

    Numbers are finite, and so are those of arrays. A class takes a dict of its parameters, or a
    list of them in their order; those with a default may be absent, as they are in older files.

    Parameters
    ----------
    hint : type or annotation
        Of plain types, lists, tuples, dicts, arrays, unions, ``Literal``, and classes with such
        parameters; in ``Annotated`` with a :data:`Check`.
    value : object
    where : str
        What messages call the value.
    sizes : dict of str to int, optional
        For :class:`Shape`, by name.

    Raises
    ------
    Unfit
        For any other value.
    """
    return _fit(_rule(hint), value, where, dict(sizes or {}))


Rule = tuple[Any, tuple[Any, ...]]
"""An annotation taken apart: its kind, and what it is of, taken apart as well."""


@cache
def _rule(hint: Any) -> Rule:
    kind, of = get_origin(hint) or hint, get_args(hint)
    if alias := getattr(kind, "__value__", None):  # made by ``type``, as NumPy 2.5 makes NDArray
        return _rule(alias[of] if of else alias)
    if kind is Annotated:
        return kind, (_rule(of[0]), *of[1:])
    if kind is np.ndarray:
        return kind, get_args(of[1])
    if kind is UnionType or kind is Union:
        return Union, (NoneType in of, [_rule(one) for one in of if one is not NoneType])
    if kind in (list, dict, tuple):
        return kind, tuple([one if one is Ellipsis else _rule(one) for one in of])
    return kind, of


@cache
def _parameters(kind: Any) -> list[tuple[str, Rule, bool]]:
    """The parameters of a class: name, annotation, and whether each has to be given."""
    own = kind if is_dataclass(kind) or issubclass(kind, tuple) else kind.__init__
    hints = get_type_hints(own, include_extras=True)
    parameters = signature(kind).parameters.values()
    return [(p.name, _rule(hints[p.name]), p.default is p.empty) for p in parameters]


def _fit(rule: Rule, value: Any, where: str, sizes: Sizes) -> Any:
    kind, of = rule
    if kind is Any:
        return value
    if kind is Annotated:
        found = _fit(of[0], value, where, sizes)
        for check in of[1:]:
            check(found, where, sizes)
        return found
    if kind in PLAIN:
        if type(value) is not kind:
            _refuse(where, f"is {PLAIN[kind]}", value)
        return value
    if kind is float:
        if type(value) not in (int, float) or not abs(value) <= 1e308:
            _refuse(where, "is a finite number", value)
        return value
    if kind is Union:
        may_be_none, (*others, last) = of
        if value is None and may_be_none:
            return None
        for one in others:
            try:
                return _fit(one, value, where, sizes)
            except Unfit:
                continue
        return _fit(last, value, where, sizes)
    if kind is np.ndarray:
        (dtype,) = of
        if dtype is np.float64 and isinstance(value, list):
            value = np.array(fit(list[float], value, where), dtype)
        if not isinstance(value, np.ndarray) or (dtype is not Any and value.dtype != dtype):
            name = "values" if dtype is Any else np.dtype(dtype).name
            _refuse(where, f"is an array of {name}", str(getattr(value, "dtype", value)))
        if dtype is not Any and value.dtype.kind == "f" and not np.isfinite(value).all():
            _refuse(where, "is finite", "NaN or infinity")
        return value
    if kind is Literal:
        if not isinstance(value, str) or value not in of:
            _refuse(where, f"is one of {', '.join(of)}", value)
        return value
    if kind is list or kind is tuple:
        if type(value) is not kind:
            _refuse(where, f"is a {kind.__name__}", value)
        each: Any = repeat(of[0])
        if kind is tuple and of[-1] is not Ellipsis:
            if len(value) != len(of):
                _refuse(where, f"has {len(of)} elements", len(value))
            each = of
        pairs = enumerate(zip(each, value, strict=False))
        return kind([_fit(one, v, f"{where}[{i}]", sizes) for i, (one, v) in pairs])
    if kind is dict:
        if not isinstance(value, dict):
            _refuse(where, "is a dict", value)
        key, each = of
        return {
            _fit(key, k, f"a key of {where}", sizes): _fit(each, v, f"{where}[{k!r}]", sizes)
            for k, v in value.items()
        }
    if isinstance(value, kind):  # which no file holds: the caller has put it there
        return value
    parameters, found, sizes = _parameters(kind), {}, dict(sizes)
    if isinstance(value, list):
        if len(value) != len(parameters):
            _refuse(where, f"has {len(parameters)} elements", len(value))
        value = {name: v for (name, _, _), v in zip(parameters, value, strict=True)}
    if not isinstance(value, dict):
        _refuse(where, "is a dict", value)
    for name, one, needed in parameters:
        if name in value:
            found[name] = _fit(one, value[name], f"{where}.{name}", sizes)
            if type(found[name]) is int:
                sizes[name] = found[name]
        elif needed:
            raise Unfit(f"{where} lacks {name!r}")
    for name in value.keys() - found.keys():
        raise Unfit(f"{where} has {str(name)[:100]!r}, which this version does not know")
    return constructed(kind, where, **found)


def constructed(make: Callable[..., Any], where: str, *args: Any, **kwargs: Any) -> Any:
    """``make(...)``, which checks what it takes; a file that holds what it refuses is damaged."""
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"{where}: {error}") from error


# ---- arrays by dotted names, as a tree -----------------------------------------------------------
def nested(arrays: Arrays) -> Tree:
    """Arrays in dicts, by the parts of their names. A number at the end of a part is a key by
    itself: ``part0.first12`` is ``["part"][0]["first"][12]``."""
    tree: Tree = {}
    for name, values in arrays.items():
        at = tree
        path: list[Any] = []
        for part in name.split("."):
            word = part.rstrip("0123456789")
            number = part[len(word) :]
            path += [word, int(number)] if number.isdecimal() and len(number) < 10 else [part]
        *before, last = path
        for key in before:
            at = at.setdefault(key, {})
            need(isinstance(at, dict), f"{name[:100]!r} is in an array")
        need(last not in at, f"{name[:100]!r} is there twice")
        at[last] = values
    return tree


def flat(tree: Tree, before: str = "") -> Arrays:
    """The inverse of :func:`nested`; arrays may be in lists, too."""
    arrays: Arrays = {}
    for key, value in tree.items():
        name = f"{before}{key}" if isinstance(key, int) or not before else f"{before}.{key}"
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            arrays |= flat(value, name)
        elif value is not None:
            arrays[name] = value
    return arrays


def numbered(tree: Tree, name: str, n: int, where: str) -> list[Any]:
    """What a tree has of `n` numbers beside a name, taken out of it."""
    held = fit(dict[int, Any], tree.pop(name, {}), f"{where}.{name}")
    for i in range(n):
        need(i in held, f"the file lacks {where}.{name}{i}")
    return [held[i] for i in range(n)]


def joined(header: Any, tree: Any, where: str) -> dict[Any, Any]:
    """A header with the arrays in their places."""
    need(isinstance(header, dict) and isinstance(tree, dict), f"{where} is a dict")
    found = {**tree, **header}
    for key in tree.keys() & header.keys():
        need(isinstance(tree[key], dict), f"{where}.{str(key)[:100]} is no array")
        found[key] = joined(header[key], tree[key], f"{where}.{key}")
    return found
