"""Contributions of the terms of a formula to the score of each class, as SQL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.sql.cells import cell_of, score_of
from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.correlated import triangular
from tallybayes.export.sql.counts import counts
from tallybayes.export.sql.densities import Added, mixture, powers, student
from tallybayes.export.sql.joint_tables import JointTable
from tallybayes.parameters.formula_cells import LevelCells, NumberCells
from tallybayes.parameters.formula_terms import (
    CellTable,
    CountTerm,
    Mixture,
    Powers,
    StudentTerm,
    Term,
)

__all__ = ["Added", "added"]

Array = NDArray[np.float64]


def added(term: Term | JointTable, columns: Columns) -> Added:
    """What a term adds to the score of each class."""
    if isinstance(term, CellTable):
        if len(term.scores) == 1 and isinstance(term.cells, LevelCells | NumberCells):
            text, uses = score_of(term.cells, term.scores[0], columns)
            return Added([text], uses)
        return _looked_up(term.scores, cell_of(term.cells, columns), columns)
    if isinstance(term, JointTable):
        return _looked_up(term.scores, _joint_cell(term, columns), columns)
    if isinstance(term, Powers):
        return powers(term, columns)
    if isinstance(term, Mixture):
        return mixture(term, columns)
    if isinstance(term, StudentTerm):
        return student(term, columns)
    if isinstance(term, CountTerm):
        return counts(term, columns)
    return triangular(term, columns)


def _looked_up(scores: Array, cell: str, columns: Columns) -> Added:
    """A look-up for each class, by the name of a cell."""
    found = [columns.looked_up(of_one.tolist(), cell, [cell]) for of_one in scores]
    return Added([text for text, _ in found], [name for _, uses in found for name in uses])


def _joint_cell(term: JointTable, columns: Columns) -> str:
    """The name of the cell of a joint table."""
    first = columns.dialect.first
    names = [cell_of(cells, columns) for cells in term.cells]
    text = names[0]
    for name, cells in zip(names[1:], term.cells[1:], strict=True):
        text = f"({text} - {first}) * {cells.size} + {name}"
    return columns.stages.name("c", text, names)
