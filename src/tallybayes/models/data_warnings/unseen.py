"""Warnings about rows to predict without any key, or any level of a column, that was learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.errors import UnseenWarning, warn_user
from tallybayes.schema import Schema
from tallybayes.tables import Strings, Table

__all__ = ["warn_of_unknown_keys", "warn_of_unseen"]

MIN_ROWS = 20  # rows, of which some should have a level that was seen
MAX_LEVELS = 50  # of a column whose levels should be known


def warn_of_unknown_keys(
    rows: Sequence[Mapping[Any, Any]], names: Iterable[str], warned: set[Hashable]
) -> None:
    """Warns of a row of which no key is a column that the model has seen: it adds nothing."""
    known = set(names)
    for i, row in enumerate(rows if known else ()):
        if row and known.isdisjoint(map(str, row)):
            warn_user(
                f"row {i}: none of its keys is a column of the model, {_some(list(map(str, row)))} "
                f"against {_some(list(names))}. Its prediction is the class prior",
                UnseenWarning,
                warned=warned,
                about="keys",
            )
            return


def warn_of_unseen(table: Table, schema: Schema, learned: float, warned: set[Hashable]) -> None:
    """Warns of columns of few levels in which no row has one that was seen: they may be of another
    kind, or written in another way.

    Parameters
    ----------
    table : Table
        As the model reads it.
    schema : Schema
    learned : float
        Rows that were counted.
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.
    """
    if table.n_rows < MIN_ROWS:
        return
    most = min(MAX_LEVELS, learned / 2)  # of more, new ones are not a surprise
    for group in schema.groups:
        for name, seen in zip(group.names or [], group.levels or [], strict=False):
            column = table.columns.get(name)
            if not isinstance(column, Strings) or not 0 < len(seen) <= most:
                continue
            first = {column.levels[code] for code in column.codes[:MIN_ROWS] if code >= 0}
            given = _levels_of(column) if first.isdisjoint(seen) else first
            if len(given) and given.isdisjoint(seen):
                warn_user(
                    f"column {name!r}: none of its levels in {table.n_rows} rows was seen in "
                    f"training, {_some(sorted(given))} against {_some(list(seen))}. If that is not "
                    "as it should be, give the column as it was given then",
                    UnseenWarning,
                    warned=warned,
                    about=name,
                )


def _levels_of(column: Strings) -> set[str]:
    """The levels that rows have."""
    return {column.levels[code] for code in np.unique(column.codes) if code >= 0}


def _some(levels: list[str]) -> str:
    return ", ".join(map(repr, levels[:3])) + (", …" if len(levels) > 3 else "")
