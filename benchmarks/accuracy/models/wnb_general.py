"""wnb's GeneralNB."""

from __future__ import annotations

from typing import Any, Self

from wnb import Distribution, GeneralNB

from benchmarks.accuracy.models.encoding import NUMBERS, STRINGS, codes, encoder, filled_numbers

__all__ = ["GeneralNaiveBayes"]


class GeneralNaiveBayes:
    """GeneralNB of numbers, and of strings as codes: it smooths variances only if all are
    numbers."""

    def fit(self, X: Any, y: Any) -> Self:
        kinds = [Distribution.NORMAL] * len(NUMBERS(X)) + [Distribution.CATEGORICAL] * len(
            STRINGS(X)
        )
        self.encoder_ = encoder(filled_numbers(), codes())
        self.model_ = GeneralNB(kinds).fit(self.encoder_.fit_transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self.encoder_.transform(X))
