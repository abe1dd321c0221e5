"""Whether files exist and have the right kind, checked before anything slow is imported."""

from __future__ import annotations

from glob import has_magic
from importlib.util import find_spec
from pathlib import Path

from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.replacing import need_writable
from tallybayes.sources.databases.names import is_url
from tallybayes.sources.opening import MAGIC, is_remote, is_workbook, need_local, need_readable

__all__ = ["is_model", "need_data", "need_folder", "need_model"]


def need_folder(path: str) -> None:
    """Raises where a file cannot be made, before the work and not after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise Failure(f"{path}: {folder} is not a directory: make it, or choose another place")
    if Path(path).is_dir():
        raise Failure(f"{path} is a directory: name a file in it")
    need_writable(path)


def need_model(path: str) -> None:
    """Raises where a file is not there or does not begin as a model does."""
    if path == "-":
        raise Failure("a model is a file: - stands for data only", USAGE)
    if Path(path).is_dir():
        raise Failure(f"{path} is a directory: a model is a file, written by tallybayes fit")
    if not is_model(path):
        raise Failure(
            f"{path} is not a tallybayes model, or its beginning is damaged: a model is written "
            "by tallybayes fit, and stands before the data"
        )


def need_data(path: str) -> None:
    """Raises where a file or folder of data is not there, or a file begins as one of a kind that is
    not read; - is standard input."""
    if path == "-" or is_url(path):
        return
    if is_remote(path) and find_spec("fsspec") is not None:
        return
    need_local(path)
    if has_magic(path) and not Path(path).exists():
        return  # a pattern, whose files are looked for when they are opened
    Path(path).stat()
    if Path(path).is_file():
        if is_model(path):
            raise Failure(
                f"{path} is a tallybayes model, but data is expected here: swap the arguments?"
            )
        with open(path, "rb") as file:
            head = file.read(512)
        if head[8:12] == b"DUCK":  # whose table or query is named apart
            return
        packed = head.startswith(MAGIC) or is_workbook(path, head)
        if not packed and not head.startswith(b"<"):  # which a text may
            need_readable(path, head)


def is_model(path: str) -> bool:
    """Whether a file begins as a model file does."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return head[8:9] == b"{" and b'"tallybayes"' in head  # a page of HTML may name it as well
