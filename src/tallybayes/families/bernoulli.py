"""Yes/no features: p_cj = P(x_j = 1 | c), the multivariate Bernoulli model.

    p_cj = (n_cj1 + α_j) / (n_c + 2α_j),    log p(x|c) = Σ_j x_j log p_cj + (1 − x_j) log(1 − p_cj)

McCallum and Nigam (1998); Manning, Raghavan and Schütze (2008), section 13.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import log
from tallybayes.parameters import Linear
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, FeatureSums

__all__ = ["Bernoulli"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Bernoulli likelihood with additive smoothing.

    Parameters
    ----------
    alpha : float or float64 array (n_features,)
        Smoothing, in rows, of each of the two levels.
    threshold : float, optional
        x counts as present where x > threshold.
    """

    kind: ClassVar[Kind] = "sums"
    alpha: float | Array = 1.0
    threshold: float | None = None

    def _counts(self, tally: FeatureSums, classes: ClassCounts) -> tuple[Array, Array, Array]:
        """Smoothed present, absent and total, (n_classes, n_features) or broadcastable to it."""
        present, total = tally.sums, classes.count[:, None]
        blank = classes.count == 0.0
        if blank.any():  # a class without rows: all classes together
            present = np.where(blank[:, None], present.sum(axis=0), present)
            total = np.where(blank[:, None], total.sum(), total)
        absent = (total - present) + self.alpha
        present, total = present + self.alpha, total + 2.0 * np.asarray(self.alpha)
        nothing = np.broadcast_to(total == 0.0, present.shape)
        if nothing.any():  # no rows at all and no smoothing: both levels alike
            present = np.where(nothing, 1.0, present)
            absent = np.where(nothing, 1.0, absent)
            total = np.where(nothing, 2.0, total)
        return present, absent, total

    def log_probabilities(self, tally: FeatureSums, classes: ClassCounts) -> Array:
        """log p_cj, float64 (n_classes, n_features)."""
        present, _, total = self._counts(tally, classes)
        return log(present) - np.log(total)

    def estimate(self, tally: FeatureSums, classes: ClassCounts) -> Linear:
        present, absent, total = self._counts(tally, classes)
        log_total = np.log(total)
        weights = log(present)
        weights -= log_total
        # log(1 − p) from the counts: 1 − exp(log p) would lose it where p is near 1
        log_absent = log(absent)
        log_absent -= log_total
        certain = np.isneginf(log_absent)
        if not certain.any():
            required = None
        else:  # 1 − p = 0: the feature must be there, and being there says log p = 0
            required = certain
            log_absent[certain] = 0.0
        offset = log_absent.sum(axis=1)
        weights -= log_absent
        return Linear(weights=weights, offset=offset, threshold=self.threshold, required=required)

    def sample(
        self, tally: FeatureSums, classes: ClassCounts, rows: NDArray[np.intp], rng: Any
    ) -> NDArray[np.int64]:
        """0 or 1, int64 (len(rows), n_features)."""
        present, _, total = self._counts(tally, classes)
        probability = present / total
        x: NDArray[np.int64] = (rng.uniform(size=probability[rows].shape) < probability[rows]) * 1
        return x
