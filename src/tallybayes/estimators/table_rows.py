"""A table as a model counts it: declared families, the model's columns, one type a column."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.estimators.table_reading import NUMBER_FAMILIES, TEXT_FAMILIES
from tallybayes.tables import Column, Empty, Numbers, Table, Texts
from tallybayes.tables.columns import texts_of

__all__ = ["arranged", "coerced", "declared_families"]

TYPES: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer",),
    float: ("float",),
    str: ("text", "category", "mixed"),
    datetime.date: ("date",),
}


def _names_of(key: Any, names: list[str], table: Table | None) -> list[str]:
    """The columns that a key of columns= means."""
    if isinstance(key, type):
        if key not in TYPES:
            raise ValueError(
                f"columns= names the type {key.__name__!r}; types are "
                f"{', '.join(t.__name__ for t in TYPES)}"
            )
        if table is None:
            return []
        held = {n: c for n, c in table.columns.items() if not isinstance(c, Empty)}
        return [name for name, column in held.items() if column.what in TYPES[key]]
    asked = [str(k) for k in key] if isinstance(key, list | tuple) else [str(key)]
    for name in asked:
        if name not in names:
            raise ValueError(
                f"columns= names {name!r}, which X does not have; its columns are {names}"
            )
    return asked


def declared_families(columns: Any, names: list[str], table: Table | None = None) -> dict[str, Any]:
    """Families by column name.

    Parameters
    ----------
    columns : "auto", mapping, or list of pairs
        Keys are a column name, a list of names, or a type (bool, int, float, str, datetime.date);
        a name overrides a type.
    names : list of str
        The table's columns.
    table : Table, optional
        What the columns hold, for keys that are types.

    Raises
    ------
    ValueError
        For a column that the table does not have, or something that is no family.
    """
    if isinstance(columns, str):
        return {}
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
    declared: dict[str, Any] = {}
    for key, family in sorted(pairs, key=lambda pair: not isinstance(pair[0], type)):
        if family is not None and not isinstance(family, TEXT_FAMILIES + NUMBER_FAMILIES):
            raise ValueError(
                f"columns= gives {key!r} the family {family!r}: give Categorical, Bernoulli, "
                "Gaussian, Poisson, Binned or Smooth from tallybayes.families, or None to leave "
                "the column out"
            )
        declared.update(dict.fromkeys(_names_of(key, names, table), family))
    return declared


def arranged(table: Table, names: list[str], *, records: bool) -> Table:
    """The model's columns, in its order. Records may lack keys; frames may not lack columns.

    Raises
    ------
    ValueError
        If a frame or array lacks a column.
    """
    lacking = [name for name in names if name not in table.columns]
    if lacking and not records:
        raise ValueError(
            f"X lacks the column(s) {lacking} that the model was trained with; it has "
            f"{list(table.columns)}. Add them, with gaps where nothing is known."
        )
    columns = {name: table.columns.get(name, Empty(table.n_rows)) for name in names}
    return Table(columns, table.n_rows, table.named)


def coerced(
    table: Table, holds: Mapping[str, str], families: Mapping[str, Any], learning: bool
) -> Table:
    """Columns as the model, or the declared family, counts them; those left out are dropped.

    Numbers become texts where the model counts texts. Texts that are all numbers become numbers
    where it counts numbers; others are left as they are when learning, which widens the column.

    Raises
    ------
    ValueError
        For a text where only numbers can be.
    """
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        family = families.get(name)
        if name in families and family is None:
            continue
        declared_numbers = isinstance(family, NUMBER_FAMILIES)
        if isinstance(family, TEXT_FAMILIES) or holds.get(name) == "levels":
            column = texts_of(column) if isinstance(column, Numbers) else column
        elif isinstance(column, Texts) and (declared_numbers or name in holds):
            column = _numbers_of(name, column, may_widen=learning and not declared_numbers)
        columns[name] = column
    return Table(columns, table.n_rows, table.named)


def _numbers_of(name: str, column: Texts, *, may_widen: bool) -> Column:
    values = []
    for code, level in enumerate(column.levels):
        try:
            values.append(float(level == "True") if level in ("True", "False") else float(level))
        except ValueError:
            rows = np.flatnonzero(column.codes == code)
            if not len(rows):
                values.append(np.nan)  # a category that does not occur
                continue
            if may_widen:
                return column
            raise ValueError(
                f"row {int(rows[0])}, column {name!r} holds the text {level!r}, but the model "
                "counts this column as numbers. Declare it as Categorical() before training, or "
                "clean it."
            ) from None
    return Numbers(np.array([*values, np.nan])[column.codes], "float")
