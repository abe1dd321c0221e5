"""Base of the classifiers of feature sums: multinomial, complement and Bernoulli."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.arrays.discrete import DiscreteClassifier
from tallybayes.schema import Columns

__all__ = ["SumsClassifier"]


class SumsClassifier(DiscreteClassifier):
    """Base class of the classifiers whose tally is feature sums. Not for direct use."""

    def _columns(self, x: Any) -> Columns:
        return Columns(
            kind="sums", n_features=x.shape[1], names=self._feature_names(), non_negative=True
        )

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """Feature sums, float64 (n_classes, n_features)."""
        sums: NDArray[np.float64] = self._attribute("feature_count_").group.sums
        return sums.copy()
