"""mixed-naive-bayes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from mixed_naive_bayes import MixedNB

from benchmarks.accuracy.models.encoding import NUMBERS, STRINGS, codes, encoder, filled_numbers

__all__ = ["MixedNaiveBayes"]


class MixedNaiveBayes:
    """MixedNB of columns and classes as codes, which is what it takes."""

    def fit(self, X: Any, y: Any) -> Self:
        n_numbers, n_strings = len(NUMBERS(X)), len(STRINGS(X))
        self.encoder_ = encoder(filled_numbers(), codes())
        coded = self.encoder_.fit_transform(X)
        self.classes_, labels = np.unique(y, return_inverse=True)
        strings = list(range(n_numbers, n_numbers + n_strings))
        # given the number of codes, it also takes 0, a string that training did not have
        levels = [int(coded[:, j].max()) + 1 for j in strings]
        self.model_ = MixedNB(categorical_features=strings, max_categories=levels)
        self.model_.fit(coded, labels)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self.encoder_.transform(X))
