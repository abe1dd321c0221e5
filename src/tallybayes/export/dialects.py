"""The dialects of SQL that a model can be written in."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from tallybayes.parameters.formula import Kind

__all__ = [
    "DAY",
    "MICROSECONDS",
    "BigQuery",
    "Dialect",
    "DuckDB",
    "Postgres",
    "Snowflake",
    "Spark",
    "Stages",
    "dialect_of",
]


# ---- expressions that differ between dialects of SQL ---------------------------------------------
# Names and values of the data enter a statement only here, by :meth:`Dialect.name` and
# :meth:`Dialect.string`.
DAY = 86400.0
MICROSECONDS = 1e6


class Dialect(ABC):
    """The expressions of a dialect. A method takes SQL and returns SQL, unless stated otherwise.

    Attributes
    ----------
    first : int
        The index of the first element of an array.
    fence : str
        What ends a subquery that is not to be merged into the one around it.
    most_columns : int or None
        How many columns a SELECT can have.
    most_name : int or None
        The maximum number of bytes of a name; longer names are cut.
    double : str
        The type of a float64.
    has_buckets : bool
        Whether the interval of a number is found faster by buckets than by a tree.
    has_places : bool
        Whether a string is found faster by its place in a list than by comparisons.
    has_array_row : bool
        Whether constant arrays are columns of a table of one row beside the rows, since a constant
        in an expression is built again and again.
    most_cells : int
        How many numbers the scores of one joint table have, for all classes.
    leaf : int
        How many levels are compared one after another; of more, a tree has fewer comparisons.
    """

    title: ClassVar[str]
    first: ClassVar[int] = 1
    fence: ClassVar[str] = ""
    most_columns: ClassVar[int | None] = None
    most_name: ClassVar[int | None] = None
    double: ClassVar[str] = "DOUBLE"
    has_buckets: ClassVar[bool] = False
    has_places: ClassVar[bool] = False
    has_array_row: ClassVar[bool] = False
    most_cells: ClassVar[int] = 128
    leaf: ClassVar[int] = 8

    # ---- names and values, which are not SQL yet -------------------------------------------------
    def name(self, name: str) -> str:
        """A name as an identifier.

        Raises
        ------
        ValueError
            For a name that the dialect cannot have.
        """
        self.need_name(name)
        return '"' + name.replace('"', '""') + '"'

    def need_name(self, name: str) -> None:
        """Raises ValueError for a name that the dialect cannot have."""
        if not name or "\0" in name or not _encodes(name):
            raise ValueError(
                f"{name!r} cannot be a name in SQL: a name has a character at least, no NUL and no "
                "half of a surrogate pair; rename it"
            )
        if self.most_name is not None and len(name.encode()) > self.most_name:
            raise ValueError(
                f"{name!r} has {len(name.encode())} bytes, and {self.title} cuts names after "
                f"{self.most_name}: rename it"
            )

    def holds(self, text: str) -> bool:
        """Whether a column of text can hold this string."""
        return _encodes(text)

    def string(self, text: str) -> str:
        """A string as a literal; of those that :meth:`holds`."""
        return "'" + text.replace("'", "''") + "'"

    @abstractmethod
    def number(self, x: float) -> str:
        """A float64 as a literal that is read as just this number, infinite ones too."""

    @abstractmethod
    def array(self, values: Sequence[float]) -> str:
        """A constant array of float64."""

    @abstractmethod
    def whole_array(self, values: Sequence[int]) -> str:
        """A constant array of small whole numbers."""

    # ---- expressions -----------------------------------------------------------------------------
    def lookup(self, array: str, index: str) -> str:
        """The element of an array; `index` counts from :attr:`first`."""
        return f"({array})[{index}]"

    def whole_lookup(self, values: Sequence[int], index: str) -> str:
        """The same of small whole numbers."""
        return f"({self.whole_array(values)})[{index}]"

    def place(self, literals: Sequence[str], name: str) -> str:
        """The place of a string among literals, counted from :attr:`first`; NULL if it is none of
        them. Of dialects that have :attr:`has_places`."""
        raise NotImplementedError

    def is_nan(self, x: str) -> str:
        """A condition: x, which is a float64, is NaN."""
        return f"isnan({x})"

    def as_number(self, column: str, kind: Kind) -> str:
        """The values of a column as float64: dates as days since 1970, booleans as 1 and 0."""
        if kind == "boolean":
            one, zero = self.number(1.0), self.number(0.0)
            return f"CASE WHEN {column} THEN {one} WHEN NOT {column} THEN {zero} END"
        if kind == "date":
            seconds = self.divided(self.microseconds(column), self.number(MICROSECONDS))
            return self.divided(seconds, self.number(DAY))
        if kind == "decimal":  # straight to float64 some dialects miss the nearest one
            return f"CAST({self.as_text(column)} AS {self.double})"
        return f"CAST({column} AS {self.double})"

    def divided(self, x: str, y: str) -> str:
        return f"{x} / {y}"

    @abstractmethod
    def microseconds(self, column: str) -> str:
        """Of a date or time, since 1970 began, as float64."""

    def as_text(self, column: str) -> str:
        """The values of a column that is not of text as text."""
        return f"CAST({column} AS VARCHAR)"

    def text(self, column: str) -> str:
        """A column of text, compared byte by byte; a column of another type is an error, if it can
        be one."""
        return column

    def bucket(self, x: str, low: str, k: float) -> str:
        """The index of a bucket of :class:`Buckets`; NULL, or any number, for x that is not between
        its ends."""
        floor = f"FLOOR(({x} - {low}) * {self.number(k)})"
        return f"TRY_CAST({floor} AS INTEGER) + {self.first}"

    def exact_bucket(self, x: str, low: float, k: float) -> str:
        """The same of exact buckets, for x between their ends."""
        scaled = x if k == 1.0 else f"{x} * {self.number(k)}"
        return f"CAST(FLOOR({scaled}) AS INTEGER) - ({int(low * k) - self.first})"

    def as_bit(self, condition: str) -> str:
        """1 where a condition holds, 0 where it does not."""
        return f"CAST({condition} AS INTEGER)"

    def greatest(self, values: Sequence[str]) -> str:
        """The largest of numbers of which none, or all, are NULL."""
        return values[0] if len(values) == 1 else f"GREATEST({', '.join(values)})"

    def exp(self, x: str) -> str:
        """eˣ of x ≤ 0, 0 where it is too small."""
        return f"EXP({x})"

    def log(self, x: str) -> str:
        """log x of x ≥ 0, −∞ for 0."""
        return f"CASE WHEN {x} > 0 THEN LN({x}) ELSE {self.number(float('-inf'))} END"

    def product(self, x: str, factor: float) -> str:
        """x·factor, which may be infinite."""
        return f"{x} * {self.number(factor)}"

    def square(self, x: str, mean: float, scale: float) -> str:
        """((x − mean)·scale)², which may be infinite."""
        t = f"({x} - {self.number(mean)}) * {self.number(scale)}"
        return f"({t}) * ({t})"

    def titles(self, labels: Sequence[str]) -> list[str]:
        """The names of the columns of the classes' probabilities."""
        return [f"p({label})" for label in labels]

    def rows(self, table: Sequence[str]) -> str:
        """What stands after FROM, of the parts of a table's name."""
        return ".".join(self.name(part) for part in table)

    def column(self, name: str) -> str:
        """A column of the table, which the statement calls t."""
        return f"t.{self.name(name)}"

    def select(self, outputs: Sequence[tuple[str, str]], source: str) -> str:
        """The statement whose result has these columns, of (expression, name)."""
        columns = [f"{expression} AS {self.name(name)}" for expression, name in outputs]
        return "SELECT\n  " + ",\n  ".join(columns) + f"\n{source}"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---- the dialects --------------------------------------------------------------------------------
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


# ---- names for expressions, as nested subqueries -------------------------------------------------
# Named expressions as nested subqueries: each is written once, above the expressions that it uses.
class Stages:
    """Expressions named by a letter and a number, which cannot be confused with names of a table.

    Parameters
    ----------
    dialect : Dialect
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.stage: dict[str, int] = {}
        self.last_use: dict[str, int] = {}
        self.text: list[list[tuple[str, str]]] = []
        self.known: dict[tuple[str, int], str] = {}
        self.row: dict[str, str] = {}

    def name(self, letter: str, expression: str, uses: Iterable[str] = ()) -> str:
        """The name of an expression.

        Parameters
        ----------
        letter : str
        expression : str
        uses : iterable of str
            The names in it; where there are none, it is made of the table's columns.
        """
        uses = list(uses)
        stage = 1 + max((self.stage[name] for name in uses), default=-1)
        if (expression, stage) in self.known:
            return self.known[expression, stage]
        self.use(uses, stage)
        while len(self.text) <= stage:
            self.text.append([])
        name = f"{letter}{sum(known.startswith(letter) for known in self.stage)}"
        self.stage[name] = stage
        self.text[stage].append((name, expression))
        self.known[expression, stage] = name
        return name

    def constant(self, array: str) -> str:
        """The name of a constant array, which is a column of a table of one row."""
        column = self.row.setdefault(array, f"a{len(self.row)}")
        return self.name("a", f"w.{column}")

    def use(self, names: Iterable[str], stage: int) -> None:
        """Keeps names until a stage."""
        for name in names:
            self.last_use[name] = max(self.last_use.get(name, 0), stage)

    def select(self, source: str, outputs: list[tuple[str, str]], uses: Iterable[str]) -> str:
        """The statement.

        Parameters
        ----------
        source : str
            The table.
        outputs : list of (expression, name)
            The columns of the result.
        uses : iterable of str
            The names in them.

        Raises
        ------
        ValueError
            Where a subquery needs more columns than the dialect can have.
        """
        self.use(uses, len(self.text))
        text = f"FROM {source} AS t"
        if self.row:
            row = ",\n  ".join(f"{array} AS {column}" for array, column in self.row.items())
            text += f", (\nSELECT\n  {row}\n) AS w"
        for stage, own in enumerate(self.text):
            kept = [n for n, s in self.stage.items() if s < stage <= self.last_use.get(n, 0) - 1]
            kept = [n for n in kept if self.last_use[n] > stage]
            columns = [*kept, *(f"{expression} AS {name}" for name, expression in own)]
            self._need_room(len(columns))
            text = self._subquery(columns, text)
        self._need_room(len(outputs))
        return self.dialect.select(outputs, text)

    def _subquery(self, columns: list[str], source: str) -> str:
        fence = f"\n{self.dialect.fence}" if self.dialect.fence else ""
        return "FROM (\nSELECT\n  " + ",\n  ".join(columns) + f"\n{source}{fence}\n) AS t"

    def _need_room(self, n: int) -> None:
        most = self.dialect.most_columns
        if most is not None and n > most:
            raise ValueError(
                f"the statement needs {n:,} columns in a SELECT, and {self.dialect.title} has "
                f"{most:,} at most: use a model of fewer columns or classes, or another dialect"
            )
