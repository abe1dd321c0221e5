"""Models and tallies compare by content, and can be summed."""

import copy
import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
    cross_validate,
    leave_one_out,
    load,
)
from tallybayes.families import Gaussian

ALL = [
    BernoulliNB(),
    CategoricalNB(),
    ComplementNB(),
    GaussianNB(),
    MultinomialNB(),
    NaiveBayes(),
    NaiveBayes(columns={"a": Gaussian()}, calibrate="temperature", alpha="auto"),
    WeightedNaiveBayes(),
]
every = pytest.mark.parametrize("model", ALL, ids=lambda m: f"{m!r}"[:40])
rng = np.random.default_rng(0)
N = 200
X = pd.DataFrame({"a": rng.poisson(2.0, N).astype(float), "b": rng.poisson(1.0, N).astype(float)})
Y = (X["a"] + rng.normal(size=N) > 2).to_numpy().astype(int)
MIXED = pd.DataFrame({"n": rng.poisson(9.0, N), "t": rng.choice(list("uvwxyz"), N)})


@every
def test_models_of_the_same_rows_and_parameters_are_equal(model, tmp_path):
    one, two = clone(model).fit(X, Y), clone(model).fit(X, Y)
    one.save(tmp_path / "model.tally")
    for twin in (two, copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert one == twin
        assert hash(one) == hash(twin)
    if not hasattr(one, "calibrate") or one.calibrate is None:
        assert load(tmp_path / "model.tally") == one


@every
def test_other_rows_parameters_and_classes_are_not_equal(model):
    one = clone(model).fit(X, Y)
    assert one != clone(model)  # not fitted
    assert one != clone(model).fit(X[:-1], Y[:-1])
    assert one != clone(model).fit(X, 1 - Y)
    assert one != clone(one).set_params(class_alpha=0.5).fit(X, Y)
    assert one != clone(model).fit(X.rename(columns={"b": "c"}), Y)
    others = [other.fit(X, Y) for other in map(clone, ALL) if type(other) is not type(model)]
    assert one not in others
    assert one != "passthrough"
    assert clone(model) == clone(model)


def test_what_was_chosen_on_rows_counts():
    one = NaiveBayes(calibrate="isotonic").fit(X, Y)
    other = copy.copy(one).recalibrate(X[:150], Y[:150])
    assert other.tally_ == one.tally_
    assert other != one
    plain = WeightedNaiveBayes().fit(X, Y)
    fewer = copy.copy(plain).reweight(X[:150], Y[:150])
    assert fewer.tally_ == plain.tally_
    assert fewer != plain


NUMBERS = pd.DataFrame({"a": rng.normal(size=N), "b": 1e9 + rng.exponential(size=N) ** 3})
OF_NUMBERS = [
    GaussianNB(),
    NaiveBayes(),
    NaiveBayes({"a": Gaussian()}),
    NaiveBayes({("a", "b"): Gaussian(covariance="full")}),
]


@cache
def whole_and_parts(k):
    """A model of all rows and one of each batch; the last has strings, too."""
    model, frame = [*((m, NUMBERS) for m in OF_NUMBERS), (NaiveBayes(), MIXED)][k]
    parts = [clone(model).fit(frame[i::8], Y[i::8]) for i in range(8)]
    return clone(model).fit(frame, Y), parts


@pytest.mark.parametrize("k", range(len(OF_NUMBERS) + 1))
@given(order=st.permutations(range(8)))
def test_the_order_of_batches_does_not_matter(k, order):
    whole, parts = whole_and_parts(k)
    parts = [parts[i] for i in order]
    assert sum(parts) == whole
    assert whole == sum(parts)
    assert sum(parts).tally_ == whole.tally_
    assert sum(parts[1:]) != whole


@pytest.mark.parametrize("model", OF_NUMBERS, ids=lambda m: f"{m!r}"[:40])
@pytest.mark.parametrize("column", ["a", "b"])
def test_moments_are_not_equal_where_a_last_place_of_one_number_differs(model, column):
    whole, other = clone(model).fit(NUMBERS, Y), NUMBERS.copy()
    other.loc[7, column] = np.nextafter(other.loc[7, column], np.inf)
    assert clone(model).fit(other, Y) != whole
    assert clone(model).fit(NUMBERS[::-1], Y[::-1]) == whole


def test_sum_leaves_its_terms_alone():
    parts = [GaussianNB().fit(X[i::4], Y[i::4]) for i in range(4)]
    before = [copy.deepcopy(part) for part in parts]
    total = sum(parts)
    assert total.class_count_.tolist() == np.bincount(Y).tolist()
    assert parts == before
    assert sum(parts[:1]) == parts[0]
    assert sum(parts[:1]) is not parts[0]
    tallies = [part.tally_ for part in parts[:1]]
    assert sum(tallies) == tallies[0]
    with pytest.raises(TypeError):
        _ = 1 + parts[0]
    with pytest.raises(TypeError):
        _ = "" + parts[0]


def test_scikit_learn_and_joblib_go_on_as_before(tmp_path):
    model = NaiveBayes()
    search = GridSearchCV(model, {"class_alpha": [0.5, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_ == clone(search.best_estimator_).fit(X, Y)
    pipe = make_pipeline(FunctionTransformer(), model, memory=joblib.Memory(tmp_path, verbose=0))
    assert pipe.fit(X, Y)[-1] is model
    assert joblib.hash(clone(model)) == joblib.hash(clone(model))
    assert {model: "a key"}[model] == "a key"


def test_a_tally_shows_itself_in_a_line():
    assert len(repr(NaiveBayes().fit(MIXED, Y).tally_)) < 120
    assert repr(GaussianNB().fit(X, Y).tally_) == (
        "TableTally(200 rows of 2 classes: moments of 2 columns)"
    )
    wide = MultinomialNB().fit(rng.poisson(1.0, (10, 3000)), np.arange(10) % 2)
    assert repr(wide.tally_) == "TableTally(10 rows of 2 classes: sums of 3000 columns)"


@every
def test_cross_validation_fits_a_clone_of_a_model_that_is_not_fitted(model):
    fresh = clone(model)
    found = cross_validate(fresh, X, Y, folds=3)
    np.testing.assert_array_equal(found, cross_validate(clone(model).fit(X, Y), X, Y, folds=3))
    with pytest.raises(NotFittedError):
        leave_one_out(fresh, X, Y)  # it is still not fitted
