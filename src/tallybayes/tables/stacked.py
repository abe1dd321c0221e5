"""Tables one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.tables.columns import Column, Empty, Mixed, Numbers, Strings, Table, strings_of

__all__ = ["stacked"]


def stacked(tables: Sequence[Table]) -> Table:
    """The rows of all; a column that one lacks is missing there.

    A column that holds numbers here and strings there holds both.

    Parameters
    ----------
    tables : sequence of Table
        At least one.

    Raises
    ------
    ValueError
        If a column holds dates in one and other numbers in another.
    """
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {
        name: _column(name, [table.columns.get(name, Empty(table.n_rows)) for table in tables])
        for name in names
    }
    return Table(columns, sum(table.n_rows for table in tables), tables[0].named)


def _column(name: str, parts: list[Column]) -> Column:
    kinds = {type(part) for part in parts} - {Empty}
    if not kinds:
        return Empty(sum(part.n_rows for part in parts))
    if kinds == {Strings}:
        return _strings(parts)
    if kinds == {Numbers}:
        return _numbers(name, parts)
    numbers = [p.numbers if isinstance(p, Mixed) else _without(p, Strings) for p in parts]
    strings = [p.strings if isinstance(p, Mixed) else _without(p, Numbers) for p in parts]
    return Mixed(_numbers(name, numbers), _strings(strings))


def _without(part: Column, kind: type) -> Column:
    return Empty(part.n_rows) if isinstance(part, kind) else part


def _strings(parts: Sequence[Column]) -> Strings:
    at: dict[str, int] = {}
    codes = []
    what = next(part.what for part in parts if isinstance(part, Strings))
    for part in parts:
        if not isinstance(part, Strings):
            codes.append(np.full(part.n_rows, -1, dtype=np.int32))
            continue
        rank = np.array([*(at.setdefault(v, len(at)) for v in part.levels), -1], dtype=np.int32)
        codes.append(rank[part.codes])
    return Strings(np.concatenate(codes), list(at), what)


def _numbers(name: str, parts: Sequence[Column]) -> Numbers:
    held = [part for part in parts if isinstance(part, Numbers)]
    dates = {part.what == "date" for part in held}
    if len(dates) > 1:
        raise ValueError(
            f"column {name!r} holds dates in some rows and numbers in others: give all of it as "
            "dates, or all as numbers"
        )
    exact = len(held) < len(parts) or any(part.strings is not None for part in held)
    values = [
        part.values if isinstance(part, Numbers) else np.full(part.n_rows, np.nan) for part in parts
    ]
    strings = None
    if exact and any(_far(part) for part in held):  # float64 does not distinguish these
        strings = _strings([strings_of(p) if isinstance(p, Numbers) else p for p in parts])
    return Numbers(np.concatenate(values), held[0].what, strings)


def _far(part: Numbers) -> bool:
    """Whether whole numbers are among them that float64 does not distinguish."""
    if part.strings is not None:
        return True
    values = part.values
    return bool(values.dtype.kind in "iu" and len(values) and int(np.abs(values).max()) >= 2**53)
