"""Contributions of the columns of a fitted table to the scores: readable tables, and importances.

Both are read from the tally. A training row is, for one column, its class and its cell: a level, or
a cell of the grid that numbers are counted on. So a mean over training rows, each left out of the
counts, is a sum over classes and cells, weighted by what was counted.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.parts import TakenOut
from tallybayes.models.array import ArrayModel
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.score import Lookup, Quadratic
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import frame, numbers_and_strings
from tallybayes.tally import CrossMoments, FeatureSums, GridCounts, LevelCounts, TextCounts
from tallybayes.tally.base import RESIDUE

__all__ = [
    "array_importances",
    "column_importances",
    "column_tables",
    "term_frame",
    "terms_apart",
]


Array = NDArray[np.float64]

MAX_NATS = 700.0  # nats: what a class that is ruled out counts for
N_QUANTILES = 21  # values at which a density is shown


def _apart(scores: Array) -> Array:
    """The difference between the largest and the smallest score of each row, in nats, (n_rows,)."""
    return np.asarray(np.ptp(np.clip(scores, -MAX_NATS, MAX_NATS), axis=1))


def _cells(model: TableModel, name: str) -> tuple[Column, Array] | None:
    """A value for each cell of a column, and the counts (n_classes, n_cells)."""
    tally = model.tally_read
    strings: tuple[Strings, Array] | None = None
    numbers: tuple[Numbers, Array] | None = None
    for columns, group in tally.pairs:
        if columns.names is None or tuple(columns.names) != (name,):
            continue
        if isinstance(group, LevelCounts) and columns.levels is not None:
            levels = columns.levels[0].tolist()
            codes = np.arange(len(levels), dtype=np.int32)
            strings = Strings(codes, levels, "text"), group.counts[:, : len(levels)]
        if isinstance(group, GridCounts):
            numbers = Numbers(group.values(), "float"), group.counts
    if strings is None or numbers is None:
        return strings or numbers
    counts = np.concatenate([numbers[1], strings[1]], axis=1)
    return numbers_and_strings(numbers[0].values, strings[0].levels), counts


def _of_cells(model: TableModel, part: Any, column: Column, counts: Array) -> float:
    """The mean over the rows in these cells (n_classes, n_cells), and over missing values, each row
    left out of what was counted."""
    rows = model.tally.classes
    own, at = np.nonzero(counts > 0.0)
    held, one = counts[own, at], rows.row_weight
    name, sum_of_rows = part.columns[0], 0.0
    if len(own):
        table = Table({name: column.take(at)}, len(own), True)
        scores = part.scores(table, TakenOut(own, np.minimum(held, one[own])))
        sum_of_rows += float(held @ _apart(scores))
    missing = rows.count - counts.sum(axis=1)
    k = np.flatnonzero(missing > RESIDUE * rows.count)
    if len(k):
        table = Table({name: Empty(len(k))}, len(k), True)
        scores = part.scores(table, TakenOut(k, np.minimum(missing[k], one[k])))
        sum_of_rows += float(missing[k] @ _apart(scores))
    return sum_of_rows / max(float(rows.count.sum()), 1e-300)


def _of_group(model: TableModel, part: Any) -> dict[str, float]:
    """The importances of columns that are read together, at the class means: the tally does not
    hold their rows."""
    rows = model.tally.classes.count
    read = model.tally_read  # strings that are prose are levels before
    here = {c.names: t for c, t in read.pairs}
    tally = here.get(part.columns)
    if isinstance(tally, FeatureSums):
        means = tally.sums / np.maximum(rows, 1e-300)[:, None]
    elif isinstance(tally, CrossMoments):
        means = tally.mean_and_squares()[0]
    elif isinstance(tally, TextCounts):
        apart = _apart(part.likelihood.at_class_means(model.tally.classes.row_weight))
        return {part.name: float(tally.documents @ apart) / max(float(rows.sum()), 1e-300)}
    else:
        return dict.fromkeys(part.columns, 0.0)
    means = means[rows > 0.0]
    columns: dict[str, Column] = {
        name: Numbers(np.ascontiguousarray(means[:, j]), "float")
        for j, name in enumerate(part.columns)
    }
    shares = part.contributions(Table(columns, len(means), True))
    weight = rows[rows > 0.0] / max(float(rows.sum()), 1e-300)
    return {name: float(weight @ _apart(shares[name])) for name in part.columns}


def column_importances(model: TableModel) -> Array:
    """How far each column separates the classes, in nats, (n_columns,).

    This is the largest contribution to a class less the smallest, averaged over the training rows,
    each left out of the counts. Levels and bins are exact. A density reads all numbers in a cell of
    the grid as one. A group of columns is evaluated at the class means, and a text with the terms
    that a class has on average. A column that is left out has 0.
    """
    found: dict[str, float] = {}
    for part in model.parts:
        cells = _cells(model, part.columns[0]) if len(part.columns) == 1 else None
        if cells is None:
            found |= _of_group(model, part)
        else:
            found[part.columns[0]] = _of_cells(model, part, *cells)
    return np.array([found.get(name, 0.0) for name in model.names])


def array_importances(model: ArrayModel) -> Array:
    """The same of a model of arrays, (n_columns,): levels and features that are present or absent
    are exact; counts and numbers are evaluated at the class means."""
    parameters, group, rows = model.parameters, model.group, model.tally.classes.count
    n = max(float(rows.sum()), 1e-300)
    if isinstance(parameters, Lookup):
        found = np.zeros(len(parameters.start) - 1)
        for j, first in enumerate(parameters.start[:-1].tolist()):
            held = group.counts[:, group.start[j] : group.start[j + 1]].sum(axis=0)
            scores = parameters.table[:, first : first + len(held)]
            found[j] = held @ _apart(scores.T) / n
        return found
    if isinstance(parameters, Quadratic):
        found = np.zeros(parameters.mean.shape[1])
        means = group.mean_and_squares()[0]
        for k in np.flatnonzero(rows > 0.0).tolist():
            z = (means[k] - parameters.mean) * parameters.scale
            found += rows[k] / n * _apart((np.log(parameters.scale) - z**2).T)
        return found
    mean: Array = group.sums.sum(axis=0) / n
    weights = parameters.weights
    if parameters.threshold is None:
        return mean * _apart(weights.T)
    absent = -np.logaddexp(0.0, weights)
    if parameters.required is not None:
        absent = np.where(parameters.required, -np.inf, 0.0)
    present = weights if parameters.required is not None else absent + weights
    return mean * _apart(present.T) + (1.0 - mean) * _apart(absent.T)


def terms_apart(model: TableModel) -> dict[str, float]:
    """How far each term moves the scores of the classes apart, in nats, on average over rows: the
    columns and pairs of a weighted model, by what they add, and the columns of others."""
    weighting = model.chosen.weighting
    if weighting is not None:
        return weighting.adds
    return dict(zip(model.names, column_importances(model).tolist(), strict=True))


def column_tables(model: TableModel) -> dict[str, Any]:
    """For each column, a frame with what its levels, bins or values add to the score of each class:
    log p(x_j | c), in nats. A density is shown at quantiles of the counted numbers; a column of a
    group of counts, by what one unit adds."""
    tables = {}
    for part in model.parts:
        for name, (entries, scores) in part.shown(lambda name: _shown_values(model, name)).items():
            tables[name] = _frame(model, name, entries, scores)
    return {name: tables[name] for name in model.names if name in tables}


def _shown_values(model: TableModel, name: str) -> Array:
    """Values (n,) of a column of numbers, at even shares of its rows, each once."""
    cells = _cells(model, name)
    if cells is None or not isinstance(cells[0], Numbers | Mixed):
        return np.empty(0)
    column, rows = cells[0], cells[1].sum(axis=0)
    values = column.numbers.values if isinstance(column, Mixed) else column.values
    values, rows = values[~np.isnan(values)], rows[: np.count_nonzero(~np.isnan(values))]
    share = (np.cumsum(rows) - 0.5 * rows) / max(float(rows.sum()), 1e-300)
    at = np.searchsorted(share, np.linspace(0.0, 1.0, N_QUANTILES)).clip(0, len(rows) - 1)
    return np.asarray(values[np.unique(at)]) if len(rows) else np.empty(0)


def _frame(model: TableModel, name: str, entries: Any, values: Array) -> Any:
    held: dict[str, Any] = {name: entries}
    for k, label in enumerate(map(str, model.schema.classes.tolist())):
        held[f"{label} (class)" if label in held else label] = values[:, k].copy()
    return frame(held)


def term_frame(model: WeightedModel, t: int, names: tuple[str, ...], labels: list[str]) -> Any:
    """A term's table as a frame: its cells, and what each adds to each class, in nats."""
    words = map(list, zip(*product(*model.words_of(t)), strict=True))
    held: dict[str, Any] = dict(zip(names, words, strict=True))
    for k, label in enumerate(labels):
        held[f"{label} (class)" if label in held else label] = model.score.tables[t][:, k].copy()
    return frame(held)
