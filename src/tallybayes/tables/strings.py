"""Columns of strings as codes, from Arrow's buffers: pandas, polars and pyarrow keep strings
there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes import _kernels
from tallybayes.tables.columns import Column, Empty, Strings

__all__ = ["read_strings"]


def read_strings(columns: Mapping[str, Any], threads: int) -> dict[str, Column]:
    """Columns of strings by name, as Strings; Empty where no row has a string.

    Parameters
    ----------
    columns : mapping of str to object with ``__arrow_c_stream__``
        Strings of any layout that Arrow knows.
    threads : int
        Columns that are read at a time.

    Returns
    -------
    dict of str to Strings or Empty
        Levels are in order of appearance.
    """
    streams = [column.__arrow_c_stream__() for column in columns.values()]
    read = _kernels.encode_strings(streams, threads)
    return {
        name: Strings(codes, levels, "text") if levels else Empty(len(codes))
        for name, (codes, levels) in zip(columns, read, strict=True)
    }
