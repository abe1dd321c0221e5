"""Documents in folds: the path of penalties of the ridge, and figures of documents held out.

The penalty is the one of the least Brier score, at the temperature of the least log-loss. The
log-loss itself is dominated by the few documents of which a prediction is sure and wrong, and
prefers penalties that are too high where new documents differ more from those learned than these
from each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import PENALTY, BinWeights, learn_bin_weights
from tallybayes.weighted.documents.ridge import Features, RidgeProblem, TfidfColumns
from tallybayes.weighted.rows import twin_folds

__all__ = [
    "FOLDS",
    "DocumentFigures",
    "LearningDocuments",
    "PathEnd",
    "follow_path",
    "weights_only",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Values = NDArray[np.float32]

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
FOLDS = 5
WORK = 40_000_000  # entries times classes of the folds that are held out, one at least
SALT = 11  # of the folds
RISE = 1.01  # times the least Brier score so far: lower penalties are not tried


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
        cls, log_proba: Array, y: NDArray[np.int32], weight: Array | None = None
    ) -> DocumentFigures:
        """Of predictions, float64 (n_documents, n_classes); the standard error of an infinite loss
        is infinite."""
        loss = -log_proba[np.arange(len(y)), y]
        right = (log_proba.argmax(axis=1) == y).astype(np.float64)
        if weight is not None:
            (mean, error), (share, of_share) = _mean(loss, weight), _mean(right, weight)
            return cls(mean, share, error, of_share, len(y))
        if not np.isfinite(loss).all():
            share, of_share = _mean(right, np.ones(len(y)))
            return cls(float(np.inf), share, float(np.inf), of_share, len(y))
        by = max(len(y) - 1, 1) ** 0.5
        errors = float(loss.std() / by), float(right.std() / by)
        return cls(float(loss.mean()), float(right.mean()), *errors, len(y))


def _mean(values: Array, weight: Array) -> tuple[float, float]:
    """The weighted mean, and its standard error."""
    share = weight / weight.sum()
    if not np.isfinite(values).all():
        return float(np.inf), float(np.inf)
    mean = float(share @ values)
    others = max(1.0 - float(share @ share), np.finfo(float).tiny)  # of equal weights 1 − 1/n
    return mean, float(np.sqrt(share**2 @ (values - mean) ** 2 / others))


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
    weighted : bool
        Whether figures are weighted as well.
    """

    documents: Documents
    sums: Array
    y: NDArray[np.int32]
    weight: Array
    keys: NDArray[np.uint64]
    penalty: float = PENALTY
    weighted: bool = False

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
        )

    def folds(self, n: int) -> Index:
        """A fold for each document; twins are in one."""
        return twin_folds(self.keys, self.y, self.n_classes, n, SALT)

    def weights_without(self, out: NDArray[np.bool_], start: BinWeights) -> BinWeights:
        """Weights that are learned on the others."""
        kept = ~out
        if not kept.any():
            return BinWeights.start(self.sums.shape[2], self.n_classes)
        sums, y, weight = self.sums[kept], self.y[kept], self.weight[kept]
        return learn_bin_weights(sums, y, weight, start, penalty=self.penalty)[0]


def weights_only(learning: LearningDocuments, weights: BinWeights) -> DocumentFigures:
    """Figures of all documents without a ridge, by the weights of the other folds.

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
    return DocumentFigures.of(log_proba, learning.y, learning.weight if learning.weighted else None)


class PathEnd(NamedTuple):
    """The end of a path of penalties.

    Parameters
    ----------
    penalty : float, optional
        The one that predicts held-out documents best; None for no ridge.
    scale : BinWeights
        What all scores are multiplied by, and intercepts.
    a : float32 array (n_documents, n)
        A for this penalty, about.
    figures : DocumentFigures
        Of the held-out documents.
    """

    penalty: float | None
    scale: BinWeights
    a: Values
    figures: DocumentFigures


class _Fold(NamedTuple):
    """A ridge without some documents, and those."""

    problem: RidgeProblem
    out: NDArray[np.bool_]

    def scores(self) -> Array:
        """Of the documents that are held out, float64 (n_documents, n_classes)."""
        found: Array = self.problem.offset[self.out] + self.problem.ridge_scores[self.out]
        return found


def _folds(
    learning: LearningDocuments, tenth: Index, columns: TfidfColumns, weights: BinWeights
) -> list[_Fold]:
    """As many folds as there is work for."""
    width = 1 if learning.n_classes == 2 else learning.n_classes
    n = min(FOLDS, max(1, WORK // max(1, len(columns.values) * width)))
    folds = []
    for f in range(n):
        out = tenth // 2 == f
        without = learning.weights_without(out, weights)
        weight = np.where(out, 0.0, learning.weight)
        offset = without.scores(learning.sums)
        folds.append(_Fold(RidgeProblem(columns, offset, learning.y, weight), out))
    return folds


def follow_path(learning: LearningDocuments, features: Features, weights: BinWeights) -> PathEnd:
    """Finds the penalty that predicts documents best that are held out.

    Parameters
    ----------
    learning : LearningDocuments
    features : Features
    weights : BinWeights
        Of all documents, where learning starts.
    """
    documents, y = learning.documents, learning.y
    columns = TfidfColumns.of(documents, documents.tf, features)
    tenth = learning.folds(2 * FOLDS)
    folds = _folds(learning, tenth, columns, weights)
    rows = np.concatenate([np.flatnonzero(fold.out) for fold in folds])
    out = _Scored(y[rows], learning.weight[rows], tenth[rows] % 2 == 0)
    steps, states = [], []
    for penalty in (None, *PENALTIES):
        if penalty is not None:
            for fold in folds:
                fold.problem.solve(penalty)
        states.append(folds[0].problem.a)
        steps.append(out.scaled(np.concatenate([fold.scores() for fold in folds])))
        if steps[-1].brier > RISE * min(step.brier for step in steps):
            break
    best = int(np.argmin([step.brier for step in steps]))
    penalty = PENALTIES[best - 1] if best else None
    by_others = out.by_the_choice_of_others(steps)
    figures = DocumentFigures.of(by_others, out.y, out.weight if learning.weighted else None)
    return PathEnd(penalty, steps[best].scale, states[best], figures)


class _Step(NamedTuple):
    """Held-out documents under one penalty.

    Parameters
    ----------
    scale : BinWeights
        Learned on all of them.
    brier : float
        Mean Brier score at this scale.
    halves : float64 array (2, n_documents, n_classes)
        log P by the scale that is learned on the first half, and on the second.
    """

    scale: BinWeights
    brier: float
    halves: Array


class _Scored(NamedTuple):
    """Documents that are held out, in two halves."""

    y: NDArray[np.int32]
    weight: Array
    half: NDArray[np.bool_]

    def brier(self, log_proba: Array) -> Array:
        """Σ_k (P_k − [k = y])² of each document, times its weight."""
        gap = np.exp(log_proba)
        gap[np.arange(len(self.y)), self.y] -= 1.0
        found: Array = self.weight * np.einsum("ik,ik->i", gap, gap)
        return found

    def _scale(self, scores: Array, some: NDArray[np.bool_], start: BinWeights) -> BinWeights:
        if not some.any():
            return start
        y, weight = self.y[some], self.weight[some]
        return learn_bin_weights(scores[some][:, :, None], y, weight, start)[0]

    def scaled(self, scores: Array) -> _Step:
        """Learns by how much scores are too sure."""
        start = BinWeights(np.ones(1), np.zeros(scores.shape[1]))
        every = np.ones(len(self.y), dtype=bool)
        scale = self._scale(scores, every, start)
        by_half = [self._scale(scores, some, scale) for some in (self.half, ~self.half)]
        sums = scores[:, :, None]
        brier = self.brier(log_softmax(scale.scores(sums), axis=1)).sum()
        halves = [log_softmax(of_half.scores(sums), axis=1) for of_half in by_half]
        return _Step(scale, float(brier / self.weight.sum()), np.stack(halves))

    def by_the_choice_of_others(self, steps: list[_Step]) -> Array:
        """log P of each half by the penalty and the scale that are best for the other half."""
        found: Array = np.empty_like(steps[0].halves[0])
        for learned_on, chosen in enumerate((self.half, ~self.half)):
            own = [step.halves[learned_on] for step in steps]
            losses = [float(self.brier(each)[chosen].sum()) for each in own]
            found[~chosen] = own[int(np.argmin(losses))][~chosen]
        return found
