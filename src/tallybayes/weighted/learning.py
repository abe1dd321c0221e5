"""Learning a weighted model: which columns are heard, what they teach, how much is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tallybayes.weighted.canonical import canonical
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.copies import best_of_copies, near_copies
from tallybayes.weighted.doubt import (
    believed,
    doubted,
    least_gain,
    many,
    trust_beyond_chance,
)
from tallybayes.weighted.duplicates import distinct
from tallybayes.weighted.learned import Averaged, Learned
from tallybayes.weighted.rounds import Asked, Rounds
from tallybayes.weighted.rows import LearningRows, row_weights
from tallybayes.weighted.sampling import thinned
from tallybayes.weighted.tables import SILENT, ColumnTable, column_table
from tallybayes.weighted.terms import Weights

__all__ = ["learn"]

Array = NDArray[np.float64]

MOST_VALUES = 40_000_000  # rows times classes that are looked at


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    *,
    interactions: int | None = None,
    by_class: bool = True,
    polish: bool = True,
    penalty: float | None = None,
    parts: int | None = None,
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
    interactions : int, optional
        At most so many pairs; 0 for none. Unless given, as many as help.
    by_class : bool
        Whether weights may deviate by class, for more than two classes. They do not where they
        would be more than 4,000.
    polish : bool
        Whether cells are corrected at last.
    penalty : float, optional
        γ; chosen by cross-validation unless given.
    parts : int, optional
        How many learnings, each without some of the rows, are averaged with one of all rows; 1:
        that one alone, and so it is so far whatever is given.
    """
    del parts
    asked = Asked(interactions, by_class, polish, penalty)
    p = classes / classes.sum()
    if rows.n_classes == 1:
        return Averaged.of_one(_of_one_class(columns, rows))
    if rows.keys is not None:
        return _of_any_columns(columns, rows, p, asked)
    rows, was = canonical(rows, columns)
    learned = _of_any_columns(columns, rows, p, asked)
    tested = was[learned.tested]
    order = np.argsort(tested)
    return replace(
        learned,
        tested=tested[order],
        log_proba=learned.log_proba[order],
        gained=learned.gained[order],
    )


def _of_any_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked
) -> Averaged:
    """What is learned of canonical rows, of columns some of which may be equal."""
    some = thinned(rows.y, rows.n_classes, MOST_VALUES // rows.n_classes)
    thin = rows if len(some) == rows.n else rows.take(some)
    kept, duplicates = distinct(thin.cells, [column.name for column in columns])
    if kept != list(range(len(columns))):  # the keys are of these already
        thin = replace(thin, cells=np.ascontiguousarray(thin.cells[kept]))
    with _controller().limit(limits=1, user_api="blas"):  # for small products threads only wait
        learned = _learned([columns[j] for j in kept], thin, p, asked)
    found = replace(learned.among(columns, kept), tested=some[learned.tested])
    return Averaged.of_one(found, duplicates)


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are loaded; looking for them takes some milliseconds."""
    return ThreadpoolController()


def _learned(columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked) -> Learned:
    """What is learned of columns that differ from each other, as far as it is believed."""
    if not many(len(columns), float(rows.weight.sum())):
        return _of_few_columns(columns, rows, p, asked)

    def learner(columns: list[ColumnCells], rows: LearningRows) -> Callable[[float], Learned]:
        tables = _tables(columns, rows, p)

        def learn(worth: float) -> Learned:
            kept = [j for j, table in enumerate(tables) if table.gain >= worth]
            heard = [tables[j] for j in kept]
            learning = Rounds([columns[j] for j in kept], heard, rows.among(kept), p, asked)
            return learning.learned().among(columns, kept)

        return learn

    doubt = doubted(columns, rows, p, learner)
    learned = believed(learner(columns, rows)(doubt.worth), p, doubt.trust)
    return replace(learned, tested=np.arange(rows.n), log_proba=doubt.log_proba)


def _tables(columns: list[ColumnCells], rows: LearningRows, p: Array) -> list[ColumnTable]:
    """The tables of columns, smoothed as leave-one-out likes best."""
    weights = row_weights(rows, [column.n_cells for column in columns])
    return [
        column_table(column, p, row_weight=weight)
        for column, weight in zip(columns, weights, strict=True)
    ]


def _of_few_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked
) -> Learned:
    """The same where columns are few for the rows, so that leave-one-out is enough."""
    tables = _tables(columns, rows, p)
    groups = near_copies(columns, tables, rows)
    n_told = len(columns) - sum(len(group) - 1 for group in groups)
    least = least_gain(n_told, float(rows.weight.sum()))
    loud = [table.gain >= least for table in tables]
    for j, column in enumerate(columns):
        if not loud[j]:
            tables[j] = column_table(column, p, SILENT)

    def learn_of(kept: list[int]) -> Learned:
        chosen = [columns[j] for j in kept], [tables[j] for j in kept]
        return Rounds(*chosen, rows.among(kept), p, asked).learned().among(columns, kept)

    told = [[j for j in group if loud[j]] for group in groups]
    learned = best_of_copies([group for group in told if len(group) > 1], learn_of, rows)
    heard = len(columns) - len(learned.nearly)
    trust = trust_beyond_chance(rows, learned.tested, learned.log_proba, p, heard)
    return believed(learned, p, trust)


def _of_one_class(columns: list[ColumnCells], rows: LearningRows) -> Learned:
    """Nothing is to be learned."""
    nothing = [np.zeros((column.n_cells, 1)) for column in columns]
    return Learned(
        columns=columns,
        choices=[SILENT] * len(columns),
        pairs=[],
        rounds=[],
        weights=Weights(np.zeros(len(columns)), np.zeros((1, len(columns))), np.zeros(1), 1.0),
        corrections=None,
        tables=nothing,
        offset=np.zeros(1),
        tested=np.arange(rows.n),
        log_proba=np.zeros((rows.n, 1)),
    )
