"""Rows as dicts: what a stream of events or a JSON lines file gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tallybayes.tables.columns import Column, Table
from tallybayes.tables.objects import read_objects

__all__ = ["read"]


def read(rows: Sequence[Mapping[Any, Any]]) -> Table:
    """Rows as dicts; a key that a row lacks is a missing value.

    Raises
    ------
    ValueError
        If an element is not a dict.
    """
    names: dict[Any, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"X is a list of dicts, but element {i} is a {type(row).__name__}: give one dict "
                "a row"
            )
        names.update(dict.fromkeys(row))
    columns: dict[str, Column] = {
        str(name): read_objects([row.get(name) for row in rows], str(name)) for name in names
    }
    if len(columns) < len(names):
        raise ValueError("two keys of the rows are the same as text: use strings for keys")
    return Table(columns, len(rows), True)
