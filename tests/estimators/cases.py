"""What the tests of the estimators share: small data, and an estimator as plain values."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes
from scipy import sparse
from sklearn.utils.fixes import parse_version

from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tallybayes.models.codec import plain_weighting, restored_weighting
from tallybayes.persistence import flat, nested

PROMISED = parse_version(sklearn.__version__) >= parse_version("1.9")
"""Whether the installed scikit-learn is one whose every number, type and tag ours repeat."""
ALL = (GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB)
DISCRETE = (MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB)
SUMS = (MultinomialNB, ComplementNB, BernoulliNB)
GENERATIVE = (GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB)
PREDICTING = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
LEARNING = ("fit", "partial_fit", "forget")
LAYOUTS = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}
"""Ways to hold the same numbers."""


def peer(estimator: type | Any) -> type:
    """scikit-learn's class of the same name."""
    cls = estimator if isinstance(estimator, type) else type(estimator)
    return getattr(sklearn.naive_bayes, cls.__name__)


def every(*classes: type) -> pytest.MarkDecorator:
    """Runs a test for each class (all five by default), by the class's name."""
    return pytest.mark.parametrize("NB", classes or ALL, ids=lambda c: c.__name__)


def rows(
    n: int = 60, d: int = 4, classes: Any = (0, 1, 2), seed: int = 0, dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from 0 to 4, which every one of the five accepts, and labels they depend on."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % len(classes))
    preferred = rng.integers(0, 5, size=(len(classes), d))
    x = np.where(rng.random((n, d)) < 0.5, preferred[codes], rng.integers(0, 5, size=(n, d)))
    return x.astype(dtype), np.asarray(classes)[codes]


def _frozen(value: Any) -> Any:
    """A value that == compares bit for bit."""
    if isinstance(value, np.ndarray):
        held = tuple(value.tolist()) if value.dtype == object else value.tobytes()
        return ("array", value.dtype.str, value.shape, held)
    if isinstance(value, float):
        return ("float", float(value).hex())  # NaN is not equal to itself, and −0.0 is equal to 0.0
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (type(value), *((f.name, _frozen(getattr(value, f.name))) for f in fields))
    return value


UNSEEN = ("_model", "_lock")  # looked at below; says nothing of what was learned


def state(estimator: Any) -> dict[str, Any]:
    """Every attribute of an estimator, and all that its model has counted, as frozen values.

    What the model has computed from its tally and kept is left out: it can be computed again.
    """
    held = {name: _frozen(value) for name, value in vars(estimator).items() if name not in UNSEEN}
    model = vars(estimator).get("_model")
    if model is not None:
        held["counts"] = _frozen(model.tally.arrays())
        held["schema"] = (_frozen(model.schema.classes), _frozen(model.schema.groups))
        read = vars(model)  # a table has no family and no dtype of its own
        held["reading"] = tuple(_frozen(read.get(name)) for name in ("family", "prior", "dtype"))
    return held


@contextmanager
def unchanged(*estimators: Any) -> Iterator[None]:
    """Asserts that the block leaves the estimators exactly as they were."""
    before = [state(estimator) for estimator in estimators]
    yield
    for estimator, was in zip(estimators, before, strict=True):
        now = state(estimator)
        assert now.keys() == was.keys()
        for name in was:
            assert now[name] == was[name], f"{name} changed"


@contextmanager
def refused(
    error: type[Exception], message: str, *estimators: Any
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Asserts that the block raises, in these words, and leaves the estimators as they were."""
    with unchanged(*estimators), pytest.raises(error, match=message) as info:
        yield info


def counts(estimator: Any) -> dict[str, np.ndarray]:
    """The arrays of an estimator's tally, copied."""
    return {name: np.array(array) for name, array in estimator.tally_.arrays().items()}


def assert_same_counts(a: Any, b: Any) -> None:
    """Two estimators have counted the same: bit for bit, moments to 1e-12 of their size."""
    assert a.classes_.tolist() == b.classes_.tolist()
    assert np.array_equal(a.class_count_, b.class_count_)
    if isinstance(a, GaussianNB):
        np.testing.assert_allclose(a.theta_, b.theta_, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(a.var_, b.var_, rtol=1e-12, atol=1e-15)
    elif isinstance(a, CategoricalNB):
        for mine, theirs in zip(a.category_count_, b.category_count_, strict=True):
            assert np.array_equal(mine, theirs)
    else:
        assert np.array_equal(a.feature_count_, b.feature_count_)


def assert_same_predictions(a: Any, b: Any, x: Any) -> None:
    """Two estimators predict alike, bit for bit, by every method that predicts."""
    for method in PREDICTING:
        mine, theirs = getattr(a, method)(x), getattr(b, method)(x)
        assert mine.dtype == theirs.dtype, method
        assert mine.tolist() == theirs.tolist(), method


def assert_sane_posterior(estimator: Any, x: Any) -> None:
    """Rows of predict_proba sum to 1, nothing is NaN, and no log-probability is +inf."""
    posterior = estimator.predict_proba(x)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-6)
    for method in ("predict_log_proba", "predict_joint_log_proba"):
        values = getattr(estimator, method)(x)
        assert not np.isnan(values).any(), method
        assert not np.isposinf(values).any(), method


def fit_parts(NB: type, parts: list[tuple[Any, Any]], classes: Any, **params: Any) -> Any:
    """A model that learned the parts one after the other."""
    model = NB(**params)
    for x, y in parts:
        model.partial_fit(x, y, classes=classes)
    return model


def methods_of(NB, *, learning=True, predicting=True):
    """The methods of a class that read X."""
    names = LEARNING if learning else ()
    if predicting:
        names += (*PREDICTING, "score_samples") if NB in GENERATIVE else PREDICTING
    return names


def call(model, method, x, y, **more):
    """One method of a model, with what it takes."""
    return getattr(model, method)(x, y, **more) if method in LEARNING else getattr(model, method)(x)


def fitted(NB, n, **params):
    """A model of n rows, and rows and labels of which it knows every level."""
    x, y = rows(n)
    if params.get("binarize", 0) is None:
        x = x % 2
    return NB(**params).fit(x, y), x, y


def weights_in_a_file(weighting):
    """What a file holds of weights: header, and arrays by their names."""
    header, tree = plain_weighting(weighting)
    return header, flat({"weighting": tree})


def weights_of_a_file(header, arrays):
    """The weights that these are of."""
    return restored_weighting(header, nested(arrays)["weighting"])


def saved(model, folder):
    """The path of a file that the model was saved to."""
    path = folder / "a model.tally"
    model.save(path)
    return path
