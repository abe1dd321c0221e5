"""Counting in SQL: one statement that counts what a batch of questions needs, and nothing else.

Names are quoted identifiers; values are parameters or, where there can be none, hexadecimal text:
neither can be read as SQL. What the statement returns are counts and sums by class, never a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tallybayes.tables.columns import LARGEST, text_of_days, text_of_number

__all__ = [
    "Bound",
    "LevelsAsked",
    "NumbersAsked",
    "SourceColumn",
    "Values",
    "Written",
    "count_statement",
    "quoted",
]

MICROSECONDS = 86_400_000_000  # a day


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    Raises
    ------
    ValueError
        For the character NUL, which ends a statement wherever it stands.
    """
    if "\0" in name:
        raise ValueError(f"{name!r} holds the character NUL, which no name in SQL can: rename it")
    return '"' + name.replace('"', '""') + '"'


# ---- values --------------------------------------------------------------------------------------
class Values(Protocol):
    """How values get into a statement."""

    def array(self, values: Sequence[Any], kind: str) -> str:
        """An SQL expression for an array of values of the SQL type `kind`."""


class Bound:
    """Values as parameters, in the order in which the statement has them."""

    def __init__(self, first: Sequence[Any] = ()) -> None:
        self.values: list[Any] = list(first)

    def array(self, values: Sequence[Any], kind: str) -> str:
        self.values.append(list(values))
        return f"CAST(? AS {kind}[])"


class Written:
    """Values written into a statement that takes no parameters: strings as hexadecimal digits."""

    def array(self, values: Sequence[Any], kind: str) -> str:
        return f"CAST([{', '.join(map(self._literal, values))}] AS {kind}[])"

    @staticmethod
    def _literal(value: Any) -> str:
        if isinstance(value, str):
            return f"decode(unhex('{value.encode().hex()}'))"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        return f"CAST('{float(value)!r}' AS DOUBLE)"


# ---- columns -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SourceColumn:
    """A column of a source.

    Parameters
    ----------
    name : str
    kind : str
        "text", "category", "boolean", "integer", "float", "decimal" or "date", as the readers of
        tables call it.
    type : str
        Its SQL type.
    """

    name: str
    kind: str
    type: str

    def number(self) -> str:
        """An SQL expression: its values as DOUBLE, dates as days since 1970; NaN is NULL."""
        name = quoted(self.name)
        if self.kind == "date":
            return f"epoch_us({name}) / {MICROSECONDS}.0"
        if self.kind == "category":
            name = f"CAST({name} AS VARCHAR)"
        number = f"CAST({name} AS DOUBLE)"
        if self.kind in ("boolean", "integer", "decimal"):
            return number
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def level(self) -> tuple[str, str]:
        """An SQL expression that distinguishes its levels, and the type of values to compare
        with."""
        name = quoted(self.name)
        if self.kind == "boolean":
            return name, "BOOLEAN"
        if self.kind == "integer":
            return name, "HUGEINT"
        if self.kind == "date":
            return f"epoch_us({name})", "BIGINT"
        if self.kind in ("float", "decimal"):
            if self.kind == "decimal":  # straight to DOUBLE, it would miss the nearest one
                name = f"CAST({name} AS VARCHAR)"
            number = f"CAST({name} AS DOUBLE)"
            return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} + 0.0 END", "DOUBLE"
        return (name if self.type == "VARCHAR" else f"CAST({name} AS VARCHAR)"), "VARCHAR"

    def value_of(self, level: str) -> Any:
        """The value whose level is this string, to compare with; None where there is none."""
        if self.kind == "boolean":
            return {"True": True, "False": False}.get(level)
        if self.kind in ("integer", "float", "decimal", "date"):
            try:
                return getattr(self, f"_{self.kind}_of")(level)
            except (ValueError, OverflowError):
                return None
        try:
            level.encode()
        except UnicodeEncodeError:  # half a surrogate pair is in no database
            return None
        return level

    @staticmethod
    def _integer_of(level: str) -> int | None:
        value = int(float(level)) if "e+" in level else int(level)
        known = str(value) if abs(value) < LARGEST else text_of_number(float(value))
        return value if known == level and abs(value) < 2**127 else None

    @staticmethod
    def _float_of(level: str) -> float | None:
        value = float(level)
        known = text_of_number(value) if math.isfinite(value) else str(value)
        return value if known == level and not math.isnan(value) else None

    _decimal_of = _float_of

    @staticmethod
    def _date_of(level: str) -> int | None:
        value = int(np.datetime64(level, "us").astype(np.int64))
        return value if text_of_days(value / MICROSECONDS) == level else None


class LevelsAsked(NamedTuple):
    """Levels to be counted.

    Parameters
    ----------
    column : SourceColumn
    levels : list of str
    closed : bool
        Whether the source may hold no other level.
    """

    column: SourceColumn
    levels: list[str]
    closed: bool = False


class NumbersAsked(NamedTuple):
    """A column whose moments are asked for.

    Parameters
    ----------
    column : SourceColumn
    non_negative : bool
        Whether negative numbers are refused.
    """

    column: SourceColumn
    non_negative: bool = False


# ---- the statement -------------------------------------------------------------------------------
def _evidence(
    source: str,
    target: str,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
    where: Sequence[str],
) -> str:
    """The rows that count, with the columns that are asked for under names of their own."""
    columns = [f"{quoted(target)} AS y"]
    columns += [f"{asked.column.level()[0]} AS l{j}" for j, asked in enumerate(levels)]
    columns += [f"{asked.column.number()} AS x{j}" for j, asked in enumerate(numbers)]
    # a line break ends a comment at the end of a condition
    conditions = " AND ".join(f"({condition}\n)" for condition in where)
    rows = f"SELECT * FROM {source}" + (f" WHERE {conditions}" if conditions else "")
    return f"SELECT {', '.join(columns)} FROM ({rows})"


def _levels(j: int, asked: LevelsAsked, values: Values) -> tuple[list[str], list[str]]:
    """Tables that count the levels of a column, and the queries that read them."""
    kind = asked.column.level()[1]
    known = [(asked.column.value_of(level), cell) for cell, level in enumerate(asked.levels)]
    known = [(value, cell) for value, cell in known if value is not None]
    keys = values.array([value for value, _ in known], kind)
    cells = values.array([cell for _, cell in known], "BIGINT")
    tables = [
        f"asked{j} AS (SELECT unnest({keys}) AS v, unnest({cells}) AS cell)",
        f"level{j} AS MATERIALIZED (SELECT y, l{j} AS v, count(*) AS n FROM evidence "
        f"WHERE l{j} IS NOT NULL GROUP BY y, l{j})",
    ]
    example = "CAST(min(v) AS VARCHAR)" if asked.closed else "NULL"
    nothing = "NULL, NULL, NULL, NULL, NULL"
    return tables, [
        f"SELECT {j}, y, cell, CAST(sum(n) AS BIGINT), {nothing}, "
        f"CASE WHEN cell IS NULL THEN {example} END FROM level{j} LEFT JOIN asked{j} USING (v) "
        "GROUP BY y, cell",
        f"SELECT {j}, NULL, -1, count(DISTINCT v), {nothing}, NULL FROM level{j}",
    ]


def _numbers(count: int, first: int) -> tuple[list[str], list[str]]:
    """Tables with the moments of columns about the mean of each class, and the queries that read
    them.

    The mean is found in a scan of its own: about an origin as far from the values as 0 can be, the
    squares would lose what distinguishes the values. It need not be exact, as it is only an origin.
    """
    if not count:
        return [], []
    centres = ", ".join(f"avg(x{j}) AS c{j}" for j in range(count))
    sums = ", ".join(
        f"count(x{j}) AS n{j}, any_value(c{j}) AS c{j}, fsum(x{j} - c{j}) AS s{j}, "
        f"fsum((x{j} - c{j}) * (x{j} - c{j})) AS q{j}, min(x{j}) AS low{j}, max(x{j}) AS high{j}"
        for j in range(count)
    )
    tables = [
        f"centre AS MATERIALIZED (SELECT y, {centres} FROM evidence GROUP BY y)",
        f"moments AS MATERIALIZED (SELECT y, {sums} FROM evidence JOIN centre USING (y) GROUP BY "
        "y)",
    ]
    return tables, [
        f"SELECT {first + j}, y, NULL, n{j}, c{j}, s{j}, q{j}, low{j}, high{j}, NULL FROM moments"
        for j in range(count)
    ]


def count_statement(
    source: str,
    target: str,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
    where: Sequence[str],
    values: Values,
    *,
    once: bool,
) -> str:
    """The statement that counts what is asked.

    It returns rows (part, class, cell, n, origin, s1, s2, least, greatest, example): part −1 has
    the rows of each class; part j the rows of each cell of the j-th column of levels, cell NULL
    being all levels that are not asked for, and in cell −1 the number of levels; the parts after
    these the moments of the columns of numbers.

    Parameters
    ----------
    source : str
        What stands after FROM.
    target : str
        The column of the class.
    levels, numbers : sequences
    where : sequence of str
        Conditions in SQL, as the user wrote them.
    values : Values
        Takes the values, in the order of the statement, after those of `where`.
    once : bool
        Whether the source is evaluated once, rather than for each column.
    """
    rows = _evidence(source, target, levels, numbers, where)
    tables = [f"evidence AS {'' if once else 'NOT '}MATERIALIZED ({rows})"]
    queries = [
        "SELECT -1 AS part, y, CAST(NULL AS BIGINT) AS cell, count(*) AS n, "
        "CAST(NULL AS DOUBLE) AS origin, CAST(NULL AS DOUBLE) AS s1, CAST(NULL AS DOUBLE) AS s2, "
        "CAST(NULL AS DOUBLE) AS least, CAST(NULL AS DOUBLE) AS greatest, "
        "CAST(NULL AS VARCHAR) AS example FROM evidence GROUP BY y"
    ]
    for j, asked in enumerate(levels):
        made, read = _levels(j, asked, values)
        tables, queries = tables + made, queries + read
    made, read = _numbers(len(numbers), len(levels))
    return f"WITH {', '.join(tables + made)} {' UNION ALL '.join(queries + read)}"
