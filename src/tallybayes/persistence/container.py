"""The bytes of a model file: a safetensors file with one header entry and a checksum.

Nothing in a file is executed. The header is JSON; its checksum is SHA-256 of the whole file, taken
with the checksum's own digits set to 0, so one flipped bit anywhere is found. A checksum shows
damage, not intent: whoever alters a file can compute it again. So every value of a file is checked
before it is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as save_tensors

from tallybayes.errors import ModelFileError
from tallybayes.replacing import Replace, replacing

__all__ = ["FORMAT", "name_of", "packed", "read", "unpacked", "write"]

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
