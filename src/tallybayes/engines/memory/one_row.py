"""One row at a time: dicts into a pending tally, and dicts into scores, by compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.groups import Group, cross_group, level_group, number_groups
from tallybayes.engines.memory.scores.table import TableScore
from tallybayes.engines.memory.tables import text_group
from tallybayes.schema import Columns, Kind, Schema
from tallybayes.tables.values import as_scalar, as_text
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    FeatureSums,
    GridCounts,
    LevelCounts,
    Moments,
    TableTally,
)
from tallybayes.tally.grid import BUDGET
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
    "counted_rows",
    "empty_counter",
    "empty_scorer",
    "hold",
    "row_scorer",
]

Array = NDArray[np.float64]
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
    held = {c.key: (c, t) for c, t in zip(tally.schema.groups, tally.groups, strict=True)}
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
    schema = Schema(classes, tuple(columns for columns, _ in groups), by_name=True)
    classes_counted = ClassCounts(class_count[order], squared_weights[order])
    return TableTally(schema, classes_counted, tuple(tally for _, tally in groups))


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
    score: TableScore, dates: Sequence[str], least: Callable[[str], int], watched: Sequence[str]
) -> _kernels.RowScorer | None:
    """The compiled score of one row as a dict; None where a part looks at several columns at once
    and has no linear form.

    Parameters
    ----------
    score : TableScore
    dates : sequence of str
        The columns that hold dates.
    least : callable (str) -> int
        Which numbers a column takes, as in :func:`empty_counter`.
    watched : sequence of str
        Columns with a warning of odd values.
    """
    scorer = empty_scorer(score.log_prior, score.fallback, dates)
    if not all(part.add_to_rows(scorer, least) for part in score.parts):
        return None
    scorer.watch(list(watched))
    return scorer


def empty_scorer(log_prior: Array, fallback: int, dates: Sequence[str]) -> _kernels.RowScorer:
    """A scorer of rows as dicts that knows no columns yet."""
    offset = np.ascontiguousarray(log_prior)
    return _kernels.RowScorer(offset, fallback, list(dates), as_scalar, as_text)
