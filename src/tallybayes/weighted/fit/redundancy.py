"""Near-copies of columns, and the choice of a representative for each group of them.

A column and a copy that differs in a few rows gain about as much alone, and so do their pairs with
a third column. Where the classes follow a rule of several columns, the few differing rows show
which copy is right, but only to a model that contains the rule. So the model is fitted with each
copy and with all of them, and the leave-one-out log-loss decides. Other columns are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.fit.learned import Learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.shrinkage import min_column_gain
from tallybayes.weighted.fit.stagewise import Rounds
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.column_tables import ColumnTable, column_tables, screened

__all__ = ["best_of_copies", "fit_representatives", "near_copies", "represented"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

MAX_OPEN_ENTROPY = 0.1  # of a column's entropy, that a near-copy of it may leave open
MAX_OPEN_VARIANCE = 0.02  # of a number's variance
MIN_RELATIVE_RANGE = 1e-9  # of the greatest edge: rounding makes less
N_CELLS = 8  # of a number beside strings
MAX_COMPARED_COLUMNS = 100  # columns that are compared, those that gain most
MAX_COMPARED_ROWS = 4000  # rows that they are compared on
MAX_GROUP_COLUMNS = 3  # columns of a group
MAX_ROWS = 20_000  # rows up to which it matters
MAX_ADDITIONAL_FITS = 8  # additional fits
MAX_WORK = 10_000_000  # those times rows, columns and classes
MIN_GAIN = 5.0  # nats that another choice has to gain


def near_copies(
    columns: list[ColumnCells], tables: list[ColumnTable], rows: LearningRows
) -> list[list[int]]:
    """Groups of two or three near-copies. Groups, and columns in a group, that gain most come
    first.

    Of two numbers, one leaves open less than 2 % of the other's variance; of two other columns,
    each leaves open less than a tenth of the other's entropy. Each of a group is a near-copy of
    another of it, and of no other column. Of the columns those are compared that gain most by
    themselves.

    More than three columns that hang together, as those of a spectrum do, are not a group: there
    each has noise of its own, which all of them together level out, and a wrong value is outvoted.

    There are none where rows are many: columns that differ in more than a few rows differ in what
    they gain, too, so that what is chosen by chance costs some 30 nats in all, however many the
    rows. Nor where one more fit would take long.

    Parameters
    ----------
    columns : list of ColumnCells
    tables : list of ColumnTable
        Theirs.
    rows : LearningRows
    """
    if rows.n > MAX_ROWS or not _tries(rows):
        return []
    order = sorted(range(len(columns)), key=lambda j: (-tables[j].gain, columns[j].name))[
        :MAX_COMPARED_COLUMNS
    ]
    seen = _Seen(columns, rows, order)
    near = np.zeros((len(order), len(order)), dtype=bool)
    for (a, i), (b, j) in combinations(enumerate(order), 2):
        near[a, b] = seen.near(i, j)
    group = np.arange(len(order))
    for a, b in np.argwhere(near):
        group[group == group[b]] = group[a]
    members = [[order[a] for a in np.flatnonzero(group == g)] for g in np.unique(group)]
    found = [some for some in members if 1 < len(some) <= MAX_GROUP_COLUMNS]
    return sorted(found, key=lambda some: order.index(some[0]))


class _Seen:
    """Some columns in the form in which they are compared, on some rows: numbers by their values,
    others by coarse cells."""

    def __init__(self, columns: list[ColumnCells], rows: LearningRows, among: list[int]) -> None:
        step = max(1, -(-rows.n // MAX_COMPARED_ROWS))
        weight = rows.weight[::step]
        self.share = weight / max(float(weight.sum()), 1e-300)
        cells = {j: rows.cells[j, ::step] for j in among}
        self.codes = {j: coarse(columns[j], N_CELLS)[cells[j]] for j in among}
        self.entropy = {j: self._entropy(codes) for j, codes in self.codes.items()}
        numbers = [j for j in among if columns[j].is_number]
        self.values = {j: _values(columns[j], cells[j], self.share) for j in numbers}

    def near(self, i: int, j: int) -> bool:
        """Whether each column determines the other nearly."""
        if i in self.values and j in self.values:
            return float(self.values[i] @ self.values[j]) ** 2 > 1.0 - MAX_OPEN_VARIANCE
        low, high = sorted((self.entropy[i], self.entropy[j]))
        if low <= (1.0 - MAX_OPEN_ENTROPY) * high:
            return False
        width = int(self.codes[j].max()) + 1
        return self._entropy(self.codes[i] * width + self.codes[j]) - low < MAX_OPEN_ENTROPY * high

    def _entropy(self, codes: Cells) -> float:
        """In nats."""
        share = np.bincount(codes, self.share)
        share = share[share > 0.0]
        return -float(share @ np.log(share))


def _values(column: ColumnCells, cells: Cells, share: Array) -> Array:
    """A number in each row: the middle of its cell, less the mean, 0 for others; times the root of
    the row's share, of length 1. A column without two values is 0."""
    edges = column.edges
    assert edges is not None
    if not len(edges):
        return np.zeros(len(cells))
    scaled = edges / max(float(np.abs(edges).max()), 1e-300)
    wide = np.diff(scaled) if len(edges) > 1 else np.ones(1)
    usual = float(np.median(wide))  # the first and the last cell have no end: as if it were theirs
    ends = np.concatenate([[scaled[0] - usual], scaled, [scaled[-1] + usual]])
    others = np.zeros(column.n_cells - column.n_numbers)
    middle = np.append(0.5 * (ends[1:] + ends[:-1]), others)
    held = np.where(cells >= column.n_numbers, 0.0, share)
    mean = float(held @ middle[cells]) / max(float(held.sum()), 1e-300)
    values: Array = np.sqrt(held) * (middle[cells] - mean)
    length = float(np.linalg.norm(values))
    return values / length if length > MIN_RELATIVE_RANGE else np.zeros(len(cells))


def _tries(rows: LearningRows) -> int:
    """How many additional fits there may be."""
    return min(MAX_ADDITIONAL_FITS, MAX_WORK // max(len(rows.cells) * rows.n * rows.n_classes, 1))


def best_of_copies(
    groups: list[list[int]], learn: Callable[[list[int]], Learned], rows: LearningRows
) -> Learned:
    """Fit one representative of each group, or all of a group where that is clearly better.

    The first of each group is the initial representative. Group by group, each other column is
    tried in its place, then the whole group; finally all groups as a whole. A choice is kept if it
    gains more than 5 nats by leave-one-out. A group for which no fits are left is used as a whole.

    Parameters
    ----------
    groups : list of lists of int
        Columns, those that gain most first.
    learn : callable
        Fits some of the columns.
    rows : LearningRows
    """
    selection = _Selection(groups, len(rows.cells), _tries(rows))
    best = learn(selection.columns())
    for choice in selection.others():
        other = learn(selection.columns(choice))
        if _gained(best, other, rows) > MIN_GAIN:
            best = other
            selection.kept.update(choice)
    return replace(best, nearly=selection.nearly())


class _Selection:
    """The representatives of each group, by its place, and the alternatives to try."""

    def __init__(self, groups: list[list[int]], n_columns: int, tries: int) -> None:
        last = len(groups) > 1  # all of all groups is another choice then
        self.groups = groups[: max(tries - last, 0)]
        self.n_columns, self.spare = n_columns, tries - last - len(self.groups)
        self.kept = {g: group[:1] for g, group in enumerate(self.groups)}

    def others(self) -> Iterator[dict[int, list[int]]]:
        """The other choices, given what is kept when each is generated."""
        for g, group in enumerate(self.groups):
            alone = group[1 : 1 + max(self.spare, 0)]
            self.spare -= len(alone)
            yield from ({g: [j]} for j in alone)
            yield {g: group}
        if len(self.groups) > 1 and self.nearly():
            yield dict(enumerate(self.groups))

    def columns(self, choice: dict[int, list[int]] | None = None) -> list[int]:
        """The columns that are used under a choice."""
        out = self.nearly(choice or {})
        return [j for j in range(self.n_columns) if j not in out]

    def nearly(self, choice: dict[int, list[int]] | None = None) -> dict[int, int]:
        """The columns left out, and the representative of each."""
        kept = {**self.kept, **(choice or {})}
        return {
            j: kept[g][0] for g, group in enumerate(self.groups) for j in group if j not in kept[g]
        }


def _gained(before: Learned, after: Learned, rows: LearningRows) -> float:
    """By how many nats `after` predicts the rows better than `before`, from those that both
    predict."""
    at, one, other = np.intersect1d(
        before.tested, after.tested, assume_unique=True, return_indices=True
    )
    y, weight = rows.y[at], rows.weight[at]
    rise = after.log_proba[other, y] - before.log_proba[one, y]
    share = float(rows.weight.sum()) / max(float(weight.sum()), 1e-300)
    return share * float(weight @ rise)


class _Screened:
    """Columns with their tables, null terms for those that gain too little; and the groups of
    near-copies among the others.

    Parameters are those of :func:`fit_representatives`.
    """

    def __init__(
        self, columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
    ) -> None:
        self.columns, self.rows, self.p, self.options = columns, rows, p, options
        tables = column_tables(columns, p, rows)
        groups = near_copies(columns, tables, rows)
        n_different = len(columns) - sum(len(group) - 1 for group in groups)
        min_gain = min_column_gain(n_different, float(rows.weight.sum()))
        self.tables = screened(columns, tables, p, min_gain)
        informative = [[j for j in group if tables[j].gain >= min_gain] for group in groups]
        self.groups = [group for group in informative if len(group) > 1]

    def _learn(self, kept: list[int]) -> Learned:
        columns, tables = [self.columns[j] for j in kept], [self.tables[j] for j in kept]
        learning = Rounds(columns, tables, self.rows.among(kept), self.p, self.options)
        return learning.learned().among(self.columns, kept)

    def learned(self) -> Learned:
        return best_of_copies(self.groups, self._learn, self.rows)


def represented(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> dict[int, int]:
    """Columns that are left out as near-copies of another, and their representative; see
    `best_of_copies`. Parameters are those of `fit_representatives`."""
    screened = _Screened(columns, rows, p, options)
    return screened.learned().nearly if screened.groups else {}


def fit_representatives(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """Fit all rows, with one representative for each group of near-copies; see `best_of_copies`.

    Parameters
    ----------
    columns : list of ColumnCells
        Different columns, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    """
    return _Screened(columns, rows, p, options).learned()
