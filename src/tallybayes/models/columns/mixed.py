"""Columns that hold numbers and strings: what they mainly are, and their tally as it is read.

The tally counts both side by side, numbers as moments and on a grid, each string as a level, so
order and batches do not matter and forgetting restores the column. When the tally is read, the
column becomes one of the two:

- Numbers, if they weigh more than the strings and booleans together. Strings that are numbers ("3",
  True) are then read as numbers, and each other string is a level beside them.
- Levels otherwise. Each number is then the level that its text names; 1 and 0 are True and False
  where all other values are booleans. Where the numbers are not distinguished (more than 4,096
  different ones, or whole numbers from 2⁵³ on), all of them are one level.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Group, level_group
from tallybayes.engines.tables import collect_table
from tallybayes.errors import MixedColumnWarning, listed, warn_user
from tallybayes.parameters.formula import Kind
from tallybayes.schema import Schema
from tallybayes.tables import Column, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import (
    BITS,
    EXACT,
    LARGEST,
    number_of_text,
    renamed,
    strings_of,
    text_of_number,
)
from tallybayes.tally import (
    ClassCounts,
    GridCounts,
    LevelCounts,
    TableTally,
    Tally,
    TextCounts,
)

__all__ = [
    "A_NUMBER",
    "Held",
    "as_read",
    "first_infinite",
    "held_values",
    "is_infinite",
    "kind_of",
    "levels_asked",
    "names_of_strings",
    "need_finite",
    "raise_not_finite",
    "values_of_columns",
    "warn_of_mixed",
]

Array = NDArray[np.float64]

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
    """

    strings: bool = False
    numbers: bool = False
    dates: bool = False
    booleans: bool = False
    together: bool = False


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
                found = found._replace(strings=True, together=A_NUMBER in levels)
                found = found._replace(booleans=BOOLEANS.issuperset(levels[:3]))
            elif group.kind == "terms":
                found = found._replace(strings=True)
            else:
                found = found._replace(numbers=True, dates=found.dates or group.dates)
            held[name] = found
    return held


def values_of_columns(tally: TableTally) -> dict[str, float]:
    """The weight of the rows that have a value in each column that is counted by itself."""
    rows: dict[str, float] = {}
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.names is not None and isinstance(group, LevelCounts | GridCounts):
            name = columns.names[0]
            rows[name] = rows.get(name, 0.0) + float(group.counts.sum())
        elif columns.names is not None and isinstance(group, TextCounts):
            rows[columns.names[0]] = float(group.documents.sum())
    return rows


def _mixed(tally: TableTally) -> dict[str, tuple[Any, Any]]:
    """The levels and the grid of the columns that hold both, by name."""
    keys = (columns.key for columns in tally.schema.groups)
    counts = dict(zip(keys, tally.groups, strict=True))
    return {n: (counts[(n,), "levels"], counts[(n,), "grid"]) for n in tally.schema.mixed}


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
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        name = columns.names[0] if columns.names else ""
        if name not in mixed or columns.names != (name,):
            groups.append((columns, group))
        elif columns.kind == "levels":  # each column once, where its levels stand
            groups += _column_as_read(tally, name, *mixed[name])
    schema = Schema(tally.schema.classes, tuple(c for c, _ in groups), by_name=True)
    return TableTally(schema, tally.classes, tuple(t for _, t in groups))


def _column_as_read(
    tally: TableTally, name: str, levels: LevelCounts, grid: GridCounts
) -> list[Group]:
    pairs = zip(tally.schema.groups, tally.groups, strict=True)
    groups = [(columns, group) for columns, group in pairs if columns.names == (name,)]
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
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if columns.key == ((name,), "levels") and columns.levels is not None:
            held = group if levels is None else levels
            assert isinstance(held, LevelCounts)
            found: list[str] = columns.levels[0][held.counts.any(axis=0)].tolist()
            return found
    return []


def _counted(tally: TableTally, name: str, values: Numbers, counts: Array) -> list[Group]:
    """The groups of numbers that each class holds so often: counts (n_classes, n_values)."""
    n_classes, n_values = counts.shape
    column = values.take(np.tile(np.arange(n_values), n_classes))
    codes = np.repeat(np.arange(n_classes, dtype=np.int32), n_values)
    table = Table({name: column}, len(codes), True)
    found = collect_table(table, tally.schema.classes, codes, np.ascontiguousarray(counts).ravel())
    return list(zip(found.schema.groups, found.groups, strict=True))


def _added(tally: TableTally, mine: Iterable[Group], more: Iterable[Group]) -> list[Group]:
    """The groups of a column with further counts."""
    more = list(more)
    if not more:
        return list(mine)
    both = _of_column(tally, mine).merged(_of_column(tally, more))
    return list(zip(both.schema.groups, both.groups, strict=True))


def _of_column(tally: TableTally, groups: Iterable[Group]) -> TableTally:
    columns, counts = zip(*groups, strict=True)
    nobody = ClassCounts(np.zeros(len(tally.schema.classes)))
    parts: tuple[Tally, ...] = tuple(counts)
    return TableTally(Schema(tally.schema.classes, tuple(columns), by_name=True), nobody, parts)


def warn_of_mixed(tally: TableTally, warned: set[Hashable]) -> None:
    """Warns of columns of numbers that hold strings, once for each fit."""
    for name, (levels, grid) in _mixed(tally).items():
        if not _are_numbers(levels, grid) or (MixedColumnWarning, name) in warned:
            continue
        [columns] = [g for g in tally.schema.groups if g.key == ((name,), "levels")]
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
