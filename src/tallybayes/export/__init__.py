"""A formula in forms that predict without this package, each written by a back end.

A back end is a module with a function ``write(formula, *, names, …)``, or of another name, and a
line here. One with endings has ``saved(written, path)`` besides, the content of each file by its
path.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["BACK_ENDS", "ENDINGS", "BackEnd", "writer"]


class BackEnd(NamedTuple):
    """Where a back end is.

    Parameters
    ----------
    module : str
    write : str
        The function that writes a formula.
    endings : tuple of str
        Of the files that hold what it writes.
    """

    module: str
    write: str = "write"
    endings: tuple[str, ...] = ()


BACK_ENDS = {
    "sql": BackEnd("tallybayes.export.statement", "select"),
    "onnx": BackEnd("tallybayes.export.onnx", endings=(".onnx",)),
    "python": BackEnd("tallybayes.export.python", endings=(".py",)),
    "javascript": BackEnd("tallybayes.export.javascript", endings=(".mjs", ".js")),
}
"""By name: a classifier has a method ``to_`` and the name."""

ENDINGS = {ending: name for name, found in BACK_ENDS.items() for ending in found.endings}
"""The back end of each ending."""


def writer(name: str, function: str | None = None) -> Any:
    """A function of a back end, which is imported now; by default the one that writes a formula."""
    found = BACK_ENDS[name]
    return getattr(import_module(found.module), function or found.write)
