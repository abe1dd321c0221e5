"""Several fits, each without another part of the rows, and their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from threadpoolctl import ThreadpoolController

from tallybayes.persistence import MAX_WEIGHT, Distinct, Shape, Weight, Within
from tallybayes.progress import steps, ticking
from tallybayes.threads import in_threads, on_one_thread
from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.documents import BinWeights, learn_bin_weights
from tallybayes.weighted.learned import Averaged, Learned, nothing_learned
from tallybayes.weighted.rows import LearningRows, canonical, distinct, thinned
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.search import FitOptions, Rounds
from tallybayes.weighted.smooth import Smooth, smooth_functions
from tallybayes.weighted.tables import ColumnTable, column_tables, screened
from tallybayes.weighted.ways import (
    ALL_PAIRS_GAIN,
    STRICTER,
    Judge,
    Part,
    PartFit,
    PartTables,
    Way,
    best_corrected,
    held_out_shrinkage,
    least_loss,
    loss_of,
    min_column_gain,
    shrinkage_factor,
    shrunk,
    too_many_columns,
    with_all_pairs,
)

__all__ = [
    "PARTS",
    "TextWeights",
    "averaged",
    "best_of_copies",
    "fit_representatives",
    "learn",
    "learn_text_weights",
    "near_copies",
    "represented",
]


# ---- fits without a part of the rows, judged on it and averaged ----------------------------------
# A model averaged over several fits, each without a part of the rows, that these rows judge.
#
# All is learned once without each part of the rows, and once with all. The rows left out took part
# in no choice, so they can decide for all fits together: how much a column has to gain to be used,
# where columns are many; whether every pair that gains at all is taken; the ridge of the
# corrections, from strong to weak, and how long cells are boosted after it; whether columns that
# gain little by themselves are used; and a shrinkage factor (a temperature). Half of the model is
# the mean of the fits without a part, half the one of all rows.
#
# What the rows left out show of the single fits is also how good the model is, but for what the
# mean gains. The mean of log-probabilities, normalised, gives the label of a row
#
#     −log Σ_k exp(Σ_m s_m log p_mk)  ≥ 0
#
# nats more than its members do on average, whichever label it is (A. Krogh and J. Vedelsby, Neural
# network ensembles, cross validation, and active learning, NIPS 7, 1995, for squares).
#
# The fit of all rows has more rows than a part. By the delete-a-group jackknife its variance is g
# − 1 times the mean squared deviation of the g parts from their mean; that of a part, which has (g
# − 1) / g of the rows, is g times that. In nats this deviation is the ambiguity of the parts, so
# the fit of all rows gains that much more a row than a part does.
Array = NDArray[np.float64]
Index = NDArray[np.intp]

ALL = -1  # in place of the number of a part: all rows
PARTS = 5
MANY_ROWS, PARTS_OF_MANY = 4_000, 3  # rows above which fewer parts lose next to nothing
SALT = 4  # of the parts
MIN_CLASS_ROWS = 2  # that each part keeps of a class; with one, leave-one-out has none
SHARE_OF_ALL_ROWS = 0.5  # of the model: the fit of all rows
MAX_LOSS_CORRECTED_FIRST = 20.0  # nats in all: corrections are tried first, all pairs after them
MAX_ROWS = 20_000  # up to which all of this is tried; of more what is near the best is enough
MAX_WEAK_GAIN = 5.0  # nats that a column may gain by itself to be considered noise
MIN_HARM = 0.1  # nats that rows left out lose by the terms of a column,
MIN_HARM_SHARE = 2e-3  # and this share of what they lose in all, before all is learned again
MAX_LOSS_SHARE = 0.5  # times the loss of the class shares: what loses more hides what noise costs
NOISE_STANDARD_ERRORS = 2.0  # and `ALL_PAIRS_GAIN` nats: a fit without columns has to gain more


def averaged(
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    options: FitOptions,
    n_parts: int | None = None,
) -> Averaged:
    """What is learned on rows, averaged.

    Parameters
    ----------
    columns : list of ColumnCells
        Columns that are not copies of each other, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    n_parts : int, optional
        From 2 on. Unless given, 5 up to 4,000 rows, 3 up to 20,000, and beyond only the first of 5
        is left out.
    """
    search = _Search(columns, rows, p, options, n_parts)
    found = search.best()
    if search.beside and options.polish:
        found = _without_noise(search, found)
    if search.few and options.polish:
        found.boost()
    whole, smooth = search.of_all(found), None
    if search.few and options.polish:
        rare, pairs = np.unique(rows.y[search.spared]).tolist(), options.interactions is None
        smooth = smooth_functions(found, whole, columns, rows, p, search.noise, rare, pairs=pairs)
    judge = found.judge
    trust = judge.trust(found.verdict) if smooth is None else smooth.trust(judge)
    if trust == 0.0:
        tested = np.append(judge.tested, search.spared)
        return Averaged.of_one(replace(nothing_learned(columns, p, len(tested)), tested=tested))
    return _mean(columns, found, whole, smooth, search.spared, p, trust)


class _Search:
    """The ways to learn that are tried, on the same parts of the rows.

    Parameters are those of :func:`averaged`.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        p: Array,
        options: FitOptions,
        n_parts: int | None,
    ) -> None:
        self.columns, self.rows, self.p, self.options = columns, rows, p, options
        self.few = rows.n <= MAX_ROWS
        n_folds = _parts_of(rows.n) if n_parts is None else n_parts
        fold, n = rows.folds(n_folds, SALT), 1 if n_parts is None and not self.few else n_folds
        rare = _rare(rows, fold)
        self.kept = [rare | (fold != f) for f in range(n)]
        self.spared = np.flatnonzero(rare & (fold < n))
        """The rows that would be left out were their classes not so rare."""
        self.everything = np.full(rows.n, True)
        self.tables: dict[int, PartTables] = {}
        """Of each part; the ways to learn differ in what they do with them."""
        self.among: list[tuple[str, str]] | None = None
        self.whole: PartFit | None = None
        self.stricter = 0.0
        self.noise: frozenset[int] = frozenset()
        """Columns that are left out, as they look like noise."""
        if (
            options.interactions
        ):  # the mean of the parts has no more pairs than all of them may have
            self.whole = self._part(ALL).fit()
            names = [column.name for column in self.whole.learned.columns]
            self.among = [(names[q.first], names[q.second]) for q in self.whole.learned.pairs]
        self.wide = self.few and too_many_columns(len(columns), float(rows.weight.sum()))
        self.beside = self.few and not self.wide and self.whole is None
        """Whether the fit of all rows is made beside the parts; else several of them at a time may
        be too many."""

    def _part(self, i: int, stricter: float = 0.0, without: frozenset[int] = frozenset()) -> Part:
        """All rows, or all but those of part i."""
        some = self.everything if i == ALL else self.kept[i]
        more = stricter, self.among, without, self.tables.get(i)
        part = Part(self.columns, self.rows, some, self.p, self.options, *more)
        self.tables[i] = part.tables
        return part

    def best(self, without: Iterable[int] = ()) -> Way:
        """The best way, without some columns."""
        out, options, few = frozenset(without), self.options, self.few

        def way(stricter: float) -> Way:
            each = [*([ALL] if self.beside else []), *range(len(self.kept))]
            with steps("fits", len(each)) as tick:

                def fit(i: int) -> PartFit:
                    return self._part(i, stricter, out).fit()

                fits = in_threads(ticking(fit, tick), each)
            of_all = fits.pop(0) if self.beside else None
            judge = Judge(self.rows, [fit.part.tested for fit in fits], self.p)
            return Way(fits, judge, of_all)

        first, self.stricter = least_loss(way, STRICTER if self.wide else STRICTER[:1])
        ways = [first]
        if options.polish and first.loss <= MAX_LOSS_CORRECTED_FIRST:
            first.correct(thoroughly=few)
        if few and self.among is None and options.interactions != 0 and first.loss > ALL_PAIRS_GAIN:
            ways += with_all_pairs(first)
        return best_corrected(ways, thoroughly=few) if options.polish else min(ways, key=loss_of)

    def of_all(self, found: Way) -> PartFit:
        """The fit of all rows, learned in that way."""
        if found.whole:
            return found.whole
        if self.whole is None:
            part = self._part(ALL, self.stricter)
            self.whole = part.fit()
            if found.all_that_gain:
                self.whole = part.fit(all_that_gain=True)
        return found.corrected_alike(self.whole)


def _parts_of(n_rows: int) -> int:
    """In how many parts rows are cut; of more than `MAX_ROWS` only the first is left out."""
    return PARTS_OF_MANY if MANY_ROWS < n_rows <= MAX_ROWS else PARTS


def _rare(rows: LearningRows, part: Index) -> NDArray[np.bool_]:
    """The rows of classes of which some part would keep fewer than `MIN_CLASS_ROWS` rows.

    Whatever a part has learned from, its tables hold the counts of all rows in the end. Weights
    that were fitted to a class without rows do not suit a class that has one: it would be almost
    certain for all rows like it. So no part leaves a row of such a class out.
    """
    here, n_parts = rows.weight > 0.0, int(part.max()) + 1
    of_class = np.bincount(rows.y[here], minlength=rows.n_classes)
    at = rows.y[here] * np.intp(n_parts) + part[here]
    left_out = np.bincount(at, minlength=rows.n_classes * n_parts).reshape(-1, n_parts)
    rare: NDArray[np.bool_] = (of_class < left_out.max(axis=1) + MIN_CLASS_ROWS)[rows.y]
    return rare


def _without_noise(search: _Search, found: Way) -> Way:
    """The way that was found, or one without the columns that look like noise, where it is clearly
    better.

    Pairs with noise and the corrections of its cells overfit, which costs most where the label
    follows a rule. Columns are tried that gain little by themselves and without whose terms the
    rows left out lose less.
    """
    noise: set[int] = set()
    while found.loss < MAX_LOSS_SHARE * found.judge.loss_of_shares:
        least = found.loss - max(MIN_HARM, MIN_HARM_SHARE * found.loss)
        weak = found.weak_columns(MAX_WEAK_GAIN)
        losses = in_threads(found.loss_without, weak)
        more = {j for j, loss in zip(weak, losses, strict=True) if loss < least}
        noise |= more
        if not more or len(noise) == len(search.columns):
            return found
        other = search.best(noise)
        error = found.judge.error_of_sum(found.row_losses() - other.row_losses())
        if found.loss - other.loss <= max(ALL_PAIRS_GAIN, NOISE_STANDARD_ERRORS * error):
            return found
        found, search.noise = other, frozenset(noise)
    return found


def _mean(
    columns: list[ColumnCells],
    found: Way,
    whole: PartFit,
    smooth: Smooth | None,
    spared: Index,
    p: Array,
    trust: float,
) -> Averaged:
    """The mean of the parts and of the fit to all rows, and of their smooth functions, shrunken
    toward the class shares.

    Rows that no part could leave out are predicted by the fit of all rows without corrections,
    which have seen them; each is taken out of the counts.
    """
    judge, fits = found.judge, [*found.fits, whole]
    n_parts, of_parts = len(found.fits), 1.0 - SHARE_OF_ALL_ROWS
    shares = np.append(np.full(n_parts, of_parts / n_parts), SHARE_OF_ALL_ROWS)
    log_proba = judge.tempered(found.log_proba if smooth is None else smooth.log_proba, trust)
    own = log_proba[np.arange(len(log_proba)), judge.y]

    def log_proba_of(m: int) -> Array:
        scores = fits[m].scores_of(judge.tested)
        if smooth is not None:
            scores = smooth.mixed(m, scores, judge.tested)
        return judge.tempered(log_normalised(scores), trust)

    *members, of_all = in_threads(log_proba_of, range(len(fits)))
    mean: Array = reduce(np.add, members) / n_parts
    gained = _ambiguity(of_parts * mean + SHARE_OF_ALL_ROWS * of_all)
    gained += SHARE_OF_ALL_ROWS * _ambiguity(mean)
    scores = whole.scores[spared]
    if smooth is not None:  # whose functions were fitted without these rows
        scores = smooth.mixed(len(fits) - 1, scores, spared)
    of_spared = judge.tempered(log_normalised(scores), trust)
    return Averaged(
        columns=columns,
        parts=in_threads(lambda fit: shrunk(fit.result(), p, trust), fits),
        shares=shares if smooth is None else (1.0 - smooth.share) * shares,
        smooth=None if smooth is None else smooth.tables(shares, trust),
        tested=np.append(judge.tested, spared),
        log_proba=np.concatenate([log_proba, of_spared]),
        gained=np.append(np.minimum(gained, -own), np.zeros(len(spared))),
    )


def _ambiguity(mean: Array) -> Array:
    """How many nats more a mean of log-probabilities gives each row, normalised, than its members
    do on average."""
    ambiguity: Array = -np.log(np.exp(mean).sum(axis=1))
    return ambiguity


# ---- near-copies of columns, and the choice of a representative for each group of them -----------
# A column and a copy that differs in a few rows gain about as much alone, and so do their pairs
# with a third column. Where the classes follow a rule of several columns, the few differing rows
# show which copy is right, but only to a model that contains the rule. So the model is fitted with
# each copy and with all of them, and the leave-one-out log-loss decides. Other columns are not
# affected.
Cells = NDArray[np.int32]

MAX_OPEN_ENTROPY = 0.1  # of a column's entropy, that a near-copy of it may leave open
MAX_OPEN_VARIANCE = 0.02  # of a number's variance
MIN_RELATIVE_RANGE = 1e-9  # of the greatest edge: rounding makes less
N_CELLS = 8  # of a number beside strings
MAX_COMPARED_COLUMNS = 100  # columns that are compared, those that gain most
MAX_COMPARED_ROWS = 4000  # rows that they are compared on
MAX_GROUP_COLUMNS = 3  # columns of a group
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


# ---- learning a weighted model: column screening, fitting and shrinkage --------------------------
DEFAULTS = FitOptions()
MIN_ROWS_PER_PART = 4  # rows a part at least
MAX_ONE_THREAD_WORK = 150_000
"""Columns times rows times classes up to which threads wait for the interpreter."""

MAX_VALUES = 40_000_000  # rows times classes that are looked at


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    options: FitOptions = DEFAULTS,
) -> Averaged:
    """Learns weights, pairs and corrections.

    Weights are learned on a sample of the rows, if there are many; pairs are chosen on it, and
    counted on all rows, or on as many as there is room for where classes are many.

    What is learned does not depend on the order of rows and columns, to the last bit: both are read
    in a canonical order (see `canonical`).

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows, in effective rows.
    rows : LearningRows
        All rows, or a fair sample; without keys in any order.
    classes : float64 array (n_classes,)
        Weight of each class, above 0, in any unit.
    options : FitOptions
    """
    if options.parts is not None:
        options = replace(options, parts=min(options.parts, rows.n))
    elif rows.n < MIN_ROWS_PER_PART * PARTS:
        options = replace(options, parts=1)
    p = classes / classes.sum()
    if rows.n_classes == 1 or not columns:
        return Averaged.of_one(nothing_learned(columns, p, rows.n))
    if rows.keys is not None:
        return _of_any_columns(columns, rows, p, options)
    rows, was = canonical(rows, columns)
    learned = _of_any_columns(columns, rows, p, options)
    tested = was[learned.tested]
    order = np.argsort(tested)
    return replace(
        learned,
        tested=tested[order],
        log_proba=learned.log_proba[order],
        gained=learned.gained[order],
    )


def _of_any_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Averaged:
    """What is learned of canonical rows, of columns some of which may be equal."""
    some = thinned(rows.y, rows.n_classes, MAX_VALUES // rows.n_classes)
    thin = rows if len(some) == rows.n else rows.take(some)
    kept, duplicates = distinct(thin.cells, [column.name for column in columns])
    if kept != list(range(len(columns))):  # the keys are of these already
        thin = replace(thin, cells=np.ascontiguousarray(thin.cells[kept]))
    different = [columns[j] for j in kept]
    with _controller().limit(limits=1, user_api="blas"):  # for small products threads only wait
        if options.parts == 1:
            found, used = Averaged.of_one(_learned(different, thin, p, options)), kept
            nearly = found.nearly
        else:  # which of near-copies is used is decided once, on all rows
            few = not too_many_columns(len(kept), float(thin.weight.sum()))
            nearly = represented(different, thin, p, options) if few else {}
            unlike = [j for j in range(len(kept)) if j not in nearly]
            used = [kept[j] for j in unlike]
            small = len(used) * thin.n * thin.n_classes < MAX_ONE_THREAD_WORK
            with on_one_thread() if small else nullcontext():
                of_used = [columns[j] for j in used], thin.among(unlike)
                found = averaged(*of_used, p, options, options.parts)
    smooth = found.smooth
    if smooth is not None:
        smooth = smooth.among([column.n_cells for column in columns], used)
    return replace(
        found,
        columns=columns,
        smooth=smooth,
        parts=[part.among(columns, used) for part in found.parts],
        tested=some[found.tested],
        duplicates=duplicates,
        nearly={kept[j]: kept[other] for j, other in nearly.items()},
    )


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are loaded; looking for them takes some milliseconds."""
    return ThreadpoolController()


def _learned(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """Fit columns that differ from each other, and shrink the fit toward the class shares."""
    if not too_many_columns(len(columns), float(rows.weight.sum())):
        return _of_few_columns(columns, rows, p, options)

    def learner(columns: list[ColumnCells], rows: LearningRows) -> Callable[[float], Learned]:
        tables = column_tables(columns, p, rows)

        def learn(min_gain: float) -> Learned:
            kept = [j for j, table in enumerate(tables) if table.gain >= min_gain]
            selected = [columns[j] for j in kept], [tables[j] for j in kept]
            learning = Rounds(*selected, rows.among(kept), p, options)
            return learning.learned().among(columns, kept)

        return learn

    shrinkage = held_out_shrinkage(columns, rows, p, learner)
    learned = shrunk(learner(columns, rows)(shrinkage.min_gain), p, shrinkage.factor)
    return replace(learned, tested=np.arange(rows.n), log_proba=shrinkage.log_proba)


def _of_few_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """The same with few columns for the rows, where leave-one-out is enough."""
    learned = fit_representatives(columns, rows, p, options)
    n_used = len(columns) - len(learned.nearly)
    factor = shrinkage_factor(rows, learned.tested, learned.log_proba, p, n_used)
    return shrunk(learned, p, factor)


# ---- the weights of columns of text beside those of other columns --------------------------------
#     S_k = β·S⁰_k + Σ_j v_j T_jk + b_k,    β, v ≥ 0
#
# S⁰ is the score from the columns that are cells, of each row by a fit without it; T_j is what the
# text of column j adds, with the row taken out of its counts. The few weights are those of the
# least penalised log-loss (see `learn_bin_weights`), so that the words of a text, however many,
# have one weight between them. The rows are predicted by weights that were learned without their
# fold.
FOLDS = 5
MIN_LOG_PROBABILITY = -700.0  # of a log-probability


@dataclass(frozen=True, eq=False, kw_only=True)
class TextWeights:
    """Learned weights of columns of text.

    Parameters
    ----------
    names : list of str
    weights : float64 array (n_text_columns,)
        v.
    cells : float
        β, by which the weights of all other terms are multiplied.
    apart : float64 array (n_text_columns,)
        How far apart each text sets the classes, on average over the learning rows, in nats.
    """

    names: Distinct
    weights: Annotated[Array, Shape("n_texts"), Within(0.0, MAX_WEIGHT)]
    cells: Weight
    apart: Annotated[Array, Shape("n_texts"), Within(0.0, MAX_WEIGHT)]


def learn_text_weights(
    names: list[str], contributions: Array, log_proba: Array, y: NDArray[np.int32], weight: Array
) -> tuple[TextWeights, Array, Array]:
    """The weights; b, float64 (n_classes,); and the normalised log-probabilities of the rows, each
    by weights learned without its fold, float64 (n_rows, n_classes).

    Parameters
    ----------
    names : list of str
        Of the columns of text.
    contributions : float64 array (n_rows, n_classes, n_text_columns)
        T, less its mean over the classes.
    log_proba : float64 array (n_rows, n_classes)
        S⁰, normalised.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    """
    cells = np.maximum(log_proba, MIN_LOG_PROBABILITY)
    cells -= cells.mean(axis=1, keepdims=True)
    sums = np.concatenate([contributions, cells[:, :, None]], axis=2)
    start = BinWeights(np.ones(sums.shape[2]), np.zeros(sums.shape[1]))
    found, _ = learn_bin_weights(sums, y, weight, start)
    predicted = np.empty_like(log_proba)
    fold = np.arange(len(y)) % FOLDS
    for f in np.unique(fold).tolist():
        rest, test = fold != f, fold == f
        without = found
        if rest.any():
            without, _ = learn_bin_weights(sums[rest], y[rest], weight[rest], found)
        predicted[test] = log_softmax(without.scores(sums[test]), axis=1)
    *weights, beta = found.weights.tolist()
    spread = np.ptp(contributions, axis=1) * np.array(weights)
    apart: Array = weight @ spread / weight.sum()
    learned = TextWeights(names=names, weights=np.array(weights), cells=beta, apart=apart)
    return learned, found.intercept, predicted
