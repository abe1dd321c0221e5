"""What a weighted model does not depend on: the unit of weights, and the order of its rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.class_weight import compute_sample_weight

from estimators.cases import weights_in_a_file, weights_of_a_file
from tallybayes import (
    NaiveBayes,
    WeightedNaiveBayes,
    get_num_threads,
    leave_one_out,
    load,
    set_num_threads,
)
from tallybayes.errors import StaleWarning

pytestmark = pytest.mark.filterwarnings("ignore:.*(no column|alone|fewer than|left out)")

FILES = Path(__file__).parents[1] / "persistence" / "files"


def mixed(n, seed=0, n_classes=2):
    """Numbers, strings, missing values, a pair, a column of few values, and twins."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    a = rng.integers(0, 3, n)
    x = pd.DataFrame(
        {
            "number": np.round(rng.normal(y, 1.0), 2),
            "a": np.array(list("uvw"))[a],
            "b": np.array(list("pqr"))[np.where(rng.random(n) < 0.8, (a + y) % 3, a)],
            "few": rng.integers(0, 3, n),
            "noise": rng.normal(size=n),
        }
    )
    x.loc[rng.random(n) < 0.1, "number"] = np.nan
    x.loc[rng.random(n) < 0.1, "a"] = None
    again = rng.integers(0, n, n // 10)
    return pd.concat([x, x.iloc[again]], ignore_index=True), np.append(y, y[again])


X, Y = mixed(900)
MORE, MORE_Y = mixed(300, 1)


def log_loss(model, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        log_proba = model.predict_log_proba(x)
    return -log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def same_model(one, other):
    """Whether two models are the same to the last bit."""
    np.testing.assert_array_equal(one.predict_log_proba(MORE), other.predict_log_proba(MORE))
    a, b = one._model.chosen.weighting, other._model.chosen.weighting
    if a is None:  # of one class there is nothing to learn
        assert b is None
        return
    tables = zip(one._model.score.tables, other._model.score.tables, strict=True)
    assert all(s.tobytes() == t.tobytes() for s, t in tables)
    assert a.shift.tobytes() == b.shift.tobytes()
    assert a.apart.tobytes() == b.apart.tobytes()
    assert (a.figures, a.names, a.unit) == (b.figures, b.names, b.unit)


# ---- the unit of weights -------------------------------------------------------------------------
@pytest.mark.parametrize("factor", [2.0, 10.0, 1000.0, 0.001])
def test_a_common_factor_of_all_weights_changes_nothing(factor):
    model = WeightedNaiveBayes().fit(X, Y)
    other = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), factor))
    assert other.log_loss_ == model.log_loss_
    np.testing.assert_array_equal(other.predict_log_proba(MORE), model.predict_log_proba(MORE))
    np.testing.assert_allclose(other.class_count_, factor * model.class_count_)
    assert other._model.chosen.weighting.figures.rows == pytest.approx(factor * len(Y))


def test_weights_that_say_nothing_cost_little():
    """As survey weights do: they vary, and have nothing to do with the class."""
    model = WeightedNaiveBayes().fit(X, Y)
    weight = 1e5 * np.random.default_rng(0).lognormal(sigma=0.6, size=len(Y))
    other = WeightedNaiveBayes().fit(X, Y, sample_weight=weight)
    assert log_loss(other, MORE, MORE_Y) < log_loss(model, MORE, MORE_Y) + 0.02
    assert other.log_loss_ > log_loss(other, MORE, MORE_Y) - 0.1  # and no figure is too good


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_balanced_weights_suit_a_rare_class(seed):
    x, y = make_classification(4000, 8, weights=[0.95], random_state=seed)
    x, other_x, y, other_y = train_test_split(x, y, train_size=1000, random_state=0, stratify=y)
    weight = compute_sample_weight("balanced", y)
    ours = WeightedNaiveBayes().fit(x, y, sample_weight=weight).predict(other_x)
    theirs = GaussianNB().fit(x, y, sample_weight=weight).predict(other_x)
    plain = WeightedNaiveBayes().fit(x, y).predict(other_x)
    found = [balanced_accuracy_score(other_y, p) for p in (ours, theirs, plain)]
    assert found[0] >= max(found[1:])


def test_rows_of_weight_0_are_no_rows():
    kept = np.arange(len(Y)) % 3 > 0
    some = WeightedNaiveBayes().fit(X, Y, sample_weight=kept.astype(float))
    same_columns = X[kept].reset_index(drop=True)
    apart = WeightedNaiveBayes().fit(same_columns, Y[kept])
    np.testing.assert_allclose(some.predict_proba(MORE), apart.predict_proba(MORE), atol=1e-12)
    assert some.log_loss_ == pytest.approx(apart.log_loss_, abs=1e-12)


def test_the_unit_is_kept_by_updates_and_files(tmp_path):
    """Rows of weight 1000 learned later are rows, and so are those taken out; `class_alpha` is in
    units of the weights, and so a little less to them."""
    one = WeightedNaiveBayes().fit(X, Y)
    heavy = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), 1000.0))
    heavy.save(tmp_path / "heavy.tally")
    heavy = load(tmp_path / "heavy.tally")
    weight = np.full(len(MORE_Y), 1000.0)
    found = leave_one_out(heavy, X, Y, np.full(len(Y), 1000.0))
    np.testing.assert_allclose(found, leave_one_out(one, X, Y), atol=1e-4)
    one.partial_fit(MORE, MORE_Y)
    heavy.partial_fit(MORE, MORE_Y, sample_weight=weight)
    assert log_loss(heavy, MORE, MORE_Y) == pytest.approx(log_loss(one, MORE, MORE_Y), abs=1e-3)
    both, labels = pd.concat([X, MORE]), np.append(Y, MORE_Y)
    one.reweight(both, labels)
    heavy.reweight(both, labels, np.full(len(labels), 1000.0))
    np.testing.assert_array_equal(heavy.predict_log_proba(MORE), one.predict_log_proba(MORE))
    heavy.forget(X, Y, np.full(len(Y), 1000.0))
    one.forget(X, Y)
    assert log_loss(heavy, MORE, MORE_Y) == pytest.approx(log_loss(one, MORE, MORE_Y), abs=1e-3)


def test_a_shorter_model_does_not_depend_on_the_unit():
    weight = np.full(len(Y), 40.0)
    one = WeightedNaiveBayes().fit(X, Y).simplify(X, Y, 2)
    heavy = WeightedNaiveBayes().fit(X, Y, sample_weight=weight).simplify(X, Y, 2, weight)
    np.testing.assert_array_equal(heavy.predict_log_proba(MORE), one.predict_log_proba(MORE))
    assert heavy.log_loss_increase_ == pytest.approx(
        one.log_loss_increase_, abs=1e-4
    )  # by class_alpha


# ---- the order of rows ---------------------------------------------------------------------------
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 400), n_classes=st.integers(1, 4))
def test_the_order_of_rows_changes_no_bit(seed, n, n_classes):
    x, y = mixed(n, seed, n_classes)
    order = np.random.default_rng(seed).permutation(len(y))
    one = WeightedNaiveBayes().fit(x, y)
    same_model(WeightedNaiveBayes().fit(x.iloc[order], y[order]), one)


@pytest.mark.parametrize("n", [900, 40_000])
def test_order_parts_and_threads_change_no_bit(n):
    """Of many rows weights are learned on a sample: on the same rows."""
    x, y = mixed(n, 3)
    one, before = WeightedNaiveBayes().fit(x, y), get_num_threads()
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x.iloc[order].reset_index(drop=True), y[order]
    parts = np.array_split(np.arange(len(y)), [10, len(y) // 2])
    counted = NaiveBayes().fit(x.iloc[parts[0]], y[parts[0]])
    for part in parts[1:]:
        counted.partial_fit(x.iloc[part], y[part])
    try:
        set_num_threads(1)
        same_model(WeightedNaiveBayes().count_from(counted, x, y), one)
    finally:
        set_num_threads(before)


def test_the_order_of_columns_changes_rounding_only():
    columns = ["noise", "b", "few", "a", "number"]
    one = WeightedNaiveBayes().fit(X, Y)
    other = WeightedNaiveBayes().fit(X[columns], Y)
    assert other.log_loss_ == one.log_loss_
    np.testing.assert_allclose(other.predict_proba(MORE), one.predict_proba(MORE), atol=1e-12)


def test_a_shorter_model_does_not_depend_on_the_order():
    order = np.random.default_rng(0).permutation(len(Y))
    model = WeightedNaiveBayes().fit(X, Y)
    same_model(model.simplify(X.iloc[order], Y[order], 2), model.simplify(X, Y, 2))


# ---- leave-one-out -------------------------------------------------------------------------------


def test_a_file_keeps_the_unit_and_one_of_0_1_0_took_weights_as_rows():
    model = WeightedNaiveBayes().fit(X, Y, sample_weight=np.full(len(Y), 4.0))
    header, arrays = weights_in_a_file(model._model.chosen.weighting)
    assert weights_of_a_file(header, arrays).unit == 4.0
    old = load(FILES / "0.1.0" / "weighted.tally")
    assert old._model.chosen.weighting.unit == 1.0
