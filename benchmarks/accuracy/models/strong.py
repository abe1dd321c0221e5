"""Models that are not naive: boosting, logistic regression, a random forest, an additive model."""

from __future__ import annotations

import os
from typing import Any, Self

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.accuracy.models.encoding import (
    STRINGS,
    encoder,
    filled_numbers,
    filled_strings,
)

__all__ = ["Boosting", "CatBoost", "explainable_boosting", "logistic", "random_forest"]

MOST_LEVELS = 255  # that gradient boosting takes in a column


class Boosting:
    """HistGradientBoostingClassifier of pandas categories, whose levels are those of training.

    Of more levels than it can take, the most frequent are kept; the others count as missing values,
    as does a level that training did not have.
    """

    def fit(self, X: Any, y: Any) -> Self:
        self.levels_ = {
            name: pd.CategoricalDtype(sorted(X[name].value_counts().index[:MOST_LEVELS]))
            for name in STRINGS(X)
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


class CatBoost:
    """CatBoostClassifier with its defaults; strings are its categories, a missing value in one is a
    level.

    Its threads are those that ``OMP_NUM_THREADS`` allows, which it does not read itself.
    """

    def fit(self, X: Any, y: Any) -> Self:
        from catboost import CatBoostClassifier

        self.texts_ = STRINGS(X)
        self.model_ = CatBoostClassifier(
            cat_features=self.texts_,
            random_seed=0,
            thread_count=int(os.environ.get("OMP_NUM_THREADS", "-1")),
            verbose=False,
            allow_writing_files=False,
        )
        self.model_.fit(self._levels(X), y)
        self.classes_ = self.model_.classes_
        return self

    def _levels(self, X: Any) -> Any:
        strings = X[self.texts_].astype(object)
        return X.assign(**strings.where(strings.notna(), "missing"))

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(self._levels(X))


def one_hot() -> Any:
    """Strings as a column of 0 and 1 for each level."""
    return make_pipeline(
        filled_strings(), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )


def logistic() -> Any:
    """Logistic regression of one-hot strings and scaled numbers."""
    numbers = make_pipeline(filled_numbers(), StandardScaler())
    return make_pipeline(encoder(numbers, one_hot()), LogisticRegression(max_iter=1000))


def random_forest() -> Any:
    """A random forest of one-hot strings and numbers."""
    return make_pipeline(
        encoder(filled_numbers(), one_hot()), RandomForestClassifier(random_state=0)
    )


def explainable_boosting() -> Any:
    """interpret's additive model with pairs, on all cores."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=-1)
