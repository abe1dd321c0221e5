"""A column in SQL: its numbers and levels as expressions, and the counts that it is asked for."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tallybayes.engines.contract import SourceColumn
from tallybayes.sources.databases.names import quoted
from tallybayes.tables.columns import LARGEST, text_of_days, text_of_number

__all__ = ["LevelsAsked", "NumbersAsked", "SQLColumn"]

MICROSECONDS = 86_400_000_000  # a day


class SQLColumn(SourceColumn):
    """A column of a source, with its expressions in a statement."""

    def number(self, nan: bool = True) -> str:
        """An SQL expression: its values as DOUBLE, dates as days since 1970; NaN is NULL, unless
        `nan` says that there is none."""
        name = quoted(self.name)
        if self.kind == "date":
            return f"epoch_us({name}) / {MICROSECONDS}.0"
        if self.kind == "category":
            name = f"CAST({name} AS VARCHAR)"
        number = f"CAST({name} AS DOUBLE)"
        if not nan or self.kind in ("boolean", "integer", "decimal"):
            return number
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def level(self) -> tuple[str, str]:
        """An SQL expression that distinguishes its levels, and the type of values to compare
        with."""
        name = quoted(self.name)
        if self.kind == "boolean":
            return name, "BOOLEAN"
        if self.kind == "integer":
            return name, "HUGEINT"
        if self.kind == "date":
            return f"epoch_us({name})", "BIGINT"
        if self.kind in ("float", "decimal"):
            if self.kind == "decimal":  # straight to DOUBLE, it would miss the nearest one
                name = f"CAST({name} AS VARCHAR)"
            number = f"CAST({name} AS DOUBLE)"
            return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} + 0.0 END", "DOUBLE"
        return (name if self.type == "VARCHAR" else f"CAST({name} AS VARCHAR)"), "VARCHAR"

    def value_of(self, level: str) -> Any:
        """The value whose level is this string, to compare with; None where there is none."""
        if self.kind == "boolean":
            return {"True": True, "False": False}.get(level)
        if self.kind in ("integer", "float", "decimal", "date"):
            try:
                return getattr(self, f"_{self.kind}_of")(level)
            except (ValueError, OverflowError):
                return None
        try:
            level.encode()
        except UnicodeEncodeError:  # half a surrogate pair is in no database
            return None
        return level

    def level_of(self, text: str) -> str:
        """The level of a value that the database wrote as text."""
        if self.kind == "boolean":
            return text.capitalize()
        if self.kind == "integer":
            value = int(text)
            return text if abs(value) < LARGEST else text_of_number(float(value))
        if self.kind in ("float", "decimal"):
            number = float(text)
            return text_of_number(number) if math.isfinite(number) else str(number)
        if self.kind == "date":
            return text_of_days(int(text) / MICROSECONDS)
        return text

    @staticmethod
    def _integer_of(level: str) -> int | None:
        value = int(float(level)) if "e+" in level else int(level)
        known = str(value) if abs(value) < LARGEST else text_of_number(float(value))
        return value if known == level and abs(value) < 2**127 else None

    @staticmethod
    def _float_of(level: str) -> float | None:
        value = float(level)
        known = text_of_number(value) if math.isfinite(value) else str(value)
        return value if known == level and not math.isnan(value) else None

    _decimal_of = _float_of

    @staticmethod
    def _date_of(level: str) -> int | None:
        value = int(np.datetime64(level, "us").astype(np.int64))
        return value if text_of_days(value / MICROSECONDS) == level else None


class LevelsAsked(NamedTuple):
    """Levels to be counted.

    Parameters
    ----------
    column : SQLColumn
    levels : list of str, optional
        None: all that occur.
    closed : bool
        Whether the source may hold no other level.
    """

    column: SQLColumn
    levels: list[str] | None
    closed: bool = False


class NumbersAsked(NamedTuple):
    """A column whose moments are asked for.

    Parameters
    ----------
    column : SQLColumn
    non_negative : bool
        Whether negative numbers are refused.
    grid : bool
        Whether grid counts are wanted beside the moments.
    """

    column: SQLColumn
    non_negative: bool = False
    grid: bool = False
