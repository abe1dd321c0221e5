"""The cell of each row in a table of scores, or its score, as SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.dialects import Dialect, Stages
from tallybayes.export.terms import CountCells
from tallybayes.parameters.formula import (
    Cells,
    CodeCells,
    Formula,
    Inexpressible,
    Kind,
    LevelCells,
    NumberCells,
    PairedCells,
)
from tallybayes.tables.columns import EXACT, text_of_days, text_of_number
from tallybayes.tables.values import days_of_text

__all__ = [
    "Buckets",
    "CellOutput",
    "Columns",
    "Places",
    "Uses",
    "buckets_of",
    "by_interval",
    "by_level",
    "cell_of",
    "interval_tree",
    "score_of",
]


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
    size = n
    while found is None and size <= MANY:
        found = _of_width(starts, size, 1)
        size *= 2
    size = n
    while found is None and size <= FINEST * n:
        found = _of_width(starts, size, MAX_IN_ONE)
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


# ---- the number or the score of the interval that holds a number, as SQL -------------------------
Places = NDArray[np.integer[Any]]
Uses = list[str]


class CellOutput(Protocol):
    """What an expression gives for a cell: its number, or its score."""

    def of(self, cell: int) -> str:
        """A literal."""

    def of_each(self, cells: Places, index: str, uses: Uses) -> tuple[str, Uses]:
        """The output of one of some cells by its index, which has the names `uses`, and the names
        in that expression."""

    def of_each_level(self, cells: Places, index: str) -> str:
        """The same without an array beside the rows, so that a database that stores a column as
        codes finds it once for each code."""


def by_interval(cells: NumberCells, output: CellOutput, columns: Columns) -> tuple[str, Uses]:
    """The expression, and the names in it.

    Only the first and the last interval test for values that are not numbers: no comparison with
    NULL or NaN is true, and in some dialects NaN is the largest number.
    """
    x, dialect = columns.raw_number(cells.column), columns.dialect
    own = [output.of(1 + i) for i in range(cells.size - 1)]
    _set_bounds(own, output.of(0), x, cells.column, columns)
    buckets = buckets_of(cells.starts) if dialect.has_buckets else None
    if buckets is None:
        return interval_tree(dialect, x, cells.starts.tolist(), own), [x]
    between, uses = _by_buckets(buckets, x, cells, output, columns)
    low, high = (dialect.number(float(cells.starts[i])) for i in (0, -1))
    text = f"WHEN {x} < {low} THEN {own[0]} WHEN {x} < {high} THEN {between}"
    return f"CASE {text} ELSE {own[-1]} END", [x, *uses]


def _set_bounds(own: list[str], missing: str, x: str, column: str, columns: Columns) -> None:
    """Sets the output of missing and infinite numbers in the first and the last interval."""
    dialect, finite = columns.dialect, columns.kinds[column] in ("boolean", "integer")
    if not columns.formula.takes_missing:
        missing = "NULL"
    known = "" if finite else f"WHEN {x} = {dialect.number(np.inf)} THEN NULL "
    own[-1] = (
        f"CASE WHEN {x} IS NULL{'' if finite else f' OR {dialect.is_nan(x)}'} THEN {missing} "
        f"{known}ELSE {own[-1]} END"
    )
    if not finite:
        own[0] = f"CASE WHEN {x} = {dialect.number(-np.inf)} THEN NULL ELSE {own[0]} END"


def _by_buckets(
    buckets: Buckets, x: str, cells: NumberCells, output: CellOutput, columns: Columns
) -> tuple[str, Uses]:
    """The same of numbers between the first start and the last."""
    dialect, low = columns.dialect, float(cells.starts[0])
    if buckets.exact:
        return output.of_each(1 + buckets.before, dialect.exact_bucket(x, low, buckets.k), [x])
    b = columns.stages.name("b", dialect.bucket(x, dialect.number(low), buckets.k), [x])
    index, uses = columns.whole_looked_up((buckets.before + dialect.first).tolist(), b, [x, b])
    for of_one in buckets.within.tolist():
        start, more = columns.looked_up(of_one, b, [b])
        index += f" + {dialect.as_bit(f'{x} >= {start}')}"
        uses += more
    return output.of_each(np.arange(1, cells.size), index, uses)


def interval_tree(dialect: Dialect, x: str, starts: Sequence[float], cells: Sequence[str]) -> str:
    """cells[i] where i of the starts are ≤ x; the last where none is known to be above x."""
    if not starts:
        return cells[0]
    at = (len(starts) - 1) // 2
    below = interval_tree(dialect, x, starts[:at], cells[: at + 1])
    above = interval_tree(dialect, x, starts[at + 1 :], cells[at + 1 :])
    return f"CASE WHEN {x} < {dialect.number(starts[at])} THEN {below} ELSE {above} END"


# ---- the number or the score of the cell of a level, as SQL --------------------------------------
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


# ---- the cell of a value, and its score ----------------------------------------------------------
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
