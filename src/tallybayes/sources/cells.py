"""Columns of any type as one of few kinds, the same in every batch.

Each cell of an undeclared column is a number or a string independently of other cells ("number or
text"), so the size of a batch does not matter. The kind of the column is decided when the tally is
read. Dates are a kind of column: all of its values are dates. So are times of day, which are read
as the seconds since midnight.

A cell that does not fit the kind of its column raises :class:`Misfit`. Strings are stripped of
surrounding space; those in the list of missing values are missing values in every column. A level
has one spelling in every format: ``true`` and ``false`` are True and False, and a decimal number
among strings is written as the library writes numbers, so that 3.0 and 3 are one level.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.errors import SourceError, ZoneWarning, warn_user
from tallybayes.sources.contract import Part, ReadAgain, SourceColumn
from tallybayes.sources.options import DateOrder, Spelling
from tallybayes.tables.arrow import is_text
from tallybayes.tables.columns import ZONES

__all__ = [
    "Kind",
    "Misfit",
    "TextFile",
    "cells",
    "encoded_cells",
    "first_infinite",
    "is_plain",
    "kind_of",
    "parsed_as",
    "settled",
    "value_of",
]


# ---- dates and times of day as people and programs write them, as Arrow reads them ---------------
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
NAMES = [*MONTHS, *(name[:3] for name in MONTHS), "sept"]
NUMBERS = [f"{i:02}" for i in (*range(1, 13), *range(1, 13), 9)]

WORD, DAY, YEAR = r"[A-Za-z]{3,9}", r"\d{1,2}", r"\d{4}"
EITHER_YEAR = r"\d{4}|\d\d"
CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"
TIME = rf"(?:[T ](?P<time>{CLOCK})(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?P<zone>[A-Z+-].*))?)?$"
SHAPES = {
    "words": (  # Jan 01 2020, 1 January 2020, 18-Nov-21, Fri, 21 Nov 1997 09:55:06 -0600
        rf"^(?:{WORD},? )??"
        rf"(?:(?P<month1>{WORD})\.?[ -](?P<day1>{DAY}),?[ -](?P<year1>{YEAR})"
        rf"|(?P<day2>{DAY})\.?[ -](?P<month2>{WORD})\.?,?[ -](?P<year2>{EITHER_YEAR}))" + TIME
    ),
    "ctime": (  # Thu Nov 18 10:00:00 2021
        rf"^{WORD} (?P<month>{WORD}) +(?P<day>{DAY}) (?P<time>{CLOCK})"
        rf"(?: (?P<zone>[A-Z]{{1,4}}))? (?P<year>{YEAR})$"
    ),
    "year first": (  # 2020/1/31, 2020年1月31日
        rf"^(?P<year>{YEAR})[./年-](?P<month>{DAY})[./月-](?P<day>{DAY})日?" + TIME
    ),
    "year last": rf"^(?P<first>{DAY})[./-](?P<second>{DAY})[./-](?P<year>{EITHER_YEAR})" + TIME,
}
COMMENT = r" *\([^)]*\)$"  # which RFC 2822 allows at the end
UTC = r"^(?:GMT|UTC|UT)$"
TIME_OF_DAY = (
    r"^(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:\.\d+)?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?$"
)


def iso_dates(strings: Any, order: DateOrder) -> Any:
    """The same strings, dates in English words (Jan 01 2020, 18-Nov-21, those of RFC 2822 and
    ctime) and those in digits that begin with the year (2020/1/31, 2020年1月31日) as ISO dates;
    but for the order "ymd", also those in digits that end with the year (31.12.2020, 12/31/20)."""
    strings = pc.replace_substring_regex(strings, COMMENT, "")
    found = [_in_words(strings), _as_ctime(strings), _year_first(strings)]
    if order != "ymd":
        found.append(_year_last(strings, order))
    return pc.coalesce(*found, strings)


def _in_words(strings: Any) -> Any:
    parts = _Parts(strings, "words")

    def either(name: str) -> Any:
        first, second = parts[f"{name}1"], parts[f"{name}2"]
        return pc.if_else(pc.equal(first, ""), second, first)

    return _joined(_whole(either("year")), _month(either("month")), either("day"), _time(parts))


def _as_ctime(strings: Any) -> Any:
    parts = _Parts(strings, "ctime")
    time = pc.binary_join_element_wise(" ", parts["time"], _zone(parts), "")
    return _joined(parts["year"], _month(parts["month"]), parts["day"], time)


def _year_first(strings: Any) -> Any:
    parts = _Parts(strings, "year first")
    return _joined(parts["year"], _padded(parts["month"]), parts["day"], _time(parts))


def _year_last(strings: Any, order: DateOrder) -> Any:
    parts = _Parts(strings, "year last")
    day, month = ("first", "second") if order == "dmy" else ("second", "first")
    return _joined(_whole(parts["year"]), _padded(parts[month]), parts[day], _time(parts))


class _Parts:
    """The named groups of a pattern in strings; null where it does not match."""

    def __init__(self, strings: Any, shape: str) -> None:
        self._found = pc.extract_regex(strings, SHAPES[shape])

    def __getitem__(self, name: str) -> Any:
        return pc.struct_field(self._found, name)


def _month(names: Any) -> Any:
    at = pc.index_in(pc.utf8_lower(names), value_set=pa.array(NAMES))
    return pa.array(NUMBERS).take(at)


def _padded(digits: Any) -> Any:
    return pc.utf8_lpad(digits, 2, "0")


def _whole(year: Any) -> Any:
    """Years of two digits as those from 1969 to 2068, the rule of POSIX."""
    century = pc.if_else(pc.less(year, "69"), "20", "19")
    long = pc.binary_join_element_wise(century, year, "")
    return pc.if_else(pc.equal(pc.utf8_length(year), 2), long, year)


def _time(parts: _Parts) -> Any:
    """The time with its zone, after a blank; nothing where there is none."""
    time, half = parts["time"], pc.utf8_lower(parts["half"])
    padded = pc.if_else(pc.equal(pc.find_substring(time, ":"), 1), _prefixed("0", time), time)
    hour = pc.utf8_slice_codeunits(padded, 0, 2)
    by_twelve = pa.array([f"{i:02}" for i in (12, *range(1, 12))])
    at = pc.index_in(hour, value_set=by_twelve)  # null beyond twelve, and so is the date
    at = pc.if_else(pc.equal(half, "p"), pc.add(at, 12), at)
    of_day = pc.binary_join_element_wise(
        pa.array([f"{i:02}" for i in range(24)]).take(at),
        pc.utf8_slice_codeunits(padded, 2, None),
        "",
    )
    time = pc.if_else(pc.equal(half, ""), padded, of_day)
    whole = pc.binary_join_element_wise(_prefixed(" ", time), _zone(parts), "")
    return pc.if_else(pc.equal(parts["time"], ""), "", whole)


def _prefixed(sign: str, strings: Any) -> Any:
    return pc.binary_join_element_wise(sign, strings, "")


def _zone(parts: _Parts) -> Any:
    return pc.replace_substring_regex(parts["zone"], UTC, "Z")


def _joined(year: Any, month: Any, day: Any, time: Any) -> Any:
    date = pc.binary_join_element_wise(year, month, _padded(day), "-")
    return pc.binary_join_element_wise(date, time, "")


def seconds_of_day(strings: Any) -> Any:
    """Times of day, such as 07:30 and 7:30:15 PM, as seconds since midnight; null where a string is
    none."""
    parts = pc.extract_regex(strings, TIME_OF_DAY)
    hour, minute, second, half = (
        pc.struct_field(parts, name) for name in ("hour", "minute", "second", "half")
    )
    second = pc.if_else(pc.equal(second, ""), "0", second).cast(pa.float64())
    hour, half = hour.cast(pa.int64()), pc.utf8_lower(half)
    plain = pc.equal(half, "")
    of_twelve = pc.and_(pc.greater(hour, 0), pc.less_equal(hour, 12))
    is_time = pc.if_else(plain, pc.less(hour, 24), of_twelve)
    from_noon = pc.if_else(pc.equal(half, "p"), 12, 0)
    twelve_is_0 = pc.if_else(pc.equal(hour, 12), 0, hour)
    hour = pc.if_else(plain, hour, pc.add(twelve_is_0, from_noon))
    minutes = pc.add(pc.multiply(hour, 60), minute.cast(pa.int64()))
    seconds = pc.add(pc.multiply(minutes.cast(pa.float64()), 60.0), second)
    return pc.if_else(is_time, seconds, pa.scalar(None, pa.float64()))


# ---- cells as numbers, dates or levels -----------------------------------------------------------
Kind = Literal["number", "date", "time", "text", "number or date", "number or text"]
"""A column's kind. "number" and "text" are for columns that are declared so, and "number or date"
is one whose family is for numbers, before its first value. Times of day are numbers: the seconds
since midnight."""

NUMBER = pa.float64()
LEVELS = pa.dictionary(pa.int32(), pa.string())
BOTH = pa.struct([("number", NUMBER), ("text", LEVELS)])
"""A column with numbers and strings, of which each row has one at most. The library reads it as
both."""

TEXT = pa.string()
TRIED_CELLS = 64  # cells that are parsed first: Arrow takes long to fail on many
ZONED = r":\d\d[0-9.]*(Z|[+-]\d\d(:?\d\d)?)$"  # a time of day with a zone
MICROSECONDS = 86_400_000_000  # a day
TRUTH = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


class Misfit(Exception):
    """A cell that does not fit: `row` of the batch in `column` holds `value`."""

    column: str
    kind: Kind
    row: int
    value: str

    def __init__(self, column: str, kind: Kind, row: int, value: str) -> None:
        super().__init__(f"column {column!r} holds {value!r}, which is not a {kind}")
        self.column, self.kind, self.row, self.value = column, kind, row, value


def _is_date(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _stripped(column: Any, spelling: Spelling) -> Any:
    """Strings without surrounding space, missing values as nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    column = pc.utf8_trim_whitespace(column)
    missing = pa.array(list(spelling.missing), pa.string())
    return pc.if_else(pc.is_in(column, value_set=missing), pa.scalar(None, pa.string()), column)


def _dates(strings: Any, spelling: Spelling) -> Any:
    """Strings as points in time; those with a zone, of which Z is one, in UTC, and so are those
    beside them."""
    try:
        return strings.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        strings = iso_dates(strings, spelling.dates)
    zoned = pc.match_substring_regex(strings, ZONED)
    none = pa.scalar(None, pa.string())
    there = pc.if_else(zoned, strings, none).cast(pa.timestamp("us", "UTC"))
    others = pc.if_else(zoned, none, strings).cast(pa.timestamp("us"))
    if there.null_count == len(there):
        return others
    return pc.coalesce(there, others.cast(there.type))


def _times(strings: Any) -> Any:
    """Strings as times of day, in seconds."""
    seconds = seconds_of_day(strings)
    if seconds.null_count > strings.null_count:
        raise pa.ArrowInvalid("a string that is not a time of day")
    return seconds


def _ungrouped(strings: Any, spelling: Spelling) -> Any:
    """Numbers without signs of thousands, where these stand between groups of three digits."""
    if spelling.thousands is None:
        return strings
    shapes = {" ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
    sign = shapes.get(spelling.thousands, re.escape(spelling.thousands))
    shape = rf"^[+-]?[0-9]{{1,3}}({sign}[0-9]{{3}})+({re.escape(spelling.decimal)}[0-9]*)?$"
    grouped = pc.match_substring_regex(strings, shape)
    return pc.if_else(grouped, pc.replace_substring_regex(strings, sign, ""), strings)


def _cast(strings: Any, kind: Kind, spelling: Spelling) -> Any:
    if kind == "date":
        return _dates(strings, spelling)
    if kind == "time":
        return _times(strings)
    strings = _ungrouped(strings, spelling)
    if spelling.decimal == ",":
        strings = pc.replace_substring(pc.replace_substring(strings, ".", "no point"), ",", ".")
    return strings.cast(pa.float64())


def _parsed(strings: Any, kind: Kind, name: str, spelling: Spelling) -> Any:
    """Strings as numbers or dates; raises Misfit with the first that is none."""
    try:
        return _cast(strings, kind, spelling)
    except pa.ArrowInvalid:
        low, high = 0, len(strings)  # the first misfit is in [low, high)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                _cast(strings.slice(low, middle - low), kind, spelling)
                low = middle
            except pa.ArrowInvalid:
                high = middle
        raise Misfit(name, kind, low, strings[low].as_py()) from None


def as_strings(column: Any, spelling: Spelling) -> Any:
    """Any column as strings; numbers without a needless ".0"."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "True", "False")
    if pa.types.is_integer(kind):
        return column.cast(pa.string())  # digit by digit: identifiers may exceed 2^53
    if _is_number(kind):
        # the package imports what is slow, and an error should come at once
        from tallybayes.tables.columns import Numbers, strings_of

        numbers = column.cast(pa.float64(), safe=False)
        strings = strings_of(Numbers(numbers.to_numpy(zero_copy_only=False), "float"))
        codes = pa.array(strings.codes, mask=strings.codes < 0)
        levels = pa.array(strings.levels, pa.string())
        return pa.DictionaryArray.from_arrays(codes, levels).cast(pa.string())
    return _stripped(column, spelling)


def _spelt(strings: Any, spelling: Spelling) -> Any:
    """Encoded strings with one spelling a level."""
    levels, sign = strings.dictionary, re.escape(spelling.decimal)
    truth = pc.is_in(levels, value_set=pa.array(list(TRUTH)))
    number = pc.match_substring_regex(levels, rf"^-?(0|[1-9][0-9]*){sign}[0-9]*$")
    if not pc.any(pc.or_(truth, number)).as_py():
        return strings
    from tallybayes.tables.columns import text_of_number

    spelt = [
        text_of_number(float(level.replace(",", "."))) if is_number else TRUTH.get(level, level)
        for level, is_number in zip(levels.to_pylist(), number.to_pylist(), strict=True)
    ]
    renamed = pa.DictionaryArray.from_arrays(strings.indices, pa.array(spelt, pa.string()))
    return renamed.cast(pa.string()).dictionary_encode()


def _split(column: Any, spelling: Spelling) -> Any:
    """Strings as numbers, as levels, or as both where some cells are finite numbers."""
    strings = _stripped(column, spelling)
    try:
        _cast(strings.slice(0, TRIED_CELLS), "number", spelling)
        numbers = _cast(strings, "number", spelling)
        if strings.null_count == len(strings) or pc.all(pc.is_finite(numbers)).as_py():
            return numbers
    except pa.ArrowInvalid:
        pass
    return _split_levels(strings.dictionary_encode(), spelling)


def _split_levels(strings: Any, spelling: Spelling) -> Any:
    """Encoded strings as numbers, as levels, or as both; each level occurs."""
    levels, sign = strings.dictionary, re.escape(spelling.decimal)
    shape = rf"^[+-]?([0-9]+({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?$"
    plain = _ungrouped(levels, spelling)
    digits = pc.if_else(pc.match_substring_regex(plain, shape), plain, pa.scalar(None, TEXT))
    values = _cast(digits, "number", spelling)
    values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, NUMBER))
    if values.null_count == len(values):
        return _spelt(strings, spelling)
    numbers = values.take(strings.indices)
    others = pc.if_else(numbers.is_valid(), pa.scalar(None, pa.int32()), strings.indices)
    if others.null_count == len(others):
        return numbers
    others = pa.DictionaryArray.from_arrays(others, levels).cast(TEXT).dictionary_encode()
    others = _spelt(others, spelling)
    return pa.StructArray.from_arrays([numbers, others], fields=list(BOTH))


def value_of(cell: Any) -> Any:
    """A cell of any column as Python's: a number, a string, a date, or None."""
    value = cell.as_py()
    if not isinstance(value, dict):
        return value
    return value["number"] if value["text"] is None else value["text"]


def kind_of(column: Any, spelling: Spelling) -> Kind | None:
    """The kind that a column's cells suggest; None where there are only missing values."""
    kind = column.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return None if _stripped(column, spelling).null_count == len(column) else "text"
    if is_text(kind):
        strings = _stripped(column, spelling)
        if strings.null_count == len(strings):
            return None
        wanted: Kind
        for wanted in ("number", "date", "time"):
            try:
                _cast(strings.slice(0, TRIED_CELLS), wanted, spelling)
                _cast(strings, wanted, spelling)
            except pa.ArrowInvalid:
                continue
            return "number or text" if wanted == "number" else wanted
        return "number or text"
    if column.null_count == len(column):
        return None
    return "date" if _is_date(kind) else "number or text"


def settled(column: Any, kind: Kind | None, spelling: Spelling) -> Kind | None:
    """The kind of a column whose cells may be the first with a value."""
    if kind is None:
        return kind_of(column, spelling)
    if kind != "number or date":
        return kind
    found = kind_of(column, spelling)
    return kind if found is None else found if found in ("date", "time") else "number"


def cells(column: Any, kind: Kind | None, name: str, spelling: Spelling) -> Any:
    """A column as its kind: float64, timestamps, levels, or a struct of numbers and levels
    (:data:`BOTH`); null where nothing is known.

    Raises
    ------
    Misfit
        Where a cell is not a number, or not a date.
    """
    if kind is None or kind == "number or date" or pa.types.is_null(column.type):
        return pa.nulls(len(column))
    mixed = kind == "number or text"
    if kind == "text" or (mixed and (_is_date(column.type) or pa.types.is_boolean(column.type))):
        return _spelt(as_strings(column, spelling).dictionary_encode(), spelling)
    if _is_number(column.type) or pa.types.is_boolean(column.type):
        if kind in ("date", "time"):  # of JSON: neither is a number there
            there = pc.index(column.is_valid(), True).as_py()
            if there >= 0:
                raise Misfit(name, kind, there, str(column[there].as_py()))
        return column.cast(NUMBER, safe=False)
    if _is_date(column.type):
        return column.cast(pa.timestamp("us"), safe=False)
    if mixed:
        return _split(column, spelling)
    strings = _stripped(column, spelling)
    parsed = _parsed(strings, kind, name, spelling)
    if kind == "date" and parsed.type.tz is not None:
        zoned = pc.match_substring_regex(iso_dates(strings, spelling.dates), ZONED)
        others = parsed.filter(pc.invert(zoned)).cast(pa.int64()).drop_null().to_numpy()
        if (others % MICROSECONDS).any():  # at midnight it may be a date, which has no zone
            warn_user(ZONES.format(name=name), ZoneWarning)
    return parsed


def encoded_cells(column: Any, kind: Kind, spelling: Spelling) -> Any:
    """:func:`cells` of strings that are encoded, each level of which occurs, of a column that is
    "text" or "number or text"."""
    levels = _stripped(column.dictionary, spelling)
    if not levels.equals(column.dictionary):
        levels = levels.dictionary_encode()
        codes = levels.indices.take(column.indices)
        column = pa.DictionaryArray.from_arrays(codes, levels.dictionary)
    return _spelt(column, spelling) if kind == "text" else _split_levels(column, spelling)


def is_plain(column: Any) -> bool:
    """Whether all cells that a parser has read as numbers are finite."""
    return pc.all(pc.is_finite(column)).as_py() is not False


def parsed_as(column: Any, kind: Kind, spelling: Spelling) -> Any:
    """The type as which a parser may read more cells like those of a column of strings: numbers,
    points in time, encoded strings, or strings where neither would do."""
    if kind == "text":
        return LEVELS
    strings = _stripped(column, spelling)
    try:
        if kind == "date":
            strings.cast(pa.timestamp("us"))
            return pa.timestamp("us")
        if kind == "time":
            return TEXT
        if not _ungrouped(strings, spelling).equals(strings):
            return LEVELS  # which the parser does not take for numbers
        return NUMBER if is_plain(_cast(strings, "number", spelling)) else LEVELS
    except pa.ArrowInvalid:
        return TEXT if kind == "date" else LEVELS


def first_infinite(column: Any) -> int | None:
    """The first row of a float column that is infinite."""
    values = (
        column.to_numpy(zero_copy_only=False) if pa.types.is_floating(column.type) else np.empty(0)
    )
    found = np.flatnonzero(np.isinf(values))
    return int(found[0]) if found.size else None


# ---- base of CSV and JSON lines as sources -------------------------------------------------------
class TextFile(ABC):
    """Rows of text: a :class:`~tallybayes.sources.contract.Source` whose columns have no types.

    Parameters
    ----------
    path : str
        "-" is standard input.
    once : bool
        Whether it can be read once only.
    spelling : Spelling
        How the next reading takes strings.
    mixed : collection of str
        Columns whose cells are numbers or strings by themselves, and never dates.
    left_out : collection of str
        Columns that are not read.
    block : int
        Bytes of a part.

    Attributes
    ----------
    kinds : mapping of str to Kind or None
        The kinds of columns as the last reading has found them so far.
    """

    keeps = True

    keyed: bool
    """Whether rows may lack a column, as those of JSON lines."""

    nameless: bool
    """Whether a column has no name, and is not read."""

    def __init__(
        self,
        path: str,
        once: bool,
        spelling: Spelling,
        mixed: Collection[str],
        left_out: Collection[str],
        block: int,
    ) -> None:
        self.name: str = "standard input" if path == "-" else path
        self.once, self.spelling, self.block = once, spelling, block
        self._mixed, self._left_out = set(mixed), frozenset(left_out)
        self.kinds: Mapping[str, Kind | None] = {}
        self._columns: dict[str, SourceColumn] | None = None

    @property
    @abstractmethod
    def header(self) -> list[str]:
        """The names of the columns, before a row is read: all of CSV, and of JSON lines those of
        the first rows."""

    @abstractmethod
    def written(self) -> Iterator[Any]:
        """The rows as Arrow tables, block by block: strings as they are written, the values of JSON
        lines in their types. Only for what can be read again."""

    @abstractmethod
    def place(self, row: int) -> str:
        """A row (from 0) as people find it, such as "line 5"."""

    def columns(self) -> dict[str, SourceColumn]:
        """The columns by name."""
        if self._columns is None:
            self._columns = self._look()
        return self._columns

    @abstractmethod
    def _look(self) -> dict[str, SourceColumn]:
        """The columns by name, by the first rows."""

    @abstractmethod
    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        """The rows in their order; `kept` are columns besides, whose cells stay as they are written
        (:class:`~tallybayes.sources.contract.RowsKept`)."""

    def _read_before(self) -> SourceError:
        """What is said of what can be read only once, and has been."""
        return SourceError(
            f"{self.name} can be read only once, and has been: save it to a file first"
        )

    def _read_otherwise(self, where: str, misfit: Misfit) -> Exception:
        """What is raised for a cell that is not of its column's kind: that all is read again, the
        column as numbers and strings; of what can be read only once, what to do."""
        name = misfit.column
        if not self.once:
            self._mixed.add(name)
            return ReadAgain(where, name, misfit.value, misfit.kind)
        return SourceError(
            f"{where}: column {name!r} holds {misfit.value!r}, which is not a {misfit.kind}, "
            "unlike the rows before, and it can be read only once: declare the column as "
            f"Categorical() (--column {name}=categorical on the command line), or save the rows "
            "to a file"
        )
