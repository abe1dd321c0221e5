"""Models that are not naive: gradient boosting, logistic regression, an additive model."""

from __future__ import annotations

from typing import Any, Self

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.accuracy.models.encoding import (
    TEXTS,
    encoder,
    filled_numbers,
    filled_texts,
)

__all__ = ["Boosting", "explainable_boosting", "logistic"]

MOST_LEVELS = 255  # that gradient boosting takes in a column


class Boosting:
    """HistGradientBoostingClassifier of pandas categories, whose levels are those of training.

    Of more levels than it can take, the most frequent are kept; the others count as gaps, as does
    a level that training did not have.
    """

    def fit(self, X: Any, y: Any) -> Self:
        self.levels_ = {
            name: pd.CategoricalDtype(sorted(X[name].value_counts().index[:MOST_LEVELS]))
            for name in TEXTS(X)
        }
        self.model_ = HistGradientBoostingClassifier(random_state=0).fit(self._categories(X), y)
        self.classes_ = self.model_.classes_
        return self

    def _categories(self, X: Any) -> Any:
        coded = {
            name: pd.Categorical.from_codes(dtype.categories.get_indexer(X[name]), dtype=dtype)
            for name, dtype in self.levels_.items()
        }
        return X.assign(**coded)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self._categories(X))


def logistic() -> Any:
    """Logistic regression of one-hot texts and scaled numbers."""
    numbers = make_pipeline(filled_numbers(), StandardScaler())
    texts = make_pipeline(
        filled_texts(), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    return make_pipeline(encoder(numbers, texts), LogisticRegression(max_iter=1000))


def explainable_boosting() -> Any:
    """interpret's additive model with pairs, on all cores."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=-1)
