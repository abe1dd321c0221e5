"""The number or the score of the cell of a level, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.dialect import Dialect
from tallybayes.export.sql.intervals import CellOutput, Uses
from tallybayes.parameters.formula_cells import LevelCells

__all__ = ["by_level"]

A_NUMBER = "(a number)"


def by_level(cells: LevelCells, output: CellOutput, columns: Columns) -> tuple[str, Uses]:
    """The expression, and the names in it."""
    as_text = columns.kinds[cells.column] == "text"
    name, literal = columns.level(cells.column, cells.levels)
    missing = output.of(0) if columns.formula.takes_missing else "NULL"
    other = "NULL" if cells.refuses_others else output.of(cells.size - 1)
    if A_NUMBER in cells.levels and not as_text:
        other = output.of(1 + cells.levels.index(A_NUMBER))
    last_other = f"CASE WHEN {name} IS NULL THEN {missing} ELSE {other} END"
    known = [
        (level.encode(), written, 1 + i)
        for i, level in enumerate(cells.levels)
        if (written := literal(level)) is not None
    ]
    if as_text and columns.dialect.has_places:
        return _by_place(known, name, output, last_other, columns)
    pairs = [
        (written, output.of(cell)) for _, written, cell in (sorted(known) if as_text else known)
    ]
    leaf = columns.dialect.leaf if as_text else max(len(pairs), 1)
    return level_tree(name, pairs, other, last_other, leaf), [name]


def _by_place(
    known: list[tuple[bytes, str, int]],
    name: str,
    output: CellOutput,
    last_other: str,
    columns: Columns,
) -> tuple[str, Uses]:
    """The same by the place of a level among literals, of many in a tree of sorted ones."""
    dialect = columns.dialect
    many = len(known) > dialect.leaf
    if many:
        known = sorted(known)
    place = place_tree(dialect, name, [written for _, written, _ in known])
    cells, uses = np.array([cell for *_, cell in known], np.int64), [name]
    if many:
        text, uses = output.of_each(cells, place, uses)
    else:
        text = output.of_each_level(cells, place)
    return f"COALESCE({text}, {last_other})", uses


def level_tree(
    name: str, levels: Sequence[tuple[str, str]], other: str, last_other: str, leaf: int
) -> str:
    """The output of a level, found by comparisons.

    Parameters
    ----------
    name : str
    levels : sequence of (str, str)
        Literals, in ascending order where there are more than `leaf`, with the output of each.
    other : str
        The output of other levels.
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


def place_tree(dialect: Dialect, name: str, literals: Sequence[str], first: int = 0) -> str:
    """The place of a string among literals in ascending order, `first` more than it is; NULL if it
    is none of them."""
    if len(literals) <= dialect.leaf:
        place = dialect.place(literals, name)
        return f"{place} + {first}" if first else f"{place}"
    at = len(literals) // 2
    below = place_tree(dialect, name, literals[:at], first)
    above = place_tree(dialect, name, literals[at:], first + at)
    return f"CASE WHEN {name} < {literals[at]} THEN {below} ELSE {above} END"
