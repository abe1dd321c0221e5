"""Scores of rows that were learned, each taken out of every column and pair again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.terms.column_tables import ColumnTable
from tallybayes.weighted.terms.learning_rows import LearningRows
from tallybayes.weighted.terms.pair_terms import CountedPair, PairTerm, Values
from tallybayes.weighted.terms.row_scores import RowScores
from tallybayes.weighted.terms.term_scores import Weights

__all__ = ["rows_taken_out"]

Array = NDArray[np.float64]


def rows_taken_out(
    tables: list[ColumnTable],
    pairs: list[PairTerm],
    rounds: list[Weights],
    rows: LearningRows,
    share: Array,
) -> RowScores:
    """The terms of a model on rows that were learned, for any weights.

    What is expected of a row in a pair is said by the terms and weights that there were when the
    pair was taken, the row taken out of them, too: so the rounds of learning are gone through
    again.

    Parameters
    ----------
    tables : list of ColumnTable
    pairs : list of PairTerm
        By round.
    rounds : list of Weights
        When each round of pairs was taken.
    rows : LearningRows
        Rows of weight 0 are not taken out.
    share : float64 array (n_classes,)
        p.
    """
    scores = RowScores(rows, share, tables)
    nothing = np.zeros(len(share))
    for place, weights in enumerate(rounds):
        proba = scores.proba(weights)
        for pair in (pair for pair in pairs if pair.round == place):
            there = _expected_there(pair, rows, proba)
            scores.pairs.append(CountedPair(pair, pair.counted, pair.expected, nothing, there))
    return scores


def _expected_there(pair: PairTerm, rows: LearningRows, proba: Values) -> Values:
    """P, as far as the expected counts of each row's cell hold it.

    A fit without a part of the rows has counted this part with P as it was then. P of a row that is
    heavy for its cells differs from that where the row is taken out of the columns, too, and more
    might be taken than is expected. Half of the least expected count stays: an empty cell has it.
    """
    expected = pair.expected[pair.codes(rows.cells)]
    taken = np.maximum(rows.removed, np.finfo(np.float64).tiny)[:, None]
    with np.errstate(over="ignore"):
        most = (expected - 0.5 * pair.expected.min()) / taken
    bounded: Values = np.minimum(proba, most).astype(np.float32)
    return bounded
