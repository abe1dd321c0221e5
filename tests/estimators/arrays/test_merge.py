"""merge and +: models trained on parts become the model of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimators.cases import (
    ALL,
    assert_same_counts,
    assert_same_predictions,
    every,
    refused,
    rows,
    state,
    unchanged,
)
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB
from tallybayes.errors import IncompatibleTallies


def close(a, b, x):
    """Two models have counted the same and predict alike."""
    assert_same_counts(a, b)
    np.testing.assert_allclose(a.predict_proba(x), b.predict_proba(x), rtol=1e-9)


@every()
def test_adding_leaves_both_as_they_were_and_merging_leaves_the_other(NB):
    x, y = rows()
    a, b = NB().fit(x[:30], y[:30]), NB().fit(x[30:], y[30:])
    with unchanged(a, b):
        total = a + b
    assert total is not a
    with unchanged(b):
        assert a.merge(b) is a
    close(a, total, x)
    held = state(b)
    a.partial_fit(x, y)
    total.partial_fit(x, y)
    assert state(b) == held


@every()
def test_a_model_merged_with_itself_has_every_count_twice(NB):
    x, y = rows()
    model = NB().fit(x, y)
    close(model.merge(model), NB().fit(np.concatenate([x, x]), np.concatenate([y, y])), x)


@every()
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ((0, 1), (1, 2)),
        ((5, 9), (1, 7)),
        (("a", "b"), ("b", "cc")),
        ((False, True), (True, False)),
    ],
    ids=str,
)
def test_classes_are_joined_by_label(NB, mine, theirs):
    x, y = rows(n=80, classes=mine)
    other_x, other_y = rows(n=80, classes=theirs, seed=5)
    total = NB().fit(x, y) + NB().fit(other_x, other_y)
    both_x, both_y = np.concatenate([x, other_x]), np.concatenate([y, other_y])
    whole = NB().fit(both_x, both_y)
    assert total.classes_.tolist() == sorted(set(mine) | set(theirs))
    close(total, whole, both_x)


@every()
def test_labels_from_a_list_and_from_a_frame_are_the_same_labels(NB):
    """pandas hands strings over as objects, NumPy as fixed-width text."""
    x, y = rows(n=80, classes=("a", "b"))
    other_x, other_y = rows(n=80, classes=("b", "c"), seed=5)
    total = NB().fit(x, y) + NB().fit(other_x, pd.Series(other_y, dtype=object))
    assert total.classes_.tolist() == ["a", "b", "c"]
    total = NB().fit(x, pd.Series(y, dtype=object)) + NB().fit(other_x, other_y)
    assert total.classes_.tolist() == ["a", "b", "c"]


@every()
def test_labels_of_different_types_do_not_join(NB):
    x, y = rows()
    a, b = NB().fit(x, y), NB().fit(x, y.astype(str))
    with refused(IncompatibleTallies, "class labels.*one type of label", a, b):
        a.merge(b)


def test_categories_are_joined_by_code():
    a = CategoricalNB().fit([[0, 1], [1, 0]], [0, 1])
    b = CategoricalNB().fit([[3, 0], [0, 2]], [0, 1])
    whole = CategoricalNB().fit([[0, 1], [1, 0], [3, 0], [0, 2]], [0, 1, 0, 1])
    assert_same_counts(a + b, whole)
    assert_same_counts(b + a, whole)
    assert_same_predictions(a + b, whole, [[0, 0], [3, 2], [2, 1]])


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e7])
def test_moments_about_different_origins_are_re_based(shift):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    x[200:] += shift
    a, b = GaussianNB().fit(x[:200], y[:200]), GaussianNB().fit(x[200:], y[200:])
    assert (a.tally_.groups[0].origin != b.tally_.groups[0].origin).all()
    whole = GaussianNB().fit(x, y)
    for total in (a + b, b + a):
        np.testing.assert_allclose(total.theta_, whole.theta_, rtol=1e-12)
        np.testing.assert_allclose(total.var_, whole.var_, rtol=1e-12)


def test_parts_of_float32_and_float64_give_a_float64_model():
    x, y = rows()
    total = GaussianNB().fit(x[:30].astype(np.float32), y[:30]) + GaussianNB().fit(x[30:], y[30:])
    assert total.theta_.dtype == np.float64


@every()
def test_a_part_with_names_names_the_whole(NB):
    x, y = rows()
    named, plain = NB().fit(pd.DataFrame(x, columns=list("abcd")), y), NB().fit(x, y)
    for total in (named + plain, plain + named):
        assert total.feature_names_in_.tolist() == list("abcd")
        total.predict(pd.DataFrame(x, columns=list("abcd")))
    assert not hasattr(plain, "feature_names_in_")


@every()
def test_an_empty_part_is_the_zero(NB):
    x, y = rows()
    params = {"min_categories": 5} if NB is CategoricalNB else {}
    model = NB(**params).fit(x, y)
    empty = NB(**params).fit(x, y).forget(x, y)
    close(model + empty, model, x)
    close(empty + model, model, x)


@every()
def test_hyperparameters_stay_those_of_the_model_that_takes_in(NB):
    x, y = rows()
    smoothing = "var_smoothing" if NB is GaussianNB else "alpha"
    a, b = NB(**{smoothing: 0.5}).fit(x, y), NB(**{smoothing: 0.125}).fit(x, y)
    total = a + b
    assert total.get_params()[smoothing] == 0.5
    whole = NB(**{smoothing: 0.5}).fit(np.concatenate([x, x]), np.concatenate([y, y]))
    close(total, whole, x)


@every()
def test_a_given_prior_stays_where_the_classes_stay(NB):
    x, y = rows()
    name = "priors" if NB is GaussianNB else "class_prior"
    prior = {name: [0.2, 0.3, 0.5]}
    a, b = NB(**prior).fit(x[:30], y[:30]), NB().fit(x[30:], y[30:])
    close(a + b, NB(**prior).fit(x, y), x)
    more = NB().fit(x, y + 1)
    with refused(ValueError, "Number of priors must match number of classes", a, more):
        a.merge(more)


# ---- what does not merge ------------------------------------------------------------------------
@pytest.mark.parametrize(("A", "B"), [(A, B) for A in ALL for B in ALL if A is not B])
def test_models_of_different_kinds_do_not_merge(A, B):
    x, y = rows()
    a, b = A().fit(x, y), B().fit(x, y)
    message = f"a {A.__name__} cannot take in a {B.__name__}: merge models of one kind"
    with refused(IncompatibleTallies, message, a, b):
        a.merge(b)
    with refused(IncompatibleTallies, message, a, b):
        a + b


@every()
@pytest.mark.parametrize("other", [0, 1.5, "model", None, [1]], ids=repr)
def test_only_models_can_be_added(NB, other):
    model = NB().fit(*rows())
    with unchanged(model), pytest.raises(TypeError, match="unsupported operand"):
        model + other


@every()
@pytest.mark.parametrize("other", [0, "model", None], ids=repr)
def test_only_models_can_be_merged(NB, other):
    model = NB().fit(*rows())
    with refused((TypeError, ValueError), f"{NB.__name__} cannot take in a", model):
        model.merge(other)


@every()
def test_other_columns_do_not_merge(NB):
    x, y = rows()
    model = NB().fit(x, y)
    with refused(IncompatibleTallies, "4 and 3 features", model, other := NB().fit(x[:, :3], y)):
        model.merge(other)


@every()
def test_other_names_do_not_merge(NB):
    x, y = rows()
    a = NB().fit(pd.DataFrame(x, columns=list("abcd")), y)
    b = NB().fit(pd.DataFrame(x, columns=list("abdc")), y)
    with refused(IncompatibleTallies, "feature names differ: column 2 is 'c'.*'d'.*order", a, b):
        a.merge(b)


def test_other_thresholds_do_not_merge():
    x, y = rows()
    a, b = BernoulliNB(binarize=1.0).fit(x, y), BernoulliNB(binarize=2.0).fit(x, y)
    with refused(IncompatibleTallies, "x > 1.0, the other x > 2.0", a, b):
        a.merge(b)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ([["a", "b"]], [["b", "a"]]),
        ([["a", "b"]], [["a", "b", "c"]]),
        ([["a", "b"]], None),
    ],
    ids=["other order", "other values", "codes"],
)
def test_other_declared_levels_do_not_merge(mine, theirs):
    a = CategoricalNB(levels=mine).fit([["a"], ["b"]], [0, 1])
    x = [[0], [1]] if theirs is None else [["a"], ["b"]]
    b = CategoricalNB(levels=theirs).fit(x, [0, 1])
    with refused(IncompatibleTallies, "declare.*levels", a, b):
        a.merge(b)
    with refused(IncompatibleTallies, "declare.*levels", a, b):
        b.merge(a)
