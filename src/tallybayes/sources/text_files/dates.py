"""Dates in words and in other orders as ISO dates, which Arrow reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.sources.text_files.options import DateOrder

__all__ = ["iso_dates"]

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
NAMES = [*MONTHS, *(name[:3] for name in MONTHS), "sept"]
NUMBERS = [f"{i:02}" for i in (*range(1, 13), *range(1, 13), 9)]

WORD, DAY, YEAR = r"[A-Za-z]{3,9}", r"\d{1,2}", r"\d{4}"
TIME = r"(?P<time>[T ]\d\d:.+)?$"
IN_WORDS = (
    rf"^(?:{WORD},? )??"  # the day of the week
    rf"(?:(?P<month1>{WORD})\.?[ -](?P<day1>{DAY}),?[ -](?P<year1>{YEAR})"
    rf"|(?P<day2>{DAY})\.?[ -](?P<month2>{WORD})\.?,?[ -](?P<year2>{YEAR}))" + TIME
)
IN_DIGITS = r"^(?P<first>\d{1,2})[./-](?P<second>\d{1,2})[./-](?P<year>\d{4})" + TIME


def iso_dates(strings: Any, order: DateOrder) -> Any:
    """The same strings, dates in English words (Jan 01 2020, 1 January 2020) as ISO dates, and, but
    for the order "ymd", those in digits that end with the year (31.12.2020, 12/31/2020)."""
    parts = pc.extract_regex(strings, IN_WORDS)

    def either(name: str) -> Any:
        first, second = (pc.struct_field(parts, f"{name}{i}") for i in (1, 2))
        return pc.if_else(pc.equal(first, ""), second, first)

    at = pc.index_in(pc.utf8_lower(either("month")), value_set=pa.array(NAMES))
    month = pa.array(NUMBERS).take(at)
    found = _joined(either("year"), month, either("day"), pc.struct_field(parts, "time"))
    if order != "ymd":
        parts = pc.extract_regex(strings, IN_DIGITS)
        names = ("first", "second") if order == "dmy" else ("second", "first")
        day, month = (pc.utf8_lpad(pc.struct_field(parts, name), 2, "0") for name in names)
        year, time = (pc.struct_field(parts, name) for name in ("year", "time"))
        found = pc.coalesce(found, _joined(year, month, day, time))
    return pc.coalesce(found, strings)


def _joined(year: Any, month: Any, day: Any, time: Any) -> Any:
    date = pc.binary_join_element_wise(year, month, pc.utf8_lpad(day, 2, "0"), "-")
    return pc.binary_join_element_wise(date, pc.coalesce(time, ""), "")
