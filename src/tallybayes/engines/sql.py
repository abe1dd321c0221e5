"""Counting in SQL: what is asked of each column, and one statement for a batch of questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tallybayes.sources.contract import SourceColumn
from tallybayes.sources.databases import conjunction, quoted
from tallybayes.tables.columns import LARGEST, text_of_days, text_of_number

__all__ = [
    "Bound",
    "LevelsAsked",
    "NumbersAsked",
    "Rows",
    "SQLColumn",
    "Values",
    "Written",
    "count_statement",
]


# ---- a column: its numbers and levels as expressions, and the counts that it is asked for --------
MICROSECONDS = 86_400_000_000  # a day


class SQLColumn(SourceColumn):
    """A column of a source, with its expressions in a statement."""

    def number(self, nan: bool = True) -> str:
        """An SQL expression: its values as DOUBLE, dates as days since 1970; NaN is NULL, unless
        `nan` says that there is none."""
        name = quoted(self.name)
        if self.kind == "date":
            return f"epoch_us({name}) / {MICROSECONDS}.0"
        if self.kind == "category":
            name = f"CAST({name} AS VARCHAR)"
        number = f"CAST({name} AS DOUBLE)"
        if not nan or self.kind in ("boolean", "integer", "decimal"):
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
    column : SQLColumn
    levels : list of str
    closed : bool
        Whether the source may hold no other level.
    """

    column: SQLColumn
    levels: list[str]
    closed: bool = False


class NumbersAsked(NamedTuple):
    """A column whose moments are asked for.

    Parameters
    ----------
    column : SQLColumn
    non_negative : bool
        Whether negative numbers are refused.
    """

    column: SQLColumn
    non_negative: bool = False


# ---- how values get into a statement: as parameters, or as text that cannot be read as SQL -------
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


# ---- the statement -------------------------------------------------------------------------------
# Names are quoted identifiers; values are parameters or, where there can be none, hexadecimal
# text: neither can be read as SQL. What the statement returns are counts and sums by class, never
# a row.
@dataclass(frozen=True)
class Rows:
    """The rows that count.

    Parameters
    ----------
    source : str
        What stands after FROM.
    once : bool
        Whether the source is evaluated once, rather than for each column.
    target : str
        The column of the class.
    where : sequence of str
        Conditions in SQL, as the user wrote them.
    """

    source: str
    once: bool
    target: str
    where: Sequence[str] = ()

    def table(self, columns: Sequence[str]) -> str:
        """A table `evidence` of the class y and these columns."""
        # a line break ends a comment at the end of a condition
        conditions = conjunction(self.where)
        rows = f"SELECT * FROM {self.source}" + (f" WHERE {conditions}" if conditions else "")
        return (
            f"evidence AS {'' if self.once else 'NOT '}MATERIALIZED "
            f"(SELECT {', '.join([f'{quoted(self.target)} AS y', *columns])} FROM ({rows}))"
        )


def _levels(j: int, asked: LevelsAsked, values: Values) -> tuple[list[str], list[str]]:
    """Tables that count the levels of a column, and the queries that read them."""
    known = [(asked.column.value_of(level), cell) for cell, level in enumerate(asked.levels)]
    known = [(value, cell) for value, cell in known if value is not None]
    keys = values.array([value for value, _ in known], asked.column.level()[1])
    cells = values.array([cell for _, cell in known], "BIGINT")
    nothing = "NULL, NULL, NULL, NULL, NULL"
    example = "CAST(min(v) AS VARCHAR)" if asked.closed else "NULL"
    tables = [
        f"asked{j} AS (SELECT unnest({keys}) AS v, unnest({cells}) AS cell)",
        f"level{j} AS MATERIALIZED (SELECT y, l{j} AS v, count(*) AS n FROM evidence "
        f"WHERE l{j} IS NOT NULL GROUP BY y, l{j})",
    ]
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
    Sums about it are not compensated, which would take three times as long: nothing cancels, and n
    rows lose at most n roundings of the sum of squares.
    """
    if not count:
        return [], []
    centres = ", ".join(
        f"avg(x{j}) AS c{j}, min(x{j}) AS low{j}, max(x{j}) AS high{j}" for j in range(count)
    )
    sums = ", ".join(
        f"count(x{j}) AS n{j}, any_value(c{j}) AS c{j}, sum((x{j} - c{j})) AS s{j}, "
        f"sum((x{j} - c{j}) * (x{j} - c{j})) AS q{j}, "
        f"any_value(low{j}) AS low{j}, any_value(high{j}) AS high{j}"
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
    rows: Rows,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
    values: Values,
    nan: bool = True,
) -> str:
    """The statement that counts what is asked.

    It returns rows (part, class, cell, n, origin, s1, s2, least, greatest, text): part −1 has the
    rows of each class in n; part j the rows of each cell of the j-th column of levels, cell NULL
    being all levels that are not asked for, and in cell −1 the number of levels; the parts after
    these the moments of the columns of numbers.

    Parameters
    ----------
    rows : Rows
    levels, numbers : sequences
    values : Values
        Takes the values, in the order of the statement, after those of the conditions.
    nan : bool
        Whether numbers may be NaN. To look for it in every value costs a sixth of the time; where
        it is not looked for, `greatest` is NaN if there is one, as it is the greatest number.
    """
    columns = [f"{asked.column.level()[0]} AS l{j}" for j, asked in enumerate(levels)]
    columns += [f"{asked.column.number(nan)} AS x{j}" for j, asked in enumerate(numbers)]
    tables = [rows.table(columns)]
    queries = [
        "SELECT -1 AS part, y, CAST(NULL AS BIGINT) AS cell, count(*) AS n, "
        "CAST(NULL AS DOUBLE) AS origin, CAST(NULL AS DOUBLE) AS s1, CAST(NULL AS DOUBLE) "
        "AS s2, CAST(NULL AS DOUBLE) AS least, CAST(NULL AS DOUBLE) AS greatest, "
        "CAST(NULL AS VARCHAR) AS text FROM evidence GROUP BY y"
    ]
    for j, asked in enumerate(levels):
        made, read = _levels(j, asked, values)
        tables, queries = tables + made, queries + read
    made, read = _numbers(len(numbers), len(levels))
    return f"WITH {', '.join(tables + made)} {' UNION ALL '.join(queries + read)}"
