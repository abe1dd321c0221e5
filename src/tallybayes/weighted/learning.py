"""Learning a weighted model: columns, weights, pairs, weights again, a last correction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned, tables_of
from tallybayes.weighted.pairs import Pairs, PairTerm
from tallybayes.weighted.polish import Correction, correction
from tallybayes.weighted.rows import LearningRows, column_values
from tallybayes.weighted.tables import ColumnTable, column_table
from tallybayes.weighted.terms import Terms, Weights, scores_of
from tallybayes.weighted.weights import learn_weights

__all__ = ["Learned", "learn"]

Array = NDArray[np.float64]

ROUNDS = 8


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
    interactions: int | None = None,
    by_class: bool = True,
    polish: bool = True,
    penalty: float | None = None,
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
    interactions : int, optional
        At most so many pairs; 0 for none. Unless given, as many as help.
    by_class : bool
        Whether weights may deviate by class, for more than two classes.
    polish : bool
        Whether cells are corrected at last.
    penalty : float, optional
        γ; chosen by cross-validation unless given.
    """
    p = classes / classes.sum()
    with threadpool_limits(1, user_api="blas"):  # many small products: threads would only wait
        return _Learning(columns, rows, p, by_class, penalty).learned(interactions, polish)


class _Learning:
    """The terms so far, and their weights."""

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        p: Array,
        by_class: bool,
        penalty: float | None,
    ) -> None:
        self.columns, self.rows, self.p = columns, rows, p
        self.log_share = np.log(p)
        self.by_class, self.penalty = by_class, penalty
        self.terms = Terms(rows.n_classes, rows.n)
        self.weights: Weights | None = None
        self.pairs: list[PairTerm] = []
        self.column_tables: list[ColumnTable] = []
        for j, column in enumerate(columns):
            table = column_table(column, p)
            self.terms.add(column_values(table, rows, j, p), pair=False)
            self.column_tables.append(table)

    def learn_weights(self) -> Weights:
        self.weights = learn_weights(
            self.terms,
            self.rows,
            self.weights,
            self.log_share,
            by_class=self.by_class,
            penalty=self.penalty,
        )
        return self.weights

    def scores(self, weights: Weights) -> Array:
        return scores_of(self.terms.values, weights.by_class(), self.log_share + weights.offsets)

    def add_pairs(self, weights: Weights, interactions: int | None) -> Weights:
        """Rounds of pairs and of weights."""
        pairs = Pairs(self.columns, self.rows, self.p)
        for _ in range(ROUNDS):
            most = max(4, len(self.columns))
            if interactions is not None:
                most = min(most, interactions - len(self.pairs))
            found = pairs.best(_proba(self.scores(weights)), most) if most else []
            if not found:
                break
            for term, values in found:
                self.terms.add(values, pair=True)
                self.pairs.append(term)
            weights = self.learn_weights()
        return weights

    def learned(self, interactions: int | None, polish: bool) -> Learned:
        weights = self.learn_weights()
        if interactions != 0 and len(self.columns) > 1:
            weights = self.add_pairs(weights, interactions)
        full = [t.full for t in self.column_tables] + [pair.full for pair in self.pairs]
        scores = np.ascontiguousarray(self.scores(weights).T)
        tested = np.arange(self.rows.n)
        found = self.corrected(full, scores) if polish else None
        corrections = None
        if found is not None:
            tested = found.tested
            added = found.cells - found.cells.mean(axis=1, keepdims=True)
            corrections = np.split(added, np.cumsum([len(table) for table in full])[:-1])
            scores = scores[tested] + found.left_out
        return Learned(
            columns=self.columns,
            choices=[table.choice for table in self.column_tables],
            pairs=self.pairs,
            weights=weights,
            corrections=corrections,
            tables=tables_of(full, weights, corrections),
            offset=self.log_share + weights.offsets,
            tested=tested,
            log_proba=scores - logsumexp(scores, axis=1, keepdims=True),
        )

    def corrected(self, full: list[Array], scores: Array) -> Correction | None:
        """Corrections of all cells."""
        start = np.cumsum([0, *(len(table) for table in full)])
        cells = [*self.rows.cells, *(pair.codes(self.rows.cells) for pair in self.pairs)]
        numbered = np.stack(
            [np.where(c < 0, -1, c + begin) for c, begin in zip(cells, start[:-1], strict=True)],
            axis=1,
        ).astype(np.int32)
        rows = self.rows
        return correction(numbered, scores, rows.y, rows.weight, int(start[-1]))
