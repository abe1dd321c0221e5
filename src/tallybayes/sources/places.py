"""Whether files exist, have the right kind and the named columns, checked before slow imports."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from tallybayes.errors import OptionError, SourceError, called, listed, suggestion
from tallybayes.replacing import need_writable
from tallybayes.sources.databases import is_url
from tallybayes.sources.opening import (
    MAGIC,
    header_hint,
    is_remote,
    is_workbook,
    need_local,
    need_readable,
)

__all__ = [
    "Named",
    "is_model",
    "need_data",
    "need_folder",
    "need_group",
    "need_kept",
    "need_model",
    "need_target",
    "need_weight",
]


# ---- files ---------------------------------------------------------------------------------------
def need_folder(path: str) -> None:
    """Refuse a place where a file cannot be made, before the work and not after it.

    Parameters
    ----------
    path : str
        The path.

    Raises
    ------
    SourceError, OSError
        If the folder is not there, or cannot be written to.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise SourceError(f"{path}: {folder} is not a directory: make it, or choose another place")
    if Path(path).is_dir():
        raise SourceError(f"{path} is a directory: name a file in it")
    need_writable(path)


def need_model(path: str) -> None:
    """Refuse a file that is not there or does not begin as a model does.

    Parameters
    ----------
    path : str
        The path.

    Raises
    ------
    SourceError, OSError
        If it is no model file.
    """
    if path == "-":
        raise OptionError("a model is a file: - stands for data only")
    if Path(path).is_dir():
        raise SourceError(f"{path} is a directory: a model is a file, written by tallybayes fit")
    if not is_model(path):
        raise SourceError(
            f"{path} is not a tallybayes model, or its beginning is damaged: a model is written "
            "by tallybayes fit, and stands before the data"
        )


def need_data(path: str) -> None:
    """Refuse data that is not there, or that begins as a kind of file that is not read.

    Parameters
    ----------
    path : str
        A file, folder, pattern or URL; "-" is standard input.

    Raises
    ------
    SourceError, OSError
        If it cannot be read.
    """
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
            raise SourceError(
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
    """Tell whether a file begins as a model file does.

    Parameters
    ----------
    path : str
        The path.

    Returns
    -------
    bool
        Whether it does.
    """
    with open(path, "rb") as file:
        head = file.read(4096)
    return head[8:9] == b"{" and b'"tallybayes"' in head  # a page of HTML may name it as well


# ---- columns -------------------------------------------------------------------------------------
class Named(Protocol):
    """Anything with columns: rows of tables, or of documents."""

    @property
    def name(self) -> str: ...

    @property
    def header(self) -> list[str]: ...


def need_target(source: Named, target: str, columns: list[str]) -> None:
    """Raises where the data has no such column."""
    if target not in columns:
        hint = suggestion(target, columns) or header_hint(columns)
        if len(columns) == 1 and not hint:
            hint = f" Is the {called('delimiter')} another?"
        raise SourceError(
            f"{source.name} has no column {target!r}; its columns are {listed(columns)}.{hint}"
        )


def need_kept(source: Named, names: Sequence[str], option: str = "keep") -> None:
    """Raises where the data has not the columns that an option names."""
    for name in names:
        if name not in source.header:
            raise SourceError(
                f"{called(option)} names {name!r}, which {source.name} does not have; its columns "
                f"are {listed(source.header)}.{suggestion(name, source.header)}"
            )


def need_weight(source: Named, weight: str) -> None:
    """Raises where the data has no such column of weights."""
    if weight not in source.header:
        raise SourceError(
            f"{source.name} has no column {weight!r} of weights ({called('weight')}); its columns "
            f"are {listed(source.header)}.{suggestion(weight, source.header)}"
        )


def need_group(source: Named, group: str, target: str | None, weight: str | None) -> None:
    """Raises where the column of groups is not there, or is the target or that of weights."""
    columns = source.header
    if group not in columns:
        raise SourceError(
            f"{called('group')} names {group!r}, which {source.name} does not have; its columns "
            f"are {listed(columns)}.{suggestion(group, columns)}"
        )
    if group in (target, weight):
        what = "target" if group == target else "column of weights"
        raise OptionError(f"{called('group', group)} is the {what}: name the column of groups")
