"""What scikit-learn offers for a table: GaussianNB and CategoricalNB, combined in three ways."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from benchmarks.accuracy.models.encoding import (
    NUMBERS,
    STRINGS,
    codes,
    encoder,
    filled_numbers,
    filled_strings,
)

__all__ = [
    "GaussianAndCategorical",
    "five_bins_categorical",
    "one_hot_gaussian",
    "ten_bins_categorical",
]


def one_hot_gaussian() -> Any:
    """Every level a column of 0 and 1, everything Gaussian."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    strings = make_pipeline(filled_strings(), one_hot)
    return make_pipeline(encoder(filled_numbers(), strings), GaussianNB())


def bins_categorical(bins: int) -> Any:
    """Everything categorical, numbers in bins of equal weight."""
    cut = KBinsDiscretizer(
        bins, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    return make_pipeline(encoder(make_pipeline(filled_numbers(), cut), codes()), CategoricalNB())


def five_bins_categorical() -> Any:
    return bins_categorical(5)


def ten_bins_categorical() -> Any:
    return bins_categorical(10)


class GaussianAndCategorical:
    """log p(numbers | c) + log P(strings | c) + log P(c), the first two from an estimator each."""

    def fit(self, X: Any, y: Any) -> Self:
        kinds = ((GaussianNB, filled_numbers, NUMBERS(X)), (CategoricalNB, codes, STRINGS(X)))
        self.parts_ = [
            (columns, make_pipeline(prepare(), kind()).fit(X[columns], y))
            for kind, prepare, columns in kinds
            if columns
        ]
        self.classes_, count = np.unique(y, return_counts=True)
        self.log_prior_ = np.log(count / len(y))
        return self

    def predict_proba(self, X: Any) -> Any:
        joint = sum(
            pipeline[-1].predict_joint_log_proba(pipeline[:-1].transform(X[columns]))
            for columns, pipeline in self.parts_
        )
        # each part has added the prior once
        return softmax(joint - (len(self.parts_) - 1) * self.log_prior_, axis=1)
