"""A table as a model counts it: the model's columns, one type a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tallybayes.errors import UnseenLevel
from tallybayes.estimators.declarations import Declared
from tallybayes.tables import Column, Empty, Numbers, Table, Texts
from tallybayes.tables.columns import texts_of

__all__ = ["FirstTable", "arranged", "coerced"]


@dataclass(frozen=True, eq=False)
class FirstTable(Table):
    """The table that a model begins with.

    Parameters are those of Table, and:

    names : list of str
        All its columns, those left out too.
    declared : Declared
    """

    names: list[str]
    declared: Declared


def arranged(table: Table, names: list[str], left_out: set[str], *, records: bool) -> Table:
    """The model's columns that count, in its order. Records may lack keys; frames may not lack
    columns.

    Raises
    ------
    ValueError
        If a frame or array lacks a column.
    """
    wanted = [name for name in names if name not in left_out]
    lacking = [name for name in wanted if name not in table.columns]
    if lacking and not records:
        raise ValueError(
            f"X lacks the column(s) {lacking} that the model was trained with; it has "
            f"{list(table.columns)}. Add them, with gaps where nothing is known."
        )
    columns = {name: table.columns.get(name, Empty(table.n_rows)) for name in wanted}
    return Table(columns, table.n_rows, table.named)


def coerced(table: Table, holds: Mapping[str, str], what: Declared, learning: bool) -> Table:
    """Columns as the model, or the declared family, counts them; those left out are dropped.

    Numbers become texts where the model counts texts. Texts that are all numbers become numbers
    where it counts numbers; others are left as they are when learning, which widens the column.

    Raises
    ------
    ValueError
        For a text where only numbers can be, or a number that the declared family does not take.
    UnseenLevel
        A ValueError: when learning, a level that is not among those declared.
    """
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        if what.left_out(name):
            continue
        numbers = what.is_number(name)
        if what.is_text(name) or holds.get(name) == "levels":
            column = texts_of(column) if isinstance(column, Numbers) else column
        elif isinstance(column, Texts) and (numbers or name in holds):
            column = _numbers_of(name, column, may_widen=learning and not numbers)
        if isinstance(column, Numbers) and what.least(name):
            _need_at_least(name, column, what.least(name))
        levels = what.levels(name)
        if learning and levels is not None and isinstance(column, Texts):
            _need_levels(name, column, levels)
        columns[name] = column
    return Table(columns, table.n_rows, table.named)


def _need_at_least(name: str, column: Numbers, least: int) -> None:
    values = column.values
    wrong = np.flatnonzero((values < 0) if least == 1 else (values <= 0))
    if wrong.size:
        rule = (
            "counts are not negative"
            if least == 1
            else "its logarithm is taken, so that it "
            "must be above 0 (transform='yeo-johnson' takes any number)"
        )
        raise ValueError(
            f"row {int(wrong[0])}, column {name!r} holds {values[wrong[0]].item()!r}: {rule}"
        )


def _need_levels(name: str, column: Texts, levels: list[str]) -> None:
    known = set(levels)
    for code, level in enumerate(column.levels):
        if level in known:
            continue
        rows = np.flatnonzero(column.codes == code)
        if len(rows):
            raise UnseenLevel(
                f"row {int(rows[0])}, column {name!r} holds {level!r}, which is not among the "
                f"declared levels {levels}: declare it, or leave the row out"
            )


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
