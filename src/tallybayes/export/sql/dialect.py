"""Expressions that differ between dialects of SQL.

Names and values of the data enter a statement only here, by :meth:`Dialect.name` and
:meth:`Dialect.string`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from tallybayes.parameters.formula_cells import Kind

__all__ = ["DAY", "MICROSECONDS", "Dialect"]

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
