"""One row at a time: dicts into a pending tally, and dicts into scores, by compiled code.

Rows learned one by one are counted into a tally of their own, which is merged into the model's when
the model is next read. So learning costs no reading, and reading sees every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.table import level_group, number_groups
from tallybayes.engines.table_score import BinsPart, GaussianPart, LevelsPart, TableScore
from tallybayes.estimators.labels import sorted_labels
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth
from tallybayes.schema import Schema
from tallybayes.tables.objects import as_scalar, as_text
from tallybayes.tally import ClassCounts, GridCounts, Moments, TableTally
from tallybayes.tally.grid import BUDGET

__all__ = ["counted_rows", "row_counter", "row_scorer"]

Array = NDArray[np.float64]

TEXTS, NUMBERS, UNDECIDED, IGNORED = range(4)  # as in rows.cpp


def row_counter(
    names: list[str], schema: Schema | None, families: Mapping[str, Any]
) -> _kernels.RowCounter:
    """An empty counter of rows with these columns."""
    kinds = {} if schema is None else {g.names[0]: g.kind for g in schema.groups if g.names}
    holds = []
    for name in names:
        family = families.get(name)
        if name in families and family is None:
            holds.append(IGNORED)
        elif isinstance(family, Categorical | Bernoulli) or kinds.get(name) == "levels":
            holds.append(TEXTS)
        elif isinstance(family, Gaussian | Poisson | Binned | Smooth) or name in kinds:
            holds.append(NUMBERS)
        else:
            holds.append(UNDECIDED)
    return _kernels.RowCounter(names, holds, BUDGET, as_scalar, as_text)


def _by_class(parts: list[Array], order: NDArray[np.intp]) -> Array:
    """Counts (n_classes, n) from an array per cell that may be short of classes without counts."""
    wide = np.zeros((len(parts), len(order)))
    for row, part in zip(wide, parts, strict=True):
        row[: len(part)] = part
    return np.ascontiguousarray(wide[:, order].T)


def counted_rows(counter: _kernels.RowCounter) -> TableTally:
    """What a counter has counted, as a tally in a schema of its own."""
    labels, class_count, columns = counter.counted()
    array = np.array(labels)
    if array.ndim != 1 or array.dtype.kind not in "iufbU":
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    classes = sorted_labels(array)
    at = {label: i for i, label in enumerate(labels)}
    order = np.array([at[label] for label in classes.tolist()], dtype=np.intp)
    groups = []
    for name, holds, *counts in columns:
        if holds == TEXTS:
            table = _by_class(counts[1], order)
            seen: NDArray[np.bool_] = np.asarray(table.any(axis=0))
            if not seen.any():
                continue
            levels = np.empty(int(seen.sum()), dtype=object)
            levels[:] = [level for level, kept in zip(counts[0], seen, strict=True) if kept]
            groups.append(level_group(name, levels, np.ascontiguousarray(table[:, seen])))
            continue
        origin, sums, grids = counts
        wide = np.zeros((len(order), 6))
        wide[: len(grids)] = sums.reshape(-1, 6)
        cells = [np.ascontiguousarray(column[:, None]) for column in wide[order].T]
        moments = Moments(np.array([origin]), *cells)
        grid = GridCounts.zeros(len(order))
        for k, (shift, keys, weight) in enumerate(grids):
            by_key = np.argsort(keys)
            part = GridCounts(shift, keys[by_key], weight[by_key][None, :])
            grid.accumulate(part, 1.0, np.flatnonzero(order == k))
        groups.extend(number_groups(name, moments, grid))
    schema = Schema(classes, tuple(columns for columns, _ in groups), by_name=True)
    return TableTally(schema, ClassCounts(class_count[order]), tuple(tally for _, tally in groups))


def row_scorer(score: TableScore) -> _kernels.RowScorer:
    """The compiled score of one row as a dict."""
    scorer = _kernels.RowScorer(
        np.ascontiguousarray(score.log_prior), score.fallback, as_scalar, as_text
    )
    for part in score.parts:
        if isinstance(part, LevelsPart):
            entry = {level: i + 1 for i, level in enumerate(part.levels)}
            unseen = -1 if part.unseen == "error" else len(entry) + 1
            scorer.add_levels(part.name, entry, unseen, np.ascontiguousarray(part.table.T))
        elif isinstance(part, BinsPart):
            scorer.add_bins(part.name, part.edges, np.ascontiguousarray(part.table.T))
        elif isinstance(part, GaussianPart):
            constant = part.there - 0.5 * np.log(2.0 * np.pi * part.variance)
            scale = np.sqrt(0.5 / part.variance)
            scorer.add_gaussian(part.name, part.mean, scale, constant, part.gap)
        else:
            constant = part.there - part.rate
            scorer.add_poisson(part.name, np.log(part.rate), constant, part.gap)
    return scorer
