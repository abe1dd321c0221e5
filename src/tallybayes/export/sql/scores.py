"""What the terms of a formula add to the score of each class, as SQL."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.sql.columns import Columns, interval_tree
from tallybayes.export.sql.joint_tables import JointTable
from tallybayes.parameters.formula import CellTable, Mixture, Powers, StudentTerm, Term

__all__ = ["Added", "added"]

Array = NDArray[np.float64]


class Added(NamedTuple):
    """What a term adds.

    Parameters
    ----------
    of_class : list of str
        An expression for each class, never NULL for a row with a prediction.
    uses : list of str
        The names in them.
    """

    of_class: list[str]
    uses: list[str]


def added(term: Term | JointTable, columns: Columns) -> Added:
    """What a term adds to the score of each class."""
    if isinstance(term, CellTable):
        return _looked_up(term.scores, columns.cells(term.cells), columns)
    if isinstance(term, JointTable):
        return _looked_up(term.scores, _joint_cell(term, columns), columns)
    if isinstance(term, Powers):
        return _powers(term, columns)
    if isinstance(term, Mixture):
        return _mixture(term, columns)
    return _student(term, columns)


def _looked_up(scores: Array, cell: str, columns: Columns) -> Added:
    """A look-up for each class, by the name of a cell."""
    dialect = columns.dialect
    return Added(
        [dialect.lookup(dialect.array(of_one.tolist()), cell) for of_one in scores], [cell]
    )


def _joint_cell(term: JointTable, columns: Columns) -> str:
    """The name of the cell of a joint table."""
    first = columns.dialect.first
    names = [columns.cells(cells) for cells in term.cells]
    text = names[0]
    for name, cells in zip(names[1:], term.cells[1:], strict=True):
        text = f"({text} - {first}) * {cells.size} + {name}"
    return columns.stages.name("c", text, names)


def _there(columns: Columns, x: str, expression: str) -> str:
    """An expression of a number, 0 where it is missing."""
    if not columns.formula.takes_missing:
        return expression
    return f"CASE WHEN {x} IS NULL THEN {columns.dialect.number(0.0)} ELSE {expression} END"


def _powers(term: Powers, columns: Columns) -> Added:
    x = columns.number(term.column)
    of_class = [
        _there(columns, x, _polynomial(columns, x, *(float(value) for value in of_one)))
        for of_one in zip(*term.terms, strict=True)
    ]
    return Added(of_class, [x])


def _polynomial(
    columns: Columns, x: str, constant: float, slope: float, mean: float, scale: float
) -> str:
    """constant + slope·x − ((x − mean)·scale)²; nothing for slope·0."""
    dialect = columns.dialect
    parts = [dialect.number(constant)] if constant else []
    if np.isinf(slope):
        zero = dialect.number(0.0)
        parts.append(f"CASE WHEN {x} = {zero} THEN {zero} ELSE {dialect.number(slope)} END")
    elif slope:
        parts.append(dialect.product(x, slope))
    text = " + ".join(parts)
    if scale:
        text += f"{' ' if text else ''}- {dialect.square(x, mean, scale)}"
    return text or dialect.number(0.0)


def _student(term: StudentTerm, columns: Columns) -> Added:
    x, dialect = columns.number(term.column), columns.dialect
    of_class = []
    for constant, half, mean, scale in zip(
        *(a.tolist() for a in (term.constant, term.half, term.mean, term.scale)), strict=True
    ):
        square = dialect.square(x, mean, scale)
        text = (
            f"{dialect.number(constant)} - {dialect.number(half)} * "
            f"{dialect.log(f'({dialect.number(1.0)} + {square})')}"
        )
        of_class.append(_there(columns, x, text))
    return Added(of_class, [x])


def _mixture(term: Mixture, columns: Columns) -> Added:
    """log(M_c + share·Σ M) − shift_c, by the largest log M: see PooledTerms."""
    stages, dialect, terms = columns.stages, columns.dialect, term.terms
    x = columns.number(term.column)
    atom = _atom(columns, x, term) if len(terms.low) else None
    uses = [x] if atom is None else [x, atom]
    masses = []
    for k in range(len(terms.constant)):
        of_one = (terms.constant[k], 0.0, terms.mean[k], terms.scale[k])
        text = _polynomial(columns, x, *map(float, of_one))
        if atom is not None:
            at_atom = dialect.lookup(dialect.array(terms.atoms[:, k].tolist()), atom)
            text = f"CASE WHEN {atom} IS NOT NULL THEN {at_atom} ELSE {text} END"
        masses.append(stages.name("g", text, uses))
    top = stages.name("t", dialect.greatest(masses), masses)
    shares = [stages.name("h", dialect.exp(f"({mass} - {top})"), [mass, top]) for mass in masses]
    total = stages.name("z", f"{dialect.number(terms.share)} * ({' + '.join(shares)})", shares)
    nothing = f"{x} IS NULL OR {top} = {dialect.number(-np.inf)}"
    of_class = [
        f"CASE WHEN {nothing} THEN {dialect.number(0.0)} ELSE "
        f"{dialect.log(f'({share} + {total})')} + {top} - {dialect.number(shift)} END"
        for share, shift in zip(shares, terms.shift.tolist(), strict=True)
    ]
    return Added(of_class, [x, top, total, *shares])


def _atom(columns: Columns, x: str, term: Mixture) -> str:
    """The name of the index of the atom at which a number is, NULL where it is at none."""
    terms, first = term.terms, columns.dialect.first
    bounds = np.unique(np.concatenate([terms.low, terms.high]))
    between = np.concatenate([[-np.inf], bounds])  # where each interval begins
    at = (np.searchsorted(terms.low, between, side="right") - 1).tolist()
    inside = [i >= 0 and x < terms.high[i] for i, x in zip(at, between.tolist(), strict=True)]
    cells = [str(first + i) if there else "NULL" for i, there in zip(at, inside, strict=True)]
    tree = interval_tree(columns.dialect, x, bounds.tolist(), cells)
    return columns.stages.name("a", tree, [x])
