"""Every type of column of pandas, polars and Arrow, and what each classifier reads it as.

:data:`COLUMN_TYPES` has a frame for each type, and :data:`KINDS` what a column of a kind is to each
classifier. Tests check each cell of the table that :func:`page` writes for the documentation.
"""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import pathlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["COLUMN_TYPES", "KINDS", "NUMBERS_AS_WORDS", "ColumnType", "Kind", "page"]

Library = Literal["pandas", "polars", "Arrow"]


class Kind(NamedTuple):
    """What a kind of columns is to the classifiers.

    Parameters
    ----------
    tables : str
        To NaiveBayes and WeightedNaiveBayes.
    lazy : str
        To LazyNaiveBayes, as a column of its source.
    arrays : str
        To the five classes of arrays.
    text : str
        To TextNB and CountVectorizer.
    """

    tables: str
    lazy: str
    arrays: str
    text: str


REFUSED = "refused"
LEFT_OUT = "left out, with a warning"
DIGITS = "numbers where all are, else refused"

KINDS: dict[str, Kind] = {
    "numbers": Kind("numbers", "numbers", "numbers", REFUSED),
    "booleans": Kind("levels", "levels", "0 and 1", REFUSED),
    "strings": Kind("levels, or text where they are prose", "levels", DIGITS, "documents"),
    "bytes": Kind("levels, as UTF-8", "levels, as UTF-8", DIGITS, "documents"),
    "categories of strings": Kind("levels", "levels", DIGITS, "documents"),
    "categories of numbers": Kind("levels", "levels", "numbers", REFUSED),
    "categories of booleans": Kind("levels", "levels", "0 and 1", REFUSED),
    "categories of dates": Kind("levels", "levels", REFUSED, REFUSED),
    "numbers and strings": Kind("numbers, and levels beside them", "levels", DIGITS, REFUSED),
    "dates": Kind("dates", "dates", REFUSED, REFUSED),
    "durations": Kind("numbers of seconds", "numbers of seconds", REFUSED, REFUSED),
    "times of day": Kind(
        "numbers, seconds since midnight", "numbers, seconds since midnight", REFUSED, REFUSED
    ),
    "intervals": Kind("levels", "levels", REFUSED, REFUSED),
    "nothing": Kind(
        "nothing yet", "nothing yet", "missing values, refused", "missing values, refused"
    ),
    "nested": Kind(LEFT_OUT, REFUSED, REFUSED, REFUSED),
    "objects": Kind(LEFT_OUT, REFUSED, REFUSED, REFUSED),
    "complex": Kind(REFUSED, REFUSED, REFUSED, REFUSED),
}
"""What each kind of columns is read as."""


@dataclass(frozen=True)
class ColumnType:
    """A type of column.

    Parameters
    ----------
    library : {"pandas", "polars", "Arrow"}
    name : str
        As the library calls it.
    kind : str
        A key of :data:`KINDS`.
    values : (value, value)
        Two different ones, objects of Python.
    hold : callable (list) -> frame
        A frame with the one column ``a`` of these values, None where one is missing.
    has_missing : bool, default=True
        Whether the type has missing values.
    plain : (value, value), optional
        What the two are read as, where these are other values of Python.
    """

    library: Library
    name: str
    kind: str
    values: tuple[Any, ...]
    hold: Callable[[list[Any]], Any]
    has_missing: bool = True
    plain: tuple[Any, ...] | None = None

    def frame(self, *, missing: bool = False) -> Any:
        """A frame of eight rows, of which row 3 has no value if `missing`."""
        return self.hold(self.cells(self.values, missing=missing))

    def cells(self, values: Sequence[Any], *, missing: bool = False) -> list[Any]:
        """The values of the rows of :meth:`frame`, if these are two values."""
        one, other = values
        return [one, other, one, None if missing else other, one, other, other, one]

    @property
    def read(self) -> tuple[Any, ...]:
        """What the two values are read as."""
        return self.values if self.plain is None else self.plain


ONE_ZERO = (1, 0)
TRUE_FALSE = (True, False)
WORDS = ("up", "to")
BYTES = (b"up", b"to")
NUMBERS_AS_WORDS = ("10", "01")
DAYS = (datetime.date(2020, 1, 2), datetime.date(2021, 3, 4))
MOMENTS = (datetime.datetime(2020, 1, 2, 12), datetime.datetime(2021, 3, 4, 6, 30))
MOMENTS_OF_UTC = tuple(moment.replace(tzinfo=datetime.UTC) for moment in MOMENTS)
HOURS = (datetime.timedelta(hours=1), datetime.timedelta(hours=3))
CLOCK = (datetime.time(1), datetime.time(3, 30))
MONEY = (decimal.Decimal("2.00"), decimal.Decimal("1.00"))
IDS = (uuid.UUID(int=1), uuid.UUID(int=2))
LISTS = ([1, 2], [3])
SIZES = (8, 16, 32, 64)
SECONDS = (3600.0, 10800.0)
SECONDS_OF_DAY = (3600.0, 12600.0)


# ---- pandas --------------------------------------------------------------------------------------
def _pandas(
    name: str, kind: str, values: tuple[Any, ...], dtype: Any = None, **more: Any
) -> ColumnType:
    dtype = name if dtype is None else dtype

    def hold(cells: list[Any]) -> Any:
        return pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})

    return ColumnType("pandas", name, kind, values, hold, **more)


def _category(name: str, kind: str, values: tuple[Any, ...], **more: Any) -> ColumnType:
    def hold(cells: list[Any]) -> Any:
        return pd.DataFrame({"a": pd.Categorical(cells)})

    return ColumnType("pandas", f"category of {name}", kind, values, hold, **more)


def _sparse(name: str, kind: str, values: tuple[Any, ...], fill: Any) -> ColumnType:
    def hold(cells: list[Any]) -> Any:
        held = [np.nan if cell is None else cell for cell in cells]
        return pd.DataFrame({"a": pd.arrays.SparseArray(held, fill_value=fill)})

    return ColumnType("pandas", name, kind, values, hold, has_missing=isinstance(fill, float))


def _intervals(cells: list[Any]) -> Any:
    return pd.DataFrame({"a": pd.arrays.IntervalArray.from_tuples(cells)})


STRINGS_BY_NUMBER = pa.dictionary(pa.int32(), pa.string())
OF_PANDAS = [
    *(
        _pandas(f"{sign}int{bits}", "numbers", ONE_ZERO, has_missing=False)
        for sign in ("", "u")
        for bits in SIZES
    ),
    *(_pandas(f"float{bits}", "numbers", ONE_ZERO) for bits in (16, 32, 64)),
    _pandas("longdouble", "numbers", ONE_ZERO),
    *(_pandas(f"{s}{bits}", "numbers", ONE_ZERO) for s in ("Int", "UInt") for bits in SIZES),
    _pandas("Float32", "numbers", ONE_ZERO),
    _pandas("Float64", "numbers", ONE_ZERO),
    _pandas("bool", "booleans", TRUE_FALSE, has_missing=False),
    _pandas("boolean", "booleans", TRUE_FALSE),
    _pandas("complex128", "complex", (1j, 2j), has_missing=False),
    _pandas("str", "strings", WORDS),
    _pandas("string[python]", "strings", WORDS),
    _pandas("string[pyarrow]", "strings", WORDS),
    _category("strings", "categories of strings", WORDS),
    _category("int64", "categories of numbers", ONE_ZERO),
    _category("float64", "categories of numbers", (1.0, 0.0), plain=("1", "0")),
    _category("bool", "categories of booleans", TRUE_FALSE),
    _category(
        "datetime64", "categories of dates", MOMENTS,
        plain=("2020-01-02T12:00:00", "2021-03-04T06:30:00"),
    ),
    *(_pandas(f"datetime64[{unit}]", "dates", MOMENTS) for unit in ("s", "ms", "us", "ns")),
    _pandas(
        "datetime64[ns, tz]",
        "dates",
        tuple(pd.Timestamp(m, tz="Asia/Tokyo") for m in MOMENTS),
        "datetime64[ns, Asia/Tokyo]",
    ),
    *(
        _pandas(f"timedelta64[{unit}]", "durations", HOURS, plain=SECONDS)
        for unit in ("s", "ms", "us", "ns")
    ),
    _pandas(
        "period[M]",
        "dates",
        (pd.Period("2020-01", "M"), pd.Period("2021-03", "M")),
        plain=(datetime.date(2020, 1, 1), datetime.date(2021, 3, 1)),
    ),
    ColumnType(
        "pandas", "interval[float64]", "intervals", ((0.0, 1.5), (1.5, 2.5)), _intervals,
        plain=("(0.0, 1.5]", "(1.5, 2.5]"),
    ),
    _sparse("Sparse[float64]", "numbers", (1.0, 0.0), np.nan),
    _sparse("Sparse[int64]", "numbers", ONE_ZERO, 0),
    _sparse("Sparse[bool]", "booleans", TRUE_FALSE, fill=False),
    _pandas("object of int", "numbers", ONE_ZERO, object),
    _pandas("object of bool", "booleans", TRUE_FALSE, object),
    _pandas("object of str", "strings", WORDS, object),
    _pandas("object of bytes", "bytes", BYTES, object, plain=WORDS),
    _pandas("object of Decimal", "numbers", MONEY, object),
    _pandas("object of date", "dates", DAYS, object),
    _pandas("object of timedelta", "durations", HOURS, object, plain=SECONDS),
    _pandas("object of time", "times of day", CLOCK, object, plain=SECONDS_OF_DAY),
    _pandas("object of int and str", "numbers and strings", (10, "up"), object),
    _pandas("object of None", "nothing", (None, None), object),
    _pandas("object of UUID", "objects", IDS, object),
    _pandas("object of Path", "objects", tuple(map(pathlib.PurePosixPath, "ab")), object),
    _pandas("object of IPv4Address", "objects", tuple(map(ipaddress.IPv4Address, (1, 2))), object),
    _pandas("object of list", "nested", LISTS, object),
    *(
        _pandas(f"{name}[pyarrow]", kind, values, pd.ArrowDtype(dtype), plain=plain)
        for name, kind, values, dtype, plain in (
            ("int64", "numbers", ONE_ZERO, pa.int64(), None),
            ("halffloat", "numbers", ONE_ZERO, pa.float16(), None),
            ("double", "numbers", ONE_ZERO, pa.float64(), None),
            ("bool", "booleans", TRUE_FALSE, pa.bool_(), None),
            ("large_string", "strings", WORDS, pa.large_string(), None),
            ("binary", "bytes", BYTES, pa.binary(), WORDS),
            ("decimal128(9, 2)", "numbers", MONEY, pa.decimal128(9, 2), None),
            ("date32", "dates", DAYS, pa.date32(), None),
            ("timestamp[us]", "dates", MOMENTS, pa.timestamp("us"), None),
            ("duration[ns]", "durations", HOURS, pa.duration("ns"), SECONDS),
            ("time64[us]", "times of day", CLOCK, pa.time64("us"), SECONDS_OF_DAY),
            ("dictionary of string", "categories of strings", WORDS, STRINGS_BY_NUMBER, None),
            ("list of int64", "nested", LISTS, pa.list_(pa.int64()), None),
        )
    ),
]  # fmt: skip


# ---- polars --------------------------------------------------------------------------------------
def _polars(
    name: str, kind: str, values: tuple[Any, ...], dtype: Any = None, **more: Any
) -> ColumnType:
    dtype = getattr(pl, name) if dtype is None else dtype

    def hold(cells: list[Any]) -> Any:
        return pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})

    return ColumnType("polars", name, kind, values, hold, **more)


LEVELS_OF_ENUM = pl.Enum(["of", *WORDS[::-1], *NUMBERS_AS_WORDS])
OF_POLARS = [
    *(
        _polars(f"{s}{bits}", "numbers", ONE_ZERO)
        for s in ("Int", "UInt")
        for bits in (8, 16, 32, 64, 128)
    ),
    *(_polars(f"Float{bits}", "numbers", ONE_ZERO) for bits in (16, 32, 64)),
    _polars("Decimal", "numbers", MONEY, pl.Decimal(9, 2)),
    _polars("Boolean", "booleans", TRUE_FALSE),
    _polars("String", "strings", WORDS),
    _polars("Categorical", "categories of strings", WORDS),
    _polars("Enum", "categories of strings", WORDS, LEVELS_OF_ENUM),
    _polars("Binary", "bytes", BYTES, plain=WORDS),
    _polars("Date", "dates", DAYS),
    *(_polars(f"Datetime('{u}')", "dates", MOMENTS, pl.Datetime(u)) for u in ("ms", "us", "ns")),
    _polars(
        "Datetime('us', tz)",
        "dates",
        MOMENTS_OF_UTC,
        pl.Datetime("us", "UTC"),
    ),
    *(
        _polars(f"Duration('{u}')", "durations", HOURS, pl.Duration(u), plain=SECONDS)
        for u in ("ms", "us", "ns")
    ),
    _polars("Time", "times of day", CLOCK, plain=SECONDS_OF_DAY),
    _polars("Null", "nothing", (None, None)),
    _polars("List", "nested", LISTS, pl.List(pl.Int64)),
    _polars("Array", "nested", ([1, 2], [3, 4]), pl.Array(pl.Int64, 2)),
    _polars("Struct", "nested", ({"f": 1}, {"f": 2}), pl.Struct({"f": pl.Int64})),
    _polars("Object", "objects", IDS),
]  # fmt: skip


# ---- Arrow ---------------------------------------------------------------------------------------
def _arrow(
    kind: str, values: tuple[Any, ...], dtype: Any, name: str = "", **more: Any
) -> ColumnType:
    def hold(cells: list[Any]) -> Any:
        return pa.table({"a": pa.array(cells, dtype)})

    return ColumnType("Arrow", name or str(dtype), kind, values, hold, **more)


def _dictionary(kind: str, values: tuple[Any, ...], dtype: Any, **more: Any) -> ColumnType:
    def hold(cells: list[Any]) -> Any:
        distinct = [*dict.fromkeys(cell for cell in cells if cell is not None)]
        places = pa.array([None if c is None else distinct.index(c) for c in cells], pa.int32())
        return pa.table({"a": pa.DictionaryArray.from_arrays(places, pa.array(distinct, dtype))})

    return ColumnType("Arrow", f"dictionary of {dtype}", kind, values, hold, **more)


def _null_in_dictionary(cells: list[Any]) -> Any:
    distinct = [*dict.fromkeys([*cells, None])]
    places = pa.array(map(distinct.index, cells), pa.int32())
    return pa.table({"a": pa.DictionaryArray.from_arrays(places, pa.array(distinct))})


def _extension(
    name: str, dtype: Any, storage: Any, kind: str, values: tuple[Any, ...], **more: Any
) -> ColumnType:
    def hold(cells: list[Any]) -> Any:
        held = [cell.bytes if isinstance(cell, uuid.UUID) else cell for cell in cells]
        array = pa.ExtensionArray.from_storage(dtype, pa.array(held, storage))
        return pa.table({"a": array})

    return ColumnType("Arrow", name, kind, values, hold, **more)


def _run_ends(cells: list[Any]) -> Any:
    ends = pa.array(range(1, len(cells) + 1), pa.int32())
    return pa.table({"a": pa.RunEndEncodedArray.from_arrays(ends, pa.array(cells, pa.int64()))})


OF_ARROW = [
    *(
        _arrow("numbers", ONE_ZERO, getattr(pa, f"{sign}int{bits}")())
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    ),
    *(_arrow("numbers", ONE_ZERO, getattr(pa, f"float{bits}")()) for bits in (16, 32, 64)),
    *(
        _arrow("numbers", MONEY, getattr(pa, f"decimal{bits}")(digits, 2))
        for bits, digits in ((32, 5), (64, 9), (128, 9), (256, 40))
    ),
    _arrow("booleans", TRUE_FALSE, pa.bool_()),
    *(_arrow("strings", WORDS, t) for t in (pa.string(), pa.large_string(), pa.string_view())),
    *(
        _arrow("bytes", BYTES, dtype, plain=WORDS)
        for dtype in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))
    ),
    _arrow("dates", DAYS, pa.date32()),
    _arrow("dates", DAYS, pa.date64()),
    *(_arrow("dates", MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    _arrow("dates", MOMENTS_OF_UTC, pa.timestamp("us", "UTC")),
    *(
        _arrow("durations", HOURS, pa.duration(unit), plain=SECONDS)
        for unit in ("s", "ms", "us", "ns")
    ),
    *(
        _arrow("times of day", CLOCK, dtype, plain=SECONDS_OF_DAY)
        for dtype in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    ),
    _dictionary("categories of strings", WORDS, pa.string()),
    ColumnType(
        "Arrow", "dictionary with a null", "categories of strings", WORDS, _null_in_dictionary
    ),
    _dictionary("categories of numbers", ONE_ZERO, pa.int64()),
    _dictionary("categories of numbers", MONEY, pa.decimal128(9, 2), plain=("2", "1")),
    _dictionary("categories of booleans", TRUE_FALSE, pa.bool_()),
    _dictionary("categories of dates", DAYS, pa.date32(), plain=("2020-01-02", "2021-03-04")),
    _arrow("nothing", (None, None), pa.null()),
    ColumnType("Arrow", "run_end_encoded of int64", "numbers", ONE_ZERO, _run_ends),
    _extension("arrow.bool8", pa.bool8(), pa.int8(), "booleans", ONE_ZERO, plain=TRUE_FALSE),
    _extension("arrow.json", pa.json_(pa.string()), pa.string(), "strings", WORDS),
    _extension("arrow.uuid", pa.uuid(), pa.binary(16), "objects", IDS),
    _arrow("nested", ((1, 2, 3), (2, 3, 4)), pa.month_day_nano_interval()),
    _arrow("nested", LISTS, pa.list_(pa.int64()), "list"),
    _arrow("nested", ({"f": 1}, {"f": 2}), pa.struct({"f": pa.int64()}), "struct"),
    _arrow("nested", ([("k", 1)], [("k", 2)]), pa.map_(pa.string(), pa.int64()), "map"),
]  # fmt: skip

COLUMN_TYPES: list[ColumnType] = [*OF_PANDAS, *OF_POLARS, *OF_ARROW]
"""The types of columns of the three libraries."""


# ---- the page ------------------------------------------------------------------------------------
HEAD = (
    "# What a column is read as",
    "`tools/column_types.py` writes this page from `tests/estimators/containers/column_types.py`, "
    "and tests check each cell, with and without a missing value, for learning and predicting.",
    "A missing value of any type is missing: `NaiveBayes`, `WeightedNaiveBayes` and "
    "`LazyNaiveBayes` leave it out of the product, the classes of arrays refuse it as NaN by row "
    "and column, and `TextNB` and `CountVectorizer` refuse it by the number of the document. "
    "Whatever else is refused is named by its column, and by row and value where a value is at "
    "fault.",
    "- Strings that are numbers are numbers to the classes of arrays (`GaussianNB`, "
    "`MultinomialNB`, `ComplementNB`, `BernoulliNB`, `CategoricalNB`), in every type that holds "
    "strings. `CategoricalNB(levels=…)` takes values of any type, as they are declared.\n"
    "- Dates and times with a zone are read as UTC, and those without one as if they were UTC; "
    "where both meet in a column, in training or between training and prediction, a `ZoneWarning` "
    "says so. Periods are the dates they begin.\n"
    "- Columns that are left out are refused where `columns=` names them, and in rows as dicts.",
)


def page() -> str:
    """The page of the documentation, as Markdown."""
    parts = [*HEAD]
    for library in ("pandas", "polars", "Arrow"):
        parts += [f"## {library}", _table([t for t in COLUMN_TYPES if t.library == library])]
    return "\n\n".join(parts) + "\n"


def _table(types: Sequence[ColumnType]) -> str:
    """Types that are read alike share a line."""
    together: dict[tuple[str, ...], list[str]] = {}
    for one in types:
        together.setdefault(KINDS[one.kind], []).append(f"`{one.name}`")
    head = (
        "| type | `NaiveBayes`, `WeightedNaiveBayes` | `LazyNaiveBayes` | classes of arrays "
        "| `TextNB`, `CountVectorizer` |"
    )
    rows = [f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in together.items()]
    return "\n".join([head, "|---|---|---|---|---|", *rows])
