"""Counting a table: each column by the type of its values, all with the same rows and classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.arrays import class_counts, collect_array
from tallybayes.engines.contract import (
    Labels,
    class_array,
    need_columns,
    need_rows_and_labels,
    raise_infinite,
    raise_too_large,
)
from tallybayes.engines.parts import distinct_documents
from tallybayes.schema import Columns, Kind
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    GridCounts,
    Moments,
    TableTally,
    TextCounts,
)
from tallybayes.tally.numbers import BUDGET, origin_of
from tallybayes.tally.table import Group, cross_group, level_group, number_groups
from tallybayes.threads import get_num_threads, in_threads
from tallybayes.tokens.analyzer import Analyzer

__all__ = ["Shifts", "collect_table", "labels_of", "text_group"]


Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64] | None
Shifts = dict[str, int] | None

MIN_ROWS_FOR_THREADS = 20_000  # from which threads pay for columns of numbers
MAX_COLUMNS_AT_ONCE = 16
"""Columns of numbers that are converted, and whose moments are summed, at a time."""


def _class_weights(codes: Codes, n_classes: int, weights: Weights) -> tuple[Array, Array]:
    """The weight of each class, (n_classes,), as a double-double."""
    weight, rest = np.zeros(n_classes), np.zeros(n_classes)
    _kernels.count_classes(codes, weights, weight, get_num_threads(), rest)
    total = weight + rest
    return total, rest - (total - weight)


def _numbers(
    columns: Mapping[str, Numbers],
    codes: Codes,
    weights: Weights,
    everyone: tuple[Array, Array],
    shifts: dict[str, int],
) -> dict[str, list[Group]]:
    """Moments and grid counts of columns of numbers; missing values are left out, and a column
    without others has no group. `everyone` is the weight of each class."""
    n, moments = len(everyone[0]), dict[str, Moments]()
    whole = [
        name
        for name, column in columns.items()
        if column.values.dtype.kind != "f" or not np.isnan(column.values).any()
    ]
    used = slice(3) if weights is None else np.flatnonzero(weights)[:3]
    for start in range(0, len(whole), MAX_COLUMNS_AT_ONCE):
        names = whole[start : start + MAX_COLUMNS_AT_ONCE]
        values = [np.ascontiguousarray(columns[name].values, dtype=np.float64) for name in names]
        some = Moments.zeros(n, origin_of(np.stack([v[used] for v in values], axis=1)))
        some.n[:], some.n_lo[:] = everyone[0][:, None], everyone[1][:, None]
        sums, threads = some.sums, get_num_threads()
        fault = _kernels.moments_columns(values, codes, weights, some.origin, *sums, threads)
        if fault or not np.isfinite(some.s2_hi).all():
            break  # one by one shows which column it is
        moments |= {name: some.column(j) for j, name in enumerate(names)}
    for name in columns:
        if name not in moments:  # of the rows that have a value
            x, own, given = np.ascontiguousarray(columns[name].values), codes, weights
            if x.dtype.kind == "f" and (missing := np.isnan(x)).any():
                x, own = x[~missing], codes[~missing]
                given = None if weights is None else weights[~missing]
            some = Moments.zeros(n, origin_of((x if given is None else x[given != 0.0])[:, None]))
            some.n[:, 0], some.n_lo[:, 0] = _class_weights(own, n, given)
            sums, threads = some.sums, get_num_threads()
            fault = _kernels.moments_dense(x, own, given, some.origin, *sums, threads)
            if fault or not np.isfinite(some.s2_hi).all():
                raise_infinite(name, columns[name].values)
            moments[name] = some

    def grid(name: str) -> tuple[int, int, NDArray[np.int64], Array]:
        values, least = np.ascontiguousarray(columns[name].values), shifts.get(name, 0)
        return _kernels.grid_counts(values, codes, weights, n, BUDGET, least)

    each: Callable[..., Iterable[Any]] = in_threads if len(codes) >= MIN_ROWS_FOR_THREADS else map
    groups: dict[str, list[Group]] = {}
    for name, (_, shift, keys, counts) in zip(columns, each(grid, columns), strict=True):
        if len(keys):
            shifts[name] = max(shift, shifts.get(name, 0))
            order = np.argsort(keys)
            by_class = np.ascontiguousarray(counts.reshape(-1, n)[order].T)
            cells, column = GridCounts(shift, keys[order], by_class), columns[name]
            groups[name] = number_groups(
                name, moments[name], cells, dates=column.what == "date", zone=column.zone
            )
    return groups


def _strings(
    names: list[str], columns: list[Strings], codes: Codes, n_classes: int, weights: Weights
) -> list[Group]:
    """Level counts of columns of strings; only levels that occur are kept."""
    if not columns:
        return []
    n_cells = [len(column.levels) + 1 for column in columns]  # missing values have one meanwhile
    start = np.concatenate([[0], np.cumsum(n_cells)]).astype(np.int64)
    everything = np.zeros((n_classes, int(start[-1])))
    _kernels.levels_columns(
        [np.ascontiguousarray(column.codes, dtype=np.int32) for column in columns],
        codes,
        weights,
        start,
        everything,
        get_num_threads(),
    )
    held = np.asarray(everything.any(axis=0))
    held[start[:-1]] = False  # missing values
    groups: list[Group] = []
    for name, column, first, end in zip(names, columns, start[:-1], start[1:], strict=True):
        seen = held[first:end].nonzero()[0]
        if not len(seen):
            continue
        levels = np.empty(len(seen), dtype=object)
        levels[:] = [column.levels[i - 1] for i in seen.tolist()]
        counts = np.ascontiguousarray(everything[:, first + seen])
        groups.append(level_group(name, levels, counts))
    return groups


def _sums(
    names: tuple[str, ...], table: Table, codes: Codes, n_classes: int, weights: Weights
) -> Group:
    """Feature sums of a group of columns; missing values are zeros."""
    matrix = np.zeros((table.n_rows, len(names)))
    for j, name in enumerate(names):
        column = table.columns[name]
        if isinstance(column, Numbers):
            matrix[:, j] = np.nan_to_num(
                column.values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
            if np.isinf(matrix[:, j]).any():
                raise_infinite(name, column.values)
    columns = Columns(kind="sums", n_features=len(names), names=names, non_negative=True)
    counted = collect_array(columns, matrix, codes, n_classes, weights, whose="NaiveBayes")
    return columns, counted.tally


def _cross(
    names: tuple[str, ...], table: Table, codes: Codes, n_classes: int, weights: Weights
) -> Group:
    """Cross moments of a group of columns, of the rows that have all of them."""
    matrix = np.full((table.n_rows, len(names)), np.nan)
    for j, name in enumerate(names):
        column = table.columns[name]
        if isinstance(column, Numbers):
            matrix[:, j] = column.values
            if np.isinf(matrix[:, j]).any():
                raise_infinite(name, column.values)
    whole = ~np.isnan(matrix).any(axis=1)
    if not whole.all():
        matrix, codes = np.ascontiguousarray(matrix[whole]), codes[whole]
        weights = None if weights is None else weights[whole]
    used = matrix if weights is None else matrix[weights != 0.0]
    origin = origin_of(used)
    tally = CrossMoments.zeros(n_classes, origin)
    threads = get_num_threads()
    fault = _kernels.cross_dense(matrix, codes, weights, origin, *tally.totals, threads)
    if fault or not np.isfinite(tally.s2_hi).all():
        squares = np.abs(tally.columns().s2_hi).max(axis=0, initial=0.0)
        size = np.maximum(np.abs(matrix).max(axis=0, initial=0.0), np.sqrt(squares))
        raise_too_large(names[int(np.argmax(np.where(np.isnan(size), np.inf, size)))])
    return cross_group(names, tally)


def _texts(
    name: str, column: Column, analyzer: Analyzer, codes: Codes, n_classes: int, weights: Weights
) -> list[Group]:
    """Document frequencies of a column of text; missing values are left out."""
    documents, rows, of_row = distinct_documents(column)
    weights = None if weights is None else weights[rows]
    return text_group(name, documents, of_row, analyzer, codes[rows], n_classes, weights)


def text_group(
    name: str,
    documents: list[str],
    of_row: NDArray[np.intp],
    analyzer: Analyzer,
    codes: Codes,
    n_classes: int,
    weights: Weights,
) -> list[Group]:
    """The group of a column of text; none where no row has a text.

    Parameters
    ----------
    name : str
    documents : list of str
        Each once.
    of_row : index array (n_rows,)
        The text of each row.
    analyzer : Analyzer
    codes : int32 array (n_rows,)
    n_classes : int
    weights : float64 array (n_rows,), optional
    """
    terms, counted = analyzer.counted(documents, get_num_threads())
    rows = counted.take(of_row)
    tally = TextCounts.counted(terms, rows.indptr, rows.terms, codes, n_classes, weights)
    if not tally.documents.any():
        return []
    return [(Columns(kind="terms", names=(name,), terms=analyzer.in_words), tally)]


def collect_table(
    table: Table,
    classes: NDArray[Any],
    codes: Codes,
    weights: Weights,
    together: Mapping[tuple[str, ...], Kind] | None = None,
    analyzers: Mapping[str, Analyzer] | None = None,
    shifts: Shifts = None,
) -> TableTally:
    """The tally of a table's rows, in a schema of its own.

    Parameters
    ----------
    table : Table
        A column without a value is not counted, whatever its type: it may yet hold anything. Of a
        column of numbers and strings, both are counted.
    classes : array (n_classes,)
    codes : int32 array (n_rows,)
        Index of each row's class.
    weights : float64 array (n_rows,), optional
    together : mapping of tuple of str to {"sums", "cross"}, optional
        Groups of columns whose sums, or cross moments, are counted, in place of each column by
        itself.
    analyzers : mapping of str to Analyzer, optional
        Columns that are counted as text.
    shifts : dict of str to int, optional
        By column of numbers, how many bits the grids of other rows drop, to which these are added:
        the sum drops no fewer, so that these need no finer grid. It is brought up to date.

    Raises
    ------
    ValueError
        For an infinite number.
    """
    n = len(classes)
    count: dict[str, Callable[..., Group]] = {"sums": _sums, "cross": _cross}
    whole = [
        count[kind](names, table, codes, n, weights) for names, kind in (together or {}).items()
    ]
    grouped = {name for columns, _ in whole for name in columns.names or ()}
    alone = {k: c for k, c in table.columns.items() if k not in grouped}
    documents = {k: alone.pop(k) for k in analyzers or () if k in alone}
    strings = {k: c for k, c in alone.items() if isinstance(c, Strings)}
    numbers = {k: c for k, c in alone.items() if isinstance(c, Numbers)}
    for name, column in alone.items():
        if isinstance(column, Mixed):
            strings[name], numbers[name] = column.strings, column.numbers
    everyone = _class_weights(codes, n, weights)
    by_name = _numbers(numbers, codes, weights, everyone, {} if shifts is None else shifts)
    for group in _strings(list(strings), list(strings.values()), codes, n, weights):
        assert group[0].names is not None
        by_name.setdefault(group[0].names[0], []).append(group)
    for name, column in documents.items():
        assert analyzers is not None
        by_name[name] = _texts(name, column, analyzers[name], codes, n, weights)
    groups = [group for name in table.columns for group in by_name.get(name, [])] + whole
    counts = ClassCounts(everyone[0])  # of rows of weight 1
    if weights is not None:
        counts = class_counts(codes, n, weights)
    return TableTally.of_columns(classes, counts, groups)


# ---- the classes of rows whose label is a column of the table ------------------------------------
def labels_of(table: Table, target: str, weight: str | None) -> Labels:
    """The classes of the rows, from a column of levels or numbers, and their weights.

    Raises
    ------
    ValueError
        If a column is not there, a row has no label, labels are dates or of several kinds, or a
        weight is not a finite number.
    """
    need_columns([target], list(table.columns), "target")
    classes, codes = _classes(table.columns[target], target)
    return Labels(classes, codes, None if weight is None else _weights(table, weight))


def _classes(column: Column, target: str) -> tuple[NDArray[np.generic], NDArray[np.int32]]:
    if isinstance(column, Empty):
        need_rows_and_labels(column.n_rows, column.n_rows, target)
        return np.empty(0), np.empty(0, dtype=np.int32)
    if isinstance(column, Mixed) or (isinstance(column, Numbers) and column.what == "date"):
        raise ValueError(
            f"the target column {target!r} holds {column.what} values; labels are strings, "
            "booleans or numbers: cast the column to one of them"
        )
    if isinstance(column, Numbers):
        values = column.values
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
        need_rows_and_labels(len(values), int(missing.sum()), target)
        if values.dtype.kind == "f" and column.what == "integer":
            values = values.astype(np.int64)
        distinct, codes = np.unique(values, return_inverse=True)
        return class_array(distinct.tolist()), codes.astype(np.int32)
    need_rows_and_labels(column.n_rows, int((column.codes < 0).sum()), target)
    found = np.flatnonzero(np.bincount(column.codes, minlength=len(column.levels)))
    labels: list[Any] = [column.levels[code] for code in found.tolist()]
    if column.what == "boolean":
        labels = [label == "True" for label in labels]
    classes = class_array(labels)
    at = {label: k for k, label in enumerate(classes.tolist())}
    rank = np.zeros(len(column.levels), dtype=np.int32)
    rank[found] = [at[label] for label in labels]
    return classes, rank[column.codes]


def _weights(table: Table, name: str) -> Array:
    need_columns([name], list(table.columns), "weight")
    column = table.columns[name]
    values = column.values if isinstance(column, Numbers) else np.full(table.n_rows, np.nan)
    if not np.isfinite(values).all():
        raise ValueError(f"the weight column {name!r} has to hold a finite number in every row")
    return np.ascontiguousarray(values, dtype=np.float64)
