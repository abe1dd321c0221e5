"""A shorter model of fewer terms, its weights learned again.

Terms are left out a few at a time, those first without which the log-loss rises least, and the
weights of the others are learned again in between. Tables, pairs and the kinds of smoothing stay as
they are; corrections, which were made beside all terms, are dropped.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from tallybayes.weighted.learned import Learned, tables_of
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.tables import column_table
from tallybayes.weighted.terms import Terms, Weights, scores_of
from tallybayes.weighted.weights import learn_weights

__all__ = ["simplified"]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

AT_ONCE = 0.3  # of the terms too many, left out before weights are learned again


def _term_values(learned: Learned, rows: LearningRows, p: Array, t: int, proba: Array) -> Values:
    """What a term says of the rows, each without itself, centred over classes, float32 (n_classes,
    n_rows)."""
    n, y, removed = len(learned.columns), rows.y.astype(np.intp), rows.removed
    if t < n:
        codes = rows.cells[t]
        table = column_table(learned.columns[t], p, learned.choices[t])
        values = table.without(codes, y, removed, p)
        values[codes < 0] = 0.0
    else:
        pair = learned.pairs[t - n]
        values = pair.without(pair.codes(rows.cells), y, removed, proba)
    values -= values.mean(axis=1, keepdims=True)
    return np.ascontiguousarray(values.T.astype(np.float32))


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
    proba: Array,
    most: int,
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
        Rows that were counted, not too many: what every term says of each is held.
    classes : float64 array (n_classes,)
        Rows of each class, above 0.
    proba : float64 array (n_rows, n_classes)
        What the model says of them, each predicted by the others.
    most : int
        Terms.
    by_class, penalty
        As of :func:`learn`.
    """
    p = classes / classes.sum()
    log_share, n = np.log(p), len(learned.columns)
    kept = [t for t, table in enumerate(learned.tables) if table.any()]
    with threadpool_limits(1, user_api="blas"):
        held = {t: _term_values(learned, rows, p, t, proba) for t in kept}
        while True:
            terms = Terms(rows.n_classes, rows.n)
            for t in kept:
                terms.add(held[t], pair=t >= n)
            weights = learn_weights(
                terms, rows, None, log_share, by_class=by_class, penalty=penalty
            )
            if len(kept) <= most:
                break
            worth = np.argsort(_losses_without(terms, rows, weights, log_share), kind="stable")
            leaving = max(1, int(AT_ONCE * (len(kept) - most)))
            out = {kept[i] for i in worth[:leaving].tolist()}
            kept = [t for t in kept if t not in out]
        scores = scores_of(terms.values, weights.by_class(), log_share + weights.offsets).T
    pairs = [learned.pairs[t - n] for t in kept if t >= n]
    place = [t if t < n else n + i - sum(k < n for k in kept) for i, t in enumerate(kept)]
    wide = Weights(
        np.zeros(n + len(pairs)),
        np.zeros((rows.n_classes, n + len(pairs))),
        weights.offsets,
        weights.scale,
    )
    wide.terms[place], wide.deviations[:, place] = weights.terms, weights.deviations
    full = [
        column_table(c, p, how).full
        for c, how in zip(learned.columns, learned.choices, strict=True)
    ]
    return replace(
        learned,
        pairs=pairs,
        weights=wide,
        corrections=None,
        tables=tables_of(full + [pair.full for pair in pairs], wide, None),
        offset=log_share + weights.offsets,
        tested=np.arange(rows.n),
        log_proba=scores - logsumexp(scores, axis=1, keepdims=True),
    )
