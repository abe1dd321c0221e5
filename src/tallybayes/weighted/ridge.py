"""A ridge on length-normalised tf-idf, on top of fixed scores.

    min over U:  Σ_i w_i −log softmax(S_i + x_i U)_{y_i} + ½ λ |U|²

The gradient is Xᵀ(w(P − Y)) + λU, so that a descent from 0 stays among U = XᵀA: A has a row a
document where U has one a term, and scores are X Xᵀ A. The descent is L-BFGS with the inner product
⟨A, B⟩ = Aᵀ X Xᵀ B of the coefficients; each direction has its scores beside it, so that a step
takes one product with X Xᵀ and a line search none. Documents that are held out have rows of 0 in A,
and are scored on the way.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import saxpy
from scipy.special import log_softmax

from tallybayes import _kernels
from tallybayes.progress import steps
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.documents import (
    PENALTY,
    BinWeights,
    learn_bin_weights,
    probabilities_and_loss,
)
from tallybayes.weighted.rows import group_folds, twin_folds

__all__ = [
    "FOLDS",
    "DocumentFigures",
    "Features",
    "HeldOut",
    "HeldOutPredictions",
    "LearningDocuments",
    "RidgeProblem",
    "TfidfColumns",
    "follow_path",
    "solve_together",
    "spread",
    "weights_only",
]


Array = NDArray[np.float64]
Values = NDArray[np.float32]
_Descent = Generator[Values, Values, None]

MAX_STEPS, MEMORY, MAX_HALVINGS = 50, 8, 12
MAX_INTERMEDIATE = 1 << 18
"""Numbers of documents that are multiplied with X Xᵀ at once: few enough for a cache."""

TOLERANCE = 1e-5  # nats a document that a step is expected to gain, below which it stops


@dataclass(frozen=True, eq=False)
class Features:
    """The terms that the ridge reads.

    Parameters
    ----------
    column : int32 array (n_terms,)
        The place of each term among them, −1 for the others.
    idf : float64 array (n_terms,)
        log((n + 1) / (N_t + 1)) + 1, for terms without a place as well: they count in the length
        of a document.
    """

    column: NDArray[np.int32]
    idf: Array

    @classmethod
    def of(cls, frequency: Array, n_documents: float, max_features: int) -> Features:
        """The terms of at least two documents; of the rarest none, where there are more than
        `max_features`.

        Parameters
        ----------
        frequency : float64 array (n_terms,)
        n_documents : float
        max_features : int
        """
        least = 2.0
        while (chosen := frequency >= least).sum() > max_features:
            least += 1.0
        column = np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)
        return cls(column, np.log((n_documents + 1.0) / (frequency + 1.0)) + 1.0)


@dataclass(frozen=True, eq=False)
class TfidfColumns:
    """Length-normalised tf-idf of documents, by column.

    Parameters
    ----------
    start : int64 array (n_columns + 1,)
    documents : int32 array (n_entries,)
    values : float32 array (n_entries,)
    """

    start: NDArray[np.int64]
    documents: NDArray[np.int32]
    values: Values

    @classmethod
    def of(cls, documents: Documents, tf: Values, features: Features) -> TfidfColumns:
        """The columns of some documents."""
        found = _kernels.tfidf_columns(
            documents.indptr,
            documents.terms,
            tf,
            features.column,
            features.idf,
            int(features.column.max(initial=-1)) + 1,
        )
        return cls(*found)

    def gram(self, a: Values) -> Values:
        """X Xᵀ A, float32 (n_documents, n)."""
        found = np.empty_like(a)
        threads = get_num_threads()
        _kernels.gram_times(self.start, self.documents, self.values, a, found, threads)
        return found

    def coefficients(self, a: Values) -> Values:
        """Xᵀ A, float32 (n_columns, n)."""
        found = np.empty((len(self.start) - 1, a.shape[1]), dtype=np.float32)
        threads = get_num_threads()
        _kernels.columns_times(self.start, self.documents, self.values, a, found, threads)
        return found


def spread(scores: NDArray[np.floating], n_classes: int) -> NDArray[np.floating]:
    """Scores of all classes; of two classes one number, the second less the first."""
    if n_classes == 2:
        return np.concatenate([-0.5 * scores, 0.5 * scores], axis=1)
    return scores


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients XᵀA, their scores X XᵀA, and the loss there with its gradient Xᵀ·gradient."""

    a: Values
    scores: Values
    loss: float
    gradient: Values
    squares: float  # |XᵀA|²


class _Pair:
    """A step and how the gradient changed, each with its scores."""

    def __init__(self, s: Values, s_scores: Values, y: Values, y_scores: Values) -> None:
        self.s, self.s_scores, self.y, self.y_scores = s, s_scores, y, y_scores
        self.curvature = _dot(s_scores, y)


class _End(NamedTuple):
    """The state that a descent hands to the next: its penalty, X Xᵀ times its gradient, and its
    steps."""

    penalty: float
    gradient_scores: Values
    pairs: list[_Pair]


def _dot(a: Values, b: Values) -> float:
    return float(np.vdot(a, b))


def _plus(a: Values, by: np.float32, b: Values) -> Values:
    """a + by·b, which takes the place of a."""
    found: Values = saxpy(b.ravel(), a.ravel(), a=by)
    return found.reshape(a.shape)


class RidgeProblem:
    """The ridge of some documents; the descent for one λ starts where the last one ended.

    Parameters
    ----------
    columns : TfidfColumns
    offset : float64 array (n_documents, n_classes)
        S.
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
        0 for documents that are held out.
    a : float32 array (n_documents, n), optional
        Where the first descent starts, at XᵀA; n = 1 for two classes. By default at 0.
    """

    columns: TfidfColumns
    offset: Array
    y: NDArray[np.int32]
    weight: Array

    def __init__(
        self,
        columns: TfidfColumns,
        offset: Array,
        y: NDArray[np.int32],
        weight: Array,
        a: Values | None = None,
    ) -> None:
        self.columns, self.offset, self.y, self.weight = columns, offset, y, weight
        self.n_classes: int = offset.shape[1]
        n = 1 if self.n_classes == 2 else self.n_classes
        self.a: Values = np.zeros((len(y), n), dtype=np.float32) if a is None else a
        self.scores: Values = np.zeros_like(self.a) if a is None else columns.gram(a)
        self._end: _End | None = None

    def _point(self, a: Values, scores: Values, penalty: float, squares: float) -> _Point:
        rest, losses = probabilities_and_loss(self.offset + spread(scores, self.n_classes), self.y)
        loss = float(self.weight @ losses)
        rest[np.arange(len(self.y)), self.y] -= 1.0
        rest *= self.weight[:, None]
        if self.n_classes == 2:
            rest = 0.5 * (rest[:, 1:] - rest[:, :1])
        gradient = (rest + penalty * a).astype(np.float32)
        return _Point(a, scores, loss + 0.5 * penalty * squares, gradient, squares)

    def descent(self, penalty: float) -> _Descent:
        """Descends to the minimum for λ = penalty: yields each G of which it needs X Xᵀ G, which it
        is sent."""
        at = self._point(self.a, self.scores, penalty, _dot(self.a, self.scores))
        pairs: list[_Pair] = []
        if self._end is None:
            gradient_scores = yield at.gradient
        else:
            more = np.float32(penalty - self._end.penalty)
            gradient_scores = self._end.gradient_scores + more * self.scores
            moved = (  # the same steps under the other penalty
                _Pair(p.s, p.s_scores, p.y + more * p.s, p.y_scores + more * p.s_scores)
                for p in self._end.pairs
            )
            pairs = [pair for pair in moved if pair.curvature > 0.0]
        enough = TOLERANCE * float(self.weight.sum())
        for _ in range(MAX_STEPS):
            d, d_scores = self._direction(at.gradient, gradient_scores, pairs, penalty)
            slope = _dot(at.gradient, d_scores)
            if -0.5 * slope <= enough:
                break
            there, length = self._searched(at, d, d_scores, slope, penalty)
            if there is None:
                break
            there_scores = yield there.gradient
            pair = _Pair(
                length * d,
                length * d_scores,
                there.gradient - at.gradient,
                there_scores - gradient_scores,
            )
            if pair.curvature > 0.0:
                pairs = [*pairs[1 - MEMORY :], pair]
            at, gradient_scores = there, there_scores
        self.a, self.scores = at.a, at.scores
        self._end = _End(penalty, gradient_scores, pairs)

    def _searched(
        self, at: _Point, d: Values, d_scores: Values, slope: float, penalty: float
    ) -> tuple[_Point | None, np.float32]:
        """The point of a step that lowers the loss enough, and its length; None where none does."""
        along, squares = _dot(at.a, d_scores), _dot(d, d_scores)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            by = np.float32(length)
            size = at.squares + 2.0 * length * along + length**2 * squares
            there = self._point(at.a + by * d, at.scores + by * d_scores, penalty, size)
            if there.loss <= at.loss + 1e-4 * length * slope:
                return there, by
            curved = 2.0 * (there.loss - at.loss - slope * length)
            length *= min(0.5, max(0.1, -slope * length / curved))
        return None, np.float32(0.0)

    def _direction(
        self, gradient: Values, scores: Values, pairs: list[_Pair], penalty: float
    ) -> tuple[Values, Values]:
        """−H⁻¹g with its scores, by the two loops of L-BFGS."""
        q, q_scores, factors = gradient.copy(), scores.copy(), []
        for pair in reversed(pairs):
            factor = np.float32(_dot(pair.s_scores, q) / pair.curvature)
            factors.append(factor)
            q, q_scores = _plus(q, -factor, pair.y), _plus(q_scores, -factor, pair.y_scores)
        by = 1.0 / (penalty + 0.25)
        if pairs:
            by = pairs[-1].curvature / _dot(pairs[-1].y, pairs[-1].y_scores)
        q *= np.float32(by)
        q_scores *= np.float32(by)
        for pair, factor in zip(pairs, reversed(factors), strict=True):
            more = factor - np.float32(_dot(pair.y_scores, q) / pair.curvature)
            q, q_scores = _plus(q, more, pair.s), _plus(q_scores, more, pair.s_scores)
        return -q, -q_scores


def solve_together(problems: Sequence[RidgeProblem], penalty: float) -> None:
    """Takes problems of the same documents to their minima for λ = penalty.

    Each descends as it would alone, to the last bit, and one pass over X serves several of them.
    """
    pending = [step for problem in problems if (step := _next(problem.descent(penalty)))]
    while pending:
        some = max(1, MAX_INTERMEDIATE // pending[0][1].size)
        steps = []
        for first in range(0, len(pending), some):
            descents, gradients = zip(*pending[first : first + some], strict=True)
            found = problems[0].columns.gram(np.concatenate(gradients, axis=1))
            parts = np.split(found, len(descents), axis=1)
            steps += [_next(descent, part) for descent, part in zip(descents, parts, strict=True)]
        pending = [step for step in steps if step]


def _next(descent: _Descent, found: Values | None = None) -> tuple[_Descent, Values] | None:
    """A descent with the gradient that it needs next; None at its end."""
    try:
        needed = next(descent) if found is None else descent.send(np.ascontiguousarray(found))
    except StopIteration:
        return None
    return descent, needed


# ---- factors of the scores of held-out documents, and how well the scaled scores predict ---------
# One factor for all scores is a temperature. Two factors, for the weighted counts and for the
# ridge, are used if they predict other documents better than one factor does.
class Scaled(NamedTuple):
    """Held-out documents under one penalty and one scale.

    Parameters
    ----------
    scale : BinWeights
        Learned on all of them: a factor of the scores below the ridge, one of the ridge's, and
        intercepts.
    brier : float
        Mean Brier score at this scale.
    halves : float64 array (2, n_documents, n_classes)
        log P by the scale that is learned on the first half, and on the second.
    """

    scale: BinWeights
    brier: float
    halves: Array


class HeldOut(NamedTuple):
    """Documents that are held out, in two halves.

    Parameters
    ----------
    y : int32 array (n_documents,)
    weight : float64 array (n_documents,)
    half : bool array (n_documents,)
        Whether each is of the first half.
    sample : bool
        Whether they are some of the documents: the ridge of all is stronger for the same penalty,
        and a factor of its own would not fit it.
    """

    y: NDArray[np.int32]
    weight: Array
    half: NDArray[np.bool_]
    sample: bool

    def brier(self, log_proba: Array) -> Array:
        """Σ_k (P_k − [k = y])² of each document, times its weight."""
        residual = np.exp(log_proba)
        residual[np.arange(len(self.y)), self.y] -= 1.0
        found: Array = self.weight * np.einsum("ik,ik->i", residual, residual)
        return found

    def scaled(self, scores: Array) -> list[Scaled]:
        """Scores under the factors that predict best: one for all, and two if they are better.

        Parameters
        ----------
        scores : float64 array (n_documents, n_classes, 2)
            Below the ridge, and of the ridge.
        """
        one = self._by_factors(scores.sum(axis=2, keepdims=True))
        weights = np.repeat(one.scale.weights, 2)
        one = one._replace(scale=BinWeights(weights, one.scale.intercept))
        if self.sample or not scores[:, :, 1].any():
            return [one]
        two = self._by_factors(scores)
        return [one, two] if self._of_other_half(two) < self._of_other_half(one) else [one]

    def by_the_choice_of_others(self, steps: list[Scaled]) -> Array:
        """log P of each half by the penalty and the scale that are best for the other half."""
        found: Array = np.empty_like(steps[0].halves[0])
        for learned_on, chosen in enumerate((self.half, ~self.half)):
            own = [step.halves[learned_on] for step in steps]
            losses = [float(self.brier(each)[chosen].sum()) for each in own]
            found[~chosen] = own[int(np.argmin(losses))][~chosen]
        return found

    def _factors(self, scores: Array, some: NDArray[np.bool_], start: BinWeights) -> BinWeights:
        if not some.any():
            return start
        return learn_bin_weights(scores[some], self.y[some], self.weight[some], start)[0]

    def _by_factors(self, scores: Array) -> Scaled:
        """A factor for each of the scores, float64 (n_documents, n_classes, n)."""
        start = BinWeights(np.ones(scores.shape[2]), np.zeros(scores.shape[1]))
        scale = self._factors(scores, np.ones(len(self.y), dtype=bool), start)
        by_half = [self._factors(scores, some, scale) for some in (self.half, ~self.half)]
        brier = self.brier(log_softmax(scale.scores(scores), axis=1)).sum()
        halves = [log_softmax(of_half.scores(scores), axis=1) for of_half in by_half]
        return Scaled(scale, float(brier / self.weight.sum()), np.stack(halves))

    def _of_other_half(self, step: Scaled) -> float:
        """Σ w·Brier of each half by the scale that is learned on the other."""
        first, second = (self.brier(each) for each in step.halves)
        return float(first[~self.half].sum() + second[self.half].sum())


# ---- documents in folds: the penalty, and figures of those held out ------------------------------
# Documents in folds: the path of penalties of the ridge, and figures of documents held out.
#
# The penalty is the one of the least Brier score, at the scale of the least log-loss: a
# temperature, or one factor for the weighted counts and another for the ridge. The log-loss itself
# is dominated by the few documents with confident wrong predictions. It prefers penalties that are
# too high if new documents differ more from the learned ones than these from each other.
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

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
    # as many folds as hold out enough documents, and as there is work for
    width = 1 if learning.n_classes == 2 else learning.n_classes
    enough = -(-MAX_HELD_OUT * FOLDS // len(y))
    n = min(FOLDS, enough, max(1, MAX_WORK // max(1, len(columns.values) * width)))
    problems, places = [], []
    for f in range(n):
        held = tenth // 2 == f
        offset = learning.weights_without(held, weights).scores(learning.sums)
        weight = np.where(held, 0.0, learning.weight)
        problems.append(RidgeProblem(columns, offset, y, weight))
        places.append(np.flatnonzero(held))
    rows = np.concatenate(places)
    out = HeldOut(y[rows], learning.weight[rows], tenth[rows] % 2 == 0, sample)
    tried, ends, least = [], [], np.inf
    with steps("penalties of a ridge", 1 + len(PENALTIES)) as tick:
        for penalty in (None, *PENALTIES):
            if penalty is not None:
                solve_together(problems, penalty)
            scores = [
                np.stack([p.offset[own], spread(p.scores[own], p.n_classes)], axis=2)
                for p, own in zip(problems, places, strict=True)
            ]
            found = out.scaled(np.concatenate(scores))
            tried += found
            ends += [(penalty, problems[0].a)] * len(found)
            least = min(least, found[0].brier)
            tick()
            if found[0].brier > STOP_RATIO * least:
                break
    best = int(np.argmin([step.brier for step in tried]))
    penalty, a = ends[best]
    by_others = out.by_the_choice_of_others(tried)
    held_out = HeldOutPredictions(rows, by_others)
    return PathEnd(penalty, tried[best].scale, a, learning.figures(by_others, rows), held_out)
