"""Frames for people to read, in whichever frame library is at hand."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Literal

__all__ = ["frame"]

LIBRARIES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def frame(columns: dict[str, Any]) -> Any:
    """A data frame of the columns, by the frame library that is loaded, or else installed.

    Raises
    ------
    ImportError
        If none of pandas, polars and pyarrow is installed.
    """
    import narwhals as nw

    loaded = [name for name in LIBRARIES if name in sys.modules]
    installed = [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "tables are returned as data frames: install one of pandas, polars and pyarrow"
        )
    return nw.from_dict(columns, backend=(loaded or installed)[0]).to_native()
