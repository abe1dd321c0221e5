"""The class prior: equations (9) and (12), given ones, and new ones after counting."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from estimators.cases import (
    DISCRETE,
    GENERATIVE,
    assert_same_counts,
    assert_same_predictions,
    every,
    peer,
    refused,
    rows,
    state,
    unchanged,
)
from tallybayes import (
    ComplementNB,
    GaussianNB,
    LazyNaiveBayes,
    NaiveBayes,
    WeightedNaiveBayes,
    load,
)


def prior_name(NB):
    return "priors" if NB is GaussianNB else "class_prior"


def prior_of(model):
    """The class prior as probabilities."""
    if isinstance(model, GaussianNB):
        return model.class_prior_
    return np.exp(model.class_log_prior_)


def uneven():
    x, y = rows(n=60)
    keep = np.flatnonzero((y != 1) | (np.arange(60) % 4 == 0))
    return x[keep], y[keep]


@every()
@pytest.mark.parametrize("class_alpha", [0.0, 0.5, 1.0, 10.0])
def test_class_alpha_is_equation_12(NB, class_alpha):
    x, y = uneven()
    model = NB(class_alpha=class_alpha).fit(x, y)
    alpha, m = Fraction(class_alpha), len(y)
    expected = [float((int((y == c).sum()) + alpha) / (m + 3 * alpha)) for c in range(3)]
    np.testing.assert_allclose(prior_of(model), expected, rtol=1e-15)


@every()
def test_class_alpha_follows_the_counts_as_they_grow_and_shrink(NB):
    x, y = uneven()
    model = NB(class_alpha=2.0).fit(x, y).partial_fit(x, y)
    np.testing.assert_allclose(
        prior_of(model), (2 * np.bincount(y) + 2) / (2 * len(y) + 6), rtol=1e-15
    )
    model.forget(x, y)
    np.testing.assert_allclose(prior_of(model), (np.bincount(y) + 2) / (len(y) + 6), rtol=1e-15)


@every()
def test_without_any_row_a_smoothed_prior_is_uniform(NB):
    x, y = rows()
    model = NB(class_alpha=1.0).partial_fit(x, y, classes=[0, 1, 2]).forget(x, y)
    np.testing.assert_allclose(prior_of(model), [1 / 3] * 3, rtol=1e-15)


@every()
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_class_alpha_and_a_given_prior_contradict_each_other(NB, learn):
    x, y = rows()
    model = NB(**{prior_name(NB): [0.2, 0.3, 0.5]}, class_alpha=1.0)
    message = rf"class_alpha=1\.0 smooths.*{prior_name(NB)}= says not to.*one of the two"
    with refused(ValueError, message, model):
        getattr(model, learn)(x, y, **({} if learn == "fit" else {"classes": [0, 1, 2]}))


@every(*DISCRETE)
def test_class_alpha_and_a_uniform_prior_contradict_each_other(NB):
    x, y = rows()
    model = NB(fit_prior=False, class_alpha=0.5)
    with refused(
        ValueError, r"class_alpha=0\.5.*fit_prior=False says not to.*one of the two", model
    ):
        model.fit(x, y)


@every(*DISCRETE)
def test_fit_prior_false_makes_every_class_alike(NB):
    x, y = uneven()
    model = NB(fit_prior=False).fit(x, y)
    np.testing.assert_allclose(prior_of(model), [1 / 3] * 3, rtol=1e-15)
    theirs = peer(NB)(fit_prior=False).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), rtol=1e-10)


@every()
@pytest.mark.parametrize("holder", [list, tuple, np.array, lambda p: np.float32(p)])
def test_a_given_prior_is_the_prior_whatever_is_counted(NB, holder):
    x, y = uneven()
    model = NB(**{prior_name(NB): holder([0.25, 0.25, 0.5])}).fit(x, y)
    assert prior_of(model).tolist() == pytest.approx([0.25, 0.25, 0.5], rel=1e-15)
    model.partial_fit(x[:9], y[:9])
    assert prior_of(model).tolist() == pytest.approx([0.25, 0.25, 0.5], rel=1e-15)


@every(*GENERATIVE)
def test_a_class_of_prior_zero_is_never_predicted(NB):
    x, y = rows()
    model = NB(**{prior_name(NB): [0.5, 0.0, 0.5]}).fit(x, y)
    assert (model.predict_proba(x)[:, 1] == 0.0).all()
    assert 1 not in model.predict(x)
    assert np.isneginf(model.predict_joint_log_proba(x)[:, 1]).all()


# ---- with_class_prior ---------------------------------------------------------------------------
@every()
@pytest.mark.parametrize(
    "p",
    [
        [0.1, 0.2, 0.7],
        (0.1, 0.2, 0.7),
        np.array([0.1, 0.2, 0.7]),
        {0: 0.1, 1: 0.2, 2: 0.7},
        {2: 0.7, 0: 0.1, 1: 0.2},
    ],
    ids=["list", "tuple", "array", "mapping", "mapping in another order"],
)
def test_a_new_prior_after_counting_is_the_prior_given_before_it(NB, p):
    x, y = rows()
    model = NB().fit(x, y)
    with unchanged(model):
        other = model.with_class_prior(p)
    given = NB(**{prior_name(NB): [0.1, 0.2, 0.7]}).fit(x, y)
    assert_same_counts(other, given)
    assert_same_predictions(other, given, x)
    np.testing.assert_allclose(prior_of(other), [0.1, 0.2, 0.7], rtol=1e-15)
    assert list(other.get_params()[prior_name(NB)]) == [0.1, 0.2, 0.7]


@every(*GENERATIVE)
def test_the_posterior_moves_by_the_ratio_of_the_priors(NB):
    """P'(c|x) ∝ P(c|x)·P'(c)/P(c): the use it is for, training data drawn with a bias."""
    x, y = uneven()
    model = NB().fit(x, y)
    p = np.array([0.6, 0.3, 0.1])
    shifted = model.predict_proba(x) * p / (np.bincount(y) / len(y))
    np.testing.assert_allclose(
        model.with_class_prior(p).predict_proba(x),
        shifted / shifted.sum(axis=1, keepdims=True),
        rtol=1e-10,
    )


@every()
def test_a_new_prior_replaces_a_smoothed_uniform_or_given_one(NB):
    x, y = uneven()
    before = [NB(class_alpha=2.0), NB(**{prior_name(NB): [0.2, 0.3, 0.5]})]
    if NB is not GaussianNB:
        before.append(NB(fit_prior=False))
    for model in before:
        other = model.fit(x, y).with_class_prior([0.5, 0.25, 0.25])
        np.testing.assert_allclose(prior_of(other), [0.5, 0.25, 0.25], rtol=1e-15)
        again = type(other)(**other.get_params()).fit(x, y)  # its parameters describe it
        assert_same_predictions(again, other, x)


@every()
def test_both_models_go_on_learning_apart(NB):
    x, y = rows()
    model = NB().fit(x, y)
    other = model.with_class_prior([0.5, 0.25, 0.25])
    held = state(other)
    model.partial_fit(x, y)
    assert state(other) == held
    held = state(model)
    other.partial_fit(x[:9], y[:9]).forget(x[:3], y[:3])
    assert state(model) == held
    np.testing.assert_allclose(prior_of(other), [0.5, 0.25, 0.25], rtol=1e-15)


def test_a_new_prior_by_label_takes_labels_of_any_type():
    x, y = rows(classes=("yes", "no"))
    model = GaussianNB().fit(x, y).with_class_prior({"yes": 0.9, "no": 0.1})
    assert dict(zip(model.classes_.tolist(), model.class_prior_.tolist(), strict=True)) == {
        "no": 0.1,
        "yes": 0.9,
    }
    flags = GaussianNB().fit(x, y == "yes").with_class_prior({True: 0.9, False: 0.1})
    assert flags.class_prior_.tolist() == [0.1, 0.9]


NO_PRIORS = [
    ([0.5, 0.5], r"Number of priors must match number of classes.*\(2,\).*3 classes"),
    ([0.25] * 4, "Number of priors must match number of classes"),
    ([[0.2, 0.3, 0.5]], "Number of priors must match number of classes"),
    ([-0.2, 0.7, 0.5], r"Priors must be non-negative.*\[0\] is -0\.2"),
    ([np.nan, 0.5, 0.5], r"Priors must be non-negative.*\[0\] is nan"),
    ([0.5, 0.5, 0.5], r"The sum of the priors should be 1.*1\.5"),
    (["a", "b", "c"], "could not convert"),
    (7, "must be an array-like|Number of priors must match number of classes"),
]
NO_NEW_PRIORS = [
    *NO_PRIORS,
    ({0: 0.5, 1: 0.5}, r"\['0', '1'\], the model has \['0', '1', '2'\]: give one"),
    ({0: 0.5, 1: 0.25, 2: 0.25, 3: 0.0}, "the prior names the classes"),
    ({"0": 0.5, "1": 0.25, "2": 0.25}, "the prior names the classes"),
    (None, "(?i)prior"),
    ("abc", "(?i)prior|convert"),
]


@every()
def test_a_prior_that_does_not_fit_is_refused(NB):
    x, y = rows()
    for prior, message in NO_PRIORS:
        model = NB(**{prior_name(NB): prior})
        with refused(ValueError, message, model):
            model.fit(x, y)
        with refused(ValueError, message, model):
            model.partial_fit(x, y, classes=[0, 1, 2])
    model = NB().fit(x, y)
    for prior, message in NO_NEW_PRIORS:
        with refused((ValueError, TypeError), message, model):
            model.with_class_prior(prior)


def test_no_score_of_complement_depends_on_the_prior():
    x, y = rows()
    model = ComplementNB().fit(x, y)
    other = model.with_class_prior([0.9, 0.05, 0.05])
    np.testing.assert_allclose(np.exp(other.class_log_prior_), [0.9, 0.05, 0.05], rtol=1e-15)
    assert_same_predictions(model, other, x)


# ---- by label ------------------------------------------------------------------------------------
@every()
def test_a_prior_by_label_is_the_prior_in_order(NB):
    x, y = rows()
    labels = np.array(["c", "a", "b"])[y]
    name = prior_name(NB)
    by_label = NB(**{name: {"a": 0.5, "b": 0.3, "c": 0.2}}).fit(x, labels)
    in_order = NB(**{name: [0.5, 0.3, 0.2]}).fit(x, labels)
    np.testing.assert_array_equal(by_label.predict_proba(x), in_order.predict_proba(x))
    by_label.partial_fit(x, labels)
    np.testing.assert_array_equal(prior_of(by_label), prior_of(in_order))


@every()
def test_a_prior_that_names_other_classes_is_refused(NB):
    x, y = rows()
    model = NB(**{prior_name(NB): {0: 0.5, 1: 0.3, 7: 0.2}})
    with refused(ValueError, "names the classes.*'7'.*give one probability to each", model):
        model.fit(x, y)
    model = NB(**{prior_name(NB): {0: 0.5, 1: 0.3, 2: 0.3}})
    with refused(ValueError, "sum of the priors should be 1", model):
        model.fit(x, y)


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_table_takes_a_given_prior_beside_the_default_class_alpha(kind, tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.choice(["no", "yes"], 80)
    x[:, 0] += 2 * (y == "yes")
    for prior in ({"no": 0.9, "yes": 0.1}, [0.9, 0.1]):
        model = kind(class_prior=prior).fit(x, y)
        expected = kind(class_prior=[0.9, 0.1], class_alpha=0.0).fit(x, y)
        np.testing.assert_array_equal(model.predict_proba(x), expected.predict_proba(x))
        twin = clone(model).fit(x, y)
        assert twin.get_params()["class_prior"] == prior
        model.save(tmp_path / "model.tally")
        np.testing.assert_array_equal(
            load(tmp_path / "model.tally").predict_proba(x), model.predict_proba(x)
        )
    with pytest.raises(ValueError, match="give one of the two"):
        kind(class_prior=prior, class_alpha=2.0).fit(x, y)


def test_a_prior_by_label_declares_its_classes():
    model = NaiveBayes(class_prior={"a": 0.7, "b": 0.3})
    model.learn_one({"x": "u"}, "a")
    assert model.predict_proba_one({"x": "u"}) == {"a": 0.7, "b": 0.3}  # of b nothing is known
    with pytest.raises(ValueError, match="give one probability to each"):
        model.learn_one({"x": "u"}, "c")
    model.learn_one({"x": "v"}, "b")
    assert model.classes_.tolist() == ["a", "b"]
    rows, prior = pd.DataFrame({"x": ["u", "v"]}), {"a": 0.7, "b": 0.3}
    lazy = LazyNaiveBayes(rows.assign(y=["a", "b"]), "y", class_prior=prior)
    fitted = NaiveBayes(class_prior=prior).fit(rows, ["a", "b"])
    np.testing.assert_allclose(
        lazy.predict_proba([{"x": "u"}]), fitted.predict_proba([{"x": "u"}]), rtol=1e-12
    )
