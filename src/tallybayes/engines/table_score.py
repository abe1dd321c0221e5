"""The score of a table: of a batch of rows, and of one row that is a dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.parts import (
    LookupPart,
    Part,
    PooledColumns,
    TakenOut,
    scored_together,
    tables_of,
    values_of,
)
from tallybayes.engines.tables import text_group
from tallybayes.schema import Columns, Kind
from tallybayes.score import (
    Formula,
    GroupTerm,
    LevelCells,
    NumberCells,
    OpaqueTerm,
    OwnTerms,
    Term,
    of_joint_tables,
    of_single_columns,
)
from tallybayes.tables import Table
from tallybayes.tables.columns import as_scalar, as_text, entries_of_bits
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    FeatureSums,
    GridCounts,
    LevelCounts,
    Moments,
    TableTally,
)
from tallybayes.tally.numbers import BUDGET
from tallybayes.tally.table import Group, cross_group, level_group, number_groups
from tallybayes.threads import get_num_threads
from tallybayes.tokens.analyzer import Analyzer

__all__ = [
    "ANY",
    "DATES",
    "EITHER",
    "IGNORED",
    "NUMBERS",
    "PLAIN",
    "STRINGS",
    "UNDECIDED",
    "UNKNOWN",
    "TableScore",
    "counted_rows",
    "empty_counter",
    "hold",
    "row_scorer",
]


# ---- a batch: log P(c) + log p(x | c), as the sum of the contributions of its columns ------------
Array = NDArray[np.float64]


class TableScore:
    """The score of a table's rows: the class prior and a part for each column that counts.

    Parameters
    ----------
    parts : sequence of Part
    log_prior : float64 array (n_classes,)
    """

    start: NDArray[np.int64]

    def __init__(self, parts: Sequence[Part], log_prior: Array) -> None:
        self.parts: list[Part] = list(parts)
        self.log_prior = log_prior
        self.fallback: int = int(np.argmax(log_prior))
        self.lookups: list[LookupPart] = [part.lookup for part in parts if part.lookup is not None]
        computed = [part for part in parts if part.lookup is not part]
        self.mixtures: list[Part] = [part for part in computed if part.pooled is not None]
        self.pooled: PooledColumns | None = None
        if self.mixtures:
            densities = [part.likelihood for part in self.mixtures]
            self.pooled = PooledColumns(densities, len(log_prior))
        # single columns, then groups: sums have one order
        self.others: list[Part] = [part for part in computed if part.pooled is None]
        self.others.sort(key=lambda part: len(part.columns) > 1)
        tables = tables_of(self.lookups)
        widths = [table.shape[1] + 1 for table in tables]
        self.start = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)]).astype(np.int64)
        self.scorer: _kernels.LaneScorer | None = None
        if self.lookups:
            offset, threads = np.ascontiguousarray(log_prior), get_num_threads()
            self.scorer = _kernels.LaneScorer.of_columns(tables, offset, self.fallback, threads)
        self._without: tuple[float, _kernels.LaneScorer, Array] | None = None

    def terms(self) -> list[Term]:
        """What the parts add, as terms of a formula, in the order in which they are added."""
        return [
            term for part in (*self.lookups, *self.mixtures, *self.others) for term in part.terms()
        ]

    def contributions(self, x: Table, out: TakenOut | None = None) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name; after each row itself is
        taken out, where `out` are the rows. See :meth:`Part.contributions`."""
        shares: dict[str, Array] = {}
        for part in self.parts:
            shares |= part.contributions(x, out)
        return shares

    def _entries(self, x: Table) -> NDArray[np.int32]:
        """Entry of its table for each row and lookup, (n_rows, n_lookups), column by column."""
        entries = np.empty((x.n_rows, len(self.lookups)), dtype=np.int32, order="F")
        for j, part in enumerate(self.lookups):
            part.fill_entries(x.columns[part.name], entries[:, j])
        return entries

    def joint(self, x: Table) -> Array:
        """log P(c) + log p(x | c), (n_rows, n_classes), in nats."""
        scores = np.empty((x.n_rows, len(self.log_prior)))
        if self.scorer is None:
            scores[:] = self.log_prior
        else:
            self.scorer.score_codes(self._entries(x), self.start, scores, None, get_num_threads())
        self._add_computed(x, scores)
        return scores

    def _add_computed(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        if self.pooled is not None:
            values = [values_of(part.name, x.columns[part.name]) for part in self.mixtures]
            self.pooled.add(values, scores, out)
        for part in self.others:
            part.add(x, scores, out)

    def likelihood_without(self, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), in nats, after each row itself is taken out.

        Parameters
        ----------
        x : Table
            Rows that were counted.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight that it was counted with.
        """
        out = TakenOut(own, weight)
        if self.lookups and len(weight) and weight.min() == weight.max():
            scores = self._looked_up_without(x, own, float(weight[0]))
        else:
            scores = np.zeros((x.n_rows, len(self.log_prior)))
            for part in self.lookups:
                scores += part.looked_up(x.columns[part.name], out)
        self._add_computed(x, scores, out)
        return scores

    def _looked_up_without(self, x: Table, own: NDArray[np.int64], weight: float) -> Array:
        """What tables add after each row, all of one weight, is taken out of them."""
        threads = get_num_threads()
        if self._without is None or self._without[0] != weight:
            offset = np.zeros(len(self.log_prior))
            theirs: list[Array] = []
            mine: list[Array] = []
            for part in self.lookups:
                change = part.others_change
                other = part.tabled(lambda law: law.other_without(weight)) if change else part.table
                theirs.append(other)
                # a column of the kernel ends with an entry for codes beyond it, of which none come
                mine += [part.tabled(lambda law: law.own_without(weight)), offset[:, None]]
            scorer = _kernels.LaneScorer.of_columns(theirs, offset, self.fallback, threads)
            self._without = weight, scorer, np.concatenate(mine, axis=1)
        _, others, own_table = self._without
        scores = np.empty((x.n_rows, len(self.log_prior)))
        entries = self._entries(x)
        others.score_codes(entries, self.start, scores, None, threads)
        _kernels.codes_without(entries, self.start, own_table, own, scores, threads)
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The most probable class of each row, and how many rows every class rules out."""
        if self.scorer is not None and not (self.mixtures or self.others):
            best = np.empty(x.n_rows, dtype=np.int64)
            _, _, ruled_out = self.scorer.score_codes(
                self._entries(x), self.start, None, best, get_num_threads()
            )
            return best, ruled_out
        scores = self.joint(x)
        best = scores.argmax(axis=1).astype(np.int64)
        out = np.isneginf(scores[np.arange(len(best)), best]) if len(best) else np.zeros(0, bool)
        best[out] = self.fallback
        return best, int(out.sum())


# ---- one row: dicts into a pending tally, and dicts into scores, by compiled code ----------------
Counter = _kernels.RowCounter

STRINGS, NUMBERS, UNDECIDED, IGNORED, EITHER = range(5)
"""What a column holds, as in bind/one_row/values.hpp."""
UNKNOWN, PLAIN, DATES, ANY = range(4)
"""Whether a column's values are dates, as in bind/one_row/values.hpp."""


def empty_counter(
    names: list[str],
    holds: list[int],
    least: list[int],
    dates: list[int],
    others: int,
    rule: Callable[[Any], None],
) -> Counter:
    """A counter of rows as dicts, without any.

    Parameters
    ----------
    names : list of str
    holds, dates : list of int
        What is known of each column.
    least : list of int
        Which numbers it takes: any (0), those from 0 on (1), or those above 0 (2).
    others : int
        What a column holds whose name is not among these.
    rule : callable (label)
        Refuses a new label by an error.
    """
    return Counter(names, holds, least, dates, others, BUDGET, as_scalar, as_text, rule)


def hold(counter: Counter, tally: TableTally) -> None:
    """Gives an empty counter the counts of a tally, so that it can take rows away, too.

    No group of columns is counted together in the tally.
    """
    classes = tally.classes
    counter.hold_classes(tally.schema.classes.tolist(), classes.count, classes.squared_weights)
    at = {name: j for j, name in enumerate(counter.names)}
    held = tally.by_key
    for (names, kind), (columns, counts) in held.items():
        assert names is not None
        if kind == "levels":
            assert isinstance(counts, LevelCounts)
            assert columns.levels is not None
            by_level = np.ascontiguousarray(counts.counts.T)
            counter.hold_levels(at[names[0]], columns.levels[0].tolist(), by_level)
        elif kind == "moments":
            assert isinstance(counts, Moments)
            grid = held[names, "grid"][1]
            assert isinstance(grid, GridCounts)
            moments = np.stack([part[:, 0] for part in counts.totals], axis=1)
            cells = grid.shift, grid.keys, grid.counts
            about_origin = float(counts.largest_squares()[0, 0])
            counter.hold_numbers(at[names[0]], counts.origin[0], moments, *cells, about_origin)


def counted_rows(
    counter: Counter,
    together: Mapping[tuple[str, ...], Kind],
    analyzers: Mapping[str, Analyzer],
    without: frozenset[str] = frozenset(),
) -> TableTally:
    """What a counter has counted, as a tally in a schema of its own; `together` are groups of
    columns, whose sums or cross moments are what counts, `analyzers` columns of text, `without`
    columns that are left out."""
    labels, class_count, squared_weights, columns, crossed = counter.counted(without)
    array = np.array(labels)
    if array.ndim != 1 or array.dtype.kind not in "iufbU" or array.tolist() != labels:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    classes = np.unique(array)
    at = {label: i for i, label in enumerate(labels)}
    order = np.array([at[label] for label in classes.tolist()], dtype=np.intp)
    by_name: dict[str, list[Group]] = {}
    for name, holds, *counts in columns:
        if name in analyzers:
            by_name[name] = _texts(name, counts, order, analyzers[name])
            continue
        read = _levels if holds == STRINGS else _numbers
        by_name.setdefault(name, []).extend(read(name, counts, order))
    grouped = {name for names in together for name in names}
    groups = [g for name, part in by_name.items() if name not in grouped for g in part]
    whole = iter(crossed)
    for names, kind in together.items():
        if kind == "sums":
            groups.append(_sums(names, by_name, len(order)))
        else:
            groups.append(_cross(names, next(whole), order))
    classes_counted = ClassCounts(class_count[order], squared_weights[order])
    return TableTally.of_columns(classes, classes_counted, groups)


def _levels(name: str, counts: list[Any], order: NDArray[np.intp]) -> list[Group]:
    table = counts[1].reshape(-1, len(order)).T[order]
    seen: NDArray[np.bool_] = np.asarray(table.any(axis=0))
    if not seen.any():
        return []
    levels = np.empty(int(seen.sum()), dtype=object)
    levels[:] = [level for level, kept in zip(counts[0], seen, strict=True) if kept]
    return [level_group(name, levels, np.ascontiguousarray(table[:, seen]))]


def _texts(
    name: str, counts: list[Any], order: NDArray[np.intp], analyzer: Analyzer
) -> list[Group]:
    """Texts that were counted as levels, as document frequencies of their terms."""
    table = counts[1].reshape(-1, len(order)).T[order]
    codes, of_row = np.nonzero(table)
    weights, n = np.ascontiguousarray(table[codes, of_row]), len(order)
    return text_group(name, counts[0], of_row, analyzer, codes.astype(np.int32), n, weights)


def _numbers(name: str, counts: list[Any], order: NDArray[np.intp]) -> list[Group]:
    origin, sums, grids, dates = counts
    wide = np.zeros((len(order), 6))
    wide[: len(grids)] = sums.reshape(-1, 6)
    cells = [np.ascontiguousarray(column[:, None]) for column in wide[order].T]
    moments = Moments(np.array([origin]), *cells)
    grid = GridCounts.zeros(len(order))
    for k, (shift, keys, weight) in enumerate(grids):
        by_key = np.argsort(keys)
        part = GridCounts(shift, keys[by_key], weight[by_key][None, :])
        grid.accumulate(part, 1.0, np.flatnonzero(order == k))
    return number_groups(name, moments, grid, dates=dates)


def _sums(names: tuple[str, ...], counted: dict[str, list[Group]], n_classes: int) -> Group:
    """Feature sums of a group of columns, from the moments of each."""
    sums = np.zeros((n_classes, len(names)))
    for j, name in enumerate(names):
        if name in counted:
            moments = counted[name][0][1]
            assert isinstance(moments, Moments)
            about_zero = moments.rebased(np.zeros(1))
            sums[:, j] = about_zero.s1_hi[:, 0]
    columns = Columns(kind="sums", n_features=len(names), names=names, non_negative=True)
    return columns, FeatureSums(sums)


def _cross(names: tuple[str, ...], counted: Any, order: NDArray[np.intp]) -> Group:
    """Cross moments of a group of columns, from the totals of each class."""
    d = len(names)
    if counted is None:
        return cross_group(names, CrossMoments.zeros(len(order), np.zeros(d)))
    origin, totals = counted
    pairs = d * (d + 1) // 2
    wide = np.zeros((len(order), 2 + 2 * d + 2 * pairs))
    for row, flat in zip(wide, totals, strict=False):  # later classes have no counts
        row[:] = flat
    parts = np.split(wide[order], np.cumsum([1, 1, d, d, pairs]), axis=1)
    n, n_lo, s1_hi, s1_lo, s2_hi, s2_lo = (np.ascontiguousarray(part) for part in parts)
    tally = CrossMoments(origin, n.ravel(), s1_hi, s1_lo, s2_hi, s2_lo, n_lo.ravel())
    return cross_group(names, tally)


def row_scorer(
    formula: Formula, dates: Sequence[str], watched: Sequence[str]
) -> _kernels.RowScorer | None:
    """The compiled score of one row as a dict; None where a term is of several columns at once and
    has no form for that.

    Parameters
    ----------
    formula : Formula
    dates : sequence of str
        The columns that hold dates.
    watched : sequence of str
        Columns with a warning of odd values.
    """
    terms = formula.terms
    if any(isinstance(term, OpaqueTerm) for term in terms):
        return None
    offset = np.ascontiguousarray(formula.offset)
    scorer = _kernels.RowScorer(offset, formula.fallback, list(dates), as_scalar, as_text)
    single = of_single_columns(terms)
    order = {name: j for j, name in enumerate(formula.kinds)}
    columns = sorted(single, key=order.__getitem__)
    place = {name: j for j, name in enumerate(columns)}
    for name in columns:
        _add_column(scorer, name, single[name], formula.least.get(name, 0))
    for group in terms:
        if isinstance(group, GroupTerm):
            _add_group(scorer, group, len(offset))
    for cells, scores in of_joint_tables(terms):
        maps = [np.ascontiguousarray(coarse, dtype=np.int32) for coarse in cells.maps]
        members = [place[name] for name in cells.columns]
        scorer.add_joint(members, maps, list(cells.sizes), np.ascontiguousarray(scores.T))
    scorer.watch(list(watched))
    correction = formula.correction
    if correction.prior_share:
        scorer.mix(correction.prior_share, correction.prior, correction.most)
    return scorer


def _add_column(scorer: _kernels.RowScorer, name: str, own: OwnTerms, least: int) -> None:
    """Adds what a column has by itself: a table, a density, or a density beside a table of what its
    values are."""
    cells, number, table = own.cells, own.number, np.ascontiguousarray(own.scores.T)
    if isinstance(cells, LevelCells):
        entry = {level: 1 + i for i, level in enumerate(cells.levels)}
        other = -1 if cells.refuses_others else len(entry) + 1
        scorer.add_levels(name, entry, other, table, entries_of_bits(entry))
        return
    entry = {}
    if cells is not None:
        assert isinstance(cells, NumberCells)
        entry = {text: len(cells.starts) + 2 + i for i, text in enumerate(cells.strings)}
        if number is None:
            scorer.add_bins(name, cells.starts, table, entry)
            return
    assert number is not None
    missing, there = table[0].copy(), table[1].copy()
    law, density = number.law, number.density
    pooled, polynomial = (None, None) if law is None else (law.pooled(), law.quadratic())
    if pooled is not None:
        scorer.add_pooled(name, *pooled, missing, there, least, entry, table)
    elif polynomial is not None:
        constant, slope, mean, scale = polynomial
        constant = constant + there
        scorer.add_quadratic(name, constant, slope, mean, scale, missing, least, entry, table)
    else:
        assert density is not None
        log_density, counts = density.log_density, density.of_counts()
        known = np.zeros((0, len(there))) if counts is None else counts + there

        def of_number(x: float) -> list[float]:
            return (log_density(np.array([x]))[0] + there).tolist()  # type: ignore[no-any-return]

        scorer.add_function(name, of_number, missing, least, entry, table, known)


def _add_group(scorer: _kernels.RowScorer, term: GroupTerm, n_classes: int) -> None:
    """Adds numbers that are scored together."""

    def with_missing(values: list[float]) -> list[float]:
        scores = scored_together(term.likelihood, np.array([values]), n_classes)
        return scores[0].tolist()  # type: ignore[no-any-return]

    whole = term.likelihood.terms(tuple(range(len(term.columns))))
    scorer.add_group(list(term.columns), *whole, with_missing)
