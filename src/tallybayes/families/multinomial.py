"""Counts that share a total, such as the words of a text: θ_cj = P(word j | c).

    θ_cj = (N_cj + α_j) / (N_c + Σ_j α_j),    log p(x|c) = Σ_j x_j log θ_cj

The multinomial coefficient, the same for every class, is left out: p(x|c) is the probability of one
sequence of words. Manning, Raghavan and Schütze (2008), section 13.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import class_blocks
from tallybayes.parameters import Linear
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, FeatureSums

__all__ = ["Multinomial"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Multinomial likelihood with additive smoothing.

    Parameters
    ----------
    alpha : float or float64 array (n_features,)
        Smoothing, in units of the features' counts.
    """

    kind: ClassVar[Kind] = "sums"
    alpha: float | Array = 1.0

    def _smoothed(self, tally: FeatureSums, rows: slice, out: Array) -> Array:
        """N_cj + α_j of some classes into `out` (n, n_features); returns their sums (n, 1)."""
        np.add(tally.sums[rows], self.alpha, out=out)
        blank = ~tally.sums[rows].any(axis=1)
        if blank.any():  # a class without any word: all classes together
            out[blank] = tally.sums.sum(axis=0) + self.alpha
        total: Array = out.sum(axis=1, keepdims=True)
        nothing = total[:, 0] == 0.0
        if nothing.any():  # no word at all and no smoothing: every word alike
            out[nothing] = 1.0
            total[nothing] = out.shape[1]
        return total

    def log_probabilities(self, tally: FeatureSums) -> Array:
        """log θ_cj, float64 (n_classes, n_features)."""
        log_prob = np.empty_like(tally.sums)
        with np.errstate(divide="ignore"):  # log 0 = −inf is meant
            for rows in class_blocks(log_prob.shape):
                part = log_prob[rows]
                total = self._smoothed(tally, rows, part)
                np.log(part, out=part)
                part -= np.log(total)
        return log_prob

    def estimate(self, tally: FeatureSums, classes: ClassCounts) -> Linear:
        weights = self.log_probabilities(tally)
        return Linear(weights=weights, offset=np.zeros(len(weights)), non_negative=True)

    def sample(
        self,
        tally: FeatureSums,
        classes: ClassCounts,
        rows: NDArray[np.intp],
        rng: Any,
        length: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Counts that sum to `length`, () or (len(rows),); int64 (len(rows), n_features)."""
        if length.ndim and len(length) != len(rows):
            raise ValueError(f"length has {len(length)} values for {len(rows)} rows")
        length = np.broadcast_to(length, (len(rows),))
        theta = np.empty_like(tally.sums)
        theta /= self._smoothed(tally, slice(None), theta)
        x = np.empty((len(rows), theta.shape[1]), dtype=np.int64)
        for i, (k, words) in enumerate(zip(rows, length, strict=True)):
            x[i] = rng.multinomial(words, theta[k])
        return x
