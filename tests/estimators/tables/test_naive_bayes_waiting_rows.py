"""A row that cannot be counted is refused by learn_one itself: rows that wait can be merged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tallybayes import NaiveBayes, load
from tallybayes.errors import IncompatibleTallies
from tallybayes.families import Bernoulli, Categorical, Gaussian, Poisson


def refused(model, row, label, error, words):
    """The row is refused, and the model learns on and predicts as if it had not come."""
    with pytest.raises(error, match=words):
        model.learn_one(row, label)


WRONG_LABELS = {
    "a float": (1.5, ValueError, "continuous"),
    "a number": (1, IncompatibleTallies, "cannot be joined"),
    "a boolean": (True, IncompatibleTallies, "cannot be joined"),
    "bytes": (b"a", TypeError, "bytes"),
    "a tuple": (("a",), TypeError, "a label is"),
    "a list": (["a"], TypeError, "unhashable"),
}


@pytest.mark.parametrize("wrong", WRONG_LABELS.values(), ids=WRONG_LABELS)
@pytest.mark.parametrize("before", ["fitted", "waiting", "declared"])
def test_a_label_of_another_type(wrong, before):
    label, error, words = wrong
    if before == "declared":
        model = NaiveBayes(classes=["a", "b"])
    else:
        model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    if before == "waiting":
        model.learn_one({"x": 3.0}, "b")
    refused(model, {"x": 1}, label, error, words)
    model.learn_one({"x": 1}, "a")
    assert model.predict_one({"x": 1.0}) == "a"
    count = {"fitted": [2.0, 1.0], "waiting": [2.0, 2.0], "declared": [1.0, 0.0]}[before]
    assert model.class_count_.tolist() == count


def test_a_text_among_labels_that_are_numbers():
    model = NaiveBayes().learn_one({"x": 1}, 1).learn_one({"x": 2}, 2.0)
    refused(model, {"x": 1}, "a", IncompatibleTallies, "cannot be joined")
    assert model.learn_one({"x": 3}, np.int64(3)).classes_.tolist() == [1, 2, 3]


def test_a_class_beyond_a_prior_that_is_given():
    model = NaiveBayes(class_alpha=0, class_prior=[0.25, 0.75])
    model.learn_one({"x": 1}, "a").learn_one({"x": 1}, "b")
    refused(model, {"x": 1}, "c", ValueError, "Number of priors must match")
    assert list(model.predict_proba_one({"x": 1}).values()) == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("fitted", [False, True])
def test_a_third_level_of_a_bernoulli_column(fitted):
    model = NaiveBayes({"x": Bernoulli()})
    if fitted:
        model.fit([{"x": "no"}, {"x": "yes"}], ["a", "b"])
    else:
        model.learn_one({"x": "no"}, "a").learn_one({"x": "yes"}, "b")
    refused(model, {"x": "maybe"}, "a", ValueError, "declared Bernoulli")
    model.learn_one({"x": None}, "a").learn_one({"x": "yes"}, "b")
    assert model.class_count_.tolist() == [2.0, 2.0]
    assert model.predict_one({"x": "yes"}) == "b"


def test_a_level_of_a_refused_row_takes_no_place():
    model = NaiveBayes({"x": Bernoulli()}).learn_one({"x": "no", "y": 1}, "a")
    refused(model, {"x": "maybe", "y": np.inf}, "a", ValueError, "infinity")
    assert model.learn_one({"x": "yes", "y": 1}, "b").predict_one({"x": "yes"}) == "b"


def test_numbers_too_far_apart_for_their_squares():
    far = [1e153, 1e154, -1e154]
    model = NaiveBayes().learn_one({"x": far[0]}, "a").learn_one({"x": far[1]}, "a")
    refused(model, {"x": far[2]}, "a", ValueError, "column 'x' is too large")
    model.learn_one({"x": 2e153}, "b")
    assert model.class_count_.tolist() == [2.0, 1.0]
    batches = NaiveBayes().partial_fit([[1e154]], ["a"])
    with pytest.raises(ValueError, match="column '0' is too large"):
        batches.partial_fit([[-1.2e154]], ["a"])
    with pytest.raises(ValueError, match="column '0' is too large"):
        batches.merge(NaiveBayes().fit([[-1.2e154]], ["a"]))
    assert batches.class_count_.tolist() == [1.0]


# ---- families by type ----------------------------------------------------------------------------
BY_TYPE = {int: Poisson(), str: Categorical(alpha=2.0), float: None, "size": Gaussian()}
ROWS = [
    {"visits": None, "job": "cook", "gain": 1.5, "size": 3},
    {"visits": 2, "job": None, "gain": None, "size": 4},
    {"visits": 0, "job": "nurse", "gain": 2.5, "rooms": 2},
    {"visits": 1, "rooms": 3, "gain": 7},
]
LABELS = list("abab")


def families(model):
    return dict(zip(model.schema_["column"], model.schema_["family"], strict=True))


@pytest.mark.parametrize("way", ["fit", "partial_fit", "learn_one", "merge", "load"])
def test_keys_by_type_are_settled_by_the_first_value_of_a_column(way, tmp_path):
    model = NaiveBayes(BY_TYPE)
    if way == "fit":
        model.fit(ROWS, LABELS)
    elif way == "merge":
        model.partial_fit(ROWS[:1], LABELS[:1])
        model.merge(NaiveBayes(BY_TYPE).partial_fit(ROWS[1:], LABELS[1:]))
    else:
        for i, (row, label) in enumerate(zip(ROWS, LABELS, strict=True)):
            if way == "partial_fit":
                model.partial_fit([row], [label])
            else:
                model.learn_one(row, label)
            if way == "load" and i < 3:
                model.save(tmp_path / "model.tally")
                model = load(tmp_path / "model.tally")
    assert families(model) == {
        "visits": "Poisson",
        "job": "categorical, 2 levels",
        "gain": "left out",
        "size": "Gaussian",
        "rooms": "Poisson",
    }
    expected = NaiveBayes(BY_TYPE).fit(ROWS, LABELS).predict_proba(ROWS)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="not negative"):
        model.learn_one({"visits": -1}, "a")


def test_what_was_not_declared_by_its_first_type_stays_so():
    model = NaiveBayes({int: Poisson()}).partial_fit([{"x": 1.5}], ["a"])
    model.partial_fit([{"x": 2}], ["b"]).learn_one({"x": -3}, "b")
    assert families(model)["x"] != "Poisson"


def test_a_given_prior_and_classes_on_the_first_call():
    model = NaiveBayes(class_alpha=0, class_prior=[0.5, 0.5])
    model.partial_fit([[1.0], [2.0], [4.0]], [0, 0, 0], classes=[0, 1])
    assert model.classes_.tolist() == [0, 1]
    assert np.exp(model.class_log_prior_).tolist() == [0.5, 0.5]
    model.partial_fit([[9.0]], [1]).set_params(class_prior=[0.2, 0.3, 0.5])
    model.partial_fit([[9.0]], [1], classes=[2])
    assert np.exp(model.class_log_prior_) == pytest.approx([0.2, 0.3, 0.5])


@pytest.mark.parametrize("use", ["learn_one", "predict_one", "forget_one"])
@pytest.mark.parametrize("before", ["fitted", "waiting"])
def test_a_value_that_uses_the_model_which_learns_it(use, before):
    """Neither its row nor what it asks for is counted, and the model learns on."""

    class Using(Fraction):
        def __float__(self):
            row = {"x": 5.0}
            getattr(model, use)(*([row] if use == "predict_one" else [row, "a"]))
            return 2.0

    model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], ["a", "b"])
    if before == "waiting":
        model.learn_one({"x": 3.0}, "b")
    expected = [1.0, 1.0 if before == "fitted" else 2.0]
    with pytest.raises(RuntimeError, match="it must not"):
        model.learn_one({"x": Using(2)}, "b")
    assert model.class_count_.tolist() == expected
    model.learn_one({"x": 4.0}, "a")
    assert model.class_count_.tolist() == [2.0, expected[1]]
    assert model.predict_one({"x": 4.0}) in ("a", "b")
