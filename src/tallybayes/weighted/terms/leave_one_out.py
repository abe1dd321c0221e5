"""Scores of rows that were learned, each taken out of every column and pair again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.terms.column_tables import ColumnTable
from tallybayes.weighted.terms.learning_rows import LearningRows
from tallybayes.weighted.terms.pair_terms import CountedPair, PairTerm
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
            scores.pairs.append(CountedPair(pair, pair.counted, pair.expected, nothing, proba))
    return scores
