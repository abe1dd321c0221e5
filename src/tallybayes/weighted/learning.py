"""Learning a weighted model: columns, weights, pairs, weights again, a last correction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.pairs import Pairs, PairTerm
from tallybayes.weighted.polish import correction
from tallybayes.weighted.rows import LearningRows, column_values
from tallybayes.weighted.tables import ColumnTable, column_table
from tallybayes.weighted.weights import Terms, Weights, learn_weights, scores_of

__all__ = ["Learned", "learn"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Learned:
    """A weighted model.

    Parameters
    ----------
    columns : list of ColumnCells
    pairs : list of PairTerm
    weights : Weights
        Of the columns, then of the pairs.
    tables : list of float64 arrays (n_cells, n_classes)
        What each term adds, weighted, corrected and centred over classes, in nats.
    offset : float64 array (n_classes,)
        log p + b.
    """

    columns: list[ColumnCells]
    pairs: list[PairTerm]
    weights: Weights
    tables: list[Array]
    offset: Array


def _proba(scores: Array) -> Array:
    """Softmax of (n_classes, n_rows), as (n_rows, n_classes)."""
    scores = scores - scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return np.ascontiguousarray(scores.T)


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    *,
    rounds: int = ROUNDS,
    polish: bool = True,
) -> Learned:
    """Learns weights, pairs and corrections.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    rows : LearningRows
        All rows, or a fair sample.
    classes : float64 array (n_classes,)
        Rows of each class, above 0.
    rounds : int
        Rounds of pairs; 0 for none.
    polish : bool
    """
    with threadpool_limits(1, user_api="blas"):  # many small products: threads would only wait
        return _learned(columns, rows, classes / classes.sum(), rounds, polish)


def _learned(
    columns: list[ColumnCells], rows: LearningRows, share: Array, rounds: int, polish: bool
) -> Learned:
    log_share = np.log(share)
    terms = Terms(rows.n_classes, rows.n)
    full: list[Array] = []
    for column, cells in zip(columns, rows.cells, strict=True):
        table: ColumnTable = column_table(column, share)
        terms.add(column_values(table, cells, rows.y), pair=False)
        full.append(table.full)
    weights = learn_weights(terms, rows, None, log_share)
    taken: list[PairTerm] = []
    if rounds and len(columns) > 1:
        pairs = Pairs(columns, rows, share)
        for _ in range(rounds):
            proba = _proba(scores_of(terms.values, weights, log_share))
            found = pairs.best(proba, max(4, len(columns)))
            if not found:
                break
            for term in found:
                terms.add(term.values, pair=True)
                taken.append(term)
                full.append(term.full)
            weights = learn_weights(terms, rows, weights, log_share)
    by_class = weights.by_class()
    tables = [
        by_class[:, t] * (table - table.mean(axis=1, keepdims=True)) for t, table in enumerate(full)
    ]
    if polish:
        added = _correction(rows, taken, tables, scores_of(terms.values, weights, log_share))
        if added is not None:
            tables = [table + more for table, more in zip(tables, added, strict=True)]
    return Learned(columns, taken, weights, tables, log_share + weights.offsets)


def _correction(
    rows: LearningRows, pairs: list[PairTerm], tables: list[Array], scores: Array
) -> list[Array] | None:
    start = np.cumsum([0, *(len(table) for table in tables)])
    codes = [*rows.cells, *(pair.codes(rows.cells) for pair in pairs)]
    cells = np.stack(
        [np.where(c < 0, -1, c + begin) for c, begin in zip(codes, start[:-1], strict=True)], axis=1
    ).astype(np.int32)
    added = correction(
        np.ascontiguousarray(cells),
        np.ascontiguousarray(scores.T),
        rows.y,
        rows.weight,
        int(start[-1]),
    )
    return None if added is None else np.split(added, start[1:-1])
