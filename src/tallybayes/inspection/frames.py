"""Frames for people to read, in whichever frame library is installed."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

__all__ = ["frame"]

LIBRARIES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def frame(columns: dict[str, Any]) -> Any:
    """A data frame of the columns, by pandas, polars or pyarrow: the first that is installed.

    Raises
    ------
    ImportError
        If none of pandas, polars and pyarrow is installed.
    """
    import narwhals as nw

    installed = [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "tables are returned as data frames: install one of pandas, polars and pyarrow"
        )
    return nw.from_dict(columns, backend=installed[0]).to_native()
