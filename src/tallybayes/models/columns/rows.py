"""The rows of a table in the form that a model counts: its columns, one type for each."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from tallybayes.errors import UnseenLevel
from tallybayes.models.columns.declarations import Declared
from tallybayes.models.columns.mixed import (
    Held,
    first_infinite,
    is_infinite,
    levels_asked,
    raise_not_finite,
)
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import number_of_text, strings_of
from tallybayes.tables.values import WITH_DATES, days_of_text, seconds_of_text

__all__ = [
    "Names",
    "RowsToCount",
    "as_scored",
    "first_rows",
    "rows_to_count",
    "rows_to_forget",
    "rows_to_score",
]

OTHERS = "dates and other values"

DATED = re.compile(r"\d{4}-\d\d-\d\d")


class Names(NamedTuple):
    """The columns that a model has seen.

    Parameters
    ----------
    seen : list of str
        All of them; those left out, and keys of few rows, too.
    firm : frozenset of str
        Those that are declared, or that a frame had: columns of the model whatever they hold.
        Another, a key of dicts, is one only where enough rows have it.
    """

    seen: list[str]
    firm: frozenset[str]

    def joined(self, seen: Iterable[str], firm: Iterable[str] = ()) -> Names:
        """With further columns."""
        return Names(list(dict.fromkeys([*self.seen, *seen])), self.firm | frozenset(firm))


@dataclass(frozen=True, eq=False)
class RowsToCount(Table):
    """Rows to count, with the columns and declarations of the model afterwards.

    Parameters are those of Table, and:

    names : Names
        The model's columns, with those that these rows add.
    declared : Declared
    has_names : bool
        Whether the names are strings.
    """

    names: Names
    declared: Declared
    has_names: bool = True


def rows_to_score(
    table: Table,
    names: list[str],
    required: list[str],
    holds: Mapping[str, Held],
    what: Declared,
    *,
    records: bool,
) -> Table:
    """The model's columns, in its order, each as the model reads it; others are not looked at.

    Parameters
    ----------
    table : Table
    names : list of str
        The model's columns.
    required : list of str
        Those that a frame must have.
    holds : mapping
        What the tally, as it is read, holds of each column.
    what : Declared
    records : bool
        Whether rows may lack a column, which then is a missing value.

    Raises
    ------
    ValueError
        If a frame or array lacks a column, or a value cannot be read.
    """
    return as_scored(_arranged(table, names, required, what, records), holds, what)


def as_scored(table: Table, holds: Mapping[str, Held], what: Declared) -> Table:
    """Columns as the model reads them: levels, numbers, or numbers and the strings beside them.

    Raises
    ------
    ValueError
        For a string where the model has only numbers, a date among other values, or a number that
        the declared family does not take.
    """
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        if not isinstance(column, Empty):
            column = _as_scored(name, column, holds.get(name), what)
        columns[name] = column
    return Table(columns, table.n_rows, table.named)


def _as_scored(name: str, column: Column, held: Held | None, what: Declared) -> Column:
    if what.is_text(name) or (held is not None and not held.numbers):
        if not what.is_text(name) and _has_dates_among_others(column):
            _raise_two_kinds(name, OTHERS)
        if isinstance(column, Numbers | Mixed):
            column = levels_asked(column, Held() if held is None else held)
        return column
    if held is None and not what.is_number(name):
        return column  # nothing is known of it
    if held is not None and held.dates:
        column = dates_asked(name, column)
    elif _are_dates(column) and not (held is None or held.dates):
        raise ValueError(
            f"column {name!r} holds dates, but the model has learned it as numbers: give numbers, "
            "or train with dates"
        )
    if isinstance(column, Strings | Mixed):
        column = numbers_in(name, column, beside=held is not None and held.strings)
    _need_at_least(name, column, what.least(name))
    return column


def first_rows(table: Table, names: Names, what: Declared, *, has_names: bool) -> RowsToCount:
    """All columns of the rows that a model begins with, as they are counted.

    Parameters
    ----------
    table : Table
    names : Names
        The table's columns, and those that are declared besides.
    what : Declared
    has_names : bool
        Whether the names are strings.
    """
    if what.by_type:
        what = what.resolved(table)
    columns = {
        name: as_counted(name, table.columns.get(name, Empty(table.n_rows)), {}, what)
        for name in names.seen
        if not what.left_out(name)
    }
    return RowsToCount(columns, table.n_rows, table.named, names, what, has_names)


def rows_to_count(
    table: Table,
    names: Names,
    required: list[str],
    holds: Mapping[str, Held],
    what: Declared,
    *,
    records: bool,
) -> RowsToCount:
    """All columns of further rows as they are counted, those that the model does not have yet too:
    merging parts would keep them.

    Parameters
    ----------
    table : Table
    names : Names
        The columns that the model has seen.
    required : list of str
        Those that a frame must have.
    holds : mapping
        What the tally holds of each column.
    what : Declared
    records : bool
        Whether rows may lack a column, which then is a missing value.
    """
    names = names.joined(table.columns, () if records else table.columns)
    what = what.resolved(table, holds)
    x = _arranged(table, names.seen, required, what, records)
    columns = {name: as_counted(name, column, holds, what) for name, column in x.columns.items()}
    return RowsToCount(columns, x.n_rows, x.named, names, what)


def rows_to_forget(
    table: Table,
    names: Names,
    required: list[str],
    levels: Mapping[str, Container[str]],
    holds: Mapping[str, Held],
    what: Declared,
    *,
    records: bool,
) -> Table:
    """The columns that were learned, as they were counted: a string as a string, unless it was not
    learned as one and is a number.

    Parameters are those of :func:`rows_to_count`, and:

    levels : mapping
        The levels that the tally has of each column that holds numbers.
    """
    x = _arranged(table, names.seen, required, what, records)
    columns: dict[str, Column] = {}
    for name, column in x.columns.items():
        column = as_counted(name, column, holds, what)
        held = holds.get(name, Held())
        if isinstance(column, Strings | Mixed) and held.numbers and not what.is_text(name):
            known = levels.get(name, ())
            column = numbers_in(name, column, beside=True, strings=known)
            if infinite := first_infinite(Table({name: column}, x.n_rows, x.named)):
                row, text = infinite[name]
                if text not in known:
                    raise_not_finite(name, text, f"row {row}")
        columns[name] = column
    return Table(columns, x.n_rows, x.named)


def _arranged(
    table: Table, names: list[str], required: list[str], what: Declared, records: bool
) -> Table:
    wanted = [name for name in names if not what.left_out(name)]
    lacking = [n for n in required if not what.left_out(n) and n not in table.columns]
    if lacking and not records:
        needed = [name for name in required if not what.left_out(name)]
        if not table.named and list(table.columns) != names[: len(table.columns)]:
            raise ValueError(
                f"X has no column names, but the model was trained with columns {needed}: give a "
                "data frame with these columns."
            )
        raise ValueError(
            f"X lacks the column(s) {lacking} that the model was trained with; it has "
            f"{list(table.columns)}. Add them, with missing values where nothing is known."
        )
    columns = {name: table.columns.get(name, Empty(table.n_rows)) for name in wanted}
    return Table(columns, table.n_rows, table.named)


def as_counted(name: str, column: Column, holds: Mapping[str, Held], what: Declared) -> Column:
    """A column as it is counted: as levels or numbers where it is declared so, else as it is.

    Raises
    ------
    ValueError
        For a string in a column that is declared as numbers, a date among other values, or a number
        that the declared family does not take.
    UnseenLevel
        A ValueError: a level that is not among those declared.
    """
    if isinstance(column, Empty):
        return column
    if what.is_text(name):
        if isinstance(column, Numbers | Mixed):
            column = strings_of(column)
        levels = what.levels(name)
        if levels is not None:
            assert isinstance(column, Strings)
            _need_levels(name, column, levels)
        return column
    if _has_dates_among_others(column):
        _raise_two_kinds(name, OTHERS)
    if _are_dates(column):
        if name in what.correlated:
            raise ValueError(
                f"column {name!r} holds dates, but is in a group with covariance='full', which "
                "takes numbers: declare it by itself, or give numbers of days"
            )
        if holds.get(name, Held()).strings:
            _raise_two_kinds(name, "dates, but the model has learned it as strings")
    if what.is_number(name):
        if isinstance(column, Strings | Mixed):
            column = numbers_in(name, column, beside=False)
        _need_at_least(name, column, what.least(name))
    return column


def _are_dates(column: Column) -> bool:
    return isinstance(column, Numbers) and column.what == "date"


def _has_dates_among_others(column: Column) -> bool:
    return isinstance(column, Strings) and column.what == WITH_DATES


def _raise_two_kinds(name: str, held: str) -> NoReturn:
    """Raises the ValueError for a column that mixes dates with others, undeclared."""
    raise ValueError(
        f"column {name!r} holds {held}: give all of it as dates, or declare it as Categorical() in "
        "columns="
    )


def _need_at_least(name: str, column: Column, least: int) -> None:
    """Raises ValueError for a number that the declared family does not take; see
    :meth:`Declared.least`."""
    numbers = column.numbers if isinstance(column, Mixed) else column
    if not least or not isinstance(numbers, Numbers):
        return
    values = numbers.values
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


def _need_levels(name: str, column: Strings, levels: list[str]) -> None:
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


def numbers_in(
    name: str, column: Strings | Mixed, *, beside: bool, strings: Container[str] = ()
) -> Numbers | Mixed:
    """Strings that are numbers as numbers, with the numbers of the column.

    Parameters
    ----------
    name : str
    column : Strings or Mixed
    beside : bool
        Whether other strings stay strings; otherwise they are an error.
    strings : container of str
        Strings that stay strings though they are numbers.
    """
    held = column.strings if isinstance(column, Mixed) else column
    values = [None if level in strings else number_of_text(level) for level in held.levels]
    if not beside:  # times of day are learned as seconds
        values = [
            seconds_of_text(level) if value is None else value
            for value, level in zip(values, held.levels, strict=True)
        ]
    numbers = np.array([*(np.nan if v is None else v for v in values), np.nan])[held.codes]
    if isinstance(column, Mixed):
        given = np.asarray(column.numbers.values, dtype=np.float64)
        numbers = np.where(np.isnan(given), numbers, given)
    others = np.array([*(v is None for v in values), False])[held.codes]
    if not others.any():
        return Numbers(numbers, "float")
    if not beside:
        row = int(np.argmax(others))
        level = held.levels[held.codes[row]]
        if is_infinite(level):
            raise_not_finite(name, level, f"row {row}")
        advice = "Declare it as Categorical() before training, or clean it."
        if DATED.match(level):
            advice = "If these are dates, give them as dates, such as pandas.to_datetime makes."
        raise ValueError(
            f"row {row}, column {name!r} holds the string {level!r}, but the model counts this "
            f"column as numbers. {advice}"
        )
    codes = np.where(others, held.codes, -1).astype(np.int32)
    return Mixed(Numbers(numbers, "float"), Strings(codes, held.levels, held.what))


def dates_asked(name: str, column: Column) -> Column:
    """Values of a column of dates: dates, or strings that are dates.

    Raises
    ------
    ValueError
        For a number, or a string that is not a date.
    """
    if isinstance(column, Empty) or _are_dates(column):
        return column
    if not isinstance(column, Strings):
        numbers = column.numbers if isinstance(column, Mixed) else column
        values = np.asarray(numbers.values, dtype=np.float64)
        row = int(np.argmax(~np.isnan(values)))
        raise ValueError(
            f"row {row}, column {name!r} holds the number {values[row]:.17g}, but the model has "
            "learned it as dates: give dates, or strings such as '2020-01-31'"
        )
    days = [days_of_text(level) for level in column.levels]
    values = np.array([*(np.nan if d is None else d for d in days), np.nan])[column.codes]
    wrong = np.isnan(values) & (column.codes >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"row {row}, column {name!r} holds {column.levels[column.codes[row]]!r}, but the model "
            "has learned it as dates: give dates, or strings such as '2020-01-31'"
        )
    return Numbers(values, "date")
