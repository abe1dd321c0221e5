"""Columns of the table as numbers, levels and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tallybayes.export.sql.dialect import Dialect
from tallybayes.export.sql.stages import Stages
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import CountCells, Inexpressible, Kind
from tallybayes.tables.columns import EXACT, text_of_days, text_of_number
from tallybayes.tables.values import days_of_text

__all__ = ["Columns"]


class Columns:
    """The columns that a formula reads.

    Parameters
    ----------
    formula : Formula
    stages : Stages
        Gets the expressions.
    names : mapping of str to str
        What the table calls columns, where that is not their name.
    kinds : mapping of str to Kind
        What they hold in the table.

    Attributes
    ----------
    refusals : list of str
        Conditions under which a row has no prediction.
    """

    formula: Formula
    stages: Stages
    dialect: Dialect
    names: Mapping[str, str]
    kinds: Mapping[str, Kind]

    def __init__(
        self,
        formula: Formula,
        stages: Stages,
        names: Mapping[str, str],
        kinds: Mapping[str, Kind],
    ) -> None:
        self.formula, self.stages, self.dialect = formula, stages, stages.dialect
        self.names, self.kinds = names, kinds
        self.refusals: list[str] = []
        self.uses: list[str] = []  # by refusals

    def refuse(self, condition: str, name: str) -> None:
        """Rows under a condition on an expression of this name have no prediction."""
        if condition not in self.refusals:
            self.refusals.append(condition)
            self.uses.append(name)

    def column(self, column: str) -> str:
        """A column of the table."""
        return self.dialect.column(self.names.get(column, column))

    # ---- constant arrays -------------------------------------------------------------------------
    def looked_up(
        self, values: Sequence[float], index: str, uses: Sequence[str]
    ) -> tuple[str, list[str]]:
        """The element of an array at an index, which has the names `uses`, and the names in that
        expression."""
        dialect, array = self.dialect, self.dialect.array(values)
        if not dialect.has_array_row:
            return dialect.lookup(array, index), [*uses]
        name = self.stages.constant(array)
        return dialect.lookup(name, index), [*uses, name]

    def whole_looked_up(
        self, values: Sequence[int], index: str, uses: Sequence[str]
    ) -> tuple[str, list[str]]:
        """The same of small whole numbers."""
        dialect = self.dialect
        if not dialect.has_array_row:
            return dialect.whole_lookup(values, index), [*uses]
        name = self.stages.constant(dialect.whole_array(values))
        return dialect.lookup(name, index), [*uses, name]

    # ---- values ----------------------------------------------------------------------------------
    def number(self, column: str) -> str:
        """The name of a column's numbers; NULL for missing ones. Rows with infinite ones are
        refused."""
        kind, name = self.kinds[column], self.raw_number(column)
        if kind not in ("boolean", "integer"):
            text = f"CASE WHEN {self.dialect.is_nan(name)} THEN NULL ELSE {name} END"
            name = self.stages.name("x", text, [name])
            self.refuse(f"ABS({name}) = {self.dialect.number(np.inf)}", name)
        if not self.formula.takes_missing:
            self.refuse(f"{name} IS NULL", name)
        return name

    def raw_number(self, column: str) -> str:
        """The name of a column's numbers, NaN and infinity among them."""
        kind = self.kinds[column]
        if kind == "text":
            raise Inexpressible(
                f"column {column!r} holds text in the table, but the model reads numbers: cast it "
                "in a view, or name its type in types="
            )
        name = self.stages.name("x", self.dialect.as_number(self.column(column), kind))
        least = self.formula.least.get(column, 0)
        if least:
            comparison = "<" if least == 1 else "<="
            self.refuse(f"{name} {comparison} {self.dialect.number(0.0)}", name)
        return name

    def level(self, column: str, levels: Sequence[str]) -> tuple[str, Callable[[str], str | None]]:
        """The name of a column's levels, NULL for missing ones, and what makes a literal of one of
        the model's `levels`, None of one that the column cannot hold."""
        kind, dialect = self.kinds[column], self.dialect
        if kind == "text":
            name = self.stages.name("v", dialect.text(self.column(column)))
            return name, lambda level: dialect.string(level) if dialect.holds(level) else None
        name = self.stages.name("v", dialect.as_number(self.column(column), kind))
        if kind == "boolean":
            bits = {"False": 0.0, "True": 1.0}
            return name, lambda level: dialect.number(bits[level]) if level in bits else None
        booleans = all(known in ("True", "False") for known in levels)
        return name, lambda level: _number_literal(level, kind, booleans, dialect)

    def count(self, cells: CountCells, most: float) -> tuple[str, str]:
        """The names of a count and of its cell, which is that of a missing value where there is
        none; rows with other numbers, and counts above `most`, are refused."""
        x, first = self.number(cells.column), self.dialect.first
        zero, beyond = self.dialect.number(0.0), self.dialect.number(cells.size - 1.0)
        self.refuse(f"{x} > {self.dialect.number(most)}", x)
        self.refuse(f"{x} > {zero} AND {x} <> FLOOR({x})", x)
        text = (
            f"CASE WHEN {x} IS NULL OR {x} < {zero} OR {x} >= {beyond} THEN {first} "
            f"ELSE {first + 1} + CAST(FLOOR({x}) AS INTEGER) END"
        )
        return x, self.stages.name("c", text, [x])


def _number_literal(level: str, kind: Kind, booleans: bool, dialect: Dialect) -> str | None:
    """A level of numbers, or of dates, as a literal; None where no number has its text."""
    if booleans:
        level = {"True": "1", "False": "0"}[level]
    if kind == "date":
        days = days_of_text(level)
        return dialect.number(days) if days is not None and text_of_days(days) == level else None
    try:
        number = float(level)
    except ValueError:
        return None
    if kind == "integer" and abs(number) >= EXACT:
        raise Inexpressible(
            f"the level {level!r} is a whole number of 2⁵³ or more, which float64 does not "
            "distinguish from its neighbours: store the column as text"
        )
    text = text_of_number(number) if np.isfinite(number) else str(number)
    return dialect.number(number) if text == level else None
