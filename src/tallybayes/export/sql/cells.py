"""The cell of each row in a table of scores, or its score, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.intervals import Places, Uses, by_interval
from tallybayes.export.sql.levels import by_level
from tallybayes.parameters.formula_cells import (
    Cells,
    CodeCells,
    LevelCells,
    NumberCells,
    PairedCells,
)

__all__ = ["cell_of", "score_of"]

Array = NDArray[np.float64]


def cell_of(cells: Cells, columns: Columns) -> str:
    """The name of the cell of each row, counted from the dialect's first index."""
    if isinstance(cells, CodeCells):
        return _code(cells, columns)
    if isinstance(cells, PairedCells):
        return _pair(cells, columns)
    return columns.stages.name("c", *_found(cells, _Numbers(columns), columns))


def score_of(cells: LevelCells | NumberCells, scores: Array, columns: Columns) -> tuple[str, Uses]:
    """The score of the cell of each row, without the number of the cell, and the names in it.

    Parameters
    ----------
    cells : LevelCells or NumberCells
    scores : float64 array (size,)
    columns : Columns
    """
    return _found(cells, _Scores(columns, scores), columns)


def _found(
    cells: LevelCells | NumberCells, output: _Numbers | _Scores, columns: Columns
) -> tuple[str, Uses]:
    if isinstance(cells, LevelCells):
        return by_level(cells, output, columns)
    return by_interval(cells, output, columns)


# ---- numbers and scores of cells -----------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Numbers:
    """The numbers of cells."""

    columns: Columns

    def of(self, cell: int) -> str:
        return str(self.columns.dialect.first + cell)

    def of_each(self, cells: Places, index: str, uses: Uses) -> tuple[str, Uses]:
        if _consecutive(cells):
            return f"{index} + {cells[0]}", uses
        values = (cells + self.columns.dialect.first).tolist()
        return self.columns.whole_looked_up(values, index, uses)

    def of_each_level(self, cells: Places, index: str) -> str:
        if _consecutive(cells):
            return f"{index} + {cells[0]}"
        dialect = self.columns.dialect
        return dialect.whole_lookup((cells + dialect.first).tolist(), index)


def _consecutive(cells: Places) -> bool:
    return len(cells) > 0 and bool((np.diff(cells) == 1).all())


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of cells."""

    columns: Columns
    scores: Array

    def of(self, cell: int) -> str:
        return self.columns.dialect.number(float(self.scores[cell]))

    def of_each(self, cells: Places, index: str, uses: Uses) -> tuple[str, Uses]:
        return self.columns.looked_up(self.scores[cells].tolist(), index, uses)

    def of_each_level(self, cells: Places, index: str) -> str:
        dialect = self.columns.dialect
        return dialect.lookup(dialect.array(self.scores[cells].tolist()), index)


# ---- codes and pairs -----------------------------------------------------------------------------
def _code(cells: CodeCells, columns: Columns) -> str:
    dialect, n = columns.dialect, cells.size - 1
    x, first, zero = columns.number(cells.column), dialect.first, dialect.number(0.0)
    whole = x
    if cells.truncates:
        floor, ceiling = f"FLOOR({x})", f"CEIL({x})"
        text = f"CASE WHEN {x} < {zero} THEN {ceiling} ELSE {floor} END"
        whole = columns.stages.name("x", text, [x])
    columns.refuse(f"{whole} < {zero}", whole)
    columns.refuse(f"{whole} <> FLOOR({whole})", whole)
    beyond = f"{whole} >= {dialect.number(float(n))}"
    if cells.refuses_others:
        columns.refuse(beyond, whole)
    text = (
        f"CASE WHEN {whole} IS NULL OR {whole} < {zero} THEN {first} "
        f"WHEN {beyond} THEN {first + n} ELSE {first} + CAST(FLOOR({whole}) AS INTEGER) END"
    )
    return columns.stages.name("c", text, [whole])


def _pair(cells: PairedCells, columns: Columns) -> str:
    one, other = (cell_of(single, columns) for single in (cells.first, cells.second))
    a = (cells.maps[0] * cells.width + columns.dialect.first).tolist()
    (first, uses), (second, more) = (
        columns.whole_looked_up(coarse, cell, [cell])
        for coarse, cell in ((a, one), (cells.maps[1].tolist(), other))
    )
    return columns.stages.name("c", f"{first} + {second}", [*uses, *more])
