"""Columns of any type as one of three kinds, the same in every batch: number, date, text.

A cell that does not fit the kind of its column raises :class:`Misfit`. Texts are stripped of
surrounding space; those in the list of gaps are gaps in every column. As Parquet and JSON have
them, ``true`` and ``false`` in any spelling are the levels True and False.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.tables.columns import Numbers, texts_of

__all__ = ["GAPS", "Kind", "Misfit", "as_texts", "cells", "kind_of"]

Kind = Literal["number", "date", "text"]
GAPS = ("", "NA", "?", "nan", "null")
TRUTH = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


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


def _stripped(column: Any, gaps: Any) -> Any:
    """Texts without surrounding space, gaps as nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    column = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(column, value_set=gaps), pa.scalar(None, pa.string()), column)


def _cast(texts: Any, kind: Kind) -> Any:
    return texts.cast(pa.float64() if kind == "number" else pa.timestamp("us"))


def _parsed(texts: Any, kind: Kind, name: str) -> Any:
    """Texts as numbers or dates; raises Misfit with the first that is none."""
    try:
        return _cast(texts, kind)
    except pa.ArrowInvalid:
        low, high = 0, len(texts)  # the first misfit is in [low, high)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                _cast(texts.slice(low, middle - low), kind)
                low = middle
            except pa.ArrowInvalid:
                high = middle
        raise Misfit(name, kind, low, texts[low].as_py()) from None


def as_texts(column: Any, gaps: Any) -> Any:
    """Any column as texts; numbers without a needless ".0"."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "True", "False")
    if _is_number(kind):
        numbers = column.cast(pa.float64(), safe=False)
        texts = texts_of(Numbers(numbers.to_numpy(zero_copy_only=False), "float"))
        codes = pa.array(texts.codes, mask=texts.codes < 0)
        levels = pa.array(texts.levels, pa.string())
        return pa.DictionaryArray.from_arrays(codes, levels).cast(pa.string())
    return _stripped(column, gaps)


def kind_of(column: Any, gaps: Any) -> Kind | None:
    """The kind that a column's cells suggest; None where there are only gaps."""
    kind = column.type
    if _is_text(kind) or (pa.types.is_dictionary(kind) and _is_text(kind.value_type)):
        texts = _stripped(column, gaps)
        if texts.null_count == len(texts):
            return None
        if pa.types.is_dictionary(kind):
            return "text"
        for wanted in ("number", "date"):
            try:
                _cast(texts, wanted)
            except pa.ArrowInvalid:
                continue
            return wanted
        return "text"
    if column.null_count == len(column):
        return None
    if _is_number(kind):
        return "number"
    return "date" if _is_date(kind) else "text"


def cells(column: Any, kind: Kind | None, name: str, gaps: Any) -> Any:
    """A column as its kind: float64, timestamp, or strings; null where nothing is known.

    Raises
    ------
    Misfit
        Where a cell is no number or date.
    """
    if kind is None:
        return pa.nulls(len(column))
    if kind == "text":
        texts = as_texts(column, gaps)
        found = pc.is_in(texts, value_set=pa.array(list(TRUTH)))
        if pc.any(found).as_py():
            true = pc.is_in(texts, value_set=pa.array(["true", "TRUE"]))
            texts = pc.if_else(found, pc.if_else(true, "True", "False"), texts)
        return texts.dictionary_encode()
    if pa.types.is_null(column.type):
        return column
    if _is_number(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.float64(), safe=False)
    if _is_date(column.type):
        return column.cast(pa.timestamp("us"), safe=False)
    return _parsed(_stripped(column, gaps), kind, name)


def first_infinite(column: Any) -> int | None:
    """The first row of a float column that is infinite."""
    values = (
        column.to_numpy(zero_copy_only=False) if pa.types.is_floating(column.type) else np.empty(0)
    )
    found = np.flatnonzero(np.isinf(values))
    return int(found[0]) if found.size else None
