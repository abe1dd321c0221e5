"""One column from its values: of an array, of strings in Arrow's buffers, or Python objects.

pandas, polars and pyarrow keep strings in such buffers. The types of its objects decide how a
column of objects is read.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import ZoneWarning, warn_user
from tallybayes.tables.columns import (
    EXACT,
    LARGEST,
    Column,
    Empty,
    Mixed,
    Nested,
    Numbers,
    Strings,
    text_of_days,
    text_of_number,
)

__all__ = [
    "EPOCH",
    "TIMES",
    "WITH_DATES",
    "as_scalar",
    "as_text",
    "date_of_days",
    "days_of",
    "days_of_text",
    "is_missing",
    "not_a_table",
    "read_array",
    "read_objects",
    "read_strings",
    "read_value",
    "seconds_of_text",
    "without_views",
]


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


def _span(values: Sequence[Any]) -> str | None:
    """What a column of nothing but durations, or times of day, is called; None for others."""
    held = {type(value) for value in values if not is_missing(value)}
    found = (n for n, types in SPANS.items() if all(issubclass(kind, types) for kind in held))
    return next(found, None)


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
    span = None
    if any(map(_is_special, set(map(type, objects)))):
        span = _span(objects)
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
        _warn_of_zones(objects, name)
        return Numbers(_numbers(objects, [kind is None for kind in kind_of]), "date")
    if numeric and "date" not in kinds:
        other = [kind not in NUMERIC for kind in kind_of]
        what = "float" if "float" in numeric else "integer"
        array = _numbers(objects, other)
        exact = "integer" not in numeric or not (np.abs(array) >= EXACT).any()
        exact_text = None if exact else _strings(objects, other, what)
        numbers = Numbers(array, span or what, exact_text)
        if kinds <= NUMERIC:
            return numbers
        no_text = [kind is None or kind in NUMERIC for kind in kind_of]
        return Mixed(numbers, _strings(objects, no_text, "mixed"))
    what = kinds.pop() if len(kinds) == 1 else WITH_DATES if "date" in kinds else "mixed"
    return _strings(objects, [kind is None for kind in kind_of], what)


def _warn_of_zones(values: list[Any], name: str) -> None:
    """Warns of times with a zone among times without one."""
    times = (v for v in values if isinstance(v, datetime.datetime) and not is_missing(v))
    if len({value.tzinfo is None for value in times}) > 1:
        warn_user(
            f"column {name!r} holds times with a time zone and times without one, which are read "
            "as UTC: give all of them a zone, or none",
            ZoneWarning,
        )


def _numbers(objects: list[Any], missing: list[bool]) -> NDArray[np.float64]:
    """Objects as numbers, NaN where there is a missing value."""
    return np.array(
        [
            np.nan if is_missing else _number(v)
            for v, is_missing in zip(objects, missing, strict=True)
        ],
        dtype=np.float64,
    )


def _strings(objects: list[Any], missing: list[bool], what: str) -> Strings:
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
