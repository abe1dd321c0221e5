"""Contributions of densities of a number to the score of each class, as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.intervals import interval_tree
from tallybayes.parameters.formula_terms import Mixture, Power, Powers, StudentTerm

__all__ = ["Added", "mixture", "pooled", "powers", "student"]

LARGEST_EXPONENT = 709.0  # e to this is a float64


class Added(NamedTuple):
    """The contribution of a term.

    Parameters
    ----------
    of_class : list of str
        An expression for each class, never NULL for a row with a prediction.
    uses : list of str
        The names in them.
    """

    of_class: list[str]
    uses: list[str]


def _there(columns: Columns, x: str, expression: str) -> str:
    """An expression of a number, 0 where it is missing."""
    if not columns.formula.takes_missing:
        return expression
    return f"CASE WHEN {x} IS NULL THEN {columns.dialect.number(0.0)} ELSE {expression} END"


# ---- polynomials and Student-t -------------------------------------------------------------------
def powers(term: Powers, columns: Columns) -> Added:
    """A polynomial of second degree for each class."""
    x = _number(term, columns)
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


def student(term: StudentTerm, columns: Columns) -> Added:
    """The logarithm of a Student-t for each class."""
    x, dialect = _number(term, columns), columns.dialect
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


# ---- logarithms and powers of a number -----------------------------------------------------------
def _number(term: Powers | StudentTerm, columns: Columns) -> str:
    """The name of the number, or of its power."""
    x = columns.number(term.column)
    if term.power is None:
        return x
    if term.power.kind == "log":
        return columns.stages.name("x", f"LN({_positive(x, columns)})", [x])
    return _yeo_johnson(x, term.power, columns)


def _positive(x: str, columns: Columns) -> str:
    """A number that is positive, NULL where it is not: such rows have no prediction."""
    return f"CASE WHEN {x} > {columns.dialect.number(0.0)} THEN {x} END"


def _yeo_johnson(x: str, power: Power, columns: Columns) -> str:
    """The name of a power. log(1 + a) and eʸ − 1 are exact near 0: with u = 1 + a as it is rounded,
    log(1 + a) is a·log(u) / (u − 1); and likewise with v = eʸ (W. Kahan)."""
    stages, dialect = columns.stages, columns.dialect
    zero, one = dialect.number(0.0), dialect.number(1.0)
    u = stages.name("u", f"{one} + ABS({x})", [x])
    text = f"CASE WHEN {u} = {one} THEN ABS({x}) ELSE LN({u}) * (ABS({x}) / ({u} - {one})) END"
    log = stages.name("l", text, [x, u])
    exponents = (power.exponent, 2.0 - power.exponent)
    scaled = [dialect.product(log, e) for e in exponents]
    y = stages.name("y", f"CASE WHEN {x} >= {zero} THEN {scaled[0]} ELSE {scaled[1]} END", [x, log])
    text = (
        f"CASE WHEN {y} > {dialect.number(LARGEST_EXPONENT)} THEN {dialect.number(np.inf)} "
        f"ELSE {dialect.exp(y)} END"
    )
    v = stages.name("v", text, [y])
    less = (
        f"CASE WHEN {v} = {one} THEN {y} "
        f"WHEN {v} > {dialect.number(0.5)} AND {v} < {dialect.number(2.0)} "
        f"THEN ({v} - {one}) * ({y} / LN({v})) ELSE {v} - {one} END"
    )
    up, down = (log if e == 0.0 else f"({less}) / {dialect.number(e)}" for e in exponents)
    text = f"CASE WHEN {x} >= {zero} THEN {up} ELSE -({down}) END"
    return stages.name("x", text, [x, log, y, v])


# ---- mixtures ------------------------------------------------------------------------------------
def mixture(term: Mixture, columns: Columns) -> Added:
    """See PooledTerms."""
    terms = term.terms
    x = columns.number(term.column)
    atom = _atom(columns, x, term) if len(terms.low) else None
    uses = [x] if atom is None else [x, atom]
    masses = []
    for k in range(len(terms.constant)):
        of_one = (terms.constant[k], 0.0, terms.mean[k], terms.scale[k])
        text = _polynomial(columns, x, *map(float, of_one))
        if atom is not None:
            at_atom, more = columns.looked_up(terms.atoms[:, k].tolist(), atom, [atom])
            text = f"CASE WHEN {atom} IS NOT NULL THEN {at_atom} ELSE {text} END"
            uses = [*uses, *more]
        masses.append(columns.stages.name("g", text, uses))
    return pooled(x, masses, terms.share, terms.shift.tolist(), columns)


def pooled(
    x: str, masses: Sequence[str], share: float, shift: Sequence[float], columns: Columns
) -> Added:
    """log(M_c + share·Σ M) − shift_c of the names of all log M, by the largest of them; 0 where all
    M are 0, or x is missing."""
    stages, dialect = columns.stages, columns.dialect
    top = stages.name("t", dialect.greatest(masses), masses)
    shares = [stages.name("h", dialect.exp(f"({mass} - {top})"), [mass, top]) for mass in masses]
    total = stages.name("z", f"{dialect.number(share)} * ({' + '.join(shares)})", shares)
    nothing = f"{x} IS NULL OR {top} = {dialect.number(-np.inf)}"
    of_class = [
        f"CASE WHEN {nothing} THEN {dialect.number(0.0)} ELSE "
        f"{dialect.log(f'({own} + {total})')} + {top} - {dialect.number(less)} END"
        for own, less in zip(shares, shift, strict=True)
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
