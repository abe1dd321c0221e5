"""A column of a table after reading, independent of the library of its frame."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BITS",
    "EXACT",
    "FRAMES",
    "LARGEST",
    "Column",
    "Empty",
    "Mixed",
    "Numbers",
    "Strings",
    "Table",
    "entries_of_bits",
    "frame",
    "number_of_text",
    "numbers_and_strings",
    "renamed",
    "stacked",
    "strings_of",
    "text_of_days",
    "text_of_number",
    "values_of",
    "whole_numbers",
]


EXACT = 2.0**53
"""Below it every whole number is a float64; from it on neighbours are one number."""
LARGEST = 2.0**64
"""Below it a whole number is a level by its digits; from it on, as a float."""
BITS = {"0": "False", "1": "True"}
"""What numbers are called among booleans."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers.

    Parameters
    ----------
    values : array (n_rows,)
        Integers or floats; NaN is a missing value.
    what : str
        What the column was, for the schema: "integer", "float", "date", "duration", "time".
    strings : Strings, optional
        The same values as levels, where float64 does not distinguish them.
    """

    values: NDArray[Any]
    what: str
    strings: Strings | None = None

    @property
    def n_rows(self) -> int:
        return len(self.values)

    def take(self, rows: slice | NDArray[np.intp]) -> Numbers:
        strings = None if self.strings is None else self.strings.take(rows)
        return Numbers(self.values[rows], self.what, strings)


@dataclass(frozen=True, eq=False)
class Strings:
    """A column of levels.

    Parameters
    ----------
    codes : int32 array (n_rows,)
        Index into `levels`; −1 is a missing value.
    levels : list of str
        Distinct. Levels need not occur.
    what : str
        What the column was, for the schema: "text", "category", "boolean".
    """

    codes: NDArray[np.int32]
    levels: list[str]
    what: str

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def take(self, rows: slice | NDArray[np.intp]) -> Strings:
        return Strings(self.codes[rows], self.levels, self.what)


@dataclass(frozen=True, eq=False)
class Empty:
    """A column without a value: it may turn out to hold anything.

    Parameters
    ----------
    n_rows : int
    """

    n_rows: int

    def take(self, rows: slice | NDArray[np.intp]) -> Empty:
        n = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        return Empty(n)


@dataclass(frozen=True, eq=False)
class Nested(Empty):
    """A column of lists, dicts or arrays, whose values are not read.

    Parameters
    ----------
    n_rows : int
    error : str
        What is said where the column is needed.
    example : str
        The type of a value, as messages call it.
    """

    error: str
    example: str


@dataclass(frozen=True, eq=False)
class Mixed:
    """A column of numbers and strings.

    Parameters
    ----------
    numbers : Numbers
        NaN where a row holds a string, or nothing.
    strings : Strings
        A missing value where a row holds a number, or nothing.
    """

    numbers: Numbers
    strings: Strings
    what: str = "mixed"

    @property
    def n_rows(self) -> int:
        return self.numbers.n_rows

    def take(self, rows: slice | NDArray[np.intp]) -> Mixed:
        return Mixed(self.numbers.take(rows), self.strings.take(rows), self.what)


Column = Numbers | Strings | Mixed | Empty


def values_of(column: Column) -> list[Any]:
    """The values as Python's, (n_rows,): strings, numbers, dates as ISO text; None for a missing
    value."""
    if isinstance(column, Empty):
        return [None] * column.n_rows
    if isinstance(column, Strings):
        return [column.levels[code] if code >= 0 else None for code in column.codes.tolist()]
    if isinstance(column, Mixed):
        pairs = zip(values_of(column.numbers), values_of(column.strings), strict=True)
        return [text if number is None else number for number, text in pairs]
    values = [None if value != value else value for value in column.values.tolist()]
    if column.what != "date":
        return values
    return [None if value is None else text_of_days(value) for value in values]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, in order.

    Parameters
    ----------
    columns : dict of str to Column
    n_rows : int
    named : bool
        Whether the names are the data's own, rather than numbers of an array's columns.
    """

    columns: dict[str, Column]
    n_rows: int
    named: bool

    def take(self, rows: slice | NDArray[np.intp]) -> Table:
        """Some rows."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        n = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        return Table(columns, n, self.named)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.n_rows, len(self.columns)


def text_of_number(value: float) -> str:
    """A number as a level: whole numbers without a point, so that 3 and 3.0 are one level; from
    2⁶⁴ on as ``repr`` has them, 1e+300."""
    if abs(value) < LARGEST and value == int(value):
        return str(int(value))
    return repr(float(value))


def number_of_text(text: str) -> float | None:
    """The number that a string stands for; True is 1 and False is 0. None where it is not a finite
    number."""
    if text in ("True", "False"):
        return float(text == "True")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def text_of_days(days: float) -> str:
    """Days since 1970 as a level: 2020-01-31, or with a time that is not midnight
    2020-01-31T12:30:00."""
    moment = str(np.datetime64(round(days * 86_400e6), "us"))
    day, _, time = moment.partition("T")
    if not time.strip("0:."):
        return day
    return moment.rstrip("0").rstrip(".") if "." in time and time.endswith("0") else moment


def whole_numbers(values: NDArray[Any], missing: NDArray[np.bool_]) -> Numbers:
    """Integers (n_rows,) with missing values, whatever `values` holds there, as numbers."""
    if not missing.any():
        return Numbers(values, "integer")
    there = values[~missing]
    numbers = np.where(missing, np.nan, values.astype(np.float64))
    if not len(there) or float(np.abs(numbers[~missing]).max()) < EXACT:
        return Numbers(numbers, "integer")
    distinct, inverse = np.unique(there, return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[~missing] = inverse
    return Numbers(
        numbers, "integer", Strings(codes, [str(v) for v in distinct.tolist()], "integer")
    )


def numbers_and_strings(numbers: NDArray[np.float64], strings: list[str]) -> Mixed:
    """A column of numbers, and then of strings, each once."""
    codes = np.concatenate([np.full(len(numbers), -1), np.arange(len(strings))]).astype(np.int32)
    values = np.concatenate([numbers, np.full(len(strings), np.nan)])
    return Mixed(Numbers(values, "float"), Strings(codes, strings, "text"))


def strings_of(column: Numbers | Mixed) -> Strings:
    """Numbers as levels, by :func:`text_of_number`, dates by :func:`text_of_days`; NaN is a missing
    value.

    Infinity is the string "inf" or "-inf".
    """
    if isinstance(column, Mixed):
        return _joined(strings_of(column.numbers), column.strings, column.what)
    if column.strings is not None:
        return column.strings
    values = column.values
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    distinct, inverse = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[~missing] = inverse
    name = text_of_days if column.what == "date" else text_of_number
    levels = (
        [name(v) if np.isfinite(v) else str(v) for v in map(float, distinct.tolist())]
        if values.dtype.kind == "f"
        else [str(v) for v in distinct.tolist()]
    )
    return Strings(codes, levels, column.what)


def _joined(first: Strings, second: Strings, what: str) -> Strings:
    """Two columns of levels as one; no row has a level in both."""
    codes = np.where(second.codes < 0, first.codes, second.codes + len(first.levels))
    levels = [*first.levels, *second.levels]
    return renamed(Strings(codes.astype(np.int32), levels, what), {})


def renamed(column: Strings, names: Mapping[str, str]) -> Strings:
    """A column with some levels under other names; levels of one name are one."""
    rank: dict[str, int] = {}
    moved = [rank.setdefault(names.get(v, v), len(rank)) for v in column.levels]
    return Strings(np.array([*moved, -1], dtype=np.int32)[column.codes], list(rank), column.what)


def entries_of_bits(entry: dict[str, int]) -> dict[str, int]:
    """The entries of the numbers 0 and 1 where the levels are booleans; else none."""
    if not entry.keys() <= set(BITS.values()):
        return {}
    return {bit: entry[name] for bit, name in BITS.items() if name in entry}


# ---- tables one below the other ------------------------------------------------------------------
def stacked(tables: Sequence[Table]) -> Table:
    """The rows of all; a column that one lacks is missing there.

    A column that holds numbers here and strings there holds both.

    Parameters
    ----------
    tables : sequence of Table
        At least one.

    Raises
    ------
    ValueError
        If a column holds dates in one and other numbers in another.
    """
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {
        name: _column(name, [table.columns.get(name, Empty(table.n_rows)) for table in tables])
        for name in names
    }
    return Table(columns, sum(table.n_rows for table in tables), tables[0].named)


def _column(name: str, parts: list[Column]) -> Column:
    kinds = {type(part) for part in parts} - {Empty}
    if not kinds:
        return Empty(sum(part.n_rows for part in parts))
    if kinds == {Strings}:
        return _strings(parts)
    if kinds == {Numbers}:
        return _numbers(name, parts)
    numbers = [p.numbers if isinstance(p, Mixed) else _without(p, Strings) for p in parts]
    strings = [p.strings if isinstance(p, Mixed) else _without(p, Numbers) for p in parts]
    return Mixed(_numbers(name, numbers), _strings(strings))


def _without(part: Column, kind: type) -> Column:
    return Empty(part.n_rows) if isinstance(part, kind) else part


def _strings(parts: Sequence[Column]) -> Strings:
    at: dict[str, int] = {}
    codes = []
    what = next(part.what for part in parts if isinstance(part, Strings))
    for part in parts:
        if not isinstance(part, Strings):
            codes.append(np.full(part.n_rows, -1, dtype=np.int32))
            continue
        rank = np.array([*(at.setdefault(v, len(at)) for v in part.levels), -1], dtype=np.int32)
        codes.append(rank[part.codes])
    return Strings(np.concatenate(codes), list(at), what)


def _numbers(name: str, parts: Sequence[Column]) -> Numbers:
    held = [part for part in parts if isinstance(part, Numbers)]
    dates = {part.what == "date" for part in held}
    if len(dates) > 1:
        raise ValueError(
            f"column {name!r} holds dates in some rows and numbers in others: give all of it as "
            "dates, or all as numbers"
        )
    exact = len(held) < len(parts) or any(part.strings is not None for part in held)
    values = [
        part.values if isinstance(part, Numbers) else np.full(part.n_rows, np.nan) for part in parts
    ]
    strings = None
    if exact and any(_far(part) for part in held):  # float64 does not distinguish these
        strings = _strings([strings_of(p) if isinstance(p, Numbers) else p for p in parts])
    return Numbers(np.concatenate(values), held[0].what, strings)


def _far(part: Numbers) -> bool:
    """Whether whole numbers are among them that float64 does not distinguish."""
    if part.strings is not None:
        return True
    values = part.values
    return bool(values.dtype.kind in "iu" and len(values) and int(np.abs(values).max()) >= 2**53)


# ---- frames for people to read, in whichever frame library is installed --------------------------
FRAMES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")


def frame(columns: dict[str, Any]) -> Any:
    """A data frame of the columns, by pandas, polars or pyarrow: the first that is installed.

    Raises
    ------
    ImportError
        If none of pandas, polars and pyarrow is installed.
    """
    import narwhals as nw

    columns = {_encodable(str(name)): _shown(values) for name, values in columns.items()}
    installed = [name for name in FRAMES if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "tables are returned as data frames: install one of pandas, polars and pyarrow"
        )
    return nw.from_dict(columns, backend=installed[0]).to_native()


def _shown(values: Any) -> Any:
    """The values; where some are strings that no frame can hold, with escapes in these."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return values
    try:
        "".join(value for value in values if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        return [_encodable(value) if isinstance(value, str) else value for value in values]
    return values


def _encodable(text: str) -> str:
    """A string without lone surrogates, which have no UTF-8; each is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
