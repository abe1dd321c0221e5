"""Columns of any type as one of three kinds, the same in every batch: number, date, text.

A cell that does not fit the kind of its column raises :class:`Misfit`. Texts are stripped of
surrounding space; those in the list of gaps are gaps in every column. A level has one spelling in
every format: ``true`` and ``false`` are True and False, and a decimal number among texts is written
as the library writes numbers, so that 3.0 and 3 are one level.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["GAPS", "Kind", "Misfit", "Spelling", "as_texts", "cells", "kind_of"]

Kind = Literal["number", "date", "text", "number or date"]
"""A column's kind; "number or date" is one whose family is for numbers, before its first value."""

GAPS = ("", "NA", "?", "nan", "null")
ZONED = r":\d\d[0-9.]*(Z|[+-]\d\d(:?\d\d)?)$"  # a time of day with a zone
TRUTH = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


@dataclass(frozen=True)
class Spelling:
    """How texts are to be read.

    Parameters
    ----------
    gaps : tuple of str
        Texts that are gaps.
    decimal : {".", ","}
        The decimal sign; the other one has then no place in a number.
    gaps_of : dict
        More texts that are gaps, by column.
    """

    gaps: tuple[str, ...] = GAPS
    decimal: str = "."
    gaps_of: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, column: str) -> Spelling:
        """The spelling of one column."""
        more = self.gaps_of.get(column)
        return self if more is None else replace(self, gaps=(*self.gaps, *more), gaps_of={})


class Misfit(Exception):
    """A cell that does not fit: `row` of the batch in `column` holds `value`."""

    def __init__(self, column: str, kind: Kind, row: int, value: str) -> None:
        super().__init__(f"column {column!r} holds {value!r}, which is no {kind}")
        self.column, self.kind, self.row, self.value = column, kind, row, value


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_date(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _stripped(column: Any, spelling: Spelling) -> Any:
    """Texts without surrounding space, gaps as nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    column = pc.utf8_trim_whitespace(column)
    gaps = pa.array(list(spelling.gaps), pa.string())
    return pc.if_else(pc.is_in(column, value_set=gaps), pa.scalar(None, pa.string()), column)


def _dates(texts: Any) -> Any:
    """Texts as points in time; those with a zone, of which Z is one, in UTC."""
    try:
        return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, ZONED)
        if not pc.any(zoned).as_py():
            raise
    none = pa.scalar(None, pa.string())
    there = pc.if_else(zoned, texts, none).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    return pc.coalesce(there, pc.if_else(zoned, none, texts).cast(pa.timestamp("us")))


def _cast(texts: Any, kind: Kind, decimal: str) -> Any:
    if kind == "date":
        return _dates(texts)
    if decimal == ",":
        texts = pc.replace_substring(pc.replace_substring(texts, ".", "no point"), ",", ".")
    return texts.cast(pa.float64())


def _parsed(texts: Any, kind: Kind, name: str, decimal: str) -> Any:
    """Texts as numbers or dates; raises Misfit with the first that is none."""
    try:
        return _cast(texts, kind, decimal)
    except pa.ArrowInvalid:
        low, high = 0, len(texts)  # the first misfit is in [low, high)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                _cast(texts.slice(low, middle - low), kind, decimal)
                low = middle
            except pa.ArrowInvalid:
                high = middle
        raise Misfit(name, kind, low, texts[low].as_py()) from None


def as_texts(column: Any, spelling: Spelling) -> Any:
    """Any column as texts; numbers without a needless ".0"."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "True", "False")
    if pa.types.is_integer(kind):
        return column.cast(pa.string())  # digit by digit: identifiers may exceed 2^53
    if _is_number(kind):
        # the package imports what is slow, and an error should come at once
        from tallybayes.tables.columns import Numbers, texts_of

        numbers = column.cast(pa.float64(), safe=False)
        texts = texts_of(Numbers(numbers.to_numpy(zero_copy_only=False), "float"))
        codes = pa.array(texts.codes, mask=texts.codes < 0)
        levels = pa.array(texts.levels, pa.string())
        return pa.DictionaryArray.from_arrays(codes, levels).cast(pa.string())
    return _stripped(column, spelling)


def _spelt(texts: Any, spelling: Spelling) -> Any:
    """Encoded texts with one spelling a level."""
    levels, sign = texts.dictionary, re.escape(spelling.decimal)
    truth = pc.is_in(levels, value_set=pa.array(list(TRUTH)))
    number = pc.match_substring_regex(levels, rf"^-?(0|[1-9][0-9]*){sign}[0-9]*$")
    if not pc.any(pc.or_(truth, number)).as_py():
        return texts
    from tallybayes.tables.columns import text_of_number

    spelt = [
        text_of_number(float(level.replace(",", "."))) if is_number else TRUTH.get(level, level)
        for level, is_number in zip(levels.to_pylist(), number.to_pylist(), strict=True)
    ]
    renamed = pa.DictionaryArray.from_arrays(texts.indices, pa.array(spelt, pa.string()))
    return renamed.cast(pa.string()).dictionary_encode()


def kind_of(column: Any, spelling: Spelling) -> Kind | None:
    """The kind that a column's cells suggest; None where there are only gaps."""
    kind = column.type
    if _is_text(kind) or (pa.types.is_dictionary(kind) and _is_text(kind.value_type)):
        texts = _stripped(column, spelling)
        if texts.null_count == len(texts):
            return None
        if pa.types.is_dictionary(kind):
            return "text"
        wanted: Kind
        for wanted in ("number", "date"):
            try:
                _cast(texts, wanted, spelling.decimal)
            except pa.ArrowInvalid:
                continue
            return wanted
        return "text"
    if column.null_count == len(column):
        return None
    if _is_number(kind):
        return "number"
    return "date" if _is_date(kind) else "text"


def settled(column: Any, kind: Kind | None, spelling: Spelling) -> Kind | None:
    """The kind of a column whose cells may be the first with a value."""
    if kind is None:
        return kind_of(column, spelling)
    if kind != "number or date":
        return kind
    found = kind_of(column, spelling)
    return kind if found is None else "number" if found == "text" else found


def cells(column: Any, kind: Kind | None, name: str, spelling: Spelling) -> Any:
    """A column as its kind: float64, timestamp, or strings; null where nothing is known.

    Raises
    ------
    Misfit
        Where a cell is no number or date.
    """
    if kind is None or kind == "number or date":
        return pa.nulls(len(column))
    if kind == "text":
        return _spelt(as_texts(column, spelling).dictionary_encode(), spelling)
    if pa.types.is_null(column.type):
        return column
    if _is_number(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.float64(), safe=False)
    if _is_date(column.type):
        return column.cast(pa.timestamp("us"), safe=False)
    return _parsed(_stripped(column, spelling), kind, name, spelling.decimal)


def first_infinite(column: Any) -> int | None:
    """The first row of a float column that is infinite."""
    values = (
        column.to_numpy(zero_copy_only=False) if pa.types.is_floating(column.type) else np.empty(0)
    )
    found = np.flatnonzero(np.isinf(values))
    return int(found[0]) if found.size else None
