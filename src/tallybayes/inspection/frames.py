"""Frames for people to read, in whichever frame library is installed."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

import numpy as np

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

    columns = {_encodable(str(name)): _shown(values) for name, values in columns.items()}
    installed = [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "tables are returned as data frames: install one of pandas, polars and pyarrow"
        )
    return nw.from_dict(columns, backend=installed[0]).to_native()


def _shown(values: Any) -> Any:
    """The values; where some are strings that no frame can hold, with escapes in these."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return values
    try:
        "".join(value for value in values if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        return [_encodable(value) if isinstance(value, str) else value for value in values]
    return values


def _encodable(text: str) -> str:
    """A string without lone surrogates, which have no UTF-8; each is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
