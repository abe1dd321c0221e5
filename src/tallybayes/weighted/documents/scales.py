"""Factors of the scores of held-out documents, and how well the scaled scores predict.

One factor for all scores is a temperature. Two factors, for the weighted counts and for the ridge,
are used if they predict other documents better than one factor does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights

__all__ = ["HeldOut", "Scaled"]

Array = NDArray[np.float64]


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
