"""Model files: a safetensors file with one header entry and a checksum over every byte.

Nothing in a file is executed. The header is JSON; its checksum is SHA-256 of the whole file, taken
with the checksum's own digits set to 0, so that one flipped bit anywhere is found.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tallybayes.errors import ModelFileError

__all__ = ["FORMAT", "decode", "encode", "read", "write"]

FORMAT = 1
"""Version of the file format; a reader refuses a higher one."""

_BLANK = "0" * 64
_MARK = b'"sha256":"'


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
        return {
            "array": value.dtype.str,
            "values": [encode(v) for v in value.ravel().tolist()],
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
    """The inverse of :func:`encode`."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(decode(v) for v in value["tuple"])
        if "dict" in value:
            return {decode(k): decode(v) for k, v in value["dict"]}
        dtype = np.dtype(value["array"])
        items = value["values"]
        if dtype.kind == "O":
            array = np.empty(len(items), dtype=object)
            array[:] = items
        else:
            array = np.array(items, dtype=dtype)
        return array.reshape(value["shape"])
    return value


def _need_place(path: Path) -> None:
    """Raises where no file can be, naming what was asked for and not the draft of it."""
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "this is a folder: name a file in it", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(ENOENT, "there is no such folder to save in", str(path.parent))


def write(path: str | os.PathLike[str], header: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Writes a model file; an existing file is replaced whole or not at all.

    Parameters
    ----------
    path : path-like
    header : JSON value
    arrays : dict of numeric arrays

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True)
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    meta = {"tallybayes": text, "format": str(FORMAT), "sha256": _BLANK}
    data = bytearray(save_tensors(tensors, metadata=meta))
    at = _checksum_at(data)
    data[at : at + 64] = hashlib.sha256(data).hexdigest().encode()
    path = Path(path)
    _need_place(path)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _checksum_at(data: bytes | bytearray) -> int:
    """Where the 64 digits of the checksum stand in the header; −1 if they do not."""
    if len(data) < 8:
        return -1
    end = 8 + int.from_bytes(data[:8], "little")
    at = data.find(_MARK, 8, min(end, len(data)))
    if at < 0 or at + len(_MARK) + 64 > len(data):
        return -1
    return at + len(_MARK)


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Header and arrays of a model file.

    Raises
    ------
    FileNotFoundError, OSError
        If the file cannot be read.
    ModelFileError
        If it is another kind of file, was cut off or altered, or has a newer format.
    """
    data = bytearray(Path(path).read_bytes())
    at = _checksum_at(data)
    if at < 0:
        raise ModelFileError(
            f"{path} is not a tallybayes model file, or its beginning is damaged: save a model "
            "with model.save(path), and load pickles with pickle or joblib"
        )
    stated = bytes(data[at : at + 64])
    data[at : at + 64] = _BLANK.encode()
    if hashlib.sha256(data).hexdigest().encode() != stated:
        raise ModelFileError(
            f"{path} is damaged: its checksum does not fit its content (it was cut off or altered "
            "after it was saved). Take a fresh copy, or train again"
        )
    meta = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    if int(meta["format"]) > FORMAT:
        raise ModelFileError(
            f"{path} has format {meta['format']}; this version of tallybayes reads formats up to "
            f"{FORMAT}. Upgrade tallybayes to load it"
        )
    return json.loads(meta["tallybayes"]), load_tensors(bytes(data))
