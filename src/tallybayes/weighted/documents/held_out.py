"""Documents in folds: the path of penalties of the ridge, and figures of documents held out.

The penalty is the one of the least Brier score, at the scale of the least log-loss: a temperature,
or one factor for the weighted counts and another for the ridge. The log-loss itself is dominated by
the few documents with confident wrong predictions. It prefers penalties that are too high if new
documents differ more from the learned ones than these from each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.progress import steps
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import PENALTY, BinWeights, learn_bin_weights
from tallybayes.weighted.documents.ridge import (
    Features,
    RidgeProblem,
    TfidfColumns,
    solve_together,
)
from tallybayes.weighted.documents.scales import HeldOut
from tallybayes.weighted.rows import group_folds, twin_folds

__all__ = [
    "FOLDS",
    "DocumentFigures",
    "HeldOutPredictions",
    "LearningDocuments",
    "PathEnd",
    "follow_path",
    "weights_only",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]
Values = NDArray[np.float32]

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
FOLDS = 5
MAX_WORK = 40_000_000  # entries times classes of the folds that are held out, one at least
MAX_HELD_OUT = 6_000  # held-out documents: folds beyond them tell little more
SALT = 11  # of the folds
STOP_RATIO = 1.01  # times the least Brier score so far: lower penalties are not tried


class DocumentFigures(NamedTuple):
    """How well documents are predicted that the numbers in use were not learned on.

    Each is left out of the counts; weights and coefficients are those of other folds, and the
    penalty was chosen on other documents. τ, shares and power were chosen on all documents.

    Parameters
    ----------
    log_loss : float
        Mean −log P of the own class, in nats.
    accuracy : float
    log_loss_se, accuracy_se : float
        Standard errors.
    documents : int
    """

    log_loss: float
    accuracy: float
    log_loss_se: float
    accuracy_se: float
    documents: int

    @classmethod
    def of(
        cls,
        log_proba: Array,
        y: NDArray[np.int32],
        weight: Array | None = None,
        groups: NDArray[np.generic] | None = None,
    ) -> DocumentFigures:
        """Of predictions, float64 (n_documents, n_classes); the standard error of an infinite loss
        is infinite. Documents of a group, which have weights, are one draw for standard errors."""
        loss = -log_proba[np.arange(len(y)), y]
        right = (log_proba.argmax(axis=1) == y).astype(np.float64)
        if weight is not None:
            found = (_mean(values, weight, groups) for values in (loss, right))
            (mean, error), (share, of_share) = found
            return cls(mean, share, error, of_share, len(y))
        if not np.isfinite(loss).all():
            share, of_share = _mean(right, np.ones(len(y)))
            return cls(float(np.inf), share, float(np.inf), of_share, len(y))
        by = max(len(y) - 1, 1) ** 0.5
        errors = float(loss.std() / by), float(right.std() / by)
        return cls(float(loss.mean()), float(right.mean()), *errors, len(y))


def _mean(
    values: Array, weight: Array, groups: NDArray[np.generic] | None = None
) -> tuple[float, float]:
    """The weighted mean, and its standard error; that of sums over groups, where there are any."""
    share = weight / weight.sum()
    if not np.isfinite(values).all():
        return float(np.inf), float(np.inf)
    mean = float(share @ values)
    deviation = share * (values - mean)
    if groups is not None:
        _, of = np.unique(groups, return_inverse=True)
        deviation, share = np.bincount(of, deviation), np.bincount(of, share)
    others = max(1.0 - float(share @ share), np.finfo(float).tiny)  # of equal weights 1 − 1/n
    return mean, float(np.sqrt(deviation @ deviation / others))


class HeldOutPredictions(NamedTuple):
    """Predictions of documents by numbers that were not learned on them.

    Parameters
    ----------
    rows : index array (n_some,)
        Places among the documents that were learned on.
    log_proba : float64 array (n_some, n_classes)
    """

    rows: Index
    log_proba: Array

    def among(self, rows: Index) -> HeldOutPredictions:
        """The same, with places among documents of which those learned on are at `rows`."""
        return self._replace(rows=rows[self.rows])


class LearningDocuments(NamedTuple):
    """Documents to learn on, in canonical order.

    Parameters
    ----------
    documents : Documents
    sums : float64 array (n_documents, n_classes, n_bins)
        Leave-one-out sums.
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
    keys : uint64 array (n_documents,)
        Hashes of what they hold.
    penalty : float
        Of the weights.
    given : float64 array (n_documents,), optional
        The weights that figures are weighted by; by default they are not weighted.
    groups : uint64 array (n_documents,), optional
        Keys of documents that belong together and are in one fold; without it, twins are.
    """

    documents: Documents
    sums: Array
    y: NDArray[np.int32]
    weight: Array
    keys: NDArray[np.uint64]
    penalty: float = PENALTY
    given: Array | None = None
    groups: Keys | None = None

    @property
    def n_classes(self) -> int:
        return int(self.sums.shape[1])

    def take(self, rows: Index) -> LearningDocuments:
        """Some of them, in this order."""
        if len(rows) == len(self.y):
            return self
        return self._replace(
            documents=self.documents.take(rows),
            sums=self.sums[rows],
            y=self.y[rows],
            weight=self.weight[rows],
            keys=self.keys[rows],
            given=None if self.given is None else self.given[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def figures(self, log_proba: Array, rows: Index) -> DocumentFigures:
        """The figures of predictions of some of them, float64 (n_some, n_classes)."""
        given = None if self.given is None else self.given[rows]
        groups = None if self.groups is None else self.groups[rows]
        return DocumentFigures.of(log_proba, self.y[rows], given, groups)

    def folds(self, n: int) -> Index:
        """A fold for each document; twins, or the documents of a group, are in one."""
        if self.groups is not None:
            return group_folds(self.groups, self.y, n, SALT)
        return twin_folds(self.keys, self.y, self.n_classes, n, SALT)

    def weights_without(self, out: NDArray[np.bool_], start: BinWeights) -> BinWeights:
        """Weights that are learned on the others."""
        kept = ~out
        if not kept.any():
            return BinWeights.start(self.sums.shape[2], self.n_classes)
        sums, y, weight = self.sums[kept], self.y[kept], self.weight[kept]
        return learn_bin_weights(sums, y, weight, start, penalty=self.penalty, shares=True)[0]


def weights_only(
    learning: LearningDocuments, weights: BinWeights
) -> tuple[DocumentFigures, HeldOutPredictions]:
    """Figures and predictions of all documents without a ridge, by the weights of the other folds.

    Parameters
    ----------
    learning : LearningDocuments
    weights : BinWeights
        Of all of them, where learning starts.
    """
    fold = learning.folds(FOLDS)
    log_proba = np.empty(learning.sums.shape[:2])
    for f in range(FOLDS):
        if (out := fold == f).any():
            scores = learning.weights_without(out, weights).scores(learning.sums[out])
            log_proba[out] = log_softmax(scores, axis=1)
    rows = np.arange(len(learning.y))
    return learning.figures(log_proba, rows), HeldOutPredictions(rows, log_proba)


class PathEnd(NamedTuple):
    """The end of a path of penalties.

    Parameters
    ----------
    penalty : float, optional
        The one that predicts held-out documents best; None for no ridge.
    scale : BinWeights
        What the scores below the ridge, and those of the ridge, are multiplied by, and intercepts.
    a : float32 array (n_documents, n)
        A for this penalty, about.
    figures : DocumentFigures
        Of the held-out documents.
    held_out : HeldOutPredictions
        Of the same.
    """

    penalty: float | None
    scale: BinWeights
    a: Values
    figures: DocumentFigures
    held_out: HeldOutPredictions


class _Fold(NamedTuple):
    """A ridge without some documents, and those."""

    problem: RidgeProblem
    out: NDArray[np.bool_]

    def scores(self) -> Array:
        """Of the documents that are held out, below the ridge and of the ridge, float64
        (n_documents, n_classes, 2)."""
        problem, out = self.problem, self.out
        found: Array = np.stack([problem.offset[out], problem.ridge_scores[out]], axis=2)
        return found


def _folds(
    learning: LearningDocuments, tenth: Index, columns: TfidfColumns, weights: BinWeights
) -> list[_Fold]:
    """As many folds as hold out enough documents, and as there is work for."""
    width = 1 if learning.n_classes == 2 else learning.n_classes
    enough = -(-MAX_HELD_OUT * FOLDS // len(learning.y))
    n = min(FOLDS, enough, max(1, MAX_WORK // max(1, len(columns.values) * width)))
    folds = []
    for f in range(n):
        out = tenth // 2 == f
        without = learning.weights_without(out, weights)
        weight = np.where(out, 0.0, learning.weight)
        offset = without.scores(learning.sums)
        folds.append(_Fold(RidgeProblem(columns, offset, learning.y, weight), out))
    return folds


def follow_path(
    learning: LearningDocuments, features: Features, weights: BinWeights, *, sample: bool
) -> PathEnd:
    """Finds the penalty that predicts documents best that are held out.

    Parameters
    ----------
    learning : LearningDocuments
    features : Features
    weights : BinWeights
        Of all documents, where learning starts.
    sample : bool
        Whether the ridge will be fitted on more documents than these.
    """
    documents, y = learning.documents, learning.y
    columns = TfidfColumns.of(documents, documents.tf, features)
    tenth = learning.folds(2 * FOLDS)
    folds = _folds(learning, tenth, columns, weights)
    rows = np.concatenate([np.flatnonzero(fold.out) for fold in folds])
    out = HeldOut(y[rows], learning.weight[rows], tenth[rows] % 2 == 0, sample)
    tried, ends, least = [], [], np.inf
    with steps("penalties of a ridge", 1 + len(PENALTIES)) as tick:
        for penalty in (None, *PENALTIES):
            if penalty is not None:
                solve_together([fold.problem for fold in folds], penalty)
            found = out.scaled(np.concatenate([fold.scores() for fold in folds]))
            tried += found
            ends += [(penalty, folds[0].problem.a)] * len(found)
            least = min(least, found[0].brier)
            tick()
            if found[0].brier > STOP_RATIO * least:
                break
    best = int(np.argmin([step.brier for step in tried]))
    penalty, a = ends[best]
    by_others = out.by_the_choice_of_others(tried)
    held_out = HeldOutPredictions(rows, by_others)
    return PathEnd(penalty, tried[best].scale, a, learning.figures(by_others, rows), held_out)
