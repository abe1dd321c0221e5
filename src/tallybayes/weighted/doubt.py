"""How much of what was learned is believed.

Of noise something is always learned: widths, weights and pairs are chosen by what they gain, and
the best of many choices gains by chance. Where columns are few for the rows, the leave-one-out
gain of the whole has to pass what so many columns of noise would gain. Where they are many,
leave-one-out is too kind: a column that was chosen because it tells these rows apart distinguishes
them with each of them taken out, too. There the whole of the learning is done again without each
fifth of the rows, and those say how much a column has to gain to say anything, and how much of it
all is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.row_scores import log_normalised
from tallybayes.weighted.rows import LearningRows, counted_in
from tallybayes.weighted.score import WeightedScore

__all__ = ["Doubt", "believed", "doubted", "least_gain", "many", "trust_beyond_chance"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

NOISY = 30  # columns say nothing that gain less than log(30·columns / rows)
FEW = 10  # rows a column at least, where chance is estimated
MANY = 2  # rows a column at least, else the learning is done again without each fold
FOLDS = 5
SALT = 3  # of the folds
STRICTER = (0.0, 2.0, 4.0, 6.0)  # nats that a column has to gain beyond the least
TRUSTS = np.linspace(0.0, 1.0, 21)
WORTH = 3.0  # nats that all that is believed has to gain on rows held out


def least_gain(n_columns: int, n_rows: float) -> float:
    """What a column has to gain by leave-one-out to say anything, in nats: of columns that are many
    for the rows, some gain a little by chance. −inf where columns are few."""
    worth = float(np.log(max(NOISY * n_columns / max(n_rows, 1.0), 1e-9)))
    return worth if worth > 0.0 else -np.inf


def many(n_columns: int, n_rows: float) -> bool:
    """Whether columns are so many for the rows that leave-one-out is not enough."""
    return FOLDS <= n_rows < MANY * n_columns


def trust_beyond_chance(
    rows: LearningRows, tested: Index, log_proba: Array, p: Array, n_columns: int
) -> float:
    """How much is believed, from 0 to 1, by what is gained beyond chance.

    As many columns of noise gain a nat each and more. Where all of it gains no more than that,
    nothing is believed, and all where it gains half as much again.

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
        That were heard.
    """
    y, weight = rows.y[tested], rows.weight[tested]
    total = float(rows.weight.sum())
    own = log_proba[np.arange(len(tested)), y] - np.log(p)[y]
    gain = float(weight @ own) * total / max(float(weight.sum()), 1e-300)
    chance = min(n_columns, total / FEW) * np.log2(rows.n_classes)
    if chance <= 0.0:  # no column
        return 1.0
    return float(np.clip(2.0 * (gain / chance - 1.0), 0.0, 1.0))


def believed(learned: Learned, p: Array, trust: float) -> Learned:
    """What was learned, believed so much: between the class shares (0) and all of it (1)."""
    if trust == 1.0:
        return learned
    log_p, corrections = np.log(p), learned.corrections
    return replace(
        learned,
        weights=learned.weights.times(trust),
        corrections=None if corrections is None else [trust * more for more in corrections],
        tables=[trust * table for table in learned.tables],
        offset=log_p + trust * (learned.offset - log_p),
        log_proba=log_normalised(log_p + trust * (learned.log_proba - log_p)),
    )


class Doubt(NamedTuple):
    """What rows that were held out of all learning say.

    Parameters
    ----------
    worth : float
        What a column has to gain to say anything, in nats.
    trust : float
        How much of it all is believed, from 0 to 1.
    log_proba : float64 array (n_rows, n_classes)
        Log-probabilities of the rows, each by what was learned without its fold, believed so much.
    """

    worth: float
    trust: float
    log_proba: Array


Learner = Callable[[list[ColumnCells], LearningRows], Callable[[float], Learned]]
"""Of columns as some rows count them, and these rows: what is learned, given what a column has to
gain to say anything."""


def doubted(
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    learner: Learner,
) -> Doubt:
    """Learns without each fold and asks the rows of it.

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
    p : float64 array (n_classes,)
        Shares of the classes.
    learner : Learner
    """
    least, log_p = least_gain(len(columns), float(rows.weight.sum())), np.log(p)
    worths = [least + more for more in STRICTER]
    said = np.zeros((len(worths), rows.n, rows.n_classes))
    fold = rows.folds(FOLDS, SALT)
    for f in range(FOLDS):
        some, test = rows.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        learn = learner(counted_in(columns, some), some)
        for i, worth in enumerate(worths):
            told = learn(worth)
            score = WeightedScore(told.columns, told.pairs, told.tables, told.offset)
            said[i, test] = score.joint_of(rows.cells[:, test]) - log_p
    losses = np.array([[_loss(log_p + t * z, rows) for t in TRUSTS] for z in said])
    i, t = (int(at) for at in np.unravel_index(int(np.argmin(losses)), losses.shape))
    if losses[i, t] > losses[0, 0] - WORTH:  # at trust 0, which is the class shares
        t = 0
    trust = float(TRUSTS[t])
    return Doubt(worths[i], trust, log_normalised(log_p + trust * said[i]))


def _loss(scores: Array, rows: LearningRows) -> float:
    """Log-loss of the rows, in nats."""
    own = log_normalised(scores)[np.arange(rows.n), rows.y]
    return -float(rows.weight @ own)
