"""Shrinkage toward the class shares, and the minimum gain of a column.

Widths, weights and pairs are chosen by what they gain, and the best of many choices gains by
chance: a fit to noise is never empty. With few columns for the rows, the leave-one-out gain of the
whole model has to exceed what as many columns of noise would gain. With many columns, leave-one-out
is optimistically biased: a column selected because it separates these rows still separates them
with any one row taken out. The whole fit is then repeated without each fifth of the rows, and the
rows held out choose the minimum gain of a column and the shrinkage factor.

No class gets probability 0: the class prior has a small share in every prediction.

    P'(k | x) = (1 − ε)·P(k | x) + ε·p_k,    ε = ½ / (n + ½)

n rows cannot show that a class is impossible; half a future row keeps P' away from 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.learned import Learned
from tallybayes.weighted.rows import LearningRows, counted_in
from tallybayes.weighted.terms.scorer import WeightedScore
from tallybayes.weighted.terms.term_scores import log_normalised

__all__ = [
    "HeldOutShrinkage",
    "held_out_shrinkage",
    "min_column_gain",
    "mixed",
    "prior_share",
    "shrinkage_factor",
    "shrunk",
    "too_many_columns",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

COLUMNS_PER_ROW_FACTOR = 30  # a column that gains less than log(30·columns / rows) is not used
MIN_ROWS_PER_COLUMN_NOISE = 10
"""The gain of noise grows with the columns, up to one column for so many rows."""

MIN_ROWS_PER_COLUMN = 2
"""With fewer rows a column, the fit is repeated without each fold."""

FOLDS = 5
SALT = 3  # of the folds
STRICTER = (0.0, 2.0, 4.0, 6.0)  # nats that a column has to gain beyond the minimum
FACTORS = np.linspace(0.0, 1.0, 21)
MIN_GAIN = 3.0  # nats that the shrunk model has to gain on rows held out
PRIOR_ROWS = 0.5  # rows
MAX_PROBABILITY = float(np.nextafter(1.0, 0.0))  # 1 − ε·(1 − p) may round to 1


def min_column_gain(n_columns: int, n_rows: float) -> float:
    """The minimum leave-one-out gain of a column to be used, in nats; −inf where columns are few.

    With many columns for the rows, some gain a little by chance.
    """
    gain = float(np.log(max(COLUMNS_PER_ROW_FACTOR * n_columns / max(n_rows, 1.0), 1e-9)))
    return gain if gain > 0.0 else -np.inf


def too_many_columns(n_columns: int, n_rows: float) -> bool:
    """Whether there are too many columns for the rows to rely on leave-one-out alone."""
    return FOLDS <= n_rows < MIN_ROWS_PER_COLUMN * n_columns


def shrinkage_factor(
    rows: LearningRows, tested: Index, log_proba: Array, p: Array, n_columns: int
) -> float:
    """The shrinkage factor from 0 to 1, by the gain beyond chance.

    Columns of noise gain a nat or more each. The factor is 0 where the model gains no more than as
    many columns of noise would, and 1 where it gains half as much again.

    Parameters
    ----------
    rows : LearningRows
    tested : index array (n_tested,)
        Rows that are predicted.
    log_proba : float64 array (n_tested, n_classes)
        Their log-probabilities, each row taken out.
    p : float64 array (n_classes,)
        Shares of the classes.
    n_columns : int
        Columns that were used.
    """
    y, weight = rows.y[tested], rows.weight[tested]
    total = float(rows.weight.sum())
    own = log_proba[np.arange(len(tested)), y] - np.log(p)[y]
    gain = float(weight @ own) * total / max(float(weight.sum()), 1e-300)
    chance = min(n_columns, total / MIN_ROWS_PER_COLUMN_NOISE) * np.log2(rows.n_classes)
    if chance <= 0.0:  # no column
        return 1.0
    return float(np.clip(2.0 * (gain / chance - 1.0), 0.0, 1.0))


def shrunk(learned: Learned, p: Array, factor: float) -> Learned:
    """A fit shrunk toward the class shares: the shares at factor 0, the whole fit at 1."""
    if factor == 1.0:
        return learned
    log_p, corrections = np.log(p), learned.corrections
    return replace(
        learned,
        weights=learned.weights.times(factor),
        corrections=None if corrections is None else [factor * more for more in corrections],
        offset=log_p + factor * (learned.offset - log_p),
        log_proba=log_normalised(log_p + factor * (learned.log_proba - log_p)),
    )


class HeldOutShrinkage(NamedTuple):
    """Screening and shrinkage, chosen on rows held out of the whole fit.

    Parameters
    ----------
    min_gain : float
        The minimum gain of a column to be used, in nats.
    factor : float
        The shrinkage factor, from 0 to 1.
    log_proba : float64 array (n_rows, n_classes)
        Log-probabilities of the rows, each by the shrunk fit without its fold.
    """

    min_gain: float
    factor: float
    log_proba: Array


Learner = Callable[[list[ColumnCells], LearningRows], Callable[[float], Learned]]
"""From columns with the counts of some rows, and these rows: a function that fits them, given the
minimum gain of a column."""


def held_out_shrinkage(
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    learner: Learner,
) -> HeldOutShrinkage:
    """Fit without each fold, and choose screening and shrinkage on the rows held out.

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
    p : float64 array (n_classes,)
        Shares of the classes.
    learner : Learner
    """
    minimum, log_p = min_column_gain(len(columns), float(rows.weight.sum())), np.log(p)
    min_gains = [minimum + more for more in STRICTER]
    scores = np.zeros((len(min_gains), rows.n, rows.n_classes))
    fold = rows.folds(FOLDS, SALT)
    for f in range(FOLDS):
        some, test = rows.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        learn = learner(counted_in(columns, some), some)
        for i, min_gain in enumerate(min_gains):
            fit = learn(min_gain)
            tables = fit.term_tables(fit.columns, p)
            score = WeightedScore(fit.columns, fit.pairs, tables, fit.offset)
            scores[i, test] = score.joint_of(rows.cells[:, test]) - log_p
    losses = np.array([[_loss(log_p + t * z, rows) for t in FACTORS] for z in scores])
    i, t = (int(at) for at in np.unravel_index(int(np.argmin(losses)), losses.shape))
    if losses[i, t] > losses[0, 0] - MIN_GAIN:  # at factor 0: the class shares
        t = 0
    factor = float(FACTORS[t])
    return HeldOutShrinkage(min_gains[i], factor, log_normalised(log_p + factor * scores[i]))


def _loss(scores: Array, rows: LearningRows) -> float:
    """Log-loss of the rows, in nats."""
    own = log_normalised(scores)[np.arange(rows.n), rows.y]
    return -float(rows.weight @ own)


def prior_share(n_rows: float) -> float:
    """ε, of so many effective rows."""
    return PRIOR_ROWS / (n_rows + PRIOR_ROWS)


def mixed(proba: Array, prior: Array, share: float) -> Array:
    """P', float64 (n_rows, n_classes), instead of P; below 1, and above 0 where the prior is.

    Parameters
    ----------
    proba : float64 array (n_rows, n_classes)
        P.
    prior : float64 array (n_classes,) or (n_rows, n_classes)
        p.
    share : float
        ε.
    """
    proba *= 1.0 - share
    proba += share * prior
    return np.minimum(proba, MAX_PROBABILITY, out=proba)
