"""Pruning: a model of fewer terms, with weights learned again.

Terms are dropped a few at a time, those first whose removal increases the log-loss least, and the
weights of the others are learned again in between. Tables, pairs and the kinds of smoothing stay;
corrections are dropped, because they were fitted with all terms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from tallybayes.weighted.fit.learned import Learned, tables_of
from tallybayes.weighted.optim.weights import learn_weights
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.column_tables import column_table
from tallybayes.weighted.terms.term_scores import Terms, Weights, rows_taken_out, scores_of

__all__ = ["simplified"]

Array = NDArray[np.float64]

PRUNED_SHARE = 0.3  # of the terms too many, left out before weights are learned again


def _losses_without(
    terms: Terms, rows: LearningRows, weights: Weights, log_share: Array
) -> list[float]:
    """The log-loss of the rows without each term, other weights as they are, in nats."""
    by_class, offset = weights.by_class(), log_share + weights.offsets
    found = []
    for t in range(len(terms)):
        others = by_class.copy()
        others[:, t] = 0.0
        scores = scores_of(terms.values, others, offset)
        own = scores[rows.y, np.arange(rows.n)]
        found.append(float(rows.weight @ (logsumexp(scores, axis=0) - own)))
    return found


def simplified(
    learned: Learned,
    rows: LearningRows,
    classes: Array,
    max_terms: int,
    *,
    by_class: bool = True,
    penalty: float | None = None,
) -> Learned:
    """What was learned, with at most so many terms.

    Parameters
    ----------
    learned : Learned
        With the counts of its columns.
    rows : LearningRows
        Rows that were counted, not too many: the log-ratios of every term are held for each.
    classes : float64 array (n_classes,)
        Rows of each class, above 0.
    max_terms : int
        Terms.
    by_class, penalty
        As of :func:`learn`.
    """
    p = classes / classes.sum()
    log_share, d = np.log(p), len(learned.columns)
    tables = [
        column_table(column, p, choice)
        for column, choice in zip(learned.columns, learned.choices, strict=True)
    ]
    taken_out = rows_taken_out(tables, learned.pairs, learned.rounds, rows, p)
    full = [table.full for table in tables] + [pair.full for pair in learned.pairs]
    contributions = tables_of(full, learned.weights, learned.corrections)
    kept = [t for t, table in enumerate(contributions) if table.any()]
    with threadpool_limits(1, user_api="blas"):
        held = {t: taken_out.values(t) for t in kept}
        while True:
            terms = Terms(rows.n_classes, rows.n)
            for t in kept:
                terms.add(held[t], pair=t >= d)
            weights = learn_weights(
                terms, rows, None, log_share, by_class=by_class, penalty=penalty
            )
            if len(kept) <= max_terms:
                break
            worth = np.argsort(_losses_without(terms, rows, weights, log_share), kind="stable")
            leaving = max(1, int(PRUNED_SHARE * (len(kept) - max_terms)))
            out = {kept[i] for i in worth[:leaving].tolist()}
            kept = [t for t in kept if t not in out]
        scores = scores_of(terms.values, weights.by_class(), log_share + weights.offsets).T
    n_terms = d + len(learned.pairs)
    wide = Weights(np.zeros(n_terms), np.zeros((len(p), n_terms)), weights.offsets, weights.scale)
    wide.terms[kept], wide.deviations[:, kept] = weights.terms, weights.deviations
    return replace(
        learned,
        weights=wide,
        corrections=None,
        offset=log_share + weights.offsets,
        tested=np.arange(rows.n),
        log_proba=scores - logsumexp(scores, axis=1, keepdims=True),
    )
