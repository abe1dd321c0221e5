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

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.class_odds import probabilities_and_loss

__all__ = ["Features", "RidgeProblem", "TfidfColumns", "solve_together", "spread"]

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

    @property
    def n(self) -> int:
        return int(self.column.max(initial=-1)) + 1


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
            documents.indptr, documents.terms, tf, features.column, features.idf, features.n
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

    def under(self, more: np.float32) -> _Pair:
        """The same step where the penalty is so much higher."""
        return _Pair(
            self.s, self.s_scores, self.y + more * self.s, self.y_scores + more * self.s_scores
        )


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
    """

    columns: TfidfColumns
    offset: Array
    y: NDArray[np.int32]
    weight: Array

    def __init__(
        self, columns: TfidfColumns, offset: Array, y: NDArray[np.int32], weight: Array
    ) -> None:
        self.columns, self.offset, self.y, self.weight = columns, offset, y, weight
        self.n_classes: int = offset.shape[1]
        n = 1 if self.n_classes == 2 else self.n_classes
        self.a: Values = np.zeros((len(y), n), dtype=np.float32)
        self.scores: Values = np.zeros_like(self.a)
        self._end: _End | None = None

    @property
    def ridge_scores(self) -> Array:
        """x U, float64 (n_documents, n_classes)."""
        return spread(self.scores, self.n_classes).astype(np.float64)

    def start_at(self, a: Values) -> None:
        """Starts the next descent at XᵀA."""
        self.a = a
        self.scores = self.columns.gram(a)
        self._end = None

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
            pairs = [p for pair in self._end.pairs if (p := pair.under(more)).curvature > 0.0]
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

    def coefficients(self) -> Values:
        """U = XᵀA, float32 (n_columns, n), n = 1 for two classes."""
        return self.columns.coefficients(self.a)


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
