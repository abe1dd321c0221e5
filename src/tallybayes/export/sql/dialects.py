"""The dialects of SQL that a model can be written in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import ClassVar

from tallybayes.export.sql.dialect import Dialect
from tallybayes.parameters.formula_cells import Kind

__all__ = ["BigQuery", "DuckDB", "Postgres", "Snowflake", "Spark", "dialect_of"]

PLAIN = re.compile(r"[^\x00-\x1f\x7f'\"\\]*")
"""Text that means itself in any dialect, whatever its settings."""

WORD = re.compile(r"[A-Za-z0-9_]+")
"""A name that Spark takes for no regular expression."""


def _finite(x: float) -> str:
    """A number as float64 literal where one with an exponent is: 1.5e0."""
    text = repr(x)
    return text if "e" in text else text + "e0"


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


class DuckDB(Dialect):
    """DuckDB: a literal is a DECIMAL unless it has an exponent."""

    title = "DuckDB"
    has_buckets = True
    has_places = True
    has_array_row = True
    most_cells = 4096
    leaf = 128

    def string(self, text: str) -> str:
        if "\0" in text:
            return f"decode(unhex('{text.encode().hex()}'))"
        return super().string(text)

    def number(self, x: float) -> str:
        if not math.isfinite(x):
            return f"CAST('{x}' AS DOUBLE)"
        return _signed(_finite(x))

    def array(self, values: Sequence[float]) -> str:
        return f"CAST('[{','.join(map(repr, values))}]' AS DOUBLE[])"

    def whole_array(self, values: Sequence[int]) -> str:
        return f"CAST('[{','.join(map(str, values))}]' AS INTEGER[])"

    def place(self, literals: Sequence[str], name: str) -> str:
        # computed once for each entry where a column is stored as a dictionary
        return f"list_position([{', '.join(literals)}], {name})"

    def text(self, column: str) -> str:
        # the branch is never taken, but its function takes no other type
        own = f"CASE WHEN FALSE THEN reverse({column}) ELSE CAST({column} AS VARCHAR) END"
        return f'({own}) COLLATE "C"'

    def microseconds(self, column: str) -> str:
        return f"CAST(epoch_us({column}) AS DOUBLE)"


class Postgres(Dialect):
    """PostgreSQL: arithmetic that would be infinite or underflow is an error; subqueries are merged
    unless they are fenced."""

    title = "PostgreSQL"
    fence = "OFFSET 0"
    most_columns: ClassVar[int | None] = 1664
    most_name: ClassVar[int | None] = 63
    double = "double precision"

    def holds(self, text: str) -> bool:
        return super().holds(text) and "\0" not in text

    def string(self, text: str) -> str:
        quoted = super().string(text)
        if "\\" in text:  # by a setting, a backslash is not itself without E
            quoted = "E" + quoted.replace("\\", "\\\\")
        return quoted

    def number(self, x: float) -> str:
        return f"'{_infinity(x)}'::float8"

    def array(self, values: Sequence[float]) -> str:
        return f"'{{{','.join(map(_infinity, values))}}}'::float8[]"

    def whole_array(self, values: Sequence[int]) -> str:
        return f"'{{{','.join(map(str, values))}}}'::int[]"

    def is_nan(self, x: str) -> str:
        return f"{x} = 'NaN'::float8"

    def microseconds(self, column: str) -> str:
        return f"CAST(EXTRACT(EPOCH FROM {column}) AS double precision) * {self.number(1e6)}"

    def as_number(self, column: str, kind: Kind) -> str:
        if kind == "date":
            seconds = f"CAST(EXTRACT(EPOCH FROM {column}) AS double precision)"
            return f"{seconds} / {self.number(86400.0)}"
        return super().as_number(column, kind)

    def as_text(self, column: str) -> str:
        return f"CAST({column} AS text)"

    def text(self, column: str) -> str:
        return f'{column} COLLATE "C"'  # an error for a column of another type

    def exp(self, x: str) -> str:
        return f"CASE WHEN {x} > -700 THEN EXP({x}) WHEN {x} <= -700 THEN {self.number(0.0)} END"

    def product(self, x: str, factor: float) -> str:
        low, high = _bound(1e-300, factor), _bound(1e300, factor)
        infinite = self.number(math.inf if factor > 0.0 else -math.inf)
        return (
            f"CASE WHEN abs({x}) < {self.number(low)} THEN {self.number(0.0)} "
            f"WHEN abs({x}) > {self.number(high)} THEN sign({x}) * {infinite} "
            f"ELSE {x} * {self.number(factor)} END"
        )

    def square(self, x: str, mean: float, scale: float) -> str:
        apart = f"({x} - {self.number(mean)})"
        if scale == 0.0:
            return self.number(0.0)
        low, high = _bound(1e-150, scale), _bound(1e150, scale)
        return (
            f"CASE WHEN abs({apart}) < {self.number(low)} THEN {self.number(0.0)} "
            f"WHEN abs({apart}) > {self.number(high)} THEN {self.number(math.inf)} "
            f"ELSE ({apart} * {self.number(scale)}) * ({apart} * {self.number(scale)}) END"
        )


def _bound(t: float, scale: float) -> float:
    """The deviation at which deviation times scale is t, as far as float64 goes."""
    bound = t / abs(scale) if abs(scale) > 1e-150 else 1.7e308
    return min(max(bound, 5e-324), 1.7e308)


def _infinity(x: float) -> str:
    return repr(x) if math.isfinite(x) else "Infinity" if x > 0.0 else "-Infinity"


class Spark(Dialect):
    """Spark: names are between backticks.

    Spark replaces ${name} everywhere in a statement before it parses it, by a setting that is on by
    default, and can read a name between backticks as a regular expression. Whether a string has
    escapes is a setting, too. So a string with $, a quote or a backslash is written in hexadecimal
    digits, and the name of a column that is more than a word is a string (from Spark 3.4 on).
    """

    title = "Spark"

    def name(self, name: str) -> str:
        self.need_name(name)
        return "`" + name.replace("`", "``") + "`"

    def string(self, text: str) -> str:
        if "$" not in text and PLAIN.fullmatch(text):
            return f"'{text}'"
        return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"

    def rows(self, table: Sequence[str]) -> str:
        name = super().rows(table)
        return f"IDENTIFIER({self.string(name)})" if "$" in name else name

    def column(self, name: str) -> str:
        column = super().column(name)
        return column if WORD.fullmatch(name) else f"IDENTIFIER({self.string(column)})"

    def select(self, outputs: Sequence[tuple[str, str]], source: str) -> str:
        if not any("$" in name for _, name in outputs):
            return super().select(outputs, source)
        for _, name in outputs:
            self.need_name(name)
        # no name of a column can be written as a string, but the fields of a struct can
        fields = ",\n  ".join(f"{self.string(n)}, {expression}" for expression, n in outputs)
        struct = f"named_struct(\n  {fields}\n) AS r"
        return f"SELECT r.*\nFROM (\nSELECT {struct}\n{source}\n) AS t"

    def number(self, x: float) -> str:
        if not math.isfinite(x) or 0.0 < abs(x) < 1e-300:
            return f"CAST('{_infinity(x)}' AS DOUBLE)"
        return _signed(f"{x!r}D")

    def array(self, values: Sequence[float]) -> str:
        # one literal, which Spark folds: a node for each number costs it seconds
        return f"CAST(SPLIT('{','.join(map(_infinity, values))}', ',') AS ARRAY<DOUBLE>)"

    def whole_array(self, values: Sequence[int]) -> str:
        return f"CAST(SPLIT('{','.join(map(str, values))}', ',') AS ARRAY<INT>)"

    def lookup(self, array: str, index: str) -> str:
        return f"element_at({array}, {index})"

    def whole_lookup(self, values: Sequence[int], index: str) -> str:
        return self.lookup(self.whole_array(values), index)

    def as_text(self, column: str) -> str:
        return f"CAST({column} AS STRING)"

    def text(self, column: str) -> str:
        wrong = "raise_error(concat('the model reads strings, but the column holds ', typeof({0})))"
        return (
            f"CASE WHEN typeof({column}) = 'string' THEN CAST({column} AS STRING) "
            f"ELSE CAST({wrong.format(column)} AS STRING) END"
        )

    def microseconds(self, column: str) -> str:
        began = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        wall = f"CAST({column} AS TIMESTAMP_NTZ)"
        return f"CAST(timestampdiff(MICROSECOND, {began}, {wall}) AS DOUBLE)"


class BigQuery(Dialect):
    """BigQuery: backslashes are escapes in strings and in names."""

    title = "BigQuery"
    first = 0
    double = "FLOAT64"

    def name(self, name: str) -> str:
        self.need_name(name)
        return "`" + _escaped(name) + "`"

    def titles(self, labels: Sequence[str]) -> list[str]:
        # names have letters, digits and _ only, and capitals do not tell them apart
        return [f"p{i}_{re.sub('[^A-Za-z0-9_]', '_', label)}" for i, label in enumerate(labels)]

    def string(self, text: str) -> str:
        return "'" + _escaped(text) + "'"

    def number(self, x: float) -> str:
        if not math.isfinite(x):
            return f"CAST('{x}' AS FLOAT64)"
        return _signed(_finite(x))

    def array(self, values: Sequence[float]) -> str:
        return f"[{', '.join(map(self.number, values))}]"

    def whole_array(self, values: Sequence[int]) -> str:
        return f"[{', '.join(map(str, values))}]"

    def lookup(self, array: str, index: str) -> str:
        return f"{array}[OFFSET({index})]"

    def whole_lookup(self, values: Sequence[int], index: str) -> str:
        return self.lookup(self.whole_array(values), index)

    def is_nan(self, x: str) -> str:
        return f"IS_NAN({x})"

    def as_text(self, column: str) -> str:
        return f"CAST({column} AS STRING)"

    def microseconds(self, column: str) -> str:
        return f"CAST(UNIX_MICROS(CAST({column} AS TIMESTAMP)) AS FLOAT64)"


def _escaped(text: str) -> str:
    """Text without anything that a string or a name between quotes could end at."""
    return "".join(
        character if PLAIN.fullmatch(character) and character != "`" else f"\\u{ord(character):04x}"
        for character in text
    )


class Snowflake(Dialect):
    """Snowflake: arrays hold variants; a backslash is an escape in strings, not in names.

    Snowflake's clients replace &name and <% name %> in a statement, in strings as well, by settings
    of theirs. In strings the signs are written as escapes; names have no escapes, so a name with
    such a sign needs a client that does not replace it.
    """

    title = "Snowflake"
    first = 0
    most_name: ClassVar[int | None] = 255

    def string(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace("\0", "\\0")
        for sign in "&<{":  # of &name, <% name %> and {{ name }}
            escaped = escaped.replace(sign, f"\\x{ord(sign):02x}")
        return super().string(escaped)

    def number(self, x: float) -> str:
        known: dict[float, str] = {math.inf: "inf", -math.inf: "-inf"}
        return f"CAST('{known.get(x, repr(x))}' AS DOUBLE)"

    def array(self, values: Sequence[float]) -> str:
        return f"ARRAY_CONSTRUCT({', '.join(map(self.number, values))})"

    def whole_array(self, values: Sequence[int]) -> str:
        return f"ARRAY_CONSTRUCT({', '.join(map(str, values))})"

    def lookup(self, array: str, index: str) -> str:
        return f"CAST(GET({array}, {index}) AS DOUBLE)"

    def whole_lookup(self, values: Sequence[int], index: str) -> str:
        return f"CAST(GET({self.whole_array(values)}, {index}) AS INTEGER)"

    def is_nan(self, x: str) -> str:
        return f"{x} = CAST('NaN' AS DOUBLE)"

    def microseconds(self, column: str) -> str:
        return f"CAST(DATE_PART(EPOCH_MICROSECOND, CAST({column} AS TIMESTAMP_NTZ)) AS DOUBLE)"


DIALECTS: dict[str, type[Dialect]] = {
    "duckdb": DuckDB,
    "postgres": Postgres,
    "spark": Spark,
    "bigquery": BigQuery,
    "snowflake": Snowflake,
}


def dialect_of(name: str) -> Dialect:
    """The dialect of this name.

    Raises
    ------
    ValueError
        For a name that is none of theirs.
    """
    if name not in DIALECTS:
        raise ValueError(f"dialect= is one of {', '.join(DIALECTS)}, got {name!r}")
    return DIALECTS[name]()
