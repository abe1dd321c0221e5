"""Model files with something wrong in them, and with their checksums made right.

A mutation knows the format: it changes a value of the header, the type, shape or place of an array,
numbers, or bytes, so that most files pass the outer checks and reach the inner ones.
"""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["Parts", "mutated", "rechecked"]

BLANK = "0" * 64
MARK = b'"sha256":"'
ODD_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        127,
        128,
        2**31,
        2**32 + 1,
        2**53,
        2**63 - 1,
        2**63,
        -(2**63),
    ),
    *(10**30, 0.5, -0.5, 1e-320, 1e300, 1.7976931348623157e308, -1e308, float("nan"), float("inf")),
    *(
        float("-inf"),
        "",
        "a",
        "é",
        "\ud800",
        "\x00",
        "x" * 1000,
        "levels",
        "moments",
        "grid",
        "sums",
    ),
    *(
        "cross",
        "<U500000000",
        "<U4",
        "|O",
        "|V99",
        "<f8",
        "<M8[ns]",
        "(9,9)f8",
        "f8,i4",
        "|S9",
        "__name__",
    ),
    *(
        "Gaussian",
        "Smooth",
        "Family",
        "ClassPrior",
        "persistence",
        "WeightedNaiveBayes",
        "GaussianNB",
    ),
    *([], {}, [[]], {"tuple": []}, {"dict": []}, {"dict": [[1, 2], [1, 2]]}, {"dict": [1]}),
    {"array": "<U500000000", "values": ["a"], "shape": [1]},
    {"array": "<f8", "values": [], "shape": [0, 2**60]},
    {"array": "<f8", "values": [1.0, float("nan")], "shape": [2]},
    {"array": "|O", "values": [[1], {}], "shape": [2]},
    {"array": "<i8", "values": [2**70], "shape": [1]},
    {"array": "<i8", "values": ["x"], "shape": [-1]},
    {"dict": [["tallybayes.family", "Gaussian"], ["prior", 3]]},
    {"dict": [["tallybayes.family", "__loader__"]]},
    {"dict": [["tallybayes.family", "Smooth"], ["bins", 10**9]]},
    {"dict": [["tallybayes.family", "Dirichlet"], ["strength", 1e308], ["base", "marginal"]]},
)
DEEP = (1000, 20_000)
ODD_DOUBLES = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e300, -1e300, 1.7e308, float("nan")),
    *(float("inf"), float("-inf"), 2.0**53, 1e16, 1e-16),
)
ODD_INTEGERS = (0, 1, -1, 2, 3, 63, 64, 4095, 4097, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63))
DTYPES = ("F64", "F32", "I64", "I32", "U8", "BOOL", "F16", "BF16", "C64", "F8_E4M3", "F4", "X", 3)


@dataclass
class Parts:
    """A model file taken apart.

    Parameters
    ----------
    tensors : dict
        The table of arrays, as the header has it.
    meta : dict
        The metadata but for the model.
    model : JSON value
    data : bytearray
        What follows the header.
    """

    tensors: dict[str, Any]
    meta: dict[str, Any]
    model: Any
    data: bytearray

    @classmethod
    def of(cls, file: bytes) -> Parts:
        end = 8 + int.from_bytes(file[:8], "little")
        tensors = json.loads(file[8:end])
        meta = tensors.pop("__metadata__")
        return cls(tensors, meta, json.loads(meta.pop("tallybayes")), bytearray(file[end:]))

    def header(self) -> bytes:
        model = self.model if isinstance(self.model, str) else json.dumps(self.model)
        whole = {"__metadata__": {**self.meta, "tallybayes": model}, **self.tensors}
        text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")

    def joined(self) -> bytes:
        head = self.header()
        head += b" " * (-len(head) % 8)
        return rechecked(len(head).to_bytes(8, "little") + head + bytes(self.data))


def rechecked(file: bytes) -> bytes:
    """The same file with the checksum that fits it, where it has room for one."""
    at = file.find(MARK, 8) + len(MARK)
    if at < len(MARK) or at + 64 > len(file):
        return file
    blank = file[:at] + BLANK.encode() + file[at + 64 :]
    digest = hashlib.sha256(blank).hexdigest().encode()
    return file[:at] + digest + file[at + 64 :]


# ---- values of the header ------------------------------------------------------------------------
def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON value with every key or index in it."""
    stack = [value]
    while stack:
        at = stack.pop()
        keys: Any = at.keys() if isinstance(at, dict) else range(len(at))
        for key in list(keys):
            yield at, key
            if isinstance(at[key], dict | list):
                stack.append(at[key])


def _tweaked(value: Any, rng: Random) -> Any:
    """A value of the same type that is a little different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 2, -value, 100))
    if isinstance(value, float):
        return value * rng.choice((-1.0, 0.0, 2.0, 1e-9, 1e9, 1e200))
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(("", "x", "\x00", "ü")) + value[at + rng.randrange(2) :]
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        some = list(value)
        rng.choice((some.pop, lambda i: some.insert(i, some[i]), lambda i: some.reverse()))(at)
        return some
    return copy.deepcopy(rng.choice(ODD_VALUES))


def _change_value(parts: Parts, rng: Random) -> None:
    if not isinstance(parts.model, dict | list):
        return
    places = list(_places(parts.model))
    if not places:
        return
    at, key = rng.choice(places)
    how = rng.random()
    if how < 0.4:
        at[key] = copy.deepcopy(rng.choice(ODD_VALUES))  # another change may go into it
    elif how < 0.7:
        at[key] = _tweaked(at[key], rng)
    elif how < 0.85:
        other, there = rng.choice(places)
        at[key] = json.loads(json.dumps(other.get(there) if isinstance(other, dict) else other[-1]))
    else:
        del at[key]


def _nest(parts: Parts, rng: Random) -> None:
    depth, (opening, closing) = rng.choice(DEEP), rng.choice((("[", "]"), ('{"tuple":[', "]}")))
    parts.model = opening * depth + closing * depth


def _change_meta(parts: Parts, rng: Random) -> None:
    key = rng.choice(("format", "sha256", "tallybayes", "more"))
    if key == "tallybayes":
        text = json.dumps(parts.model)
        at = rng.randrange(len(text) + 1)
        parts.model = (
            text[:at] + rng.choice(("", ",", "{", '"', "\x00", "1e999", "\\ud800")) + text[at + 1 :]
        )
    elif rng.random() < 0.3:
        parts.meta.pop(key, None)
    else:
        parts.meta[key] = rng.choice(("", "0", "-1", "1.5", "²", "9" * 5000, "1 ", None, 1, []))


# ---- arrays --------------------------------------------------------------------------------------
def _change_tensor(parts: Parts, rng: Random) -> None:
    names = [n for n, t in parts.tensors.items() if isinstance(t, dict) and "shape" in t]
    if not names:
        return
    name = rng.choice(names)
    entry = parts.tensors[name]
    how = rng.randrange(7)
    if how == 0:
        entry["dtype"] = rng.choice(DTYPES)
    elif how == 1:
        entry["shape"] = rng.choice(
            ([], [0], [-1], [2**62, 4], [0, 2**62], [1.5], [2**64], "3", None)
        )
    elif how == 2 and isinstance(entry["shape"], list):
        entry["shape"] = rng.choice(
            (entry["shape"][::-1], [1, *entry["shape"]], [*entry["shape"], 1])
        )
    elif how == 3:
        entry["data_offsets"] = rng.choice(
            ([0, 2**63], [8, 0], [-8, 0], [0], None, [0, len(parts.data)])
        )
    elif how == 4:
        del parts.tensors[name]
    elif how == 5:
        parts.tensors[rng.choice((*names, name + "x", "", "group9.counts"))] = parts.tensors.pop(
            name
        )
    else:
        other = rng.choice(names)
        mine, theirs = parts.tensors[name], parts.tensors[other]
        parts.tensors[name], parts.tensors[other] = theirs, mine


def _resize(parts: Parts, rng: Random) -> None:
    """An array with another number of elements, and all offsets right."""
    names = [n for n, t in parts.tensors.items() if isinstance(t, dict) and t.get("shape")]
    if not names:
        return
    name = rng.choice(names)
    entry = parts.tensors[name]
    try:
        start, end = entry["data_offsets"]
        shape = [int(n) for n in entry["shape"]]
        if not 0 <= start < end <= len(parts.data):
            return
        axis = rng.randrange(len(shape))
        size = (end - start) // (shape[axis] or 1)
        more = rng.random() < 0.5
        parts.data[end - (0 if more else size) : end] = bytes(size) if more else b""
        entry["shape"] = [n + (i == axis) * (1 if more else -1) for i, n in enumerate(shape)]
        step = size if more else -size
        entry["data_offsets"] = [start, end + step]
        for other in parts.tensors.values():
            if other is not entry and other["data_offsets"][0] >= end:
                other["data_offsets"] = [n + step for n in other["data_offsets"]]
    except (KeyError, TypeError, ValueError):  # an earlier mutation has been here
        return


def _change_number(parts: Parts, rng: Random) -> None:
    if len(parts.data) < 8:
        return
    for _ in range(rng.choice((1, 1, 1, 5, 50))):
        at = 8 * rng.randrange(len(parts.data) // 8)
        if rng.random() < 0.6:
            new = struct.pack("<d", rng.choice(ODD_DOUBLES))
        else:
            new = struct.pack("<q", rng.choice(ODD_INTEGERS))
        parts.data[at : at + 8] = new


def _change_bits(parts: Parts, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 10))):
        if parts.data:
            parts.data[rng.randrange(len(parts.data))] ^= 1 << rng.randrange(8)


def _cut(parts: Parts, rng: Random) -> None:
    if rng.random() < 0.5:
        parts.data += bytes(rng.choice((1, 8, 4096)))
    else:
        del parts.data[rng.randrange(len(parts.data) + 1) :]


CHANGES: tuple[tuple[Callable[[Parts, Random], None], int], ...] = (
    (_change_value, 50),
    (_change_number, 20),
    (_change_tensor, 12),
    (_resize, 8),
    (_change_bits, 5),
    (_change_meta, 3),
    (_cut, 1),
    (_nest, 1),
)


def _raw(file: bytes, rng: Random) -> bytes:
    """Bytes of the header changed without regard for what they mean."""
    head = 8 + int.from_bytes(file[:8], "little")
    changed = bytearray(file)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(head)
        how = rng.randrange(3)
        if how == 0:
            changed[at] = rng.randrange(256)
        elif how == 1:
            changed[at : at + 1] = b""
        else:
            changed[at:at] = rng.choice((b"[", b"{", b'"', b",", b"\xff", b"0", b"\\u0000"))
    return rechecked(bytes(changed))


def mutated(file: bytes, rng: Random) -> bytes:
    """The file with one to three mutations."""
    if rng.random() < 0.08:
        return _raw(file, rng)
    parts = Parts.of(file)
    changes, weights = zip(*CHANGES, strict=True)
    for change in rng.choices(changes, weights, k=rng.choice((1, 1, 1, 2, 3))):
        change(parts, rng)
    return parts.joined()
