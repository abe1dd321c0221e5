"""Strings of typed sources, such as Parquet, are read like the same strings in a text file.

A column has few levels and many rows, so only the levels are parsed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tallybayes.sources.cells import Kind, Misfit, cells, settled
from tallybayes.sources.options import Spelling
from tallybayes.tables import Column, Empty, Numbers, Strings, arrow
from tallybayes.tables.columns import strings_of

__all__ = ["as_kind", "as_written"]


def as_written(column: Column, name: str, spelling: Spelling) -> Strings | Empty:
    """Any column as levels, spelt as in text; `name` is for messages."""
    if isinstance(column, Empty):
        return column
    strings = column if isinstance(column, Strings) else strings_of(column)
    found = _parsed(strings, "text", name, spelling)
    assert isinstance(found, Strings | Empty)
    return found


def as_kind(
    column: Column, kind: Kind | None, name: str, spelling: Spelling, *, no_dates: bool
) -> tuple[Column, Kind | None]:
    """A column as its kind, and the kind, which its cells decide where that is left open.

    Parameters
    ----------
    column : Column
        Of a typed source.
    kind : str or None
    name : str
    spelling : Spelling
        Of missing values and decimal signs.
    no_dates : bool
        Whether strings that are dates stay strings, where the kind is open.

    Raises
    ------
    Misfit
        For a string that is not a number or a date; `row` is that of the column.
    """
    if kind == "text":
        return as_written(column, name, spelling), kind
    if isinstance(column, Numbers):
        if column.what == "date" and kind == "number or text":
            return strings_of(column), kind
        return column, kind
    if not isinstance(column, Strings):
        return column, kind
    if column.what == "boolean":
        if kind not in ("number", "number or date"):
            return column, kind
        truth = np.array([0.0, 1.0, np.nan])
        return Numbers(truth[column.codes], "float"), kind
    if kind is None and column.what == "category":
        return as_written(column, name, spelling), "text"
    levels = pa.array([column.levels[code] for code in _used(column)], pa.string())
    kind = settled(levels, kind, spelling)
    if kind in ("date", "time") and no_dates:
        kind = "number or text"
    return _parsed(column, kind, name, spelling), kind


def _used(column: Strings) -> list[int]:
    """The levels that occur."""
    there = column.codes[column.codes >= 0]
    return np.flatnonzero(np.bincount(there, minlength=len(column.levels))).tolist()


def _parsed(column: Strings, kind: Kind | None, name: str, spelling: Spelling) -> Column:
    used = _used(column)
    at = np.full(len(column.levels) + 1, len(used), dtype=np.intp)  # the last is a missing value
    at[used] = np.arange(len(used))
    levels = pa.array([*(column.levels[code] for code in used), None], pa.string())
    try:
        parsed = cells(levels, kind, name, spelling)
    except Misfit as misfit:
        misfit.row = int(np.flatnonzero(column.codes == used[misfit.row])[0])
        raise
    found = arrow.read(pa.table({name: parsed})).columns[name]
    if isinstance(found, Empty):
        return Empty(column.n_rows)
    taken = found.take(at[column.codes])
    if isinstance(taken, Strings):
        return Strings(taken.codes, taken.levels, "text")
    return taken
