"""Peers that take a table with strings: the quickest usual pipeline of each."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
)

__all__ = ["PEERS"]


def split(X: Any) -> tuple[list[str], list[str]]:
    """Names of the columns of numbers, and of strings, in pandas or polars."""
    import narwhals as nw

    schema = nw.from_native(X, eager_only=True).collect_schema()
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
    return numbers, [name for name in schema if name not in numbers]


def codes() -> Any:
    """Strings as codes from 1 on; 0 is a missing value, or a string that training did not have."""
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    return make_pipeline(encoder, FunctionTransformer(partial(np.add, 1.0)))


def encoder(X: Any, numbers: Any, strings: Any) -> ColumnTransformer:
    """Numbers first, then strings, as one dense array."""
    names = split(X)
    return ColumnTransformer(
        [("numbers", numbers, names[0]), ("texts", strings, names[1])], sparse_threshold=0.0
    )


class Pipeline:
    """An encoder and a classifier; the encoder learns the columns when it sees them."""

    def fit(self, X: Any, y: Any) -> Self:
        self.pipeline_ = make_pipeline(*self.steps(X)).fit(X, y)
        return self

    def steps(self, X: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        return self.pipeline_.predict(X)


class OrdinalCategorical(Pipeline):
    """Codes and bins of equal weight, then CategoricalNB."""

    def steps(self, X: Any) -> tuple[Any, Any]:
        bins = KBinsDiscretizer(
            10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
        )
        return encoder(X, bins, codes()), CategoricalNB()


class OneHotGaussian(Pipeline):
    """Columns of 0 and 1 beside the numbers, then GaussianNB."""

    def steps(self, X: Any) -> tuple[Any, Any]:
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return encoder(X, "passthrough", one_hot), GaussianNB()


class MixedNaiveBayes(Pipeline):
    """Codes beside the numbers, then mixed-naive-bayes."""

    def fit(self, X: Any, y: Any) -> Self:
        from mixed_naive_bayes import MixedNB

        n_numbers = len(split(X)[0])
        self.encoder_ = encoder(X, "passthrough", codes())
        coded = self.encoder_.fit_transform(X)
        strings = list(range(n_numbers, coded.shape[1]))
        levels = (coded[:, n_numbers:].max(axis=0) + 1).astype(int)
        # it is not an estimator of scikit-learn, so that it cannot end a pipeline
        self.model_ = MixedNB(categorical_features=strings, max_categories=levels).fit(coded, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(self.encoder_.transform(X))


class GeneralNaiveBayes(Pipeline):
    """Codes beside the numbers, then wnb."""

    def steps(self, X: Any) -> tuple[Any, Any]:
        from wnb import Distribution, GeneralNB

        numbers, strings = split(X)
        kinds = [Distribution.NORMAL] * len(numbers) + [Distribution.CATEGORICAL] * len(strings)
        return encoder(X, "passthrough", codes()), GeneralNB(kinds)


# in the names of cases: (class, name in the report, package, least ratio that was promised)
PEERS: dict[str, tuple[type, str, str, float | None]] = {
    "ordinal": (
        OrdinalCategorical,
        "OrdinalEncoder, KBinsDiscretizer and CategoricalNB",
        "sklearn",
        10.0,
    ),
    "one-hot": (OneHotGaussian, "OneHotEncoder and GaussianNB", "sklearn", 10.0),
    "mixed-naive-bayes": (
        MixedNaiveBayes,
        "OrdinalEncoder and mixed-naive-bayes",
        "mixed_naive_bayes",
        None,
    ),
    "wnb": (GeneralNaiveBayes, "OrdinalEncoder and wnb", "wnb", None),
}
