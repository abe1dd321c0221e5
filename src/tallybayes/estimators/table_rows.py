"""A table as a model counts it: the model's columns, one type a column."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from tallybayes.errors import UnseenLevel, UnseenWarning, warn_user
from tallybayes.estimators.declarations import Declared
from tallybayes.schema import Schema
from tallybayes.tables import Column, Empty, Numbers, Table, Texts
from tallybayes.tables.columns import texts_of
from tallybayes.tables.objects import WITH_DATES

__all__ = ["RowsToCount", "coerced", "rows_to_count", "rows_to_score", "warn_of_unseen"]

ENOUGH = 20  # rows, of which some should have a level that was seen
MOST_LEVELS = 50  # of a column whose levels should be known
DATED = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, eq=False)
class RowsToCount(Table):
    """Rows that a model is to count, and what it then is a model of.

    Parameters are those of Table, and:

    names : list of str
        All the model's columns, with those that these rows add; those left out too.
    declared : Declared
    """

    names: list[str]
    declared: Declared


def rows_to_score(
    table: Table, names: list[str], holds: Mapping[str, str], what: Declared, *, records: bool
) -> Table:
    """The model's columns, in its order, each as the model counts it; others are not looked at.

    Parameters
    ----------
    table : Table
    names : list of str
        The model's columns.
    holds : mapping
        The kind of tally of each column that the model has counted.
    what : Declared
    records : bool
        Whether rows may lack a column, which then is a gap.

    Raises
    ------
    ValueError
        If a frame or array lacks a column, or a value cannot be read.
    """
    return coerced(_arranged(table, names, what, records), holds, what, learning=False)


def rows_to_count(
    table: Table, names: list[str], holds: Mapping[str, str], what: Declared, *, records: bool
) -> RowsToCount:
    """All columns, those that the model does not have yet too: merging parts would keep them.

    Parameters are those of :func:`rows_to_score`.
    """
    names = list(dict.fromkeys([*names, *table.columns]))
    what = what.resolved(table, holds)
    x = coerced(_arranged(table, names, what, records), holds, what, learning=True)
    return RowsToCount(x.columns, x.n_rows, x.named, names, what)


def warn_of_unseen(table: Table, schema: Schema, learned: float, warned: set[Hashable]) -> None:
    """Warns of columns of few levels in which no row has one that was seen: they may be of another
    kind, or written in another way.

    Parameters
    ----------
    table : Table
        As :func:`rows_to_score` makes it.
    schema : Schema
    learned : float
        Rows that were counted.
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.
    """
    if table.n_rows < ENOUGH:
        return
    most = min(MOST_LEVELS, learned / 2)  # of more, new ones are no surprise
    for group in schema.groups:
        for name, seen in zip(group.names or [], group.levels or [], strict=False):
            column = table.columns.get(name)
            if not isinstance(column, Texts) or not 0 < len(seen) <= most:
                continue
            first = {column.levels[code] for code in column.codes[:ENOUGH] if code >= 0}
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


def _levels_of(column: Texts) -> set[str]:
    """The levels that rows have."""
    return {column.levels[code] for code in np.unique(column.codes) if code >= 0}


def _some(levels: list[str]) -> str:
    return ", ".join(map(repr, levels[:3])) + (", …" if len(levels) > 3 else "")


def _arranged(table: Table, names: list[str], what: Declared, records: bool) -> Table:
    wanted = [name for name in names if not what.left_out(name)]
    lacking = [name for name in wanted if name not in table.columns]
    if lacking and not records:
        if not table.named and list(table.columns) != names[: len(table.columns)]:
            raise ValueError(
                f"X has no column names, but the model was trained with columns {wanted}: give a "
                "data frame with these columns."
            )
        raise ValueError(
            f"X lacks the column(s) {lacking} that the model was trained with; it has "
            f"{list(table.columns)}. Add them, with gaps where nothing is known."
        )
    columns = {name: table.columns.get(name, Empty(table.n_rows)) for name in wanted}
    return Table(columns, table.n_rows, table.named)


def coerced(table: Table, holds: Mapping[str, str], what: Declared, learning: bool) -> Table:
    """Columns as the model, or the declared family, counts them.

    Numbers become texts where the model counts texts. Texts that are all numbers become numbers
    where numbers are declared and, unless rows are learned, where the model counts numbers: what is
    learned as a text is a text, and the column with it, in whatever order the rows come.

    Raises
    ------
    ValueError
        For a text where only numbers can be, or a number that the declared family does not take.
    UnseenLevel
        A ValueError: when learning, a level that is not among those declared.
    """
    columns: dict[str, Column] = {}
    correlated = what.correlated
    for name, column in table.columns.items():
        numbers = what.is_number(name)
        if name in correlated:
            _need_no_dates(name, column)
        if not what.is_text(name) and (learning or name in holds):
            _need_one_kind(name, column, holds.get(name))
        if what.is_text(name) or holds.get(name) == "levels":
            column = texts_of(column) if isinstance(column, Numbers) else column
        elif isinstance(column, Texts) and (numbers or (name in holds and not learning)):
            column = _numbers_of(name, column)
        if isinstance(column, Numbers) and what.least(name):
            _need_at_least(name, column, what.least(name))
        levels = what.levels(name)
        if learning and levels is not None and isinstance(column, Texts):
            _need_levels(name, column, levels)
        columns[name] = column
    return Table(columns, table.n_rows, table.named)


def _need_one_kind(name: str, column: Column, held: str | None) -> None:
    """Raises ValueError where a column that is not declared as levels mixes dates with others."""
    if isinstance(column, Texts) and column.what == WITH_DATES:
        mixed = "holds dates and other values"
    elif isinstance(column, Numbers) and column.what == "date" and held == "levels":
        mixed = "holds dates, but the model has learned it as texts"
    else:
        return
    raise ValueError(
        f"column {name!r} {mixed}: give all of it as dates, or declare it as Categorical() in "
        "columns="
    )


def _need_no_dates(name: str, column: Column) -> None:
    """Raises ValueError for dates among numbers whose products are counted."""
    if isinstance(column, Numbers) and column.what == "date":
        raise ValueError(
            f"column {name!r} holds dates, but is in a group with covariance='full', which takes "
            "numbers: declare it by itself, or give numbers of days"
        )


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


def _numbers_of(name: str, column: Texts) -> Column:
    values = []
    for code, level in enumerate(column.levels):
        try:
            values.append(float(level == "True") if level in ("True", "False") else float(level))
        except ValueError:
            rows = np.flatnonzero(column.codes == code)
            if not len(rows):
                values.append(np.nan)  # a category that does not occur
                continue
            advice = "Declare it as Categorical() before training, or clean it."
            if DATED.match(level):
                advice = "If these are dates, give them as dates, such as pandas.to_datetime makes."
            raise ValueError(
                f"row {int(rows[0])}, column {name!r} holds the text {level!r}, but the model "
                f"counts this column as numbers. {advice}"
            ) from None
    return Numbers(np.array([*values, np.nan])[column.codes], "float")
