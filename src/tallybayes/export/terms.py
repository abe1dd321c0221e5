"""Terms of a formula as SQL: what a cell, or a number, adds to the score of each class.

Columns of the table become numbers, levels and counts, these become cells, and a cell is looked up;
densities are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.export import expression as sql
from tallybayes.export.expression import Tree, Value
from tallybayes.export.written import (
    A_NUMBER,
    Conditional,
    CountCells,
    CountTail,
    CountTerm,
    Mixture,
    Powers,
    StudentTerm,
    Triangular,
    Written,
    number_of_level,
)
from tallybayes.score import (
    Cells,
    CellTable,
    CodeCells,
    Formula,
    Inexpressible,
    JointCells,
    Kind,
    LevelCells,
    NumberCells,
    Power,
    Single,
)

__all__ = [
    "JOINT_CELLS",
    "Buckets",
    "Columns",
    "JointTable",
    "added",
    "buckets_of",
    "cell_of",
    "interval_tree",
    "joined",
    "score_of",
]

Array = NDArray[np.float64]


# ---- intervals of numbers by buckets -------------------------------------------------------------
# The interval of a number by buckets of equal width: a few look-ups where a tree compares seven
# times.
#
# With b = ⌊(x − lowest start)·k⌋, the starts ≤ x are those in buckets before b, and those of
# bucket b itself that are ≤ x, which are compared. Rounding does no harm: b never falls while x
# rises.
#
# Where starts are multiples of 1/k, a power of two, b = ⌊x·k⌋ − lowest start·k is exact, and each
# bucket begins at a start or holds none, so that nothing is compared.
MIN_STARTS = 6  # starts, of which a tree takes longer
FINEST = 32  # buckets for each start, at most
MAX_BUCKETS = 4096  # buckets between which nothing is compared
MANY = 1024  # buckets with one start at most
MAX_IN_ONE = 3


class Buckets(NamedTuple):
    """Where starts are.

    Parameters
    ----------
    k : float
        Buckets for each unit of x.
    before : int64 array (n_buckets,)
        Starts in the buckets before each; of exact buckets, those at its beginning, too.
    within : float64 array (n, n_buckets)
        The starts in each, then ∞; none of exact buckets.
    exact : bool
    """

    k: float
    before: NDArray[np.int64]
    within: NDArray[np.float64]
    exact: bool


def buckets_of(starts: NDArray[np.float64]) -> Buckets | None:
    """Buckets of ascending starts for numbers from the first to below the last; None where they
    lie too close together, or are few."""
    n = len(starts)
    if n < MIN_STARTS:
        return None
    found = _exact(starts)
    for most, finest in ((1, MANY), (MAX_IN_ONE, FINEST * n)):
        size = n
        while found is None and size <= finest:
            found = _of_width(starts, size, most)
            size *= 2
    return found


def _exact(starts: NDArray[np.float64]) -> Buckets | None:
    """Buckets that begin at starts; None where they would be more than `MAX_BUCKETS`, or numbers
    too large for them."""
    span = float(starts[-1] - starts[0])
    if not 0.0 < span < np.inf:
        return None
    k = 2.0 ** np.floor(np.log2(MAX_BUCKETS / span))
    if not 2.0**-1000 < k < 2.0**1000:
        return None
    while (starts * (k / 2.0) % 1.0 == 0.0).all():
        k /= 2.0
    at = starts * k
    if not (at % 1.0 == 0.0).all() or np.abs(at).max() >= 2.0**31 - MAX_BUCKETS:
        return None
    bucket = (at - at[0]).astype(np.int64)
    held = np.bincount(bucket)[:-1]
    return Buckets(float(k), np.cumsum(held), np.empty((0, len(held))), True)


def _of_width(starts: NDArray[np.float64], size: int, most: int) -> Buckets | None:
    """Buckets, some `size` of them, with at most so many starts in one."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        k = float(size / (starts[-1] - starts[0]))
        at = np.floor((starts - starts[0]) * k)
    if not (np.isfinite(k) and k > 0.0 and np.isfinite(at).all()):
        return None
    bucket = at.astype(np.int64)
    held = np.bincount(bucket)
    if held.max() > most:
        return None
    before = np.cumsum(held) - held
    within = np.full((int(held.max()), len(held)), np.inf)
    within[np.arange(len(starts)) - before[bucket], bucket] = starts
    return Buckets(k, before, within, False)


# ---- columns of the table as numbers, levels and counts ------------------------------------------
@dataclass(eq=False)
class Columns:
    """The columns that a formula reads.

    Parameters
    ----------
    formula : Formula
    query : Query
        Gets the expressions.
    names : mapping of str to str
        What the table calls columns, where that is not their name.
    kinds : mapping of str to Kind
        What they hold in the table.

    Attributes
    ----------
    refusals : dict of str to condition
        Those under which a row has no prediction, by their text.
    """

    formula: Formula
    query: sql.Query
    names: Mapping[str, str]
    kinds: Mapping[str, Kind]

    def __post_init__(self) -> None:
        self.refusals: dict[str, Tree] = {}

    def refuse(self, condition: Tree) -> None:
        """Rows under a condition have no prediction."""
        self.refusals.setdefault(self.query.sql(condition), condition)

    def unless_refused(self, tree: Tree) -> Tree:
        """An expression, NULL for a row without a prediction."""
        if not self.refusals:
            return tree
        return sql.case((sql.exp.or_(*self.refusals.values(), copy=False), None), default=tree)

    def number(self, column: str) -> Tree:
        """The name of a column's numbers; NULL for missing ones. Rows with infinite ones are
        refused."""
        x, dialect = self.raw_number(column), self.query.dialect
        if self.kinds[column] not in ("boolean", "integer"):
            if dialect.is_nan:
                is_nan = self.query.filled(dialect.is_nan, x)
                x = self.query.name("x", sql.case((is_nan, None), default=x))
            if dialect.has_infinity:
                self.refuse(sql.call("ABS", x).eq(np.inf))
        if not self.formula.takes_missing:
            self.refuse(sql.is_null(x))
        return x

    def raw_number(self, column: str) -> Tree:
        """The name of a column's numbers, NaN and infinity among them."""
        if self.kinds[column] == "text":
            raise Inexpressible(
                f"column {column!r} holds text in the table, but the model reads numbers: cast it "
                "in a view, or name its type in types="
            )
        x = self.query.name("x", self._as_number(column))
        least = self.formula.least.get(column, 0)
        if least:
            self.refuse(x < 0.0 if least == 1 else x <= 0.0)
        return x

    def _as_number(self, column: str) -> Tree:
        """The values of a column as float64: dates as days since 1970, booleans as 1 and 0."""
        kind, x = self.kinds[column], self.query.column(self.names.get(column, column))
        if kind in ("boolean", "date"):
            dialect = self.query.dialect
            return self.query.filled(dialect.boolean if kind == "boolean" else dialect.days, x)
        if kind == "decimal":  # straight to float64 some dialects miss the nearest one
            x = sql.exp.cast(x, sql.exp.DataType.Type.VARCHAR)
        return sql.exp.cast(x, sql.exp.DataType.Type.DOUBLE)

    def level(self, column: str, levels: Sequence[str]) -> tuple[Tree, Callable[[str], Value]]:
        """The name of a column's levels, NULL for missing ones, and what makes a literal of one of
        the model's `levels`, None of one that the column cannot hold."""
        kind, query = self.kinds[column], self.query
        if kind == "text":
            own = query.column(self.names.get(column, column))
            name = query.name("v", query.filled(query.dialect.text, own))
            return name, lambda level: query.string(level) if query.holds(level) else None
        name = query.name("v", self._as_number(column))
        return name, lambda level: number_of_level(level, kind, levels)

    def count(self, cells: CountCells, most: float) -> tuple[Tree, Tree]:
        """The names of a count and of its cell, which is that of a missing value where there is
        none; rows with other numbers, and counts above `most`, are refused."""
        x = self.number(cells.column)
        self.refuse(x > most)
        self.refuse(sql.exp.and_(x > 0.0, x.neq(sql.call("FLOOR", x))))
        nothing = sql.exp.or_(sql.is_null(x), x < 0.0, x >= cells.size - 1.0)
        return x, self.query.name("c", sql.case((nothing, 1), default=sql.floor(x) + 2))


# ---- the value of the interval that holds a number, as SQL ---------------------------------------
# What is found for a cell is one of `values`: the numbers of the cells, from 1 on, or their scores.
Values = NDArray[np.integer[Any]] | NDArray[np.float64]


def _of_place(values: Values, place: Tree, columns: Columns, *, beside: bool = True) -> Tree:
    """The value at a place, counted from 1; without a look-up where values are consecutive."""
    if values.dtype.kind == "i" and len(values) > 0 and (np.diff(values) == 1).all():
        return place + int(values[0] - 1)
    return columns.query.looked_up(values, place, beside=beside)


def _by_interval(cells: NumberCells, values: Values, columns: Columns) -> Tree:
    """The value of the interval.

    Only the first and the last interval test for values that are not numbers: no comparison with
    NULL or NaN is true, and in some dialects NaN is the largest number.
    """
    x, query = columns.raw_number(cells.column), columns.query
    starts = cells.starts.tolist()
    missing, *each = values.tolist()
    own: list[Value] = each
    is_missing: Tree = sql.is_null(x)
    whens: list[tuple[Value, Value]] = []
    if columns.kinds[cells.column] not in ("boolean", "integer"):
        if query.dialect.is_nan:
            is_missing = sql.exp.or_(is_missing, query.filled(query.dialect.is_nan, x))
        if query.dialect.has_infinity:
            whens = [(x.eq(np.inf), None)]
            own[0] = sql.case((x.eq(-np.inf), None), default=own[0])
    missing = missing if columns.formula.takes_missing else None
    own[-1] = sql.case((is_missing, missing), *whens, default=own[-1])
    buckets = buckets_of(cells.starts) if query.dialect.has_fast_lists else None
    if buckets is None:
        return interval_tree(query, x, starts, own)
    between = _by_buckets(buckets, x, cells, values, columns)
    return sql.case((x < starts[0], own[0]), (x < starts[-1], between), default=own[-1])


def _by_buckets(
    buckets: Buckets, x: Tree, cells: NumberCells, values: Values, columns: Columns
) -> Tree:
    """The same of numbers between the first start and the last."""
    query, low = columns.query, float(cells.starts[0])
    if buckets.exact:
        scaled = x if buckets.k == 1.0 else x * buckets.k
        first = int(low * buckets.k) - 1
        return _of_place(values[1 + buckets.before], sql.floor(scaled) - first, columns)
    bucket = sql.call("FLOOR", (x - low) * buckets.k)  # NULL, or any number, of numbers elsewhere
    b = query.name("b", sql.exp.TryCast(this=bucket, to=sql.exp.DataType.build("INT")) + 1)
    place = query.looked_up(buckets.before + 1, b)
    for of_one in buckets.within:
        place = place + sql.integer(x >= query.looked_up(of_one, b))
    return _of_place(values[1:], place, columns)


def interval_tree(
    query: sql.Query, x: Tree, starts: Sequence[Value], cells: Sequence[Value]
) -> Tree:
    """cells[i] where i of the ascending starts are ≤ x; the last where none is known to be above
    x."""
    n = len(cells)
    if n == 1:
        return sql.literal(cells[0])
    fan = min(query.dialect.fan, n)
    ends = [i * n // fan for i in range(fan + 1)]
    parts = [interval_tree(query, x, starts[a : b - 1], cells[a:b]) for a, b in pairwise(ends)]
    whens = [(x < starts[b - 1], part) for b, part in zip(ends[1:-1], parts, strict=False)]
    return sql.case(*whens, default=parts[-1])


# ---- the value of the cell of a level, as SQL ----------------------------------------------------
def _by_level(cells: LevelCells, values: Values, columns: Columns) -> Tree:
    """The value of the level: by comparisons one after another, of many levels in a tree."""
    query, as_text = columns.query, columns.kinds[cells.column] == "text"
    name, literal_of = columns.level(cells.column, cells.levels)
    missing, *of_levels, other = values.tolist()
    missing = missing if columns.formula.takes_missing else None
    other = None if cells.refuses_others else other
    if A_NUMBER in cells.levels and not as_text:
        other = of_levels[cells.levels.index(A_NUMBER)]
    last_other: Tree = sql.NULL  # (a CASE of NULL alone is an error in SQL Server)
    if (missing, other) != (None, None):
        last_other = sql.case((sql.is_null(name), missing), default=other)
    known = [
        (level.encode(), written, 1 + i)
        for i, level in enumerate(cells.levels)
        if (written := literal_of(level)) is not None
    ]
    if not known:
        return last_other
    leaf = query.dialect.leaf if as_text else len(known)
    if len(known) > leaf:  # in the order in which the database compares strings
        known.sort(key=lambda level: level[0])
    starts = range(0, len(known), leaf)
    literals = [[level for _, level, _ in known[i : i + leaf]] for i in starts]
    bounds, found = [own[0] for own in literals[1:]], values[[cell for *_, cell in known]]
    if as_text and query.dialect.has_fast_lists:
        places = [query.place(own, name) for own in literals]
        places[1:] = [place + i for place, i in zip(places[1:], starts[1:], strict=True)]
        place = interval_tree(query, name, bounds, places)
        beside = len(places) > 1
        return sql.call("COALESCE", _of_place(found, place, columns, beside=beside), last_other)
    parts = [
        sql.case(
            *zip(own, found[i : i + leaf].tolist(), strict=True),
            default=other if own is not literals[-1] else last_other,  # where NULL arrives, too
            of=name,
        )
        for i, own in zip(starts, literals, strict=True)
    ]
    return interval_tree(query, name, bounds, parts)


# ---- the cell of a value, and its score ----------------------------------------------------------
def cell_of(cells: Cells, columns: Columns) -> Tree:
    """The name of the cell of each row, counted from 1."""
    query = columns.query
    if isinstance(cells, JointCells):
        singles = zip(cells.cells, cells.maps, cells.strides, strict=True)
        each = [
            query.looked_up(coarse * stride + (i == 0), cell_of(single, columns))
            for i, (single, coarse, stride) in enumerate(singles)
        ]
        return query.name("c", reduce(add, each))
    if isinstance(cells, CodeCells):
        return _code(cells, columns)
    return query.name("c", score_of(cells, 1 + np.arange(cells.size), columns))


def score_of(cells: LevelCells | NumberCells, scores: Values, columns: Columns) -> Tree:
    """The score of the cell of each row, without the number of the cell.

    Parameters
    ----------
    cells : LevelCells or NumberCells
    scores : array (size,)
    columns : Columns
    """
    if isinstance(cells, LevelCells):
        return _by_level(cells, scores, columns)
    return _by_interval(cells, scores, columns)


def _code(cells: CodeCells, columns: Columns) -> Tree:
    x, n = columns.number(cells.column), cells.size - 1
    if cells.truncates:
        x = columns.query.name(
            "x", sql.case((x < 0.0, sql.call("CEIL", x)), default=sql.call("FLOOR", x))
        )
    columns.refuse(x < 0.0)
    columns.refuse(x.neq(sql.call("FLOOR", x)))
    if cells.refuses_others:
        columns.refuse(x >= float(n))
    whens = (sql.exp.or_(sql.is_null(x), x < 0.0), 1), (x >= float(n), 1 + n)
    return columns.query.name("c", sql.case(*whens, default=sql.floor(x) + 1))


# ---- densities of a number -----------------------------------------------------------------------
LARGEST_EXPONENT = 709.0  # e to this is a float64


def _known(columns: Columns, x: Tree, tree: Tree) -> Tree:
    """An expression of a number, 0 where it is missing."""
    return sql.zero_if_null(x, tree) if columns.formula.takes_missing else tree


def _powers(term: Powers, columns: Columns) -> list[Tree]:
    """A polynomial of second degree for each class."""
    x = _number(term, columns)
    return [
        _known(columns, x, _polynomial(columns, x, *map(float, of_one)))
        for of_one in zip(*term.terms, strict=True)
    ]


def _polynomial(
    columns: Columns, x: Tree, constant: float, slope: float, mean: float, scale: float
) -> Tree:
    """constant + slope·x − ((x − mean)·scale)²; nothing for slope·0."""
    parts: list[Tree] = [sql.literal(constant)] if constant else []
    if np.isinf(slope):
        parts.append(sql.case((x.eq(0.0), 0.0), default=slope))
    elif slope:
        parts.append(columns.query.product(x, slope))
    if not scale:
        return sql.total(parts or [sql.literal(0.0)])
    square = columns.query.square(x, mean, scale)
    return sql.total(parts) - square if parts else -square


def _student(term: StudentTerm, columns: Columns) -> list[Tree]:
    """The logarithm of a Student-t for each class."""
    x, found = _number(term, columns), []
    for constant, half, mean, scale in zip(
        *(a.tolist() for a in (term.constant, term.half, term.mean, term.scale)), strict=True
    ):
        tail = columns.query.log(columns.query.square(x, mean, scale) + 1.0) * half
        found.append(_known(columns, x, sql.literal(constant) - tail))
    return found


# ---- logarithms and powers of a number -----------------------------------------------------------
def _number(term: Powers | StudentTerm, columns: Columns) -> Tree:
    """The name of the number, or of its power."""
    x = columns.number(term.column)
    if term.power is None:
        return x
    if term.power.kind == "log":  # rows with other numbers have no prediction
        return columns.query.name("x", sql.call("LN", sql.case((x > 0.0, x))))
    return _yeo_johnson(x, term.power, columns)


def _yeo_johnson(x: Tree, power: Power, columns: Columns) -> Tree:
    """The name of a power. log(1 + a) and eʸ − 1 are exact near 0: with u = 1 + a as it is rounded,
    log(1 + a) is a·log(u) / (u − 1); and likewise with v = eʸ (W. Kahan)."""
    query, size = columns.query, sql.call("ABS", x)
    u = query.name("u", size + 1.0)
    ln = query.name(
        "l", sql.case((u.eq(1.0), size), default=sql.call("LN", u) * (size / (u - 1.0)))
    )
    exponents = (power.exponent, 2.0 - power.exponent)
    up, down = (query.product(ln, e) for e in exponents)
    y = query.name("y", sql.case((x >= 0.0, up), default=down))
    v = query.name("v", sql.case((y > LARGEST_EXPONENT, np.inf), default=query.exponential(y)))
    less = sql.case(
        (v.eq(1.0), y),
        (sql.exp.and_(v > 0.5, v < 2.0), (v - 1.0) * (y / sql.call("LN", v))),
        default=v - 1.0,
    )
    up, down = (ln if e == 0.0 else less / e for e in exponents)
    return query.name("x", sql.case((x >= 0.0, up), default=-down))


# ---- numbers whose classes share some rows -------------------------------------------------------
def _mixture(term: Mixture, columns: Columns) -> list[Tree]:
    """See PooledTerms."""
    terms, query = term.terms, columns.query
    x = columns.number(term.column)
    atom = _atom(columns, x, term) if len(terms.low) else None
    masses = []
    for k in range(len(terms.constant)):
        of_one = (terms.constant[k], 0.0, terms.mean[k], terms.scale[k])
        mass = _polynomial(columns, x, *map(float, of_one))
        if atom is not None:
            mass = sql.case(
                (sql.is_null(atom), mass), default=query.looked_up(terms.atoms[:, k], atom)
            )
        masses.append(query.name("g", mass))
    return _pooled(x, masses, terms.share, terms.shift.tolist(), columns)


def _pooled(
    x: Tree, masses: Sequence[Tree], share: float, shift: Sequence[float], columns: Columns
) -> list[Tree]:
    """log(M_c + share·Σ M) − shift_c of the names of all log M, by the largest of them; 0 where all
    M are 0, or x is missing."""
    query = columns.query
    top = query.name("t", sql.greatest(masses))
    shares = [query.name("h", query.exponential(mass - top)) for mass in masses]
    pool = query.name("z", sql.total(shares) * share)
    nothing = sql.exp.or_(sql.is_null(x), top <= -np.inf)
    return [
        sql.case((nothing, 0.0), default=query.log(own + pool) + top - less)
        for own, less in zip(shares, shift, strict=True)
    ]


def _atom(columns: Columns, x: Tree, term: Mixture) -> Tree:
    """The name of the index of the atom at which a number is, NULL where it is at none."""
    terms = term.terms
    bounds = np.unique(np.concatenate([terms.low, terms.high]))
    between = np.concatenate([[-np.inf], bounds])  # where each interval begins
    at = np.searchsorted(terms.low, between, side="right").tolist()
    cells: list[Value] = [
        i if i > 0 and x < terms.high[i - 1] else sql.NULL
        for i, x in zip(at, between.tolist(), strict=True)
    ]
    return columns.query.name("a", interval_tree(columns.query, x, bounds.tolist(), cells))


# ---- columns that are scored together: each column given the columns before it -------------------
def _triangular(term: Triangular, columns: Columns) -> list[Tree]:
    """The squares of all columns; of a missing value there is none."""
    query = columns.query
    x = [columns.number(name) for name in term.columns]
    if term.every:
        for name in x:
            columns.refuse(sql.is_null(name))
    patterns: list[Tree | None] = []  # the number whose binary digits mark columns with a value
    for j, steps in enumerate(term.steps):
        bits = [sql.case((sql.is_null(name), 0), default=1 << i) for i, name in enumerate(x[:j])]
        several = len(steps) > 1
        patterns.append(query.name("w", sql.total([sql.literal(1), *bits])) if several else None)
    found: list[Tree] = []
    for k in range(len(term.mean)):
        nu = None if term.freedom is None else float(term.freedom[k])
        scale = math.sqrt(0.5 if nu is None else 1.0 / nu)
        constants, squares = [], []
        for j, (steps, pattern) in enumerate(zip(term.steps, patterns, strict=True)):
            r = query.name("r", _residual(term, j, k, x, pattern, columns))
            values = [float(step.constant[k]) for step in steps]
            constant = sql.literal(values[0])
            if pattern is not None:
                constant = query.looked_up(values, pattern)
            constants.append(sql.zero_if_null(x[j], constant))
            squares.append(sql.zero_if_null(x[j], query.square(r, 0.0, scale)))
        constant, square = sql.total(constants), sql.total(squares)
        if nu is None:
            found.append(constant - square)
            continue
        n = [sql.zero_if_null(name, 1.0) for name in x]
        half = sql.total([sql.literal(nu), *n]) * 0.5
        found.append(constant - half * sql.call("LN", square + 1.0))
    return found


def _residual(
    term: Triangular, j: int, k: int, x: list[Tree], pattern: Tree | None, columns: Columns
) -> Tree:
    """r of column j in class k; NULL for a missing value."""

    def weighted(step: Conditional) -> Tree:
        return sql.total(
            [
                columns.query.product(x[i] - float(term.mean[k, i]), w)
                for i, w in zip((*step.given, j), step.weights[k].tolist(), strict=True)
                if w != 0.0
            ]
        )

    if pattern is None:
        return weighted(term.steps[j][0])
    each = [(1 + sum(1 << i for i in step.given), weighted(step)) for step in term.steps[j]]
    return sql.case(*each, of=pattern)


# ---- counts that a formula reads: a table, and a tail beyond it ----------------------------------
def _counts(term: CountTerm, columns: Columns) -> list[Tree]:
    """The table where the count is in it, the tail elsewhere."""
    x, cell = columns.count(term.cells, term.most)
    beyond = sql.exp.and_(x >= term.cells.size - 1.0, x <= term.most)
    y = columns.query.name("y", sql.case((beyond, x)))
    return [
        sql.case((sql.is_null(y), columns.query.looked_up(scores, cell)), default=far)
        for far, scores in zip(_tail(y, term.tail, columns), term.scores, strict=True)
    ]


def _tail(y: Tree, tail: CountTail, columns: Columns) -> list[Tree]:
    """The score of counts beyond the table, NULL for others."""
    query, masses = columns.query, list[Tree]()
    shared = query.name("q", sql.call("LN", y) * 0.5 + _correction(y))
    for constant, mean, size in zip(
        tail.constant.tolist(), tail.mean.tolist(), tail.size.tolist(), strict=True
    ):
        if mean == 0.0:  # no count but 0 is possible
            masses.append(query.name("g", sql.literal(-np.inf)))
            continue
        odds = (y + size) / y * (mean / (size + mean))
        rising = sql.call("LN", y / size + 1.0) * (size - 0.5)
        mass = y * sql.call("LN", odds) + constant + rising - shared + _correction(y + size)
        masses.append(query.name("g", mass))
    if tail.share is None:
        return masses
    return _pooled(y, masses, tail.share, tail.shift.tolist(), columns)


def _correction(z: Tree) -> Tree:
    """c(z): what Stirling's formula lacks."""
    square = sql.exp.paren(z * z)
    tail = sql.literal(1.0 / 360.0) - 1.0 / 1260.0 / square
    return (sql.literal(1.0 / 12.0) - tail / square) / z


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
    return list(cells.cells) if isinstance(cells, JointCells) else [cells]


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

    joint = [[_key(cells) for cells in _singles(t)] for t in tables if len(_singles(t)) > 1]
    for keys in sorted(joint, key=lambda keys: prod(sizes[key] for key in keys)):
        for other in keys[1:]:
            one, of_other = (next(g for g in groups if key in g) for key in (keys[0], other))
            merge(one, of_other)
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
        order = np.argsort([places.index(key) for key in keys])
        own = _of_singles(table).transpose(0, *(1 + order))
        axes = [n if key in keys else 1 for n, key in zip(shape, places, strict=True)]
        scores += own.reshape(-1, *axes)
    return JointTable(list(cells.values()), scores.reshape(len(scores), -1))


def _of_singles(table: CellTable) -> Array:
    """The scores of a table by the cells of its single columns."""
    cells = table.cells
    if isinstance(cells, JointCells):
        places = sum(
            coarse * stride
            for coarse, stride in zip(np.ix_(*cells.maps), cells.strides, strict=True)
        )
        return table.scores[:, places]
    return table.scores


# ---- the score of any term -----------------------------------------------------------------------
def added(term: Written | JointTable, columns: Columns) -> list[Tree]:
    """What a term adds to the score of each class."""
    if isinstance(term, CellTable):
        if len(term.scores) == 1 and isinstance(term.cells, LevelCells | NumberCells):
            return [score_of(term.cells, term.scores[0], columns)]
        cell = cell_of(term.cells, columns)
        return [columns.query.looked_up(of_one, cell) for of_one in term.scores]
    if isinstance(term, JointTable):
        first, *others = term.cells
        cell = cell_of(first, columns)
        for cells in others:
            cell = (cell - 1) * cells.size + cell_of(cells, columns)
        cell = columns.query.name("c", cell)
        return [columns.query.looked_up(of_one, cell) for of_one in term.scores]
    if isinstance(term, Powers):
        return _powers(term, columns)
    if isinstance(term, Mixture):
        return _mixture(term, columns)
    if isinstance(term, StudentTerm):
        return _student(term, columns)
    if isinstance(term, CountTerm):
        return _counts(term, columns)
    return _triangular(term, columns)
