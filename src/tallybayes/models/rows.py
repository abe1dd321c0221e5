"""The rows of a table in the form that a model counts: its columns, one type for each."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.tables import collect_table
from tallybayes.errors import MixedColumnWarning, UnseenLevel, listed, warn_user
from tallybayes.models.declarations import Declared
from tallybayes.schema import Schema
from tallybayes.score import Kind
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import (
    BITS,
    EXACT,
    LARGEST,
    WITH_DATES,
    Zone,
    days_of_text,
    joined_zones,
    number_of_text,
    renamed,
    seconds_of_text,
    strings_of,
    text_of_number,
    zone_of,
)
from tallybayes.tally import (
    ClassCounts,
    GridCounts,
    LevelCounts,
    TableTally,
    TextCounts,
)
from tallybayes.tally.table import Group, level_group

__all__ = [
    "A_NUMBER",
    "Held",
    "Names",
    "RowsToCount",
    "arranged",
    "as_read",
    "as_scored",
    "first_infinite",
    "first_rows",
    "held_values",
    "is_infinite",
    "kind_of",
    "names_of_strings",
    "need_finite",
    "rows_to_count",
    "rows_to_forget",
    "values_of_columns",
    "warn_of_mixed",
]

Array = NDArray[np.float64]


# ---- rows to count, to score and to forget -------------------------------------------------------
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


def as_scored(table: Table, holds: Mapping[str, Held], what: Declared) -> Table:
    """Columns as the model reads them: levels, numbers, or numbers and the strings beside them.

    Raises
    ------
    ValueError
        For a string where the model has only numbers, a date among other values, or a number that
        the declared family does not take.
    """
    columns = dict(table.columns)
    for name, column in table.columns.items():
        held, reads = holds.get(name), what.reads.get(name)
        if isinstance(column, Empty) or (held is None and reads is None):
            continue  # nothing is known of it
        if reads in ("levels", "documents") or (held is not None and not held.numbers):
            if reads in (None, "numbers") and column.what == WITH_DATES:
                _raise_two_kinds(name, OTHERS)
            if isinstance(column, Numbers | Mixed):
                columns[name] = levels_asked(column, Held() if held is None else held)
            continue
        if held is not None and held.dates:
            column = dates_asked(name, column)
        elif held is not None and column.what == "date":
            raise ValueError(
                f"column {name!r} holds dates, but the model has learned it as numbers: give "
                "numbers, or train with dates"
            )
        if isinstance(column, Strings | Mixed):
            column = numbers_in(name, column, beside=held is not None and held.strings)
        _need_at_least(name, column, what.least(name))
        columns[name] = column
    return Table(columns, table.n_rows, table.named)


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
        if name not in what.columns_left_out
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
    x = arranged(table, names.seen, required, what, records)
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
    x = arranged(table, names.seen, required, what, records)
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


def arranged(
    table: Table, names: list[str], required: list[str], what: Declared, records: bool
) -> Table:
    """The model's columns, in its order; others are not looked at.

    Parameters
    ----------
    table : Table
    names : list of str
        The model's columns.
    required : list of str
        Those that a frame must have.
    what : Declared
    records : bool
        Whether rows may lack a column, which then is a missing value.

    Raises
    ------
    ValueError
        If a frame or array lacks a column.
    """
    wanted = [name for name in names if name not in what.columns_left_out]
    needed = [
        name
        for name in required
        if name not in what.columns_left_out and not what.is_written_index(name)
    ]
    lacking = [name for name in needed if name not in table.columns]
    if lacking and not records:
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
    reads = what.reads.get(name)
    if isinstance(column, Empty):
        return column
    if reads in ("levels", "documents"):
        if isinstance(column, Numbers | Mixed):
            column = strings_of(column)
        levels = what.levels(name)
        if levels is not None:
            assert isinstance(column, Strings)
            _need_levels(name, column, levels)
        return column
    if column.what == WITH_DATES:
        _raise_two_kinds(name, OTHERS)
    if column.what == "date":
        if name in what.correlated:
            raise ValueError(
                f"column {name!r} holds dates, but is in a group with covariance='full', which "
                "takes numbers: declare it by itself, or give numbers of days"
            )
        if holds.get(name, Held()).strings:
            _raise_two_kinds(name, "dates, but the model has learned it as strings")
    if reads == "numbers":
        if isinstance(column, Strings | Mixed):
            column = numbers_in(name, column, beside=False)
        _need_at_least(name, column, what.least(name))
    return column


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
    if isinstance(column, Empty) or column.what == "date":
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
    zone = joined_zones(*{zone_of(level) for level in column.levels})
    return Numbers(values, "date", zone_given=zone)


# ---- columns that hold numbers and strings: what they mainly are, and their tally as it is read --
# The tally counts both side by side, numbers as moments and on a grid, each string as a level, so
# order and batches do not matter and forgetting restores the column. When the tally is read, the
# column becomes one of the two:
#
# - Numbers, if they weigh more than the strings and booleans together. Strings that are numbers
#   ("3", True) are then read as numbers, and each other string is a level beside them.
# - Levels otherwise. Each number is then the level that its text names; 1 and 0 are True and False
#   where all other values are booleans. Where the numbers are not distinguished (more than 4,096
#   different ones, or whole numbers from 2⁵³ on), all of them are one level.
A_NUMBER = "(a number)"
"""The level of all numbers of a column of strings whose numbers are not distinguished."""


class Held(NamedTuple):
    """The kinds of values that a tally holds of a column.

    Parameters
    ----------
    strings : bool
        Whether it has levels.
    numbers : bool
        Whether it has numbers.
    dates : bool
        Whether the numbers are dates.
    booleans : bool
        Whether the levels are True and False.
    together : bool
        Whether all numbers are one level, :data:`A_NUMBER`.
    zone : Zone
        Of dates: whether their times have a zone.
    """

    strings: bool = False
    numbers: bool = False
    dates: bool = False
    booleans: bool = False
    together: bool = False
    zone: Zone = ""


def kind_of(held: Held | None) -> Kind:
    """The kind of a column's values, by its counts; text if it has none."""
    if held is None or not held.numbers:
        return "boolean" if held is not None and held.booleans and held.strings else "text"
    if held.strings:
        return "mixed"
    return "date" if held.dates else "number"


BOOLEANS = frozenset(("True", "False"))


def held_values(schema: Schema) -> dict[str, Held]:
    """What each column of a table's schema holds, by name."""
    held: dict[str, Held] = {}
    for group in schema.groups:
        for name in group.names or ():
            found = held.get(name, Held())
            if group.kind == "levels":
                levels = () if group.levels is None else group.levels[0].tolist()
                booleans, together = BOOLEANS.issuperset(levels[:3]), A_NUMBER in levels
                found = Held(True, found.numbers, found.dates, booleans, together)
            elif group.kind == "terms":
                found = found._replace(strings=True)
            else:
                zone = joined_zones(found.zone, group.zone)
                found = found._replace(numbers=True, dates=found.dates or group.dates, zone=zone)
            held[name] = found
    return held


def values_of_columns(tally: TableTally) -> dict[str, float]:
    """The weight of the rows that have a value in each column that is counted by itself."""
    rows: dict[str, float] = {}
    for columns, group in tally.pairs:
        if columns.names is not None and isinstance(group, LevelCounts | GridCounts):
            name = columns.names[0]
            rows[name] = rows.get(name, 0.0) + float(group.counts.sum())
        elif columns.names is not None and isinstance(group, TextCounts):
            rows[columns.names[0]] = float(group.documents.sum())
    return rows


def _mixed(tally: TableTally) -> dict[str, tuple[Any, Any]]:
    """The levels and the grid of the columns that hold both, by name."""
    grids = {columns.names: group for columns, group in tally.pairs if columns.kind == "grid"}
    return {
        columns.names[0]: (group, grids[columns.names])
        for columns, group in tally.pairs
        if columns.kind == "levels" and columns.names and columns.names in grids
    }


def _are_numbers(levels: LevelCounts, grid: GridCounts) -> bool:
    """Whether a column is mainly numbers."""
    return float(grid.counts.sum()) > float(levels.counts.sum())


def as_read(tally: TableTally) -> TableTally:
    """The same rows, each mixed column as it is read: as levels, or as numbers with the strings
    that are not numbers beside them."""
    mixed = _mixed(tally)
    if not mixed:
        return tally
    groups: list[Group] = []
    for columns, group in tally.pairs:
        name = columns.names[0] if columns.names else ""
        if name not in mixed or columns.names != (name,):
            groups.append((columns, group))
        elif columns.kind == "levels":  # each column once, where its levels stand
            groups += _column_as_read(tally, name, *mixed[name])
    return tally.with_pairs(groups)


def _column_as_read(
    tally: TableTally, name: str, levels: LevelCounts, grid: GridCounts
) -> list[Group]:
    groups = [pair for pair in tally.pairs if pair[0].names == (name,)]
    numbers = [pair for pair in groups if pair[0].kind != "levels"]
    [strings] = [pair for pair in groups if pair[0].kind == "levels"]
    assert strings[0].levels is not None
    held = levels.counts.any(axis=0)
    names = strings[0].levels[0][held].tolist()
    counts = levels.counts[:, held]
    if not names:
        return numbers
    if not _are_numbers(levels, grid):
        strings = _some_levels(name, names, counts)
        return _added(tally, [strings], [_number_levels(name, grid, names)])
    values = [number_of_text(level) for level in names]
    others = np.array([value is None for value in values])
    if not others.all():
        rows = Numbers(np.array([v for v in values if v is not None]), "float")
        numbers = _added(tally, numbers, _counted(tally, name, rows, counts[:, ~others]))
    if not others.any():
        return numbers
    left = [level for level, other in zip(names, others, strict=True) if other]
    return [*numbers, _some_levels(name, left, counts[:, others])]


def _some_levels(name: str, levels: list[str], counts: Array) -> Group:
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return level_group(name, array, np.ascontiguousarray(counts))


def _number_levels(name: str, grid: GridCounts, strings: list[str]) -> Group:
    """The numbers of a column as levels."""
    values = grid.values()
    if not len(values):
        return level_group(name, np.empty(0, dtype=object), grid.counts)
    size = np.abs(values)
    if grid.shift or bool(((size >= EXACT) & (size < LARGEST)).any()):
        together = np.array([A_NUMBER], dtype=object)
        return level_group(name, together, grid.counts.sum(axis=1, keepdims=True))
    levels = np.empty(len(values), dtype=object)
    levels[:] = [text_of_number(value) for value in values.tolist()]
    if BOOLEANS.issuperset(strings) and BITS.keys() >= set(levels.tolist()):
        levels[:] = [BITS[level] for level in levels.tolist()]
    return level_group(name, levels, grid.counts)


def levels_asked(column: Numbers | Mixed, held: Held) -> Strings:
    """Values of a column that is read as levels, the numbers among them too."""
    strings = strings_of(column)
    if held.together:
        numbers = column.numbers if isinstance(column, Mixed) else column
        missing = np.isnan(np.asarray(numbers.values, dtype=np.float64))
        codes = np.where(missing, strings.codes, len(strings.levels)).astype(np.int32)
        return Strings(codes, [*strings.levels, A_NUMBER], strings.what)
    if held.booleans and BITS.keys() >= set(strings.levels) - BOOLEANS:
        return renamed(strings, BITS)
    return strings


def names_of_strings(table: Table) -> list[str]:
    """The columns that hold a string that is not a number."""

    def some(column: Column) -> bool:
        held = column.strings if isinstance(column, Mixed) else column
        if not isinstance(held, Strings):
            return False
        codes = np.unique(held.codes)
        return any(number_of_text(held.levels[k]) is None for k in codes[codes >= 0].tolist())

    return [name for name, column in table.columns.items() if some(column)]


def is_infinite(text: str) -> bool:
    """Whether a string is a number without end, or beyond the largest float."""
    try:
        return bool(np.isinf(float(text)))
    except ValueError:
        return False


def first_infinite(table: Table) -> dict[str, tuple[int, str]]:
    """The first row with a string that is an infinite number, such as inf, and the string, of each
    column that holds numbers and strings."""
    found = {}
    for name, column in table.columns.items():
        if isinstance(column, Mixed) and (place := _infinite_of(column.strings)):
            found[name] = place
    return found


def _infinite_of(strings: Strings) -> tuple[int, str] | None:
    """The first row with an infinite number, and the string."""
    infinite = np.array([*map(is_infinite, strings.levels), False])
    there = infinite[strings.codes] if infinite.any() else infinite[:0]
    if not there.any():
        return None
    row = int(np.argmax(there))
    return row, strings.levels[strings.codes[row]]


def need_finite(
    tally: TableTally,
    places: Mapping[str, str],
    rows: Table | None = None,
    batch: TableTally | None = None,
) -> None:
    """Raises ValueError for a column of numbers whose only strings are infinite numbers; among
    other strings they are levels.

    Parameters
    ----------
    tally : TableTally
    places : mapping of str to str
        By column, where the first such string is.
    rows : Table, optional
        The rows that came last, to name the first one.
    batch : TableTally, optional
        Their tally: columns of which they have no such string are left as they are.
    """
    for name, (levels, _) in _mixed(tally).items():
        strings = _strings_of(tally, name, levels)
        if not strings or not all(map(is_infinite, strings)):
            continue
        if batch is not None and not any(map(is_infinite, _strings_of(batch, name))):
            continue
        text, where = strings[0], places.get(name)
        column = None if rows is None else rows.columns[name]
        held = column.strings if isinstance(column, Mixed) else column
        if isinstance(held, Strings) and (found := _infinite_of(held)):
            where, text = f"row {found[0]}", found[1]
        raise_not_finite(name, text, where)


def raise_not_finite(name: str, text: str, where: str | None) -> NoReturn:
    """Raises the ValueError for a string that is an infinite number, in a column of numbers."""
    raise ValueError(
        f"{where + ': ' if where else ''}column {name!r} is infinite: give a finite number, or "
        f"leave it empty (in Python, tallybayes.csv(…, missing_of={{{name!r}: [{text!r}]}}) reads "
        f"it as missing; on the command line, --null {text})"
    )


def _strings_of(tally: TableTally, name: str, levels: LevelCounts | None = None) -> list[str]:
    """The strings that a tally counts in a column."""
    columns, group = tally.by_key.get(((name,), "levels"), (None, None))
    if columns is None or columns.levels is None:
        return []
    held = group if levels is None else levels
    assert isinstance(held, LevelCounts)
    found: list[str] = columns.levels[0][held.counts.any(axis=0)].tolist()
    return found


def _counted(tally: TableTally, name: str, values: Numbers, counts: Array) -> list[Group]:
    """The groups of numbers that each class holds so often: counts (n_classes, n_values)."""
    n_classes, n_values = counts.shape
    column = values.take(np.tile(np.arange(n_values), n_classes))
    codes = np.repeat(np.arange(n_classes, dtype=np.int32), n_values)
    table = Table({name: column}, len(codes), True)
    found = collect_table(table, tally.schema.classes, codes, np.ascontiguousarray(counts).ravel())
    return found.pairs


def _added(tally: TableTally, mine: Iterable[Group], more: Iterable[Group]) -> list[Group]:
    """The groups of a column with further counts."""
    more = list(more)
    if not more:
        return list(mine)
    both = _of_column(tally, mine).merged(_of_column(tally, more))
    return both.pairs


def _of_column(tally: TableTally, groups: Iterable[Group]) -> TableTally:
    nobody = ClassCounts(np.zeros(len(tally.schema.classes)))
    return TableTally.of_columns(tally.schema.classes, nobody, groups)


def warn_of_mixed(tally: TableTally, warned: set[Hashable]) -> None:
    """Warns of columns of numbers that hold strings, once for each fit."""
    for name, (levels, grid) in _mixed(tally).items():
        if not _are_numbers(levels, grid) or (MixedColumnWarning, name) in warned:
            continue
        columns, _ = tally.by_key[(name,), "levels"]
        found: list[Any] = [] if columns.levels is None else columns.levels[0].tolist()
        rows = levels.counts.sum(axis=0)
        strings = [(t, r) for t, r in zip(found, rows.tolist(), strict=True) if r > 0.0]
        others = [(text, r) for text, r in strings if number_of_text(text) is None]
        if not others:
            continue
        others.sort(key=lambda pair: (-pair[1], pair[0]))
        weight = sum(r for _, r in others)
        warn_user(
            f"column {name!r} holds numbers in {grid.counts.sum():,.10g} rows and strings in "
            f"{weight:,.10g}: {listed((repr(text) for text, _ in others), 3)}. The numbers stay "
            "numbers, and each string is a level beside them. If a string means that the value is "
            "missing, give None in its place; to read the column as levels, declare it as "
            "Categorical() in columns=",
            MixedColumnWarning,
            warned=warned,
            about=name,
        )
