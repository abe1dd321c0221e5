"""Dates and times of day as people and programs write them, as Arrow reads them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.sources.text_files.options import DateOrder

__all__ = ["iso_dates", "seconds_of_day"]

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
    "year first": rf"^(?P<year>{YEAR})[./-](?P<month>{DAY})[./-](?P<day>{DAY})" + TIME,
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
    ctime) and those in digits that begin with the year (2020/1/31) as ISO dates; but for the order
    "ymd", also those in digits that end with the year (31.12.2020, 12/31/20)."""
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
