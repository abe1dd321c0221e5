"""Weights of terms, by the least penalised leave-one-out log-loss: convex, few parameters.

γ is chosen by cross-validation over the leave-one-out rows, from 1,000 rows on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.by_class import class_weights
from tallybayes.weighted.newton import shared_weights
from tallybayes.weighted.objective import CENTRE, Loss
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms import Terms, Weights, scores_of

__all__ = ["learn_weights"]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

SCALES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
MOST_ROWS = 25_000  # on which weights are learned
VALIDATED = 12_000  # rows of cross-validation
FEWEST = 1000  # rows from which the scale is chosen
STEPS = 200
WORTH = 1e-6  # nats: what the last step may gain
NEARLY = 1e-1  # the same where only losses are compared


def _solved(loss: Loss, start: Weights, deviating: bool, worth: float) -> Weights:
    solve = class_weights if deviating else shared_weights
    return solve(loss, start, steps=STEPS, worth=worth)


def _validated(
    values: Values,
    rows: LearningRows,
    pair: NDArray[np.bool_],
    start: Weights,
    log_share: Array,
    deviating: bool,
) -> Weights:
    """Weights under the γ of cross-validation, as some of the rows have them."""
    if rows.n < FEWEST:
        return replace(start, scale=1.0)
    order = np.random.default_rng(1).permutation(rows.n)[:VALIDATED]
    folds = 5 if len(order) < 1500 else 3
    fold = np.arange(len(order)) % folds
    loss = np.zeros(len(SCALES))
    found: list[Weights] = []
    for f in range(folds if len(order) < 1500 else 1):
        train, test = np.sort(order[fold != f]), np.sort(order[fold == f])
        inside, outside = values[:, :, train], values[:, :, test]
        now = start
        for i, scale in enumerate(SCALES):
            within = Loss(inside, rows.y[train], rows.weight[train], pair, log_share, scale)
            now = _solved(within, now, deviating, NEARLY)
            found.append(now)
            scores = scores_of(outside, now.by_class(), log_share + now.offsets)
            scratch = np.empty(scores.shape, dtype=np.float32)
            loss[i] += _kernels.softmax_residuals(
                scores, rows.y[test], rows.weight[test], scratch, get_num_threads()
            )
    return found[int(np.argmin(loss))]


def learn_weights(
    terms: Terms,
    rows: LearningRows,
    start: Weights | None,
    log_share: Array,
    *,
    by_class: bool = True,
    penalty: float | None = None,
) -> Weights:
    """The weights of all terms.

    Parameters
    ----------
    terms : Terms
    rows : LearningRows
    start : Weights, optional
        Of the first terms, as they were before others came.
    log_share : float64 array (n_classes,)
        log p.
    by_class : bool
        Whether there are deviations, for more than two classes.
    penalty : float, optional
        γ; by cross-validation unless given.
    """
    d, n_classes = len(terms), rows.n_classes
    deviating = by_class and n_classes > 2
    if start is None:
        equal = np.full(d, 1.0 / (1.0 + d / 8.0))
        start = Weights(equal, np.zeros((n_classes, d)), np.zeros(n_classes), 1.0)
    start = start.with_more(d - len(start.terms), CENTRE)
    pair = np.array(terms.pair, dtype=bool)
    values = terms.values
    if penalty is None:
        start = _validated(values, rows, pair, start, log_share, deviating)
    scale = start.scale if penalty is None else penalty
    y, weight = rows.y, rows.weight
    if rows.n > MOST_ROWS:
        some = np.sort(np.random.default_rng(0).permutation(rows.n)[:MOST_ROWS])
        values, y, weight = np.ascontiguousarray(values[:, :, some]), y[some], weight[some]
    return _solved(Loss(values, y, weight, pair, log_share, scale), start, deviating, WORTH)
