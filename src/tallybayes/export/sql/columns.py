"""Columns of the table as numbers, levels and cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tallybayes.export.sql.buckets import buckets_of
from tallybayes.export.sql.dialect import Dialect
from tallybayes.export.sql.stages import Stages
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import (
    Cells,
    CodeCells,
    CountCells,
    Inexpressible,
    Kind,
    LevelCells,
    NumberCells,
    PairedCells,
)
from tallybayes.tables.columns import EXACT, text_of_days, text_of_number
from tallybayes.tables.values import days_of_text

__all__ = ["Columns"]

LEAF = 8  # comparisons one after another; of more, a tree has fewer
A_NUMBER = "(a number)"


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
        return f"t.{self.dialect.name(self.names.get(column, column))}"

    # ---- values ----------------------------------------------------------------------------------
    def number(self, column: str) -> str:
        """The name of a column's numbers; NULL for missing ones. Rows with infinite ones are
        refused."""
        kind, name = self.kinds[column], self._raw_number(column)
        if kind not in ("boolean", "integer"):
            text = f"CASE WHEN {self.dialect.is_nan(name)} THEN NULL ELSE {name} END"
            name = self.stages.name("x", text, [name])
            self.refuse(f"ABS({name}) = {self.dialect.number(np.inf)}", name)
        if not self.formula.takes_missing:
            self.refuse(f"{name} IS NULL", name)
        return name

    def _raw_number(self, column: str) -> str:
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

    # ---- cells -----------------------------------------------------------------------------------
    def cells(self, cells: Cells) -> str:
        """The name of the cell of each row, counted from the dialect's first index."""
        if isinstance(cells, LevelCells):
            return self._level_cells(cells)
        if isinstance(cells, NumberCells):
            return self._number_cells(cells)
        if isinstance(cells, CodeCells):
            return self._code_cells(cells)
        return self._paired_cells(cells)

    def _number_cells(self, cells: NumberCells) -> str:
        """What is not a number is asked in the first and the last interval alone: of NULL and NaN
        no comparison is true, and in some dialects NaN is the largest number."""
        column, first, dialect = cells.column, self.dialect.first, self.dialect
        kind, missing = self.kinds[column], self._missing_cell()
        x, finite = self._raw_number(column), kind in ("boolean", "integer")
        own = [str(first + 1 + i) for i in range(cells.size - 1)]
        known = "" if finite else f"WHEN {x} = {dialect.number(np.inf)} THEN NULL "
        own[-1] = (
            f"CASE WHEN {x} IS NULL{'' if finite else f' OR {dialect.is_nan(x)}'} THEN {missing} "
            f"{known}ELSE {own[-1]} END"
        )
        if not finite:
            own[0] = f"CASE WHEN {x} = {dialect.number(-np.inf)} THEN NULL ELSE {own[0]} END"
        buckets = buckets_of(cells.starts) if dialect.has_buckets else None
        if buckets is None:
            text = interval_tree(dialect, x, cells.starts.tolist(), own)
            return self.stages.name("c", text, [x])
        low, high = (dialect.number(float(cells.starts[i])) for i in (0, -1))
        b = self.stages.name("b", dialect.bucket(x, low, buckets.k), [x])
        before = (buckets.before + (first + 1)).tolist()
        parts = [dialect.whole_lookup(before, b)]
        for of_one in buckets.within.tolist():
            start = dialect.lookup(dialect.array(of_one), b)
            parts.append(dialect.as_bit(f"{x} >= {start}"))
        text = f"WHEN {x} < {low} THEN {own[0]} WHEN {x} < {high} THEN {' + '.join(parts)}"
        return self.stages.name("c", f"CASE {text} ELSE {own[-1]} END", [x, b])

    def _missing_cell(self) -> str:
        """The cell of missing values."""
        return str(self.dialect.first) if self.formula.takes_missing else "NULL"

    def _level_cells(self, cells: LevelCells) -> str:
        first, last = self.dialect.first, self.dialect.first + cells.size - 1
        name, literal = self.level(cells.column, cells.levels)
        other = "NULL" if cells.refuses_others else str(last)
        if A_NUMBER in cells.levels and self.kinds[cells.column] != "text":
            other = str(first + 1 + cells.levels.index(A_NUMBER))
        as_text = self.kinds[cells.column] == "text"
        known = [
            (level.encode() if as_text else i, written, str(first + 1 + i))
            for i, level in enumerate(cells.levels)
            if (written := literal(level)) is not None
        ]
        ordered = [(written, cell) for _, written, cell in (sorted(known) if as_text else known)]
        last_other = f"CASE WHEN {name} IS NULL THEN {self._missing_cell()} ELSE {other} END"
        leaf = LEAF if as_text else max(len(ordered), 1)
        text = level_tree(name, ordered, other, last_other, leaf)
        return self.stages.name("c", text, [name])

    def _code_cells(self, cells: CodeCells) -> str:
        x, first, n = self.number(cells.column), self.dialect.first, cells.size - 1
        zero, whole = self.dialect.number(0.0), x
        if cells.truncates:
            floor, ceiling = f"FLOOR({x})", f"CEIL({x})"
            text = f"CASE WHEN {x} < {zero} THEN {ceiling} ELSE {floor} END"
            whole = self.stages.name("x", text, [x])
        self.refuse(f"{whole} < {zero}", whole)
        self.refuse(f"{whole} <> FLOOR({whole})", whole)
        beyond = f"{whole} >= {self.dialect.number(float(n))}"
        if cells.refuses_others:
            self.refuse(beyond, whole)
        text = (
            f"CASE WHEN {whole} IS NULL OR {whole} < {zero} THEN {first} "
            f"WHEN {beyond} THEN {first + n} ELSE {first} + CAST(FLOOR({whole}) AS INTEGER) END"
        )
        return self.stages.name("c", text, [whole])

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

    def _paired_cells(self, cells: PairedCells) -> str:
        one, other = (self.cells(single) for single in (cells.first, cells.second))
        a = (cells.maps[0] * cells.width + self.dialect.first).tolist()
        parts = [
            self.dialect.whole_lookup(coarse, cell)
            for coarse, cell in ((a, one), (cells.maps[1].tolist(), other))
        ]
        return self.stages.name("c", " + ".join(parts), [one, other])


def interval_tree(dialect: Dialect, x: str, starts: Sequence[float], cells: Sequence[str]) -> str:
    """cells[i] where i of the starts are ≤ x; the last where none is known to be above x."""
    if not starts:
        return cells[0]
    at = (len(starts) - 1) // 2
    below = interval_tree(dialect, x, starts[:at], cells[: at + 1])
    above = interval_tree(dialect, x, starts[at + 1 :], cells[at + 1 :])
    return f"CASE WHEN {x} < {dialect.number(starts[at])} THEN {below} ELSE {above} END"


def level_tree(
    name: str, levels: Sequence[tuple[str, str]], other: str, last_other: str, leaf: int
) -> str:
    """The cell of a level.

    Parameters
    ----------
    name : str
    levels : sequence of (str, str)
        Literals, in ascending order where there are more than `leaf`, with their cells.
    other : str
        The cell of other levels.
    last_other : str
        The same, where NULL arrives, too.
    leaf : int
        How many comparisons are made one after another.
    """
    if not levels:
        return last_other
    if len(levels) <= leaf:
        cases = " ".join(f"WHEN {literal} THEN {cell}" for literal, cell in levels)
        return f"CASE {name} {cases} ELSE {last_other} END"
    at = len(levels) // 2
    below = level_tree(name, levels[:at], other, other, leaf)
    above = level_tree(name, levels[at:], other, last_other, leaf)
    return f"CASE WHEN {name} < {levels[at][0]} THEN {below} ELSE {above} END"


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
