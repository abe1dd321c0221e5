"""Contributions of the terms of a formula to the score of each class, as SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.cells import Columns, cell_of, interval_tree, score_of
from tallybayes.export.terms import (
    Conditional,
    CountTail,
    CountTerm,
    Mixture,
    Powers,
    StudentTerm,
    Triangular,
    Written,
)
from tallybayes.parameters.formula import (
    Cells,
    CellTable,
    LevelCells,
    NumberCells,
    PairedCells,
    Power,
    Single,
)

__all__ = [
    "JOINT_CELLS",
    "Added",
    "JointTable",
    "added",
    "counts",
    "joined",
    "mixture",
    "pooled",
    "powers",
    "student",
    "triangular",
]


# ---- contributions of densities of a number to the score of each class, as SQL -------------------
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


# ---- numbers whose classes share some rows -------------------------------------------------------
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


# ---- columns that are scored together, as SQL: each column given the columns before it -----------
def triangular(term: Triangular, columns: Columns) -> Added:
    """The squares of all columns; of a missing value there is none."""
    stages, dialect = columns.stages, columns.dialect
    x = [columns.number(name) for name in term.columns]
    if term.every:
        for name in x:
            columns.refuse(f"{name} IS NULL", name)
    patterns = [_pattern(x[:j], columns) if len(s) > 1 else "" for j, s in enumerate(term.steps)]
    zero, one, n_classes = dialect.number(0.0), dialect.number(1.0), len(term.mean)
    uses = [*x, *filter(None, patterns)]
    of_class = []
    for k in range(n_classes):
        constants, squares = [], []
        nu = None if term.freedom is None else float(term.freedom[k])
        scale = math.sqrt(0.5 if nu is None else 1.0 / nu)
        for j, steps in enumerate(term.steps):
            r = stages.name(
                "r",
                _residual(term, j, k, x, patterns[j], columns),
                [*x[: j + 1], *filter(None, [patterns[j]])],
            )
            uses.append(r)
            constant, more = _constant(steps, k, patterns[j], columns)
            uses += more
            constants.append(_if_there(x[j], constant, zero))
            squares.append(_if_there(x[j], dialect.square(r, 0.0, scale), zero))
        constant, square = " + ".join(constants), " + ".join(squares)
        if nu is None:
            of_class.append(f"{constant} - ({square})")
            continue
        there = " + ".join(_if_there(name, one, zero) for name in x)
        half = f"{dialect.number(0.5)} * ({dialect.number(nu)} + {there})"
        of_class.append(f"{constant} - {half} * LN({one} + {square})")
    return Added(of_class, uses)


def _if_there(x: str, expression: str, zero: str) -> str:
    return f"CASE WHEN {x} IS NULL THEN {zero} ELSE {expression} END"


def _pattern(x: list[str], columns: Columns) -> str:
    """The name of the number whose binary digits mark the columns that have a value, counted from
    the dialect's first index."""
    bits = [f"CASE WHEN {name} IS NULL THEN 0 ELSE {1 << i} END" for i, name in enumerate(x)]
    return columns.stages.name("w", " + ".join([str(columns.dialect.first), *bits]), x)


def _constant(
    steps: list[Conditional], k: int, pattern: str, columns: Columns
) -> tuple[str, list[str]]:
    """The constant of a column in class k, and the names in it."""
    values = [float(step.constant[k]) for step in steps]
    if len(values) == 1:
        return columns.dialect.number(values[0]), []
    return columns.looked_up(values, pattern, [pattern])


def _residual(
    term: Triangular, j: int, k: int, x: list[str], pattern: str, columns: Columns
) -> str:
    """r of column j in class k; NULL for a missing value."""
    dialect = columns.dialect

    def weighted(step: Conditional) -> str:
        return " + ".join(
            f"({dialect.product(f'({x[i]} - {dialect.number(float(term.mean[k, i]))})', float(w))})"
            for i, w in zip((*step.given, j), step.weights[k].tolist(), strict=True)
            if w != 0.0
        )

    if len(term.steps[j]) == 1:
        return weighted(term.steps[j][0])
    cases = [
        f"WHEN {dialect.first + sum(1 << i for i in step.given)} THEN {weighted(step)}"
        for step in term.steps[j]
    ]
    return f"CASE {pattern} {' '.join(cases)} END"


# ---- counts that a formula reads, as SQL: a table, and a tail beyond it --------------------------
def counts(term: CountTerm, columns: Columns) -> Added:
    """The table where the count is in it, the tail elsewhere."""
    dialect, size = columns.dialect, term.cells.size
    x, cell = columns.count(term.cells, term.most)
    beyond = f"{x} >= {dialect.number(size - 1.0)}"
    within = f"CASE WHEN {beyond} AND {x} <= {dialect.number(term.most)} THEN {x} END"
    y = columns.stages.name("y", within, [x])
    tail = _tail(y, term.tail, columns)
    of_class, uses = [], [y, *tail.uses]
    for far, scores in zip(tail.of_class, term.scores, strict=True):
        near, more = columns.looked_up(scores.tolist(), cell, [cell])
        of_class.append(f"CASE WHEN {y} IS NOT NULL THEN {far} ELSE {near} END")
        uses += more
    return Added(of_class, uses)


def _tail(y: str, tail: CountTail, columns: Columns) -> Added:
    """The score of counts beyond the table, NULL for others."""
    stages, dialect = columns.stages, columns.dialect
    half = dialect.number(0.5)
    shared = stages.name("q", f"{half} * LN({y}) + {_correction(y, columns)}", [y])
    masses = []
    for constant, mean, size in zip(
        tail.constant.tolist(), tail.mean.tolist(), tail.size.tolist(), strict=True
    ):
        if mean == 0.0:  # no count but 0 is possible
            masses.append(stages.name("g", dialect.number(float("-inf")), [y]))
            continue
        r = dialect.number(size)
        odds = f"({r} + {y}) / {y} * {dialect.number(mean / (size + mean))}"
        rising = f"{dialect.number(size - 0.5)} * LN({dialect.number(1.0)} + {y} / {r})"
        text = (
            f"{dialect.number(constant)} + {y} * LN({odds}) + {rising} - {shared} + "
            f"{_correction(f'({r} + {y})', columns)}"
        )
        masses.append(stages.name("g", text, [y, shared]))
    if tail.share is None:
        return Added(masses, masses)
    return pooled(y, masses, tail.share, tail.shift.tolist(), columns)


def _correction(z: str, columns: Columns) -> str:
    """c(z): what Stirling's formula lacks."""
    first, second, third = map(columns.dialect.number, (1.0 / 12.0, 1.0 / 360.0, 1.0 / 1260.0))
    square = f"({z} * {z})"
    return f"({first} - ({second} - {third} / {square}) / {square}) / {z}"


# ---- tables of several columns looked up at once -------------------------------------------------
# A statement looks each table up once a class, which is most of its time where classes are many.
# Two tables of few cells are one table of pairs of cells, whose scores are the sums:
#
#     T[a·n_b + b] = A[a] + B[b]
#
# so that the sums are made when the statement is written, not for each row. A table of two columns
# is added to the joint table that has both.
JOINT_CELLS = 128
"""Cells that a joint table may have, however many classes there are."""

Array = NDArray[np.float64]
Key = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class JointTable:
    """term_c = scores[c, cell], the cell being (a·n_b + b)·n_c + … of the cells of columns.

    Parameters
    ----------
    cells : list of cells
    scores : float64 array (n_classes, product of the sizes)
        In nats; finite or −inf.
    """

    cells: list[Cells]
    scores: Array


def joined(terms: Sequence[Written], most: int = JOINT_CELLS) -> list[Written | JointTable]:
    """The same terms, with tables of one column or two joined where the joint table has at most
    `most` numbers for all classes, or `JOINT_CELLS` cells.

    A joint table stands where the first of its tables stood. A single score, of log-odds, has joint
    tables of pairs alone: it takes as long to look a column up as to add its cell to another's.
    """
    tables = {i: term for i, term in enumerate(terms) if isinstance(term, CellTable)}
    if not tables:
        return list(terms)
    n_rows = len(next(iter(tables.values())).scores)
    group_of = _groups(list(tables.values()), max(JOINT_CELLS, most // n_rows))
    members: dict[int, list[int]] = {}
    for i, table in tables.items():
        groups = {group_of[_key(cells)] for cells in _singles(table)}
        if len(groups) == 1:
            members.setdefault(groups.pop(), []).append(i)
    first = {places[0]: places for places in members.values() if len(places) > 1}
    later = {i for places in first.values() for i in places[1:]}
    return [
        _joint([tables[k] for k in first[i]]) if i in first else term
        for i, term in enumerate(terms)
        if i not in later
    ]


def _singles(table: CellTable) -> list[Single]:
    """The cells of a table's columns."""
    cells = table.cells
    return [cells.first, cells.second] if isinstance(cells, PairedCells) else [cells]


def _key(cells: Single) -> Key:
    """What cells of one column have in common, whichever table they are of."""
    if isinstance(cells, LevelCells):
        return ("level", cells.column, tuple(cells.levels), cells.refuses_others)
    if isinstance(cells, NumberCells):
        return ("number", cells.column, cells.starts.tobytes())
    return ("code", cells.column, cells.size, cells.truncates, cells.refuses_others)


def _groups(tables: Sequence[CellTable], most: int) -> dict[Key, int]:
    """The group of each column: those of pairs of few cells first, then, largest first, each
    group into the first that stays within `most` cells."""
    sizes = {_key(cells): cells.size for table in tables for cells in _singles(table)}
    groups = [{key} for key in sizes]

    def merge(one: set[Key], other: set[Key]) -> bool:
        if one is other or prod(sizes[key] for key in one | other) > most:
            return False
        one |= other
        groups.remove(other)
        return True

    pairs = [[_key(cells) for cells in _singles(t)] for t in tables if len(_singles(t)) == 2]
    for pair in sorted(pairs, key=lambda pair: prod(sizes[key] for key in pair)):
        one, other = (next(group for group in groups if key in group) for key in pair)
        merge(one, other)
    if len(tables[0].scores) == 1:
        return {key: i for i, group in enumerate(groups) for key in group}
    for group in sorted(groups, key=lambda group: -prod(sizes[key] for key in group)):
        for larger in groups[: groups.index(group)]:
            if merge(larger, group):
                break
    return {key: i for i, group in enumerate(groups) for key in group}


def _joint(tables: Sequence[CellTable]) -> JointTable:
    """The sum of tables, over the cells of all their columns."""
    cells: dict[Key, Single] = {}
    for table in tables:
        cells |= {_key(single): single for single in _singles(table)}
    shape, places = [single.size for single in cells.values()], list(cells)
    scores = np.zeros((len(tables[0].scores), *shape))
    for table in tables:
        keys = [_key(single) for single in _singles(table)]
        own = _of_singles(table)
        if places.index(keys[0]) > places.index(keys[-1]):
            own = own.swapaxes(1, 2)
        axes = [n if key in keys else 1 for n, key in zip(shape, places, strict=True)]
        scores += own.reshape(-1, *axes)
    return JointTable(list(cells.values()), scores.reshape(len(scores), -1))


def _of_singles(table: CellTable) -> Array:
    """The scores of a table by the cells of its single columns."""
    cells = table.cells
    if isinstance(cells, PairedCells):
        a, b = cells.maps
        return table.scores[:, a[:, None] * cells.width + b[None, :]]
    return table.scores


# ---- the score of any term -----------------------------------------------------------------------
def added(term: Written | JointTable, columns: Columns) -> Added:
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
