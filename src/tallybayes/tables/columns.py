"""A column of a table: what it holds, whatever the library of its frame, and how it is read.

It is read from an array, from strings in Arrow's buffers, in which pandas, polars and pyarrow keep
them, or from Python objects, whose types decide how it is read.
"""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import numbers
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import ZoneWarning, warn_user

__all__ = [
    "BITS",
    "EPOCH",
    "EXACT",
    "FRAMES",
    "LARGEST",
    "TIMES",
    "WITH_DATES",
    "ZONES",
    "Column",
    "Empty",
    "Mixed",
    "Numbers",
    "Strings",
    "Table",
    "Zone",
    "as_scalar",
    "as_text",
    "date_of_days",
    "days_of_text",
    "entries_of_bits",
    "frame",
    "is_missing",
    "joined_zones",
    "not_a_table",
    "number_of_text",
    "numbers_and_strings",
    "read_array",
    "read_objects",
    "read_strings",
    "read_value",
    "renamed",
    "seconds_of_text",
    "stacked",
    "strings_of",
    "text_of_days",
    "text_of_number",
    "values_of",
    "whole_numbers",
    "with_zone",
    "without_views",
    "zone_of",
]

EXACT = 2.0**53
"""Below it every whole number is a float64; from it on neighbours are one number."""
LARGEST = 2.0**64
"""Below it a whole number is a level by its digits; from it on, as a float."""
BITS = {"0": "False", "1": "True"}
"""What numbers are called among booleans."""


Zone = Literal["", "with", "without", "both"]
"""Whether the times of a column have a time zone; "" where it has no times, as dates have none."""


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
    zone_given : Zone, optional
        Of dates: whether their times had a zone, where that was seen; see :attr:`zone`.
    """

    values: NDArray[Any]
    what: str
    strings: Strings | None = None
    zone_given: Zone | None = None

    @property
    def n_rows(self) -> int:
        return len(self.values)

    def take(self, rows: slice | NDArray[np.intp]) -> Numbers:
        strings = None if self.strings is None else self.strings.take(rows)
        return Numbers(self.values[rows], self.what, strings, self.zone_given)

    @property
    def zone(self) -> Zone:
        """Whether its times have a zone. Dates that are all midnight are no times, unless they
        were given a zone."""
        if self.what != "date" or self.zone_given is not None:
            return self.zone_given or ""
        return "without" if (self.values % 1.0 > 0.0).any() else ""


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
    zone = joined_zones(*(part.zone for part in held)) if dates == {True} else None
    exact = len(held) < len(parts) or any(part.strings is not None for part in held)
    values = [
        part.values if isinstance(part, Numbers) else np.full(part.n_rows, np.nan) for part in parts
    ]
    strings = None
    if exact and any(  # whole numbers are among them that float64 does not distinguish
        part.strings is not None
        or (part.values.dtype.kind in "iu" and int(np.abs(part.values).max(initial=0)) >= 2**53)
        for part in held
    ):
        strings = _strings([strings_of(p) if isinstance(p, Numbers) else p for p in parts])
    return Numbers(np.concatenate(values), held[0].what, strings, zone)


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


# ---- a column from its values: of an array, of strings in Arrow's buffers, or Python objects -----
def not_a_table(x: Any) -> ValueError:
    """What is said of a single column, or of a single row of a frame, where a table is needed."""
    return ValueError(
        f"X is a {type(x).__name__}, which is not a table: give one with a row a sample. Of a "
        "single column, to_frame() makes one, and of a single row of a frame, frame.iloc[[i]]; "
        "methods such as predict_one take a single row as it is."
    )


WITH_DATES = "mixed with dates"
"""What a column holds that has dates and other values."""

NUMERIC = {"integer", "float"}
SPANS = {"duration": (datetime.timedelta, np.timedelta64), "time": (datetime.time,)}
"""What columns of durations and of times of day are called, and the types of their values."""

TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
"""Types of dates, times of day and durations, some of which Python makes numbers of."""
TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?")

EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86400.0
ENDS = datetime.datetime.min, datetime.datetime.max.replace(microsecond=0)


def days_of(value: datetime.date) -> float:
    """A date or time as days since 1970 (UTC where it has a zone)."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return (value - EPOCH).total_seconds() / DAY
    return float(value.toordinal() - EPOCH.toordinal())


ZONES = (
    "column {name!r} holds times with a time zone and times without one, which are read as UTC: "
    "give all of them a zone, or none"
)


def zone_of(value: Any) -> Zone:
    """Whether a value of a column of dates is a time with a zone, or one without; strings are read
    as ISO 8601."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return ""
    if isinstance(value, np.datetime64):
        return "without" if _number(value) % 1.0 > 0.0 else ""
    if not isinstance(value, datetime.datetime) or value != value:
        return ""
    if value.tzinfo is not None:
        return "with"
    return "without" if value.time() != datetime.time.min else ""


def with_zone(column: Column) -> Column:
    """A column of dates whose times had a zone, before they were made UTC."""
    return replace(column, zone_given="with") if isinstance(column, Numbers) else column


def joined_zones(*zones: Zone) -> Zone:
    """What is said of all times together."""
    found = {*zones} - {""}
    return "both" if len(found) > 1 else next(iter(found), "")


def _seconds(value: datetime.timedelta | datetime.time | np.timedelta64) -> float:
    """A duration, or a time of day since midnight, in seconds."""
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, datetime.time):
        return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6
    nanoseconds = getattr(value, "nanoseconds", 0)  # pandas' have them
    return value.total_seconds() if not nanoseconds else value / datetime.timedelta(seconds=1)


def _is_special(kind: type) -> bool:
    """Whether values of a type are read as another: see :func:`_as_plain`."""
    special = (datetime.timedelta, np.timedelta64, datetime.time, bytes)
    return issubclass(kind, special) or kind.__name__ in ("Period", "Interval")


def _as_plain(value: Any) -> Any:
    """Durations and times of day as seconds, bytes and intervals as strings, periods as the date
    they begin; other values, and missing values, as they are."""
    if not _is_special(type(value)) or is_missing(value):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if type(value).__name__ == "Interval":
        return str(value)
    if type(value).__name__ == "Period":
        return value.start_time
    return _seconds(value)


def date_of_days(days: float) -> datetime.datetime | None:
    """The date and time that is so many days after 1970 began; None for NaN. Days outside
    the years 1 to 9999 give the nearest date."""
    if days != days:
        return None
    first, last = ((end - EPOCH).total_seconds() / DAY for end in ENDS)
    if not first <= days <= last:
        return ENDS[days > 0.0]
    return EPOCH + datetime.timedelta(days=days)


def days_of_text(text: str) -> float | None:
    """A date or time in ISO 8601 as days since 1970; None if the string is not a date."""
    try:
        return days_of(datetime.datetime.fromisoformat(text))
    except ValueError:
        return None


def seconds_of_text(text: str) -> float | None:
    """A time of day, such as 07:30 or 07:30:15, as seconds since midnight; None if the string is
    not one."""
    if not TIME_OF_DAY.fullmatch(text):
        return None
    try:
        return _seconds(datetime.time.fromisoformat(text.rjust(5, "0")))
    except ValueError:
        return None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if value is None:
        return True
    if isinstance(value, decimal.Decimal) and value.is_snan():
        raise ValueError(
            "a column holds a signalling NaN, Decimal('sNaN'), which stands for an error: correct "
            "it, or give None for a missing value"
        )
    # NaN, NaT and decimal NaN differ from themselves; pd.NA says neither
    same = value == value
    return same is False or (same is not True and type(value).__name__ == "NAType")


def _kind(value: Any) -> str | None:
    """What a value is called; None where it is not a scalar that is read."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, numbers.Integral):
        return "integer"
    if isinstance(value, numbers.Real | decimal.Decimal):
        return "float"
    if isinstance(value, datetime.date):
        return "date"
    if isinstance(value, np.datetime64):
        return "date"
    return None


def _no_scalar(value: Any, where: str) -> ValueError:
    """What is said of a value that is not read."""
    return ValueError(
        f"{where} holds {value!r}, a {type(value).__name__}: columns hold numbers, strings, "
        "booleans, dates, times and durations. Unpack or leave out the column, or make strings of "
        "its values."
    )


def _number(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float((value - np.datetime64(0, "D")) / np.timedelta64(1, "s")) / DAY
    if isinstance(value, datetime.date):
        return days_of(value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            f"a column holds a number ({type(value).__name__}) too large for float64, which ends "
            "at about 1.8e308: rescale it, or give it as a string"
        ) from None


def as_text(value: Any) -> str:
    """A value of any scalar kind as a level."""
    if type(value) is str:  # nearly all are
        return value
    if type(value).__name__ != "Period":  # whose text says how long it is
        value = _as_plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Integral) and abs(int(value)) < LARGEST:
        return str(int(value))
    if isinstance(value, numbers.Real | decimal.Decimal):
        number = _number(value)
        return text_of_number(number) if np.isfinite(number) else str(number)
    if isinstance(value, datetime.date | np.datetime64):
        return text_of_days(_number(value))
    return str(value)


def as_scalar(value: Any) -> float | str | tuple[float] | None:
    """A value of any scalar kind as a number, a string, a missing value, or for a date its number
    in a tuple.

    Raises
    ------
    ValueError
        If it is not a scalar.
    """
    if is_missing(value):
        return None
    value = _as_plain(value)
    kind = _kind(value)
    if kind is None:
        raise _no_scalar(value, "a row")
    if kind in ("text", "boolean"):
        return as_text(value)
    return (_number(value),) if kind == "date" else _number(value)


def read_objects(
    values: Sequence[Any] | NDArray[Any], name: str, left_out: Container[str] = ()
) -> Column:
    """A column of Python objects; where it cannot be read, empty if it is one of those left out.
    One that holds no scalar, but lists, dicts, arrays or other objects, is :class:`Nested`.

    Other parameters are those of :func:`read_values`.
    """
    try:
        return read_values(values, name)
    except ValueError as error:
        if name in left_out:
            return Empty(len(values))
        held = [value for value in values if not is_missing(value)]
        if not any(isinstance(value, complex) or _kind(_as_plain(value)) for value in held):
            return Nested(len(values), str(error), type(held[0]).__name__)
        raise


def read_value(value: Any, name: str, left_out: Container[str] = ()) -> Column:
    """A column of one Python object, as :func:`read_objects` reads it; nearly all are of Python's
    own types."""
    kind = type(value)
    if kind is str:
        return Strings(np.zeros(1, dtype=np.int32), [value], "text")
    if kind is float:
        return Numbers(np.array([value]), "float") if value == value else Empty(1)
    if kind is int and -EXACT < value < EXACT:
        return Numbers(np.array([float(value)]), "integer")
    return Empty(1) if value is None else read_objects([value], name, left_out)


def read_values(values: Sequence[Any] | NDArray[Any], name: str) -> Column:
    """A column of Python objects.

    Durations and times of day are numbers, in seconds; periods are the dates they begin; bytes are
    strings, as UTF-8, and so are intervals.
    None, NaN, NaT and NA are missing values. Only numbers (or only dates) make a column of numbers,
    only booleans one of two levels; numbers among strings or booleans stay numbers, in a column of
    both. Dates among other values are strings, but marked :data:`WITH_DATES`: only a column that is
    declared as levels may hold them.

    Raises
    ------
    ValueError
        If a value is not a scalar.
    """
    objects = values.tolist() if isinstance(values, np.ndarray) else list(values)
    types = set(map(type, objects))
    if str in types and types <= {str, type(None)}:  # nearly all are
        levels = [level for level in dict.fromkeys(objects) if level is not None]
        rank = {None: -1} | {level: i for i, level in enumerate(levels)}
        codes = np.fromiter(map(rank.__getitem__, objects), np.int32, count=len(objects))
        return Strings(codes, levels, "text")
    span = None
    if any(map(_is_special, types)):
        held = {type(value) for value in objects if not is_missing(value)}
        spans = (n for n, types in SPANS.items() if all(issubclass(k, types) for k in held))
        span = next(spans, None)  # what a column of nothing but these is called
        objects = list(map(_as_plain, objects))
    kind_of = [None if is_missing(v) else _kind(v) or "object" for v in objects]
    kinds = {kind for kind in kind_of if kind is not None}
    if not kinds:
        return Empty(len(objects))
    if "object" in kinds:
        row = kind_of.index("object")
        raise _no_scalar(objects[row], f"row {row}, column {name!r}")
    numeric = kinds & NUMERIC
    if kinds == {"date"}:
        zone = joined_zones(*{zone_of(v) for v in objects if not is_missing(v)})
        if zone == "both":
            warn_user(ZONES.format(name=name), ZoneWarning)
        values = _as_numbers(objects, [kind is None for kind in kind_of])
        return Numbers(values, "date", zone_given=zone)
    if numeric and "date" not in kinds:
        other = [kind not in NUMERIC for kind in kind_of]
        what = "float" if "float" in numeric else "integer"
        array = _as_numbers(objects, other)
        exact = "integer" not in numeric or not (np.abs(array) >= EXACT).any()
        exact_text = None if exact else _as_strings(objects, other, what)
        numbers = Numbers(array, span or what, exact_text)
        if kinds <= NUMERIC:
            return numbers
        no_text = [kind is None or kind in NUMERIC for kind in kind_of]
        return Mixed(numbers, _as_strings(objects, no_text, "mixed"))
    what = kinds.pop() if len(kinds) == 1 else WITH_DATES if "date" in kinds else "mixed"
    return _as_strings(objects, [kind is None for kind in kind_of], what)


def _as_numbers(objects: list[Any], missing: list[bool]) -> NDArray[np.float64]:
    """Objects as numbers, NaN where there is a missing value."""
    return np.array(
        [
            np.nan if is_missing else _number(v)
            for v, is_missing in zip(objects, missing, strict=True)
        ],
        dtype=np.float64,
    )


def _as_strings(objects: list[Any], missing: list[bool], what: str) -> Strings:
    """Objects as levels."""
    rank: dict[str, int] = {}
    codes = np.fromiter(
        (
            -1 if is_missing else rank.setdefault(as_text(v), len(rank))
            for v, is_missing in zip(objects, missing, strict=True)
        ),
        dtype=np.int32,
        count=len(objects),
    )
    return Strings(codes, list(rank), what)


def read_array(values: NDArray[Any], name: str, left_out: Container[str] = ()) -> Column:
    """One column of an array; `left_out` as in :func:`read_objects`."""
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind == "b":
        return Strings(values.astype(np.int32), ["False", "True"], "boolean")
    if kind in "iu":
        return Numbers(values, "integer")
    if kind == "f":
        return Numbers(values if values.dtype.itemsize in (4, 8) else values.astype(float), "float")
    if kind == "M":
        seconds = values.astype("datetime64[us]").astype(np.float64) / 1e6
        return Numbers(np.where(np.isnat(values), np.nan, seconds / 86400.0), "date")
    if kind == "m":
        return Numbers(values / np.timedelta64(1, "s"), "duration")
    return read_objects(values, name, left_out)


def without_views(column: Any) -> Any:
    """A column, or a copy where it is one of views of strings and pyarrow is older than 25: there
    the process ends where views of short strings are handed to another library."""
    if str(getattr(column, "type", None)) == "string_view":
        import pyarrow as pa

        if int(pa.__version__.split(".", 1)[0]) < 25:
            return column.cast(pa.large_string())
    return column


def read_strings(columns: Mapping[str, Any], threads: int) -> dict[str, Column]:
    """Columns of strings by name, as Strings; Empty where no row has a string.

    Parameters
    ----------
    columns : mapping of str to object with ``__arrow_c_stream__``
        Strings of any layout that Arrow knows.
    threads : int
        Columns that are read at a time.

    Returns
    -------
    dict of str to Strings or Empty
        Levels are in order of appearance.
    """
    streams = [without_views(column).__arrow_c_stream__() for column in columns.values()]
    read = _kernels.encode_strings(streams, threads)
    return {
        name: Strings(codes, levels, "text") if levels else Empty(len(codes))
        for name, (codes, levels) in zip(columns, read, strict=True)
    }
