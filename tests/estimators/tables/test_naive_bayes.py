"""NaiveBayes: one classifier for a table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from tallybayes import NaiveBayes
from tallybayes.errors import NegativeTally, UnseenLevel
from tallybayes.families import Bernoulli, Binned, Gaussian, Poisson, Smooth


def people(n=600, seed=0):
    """Numbers, strings, yes/no and missing values, with a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "yes", "no")
    up = y == "yes"
    table = pd.DataFrame(
        {
            "age": rng.normal(40 + 8 * up, 10).round(1),
            "visits": rng.poisson(1 + 2 * up),
            "job": rng.choice(["nurse", "cook", "clerk"], n, p=[0.5, 0.3, 0.2]),
            "smoker": rng.random(n) < 0.2 + 0.4 * up,
            "gain": np.where(rng.random(n) < 0.8, 0.0, rng.exponential(100 * (1 + up))),
        }
    )
    table.loc[rng.random(n) < 0.1, "age"] = np.nan
    table.loc[rng.random(n) < 0.1, "job"] = None
    return table, y


def records(table):
    return [
        {k: None if v is None or v != v else v for k, v in row.items()}
        for row in table.to_dict("records")
    ]


X, Y = people()
TEST, _ = people(200, seed=1)
WHOLE = NaiveBayes().fit(X, Y)
EXPECTED = WHOLE.predict_proba(TEST)


# docs/decisions/0012-effective-rows.md: the same counts, and choices by the rows they came from
CHOICES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "families are chosen by leaving out rows, "
    "and a row of weight 3 is one row"
    for kind in ("dense", "sparse")
}


def test_check_estimator_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns and identifiers of the checks' data
        check_estimator(NaiveBayes(), expected_failed_checks=CHOICES)


def test_check_estimator_passes_where_nothing_is_chosen():
    declared = {float: Gaussian(), int: Gaussian()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(NaiveBayes(declared))


def test_rows_that_were_not_learned_are_not_forgotten():
    more, labels = people(100, seed=7)
    model = NaiveBayes().fit(X, Y).partial_fit(more, labels)
    before = model.tally_
    with pytest.raises(NegativeTally, match="more than was counted"):
        model.forget(more.assign(job="astronaut"), labels)
    assert model.tally_ == before


# ---- families ----


def test_poisson_by_hand():
    x = pd.DataFrame({"n": [0, 1, 2, 5, 6]})
    y = [0, 0, 0, 1, 1]
    model = NaiveBayes({"n": Poisson(alpha=0.0)}, class_alpha=0.0).fit(x, y)
    joint = model.predict_joint_log_proba(pd.DataFrame({"n": [3]}))
    expected = [
        np.log(3 / 5) + 3 * np.log(1.0) - 1.0 - np.log(6.0),
        np.log(2 / 5) + 3 * np.log(5.5) - 5.5 - np.log(6.0),
    ]
    np.testing.assert_allclose(joint, [expected], rtol=1e-14)


@pytest.mark.parametrize("family", [Binned(), Binned(bins=5), Binned(cuts="supervised"), Smooth()])
def test_binned_and_smooth_are_tables_that_sum_to_one(family):
    model = NaiveBayes({"gain": family}).fit(X, Y)
    part = next(p for p in model._fitted().score.parts if p.name == "gain")
    np.testing.assert_allclose(np.exp(part.table[:, 1:]).sum(axis=1), 1.0, rtol=1e-12)
    assert not part.table[:, 0].any()  # a missing value adds nothing


def test_keys_of_columns_may_be_types_and_lists():
    model = NaiveBayes([(float, Gaussian()), (["visits"], Poisson()), ("gain", Binned())])
    families = dict(zip(*model.fit(X, Y).schema_[["column", "family"]].T.to_numpy(), strict=True))
    assert families["age"] == "Gaussian"
    assert families["visits"] == "Poisson"
    assert families["gain"].startswith("binned")
    for wrong, words in [({"nose": None}, "nose"), ({"age": 3}, "family")]:
        with pytest.raises(ValueError, match=words):
            NaiveBayes(wrong).fit(X, Y)


# ---- gaps, unseen, growth ----
def test_gaps_are_left_out_or_are_evidence():
    nothing = pd.DataFrame([dict.fromkeys(X.columns)])
    np.testing.assert_allclose(
        WHOLE.predict_proba(nothing), np.exp(WHOLE.class_log_prior_)[None], rtol=1e-12
    )
    told = X.assign(age=np.where(Y == "yes", np.nan, 30.0))
    level = NaiveBayes(missing="level").fit(told, Y)
    assert level.predict_proba(nothing)[0, 1] > 0.9
    assert NaiveBayes().fit(told, Y).predict_proba(nothing)[0, 1] < 0.5


def test_unseen_levels():
    row = {"job": "astronaut"}
    counts = pd.crosstab(X["job"], Y)
    alpha = 1.0 / (counts.sum() + 3.0)  # α / (n_cj + αN_j)
    prior = np.exp(WHOLE.class_log_prior_)
    expected = prior * alpha[["no", "yes"]].to_numpy()
    got = WHOLE.predict_proba_one(row)
    np.testing.assert_allclose([got["no"], got["yes"]], expected / expected.sum(), rtol=1e-12)
    ignore = NaiveBayes(unseen="ignore").fit(X, Y).predict_proba([row])
    np.testing.assert_allclose(ignore[0], prior, rtol=1e-12)
    error = NaiveBayes(unseen="error").fit(X, Y)
    for call in (lambda: error.predict([row]), lambda: error.predict_one(row)):
        with pytest.raises(UnseenLevel, match="astronaut"):
            call()


def test_classes_and_levels_may_come_later():
    model = NaiveBayes(classes=["never"]).fit(X, Y)
    assert model.classes_.tolist() == ["never", "no", "yes"]
    model.partial_fit(X.iloc[:5].assign(job="pilot"), ["maybe"] * 5)
    assert model.classes_.tolist() == ["maybe", "never", "no", "yes"]
    assert model.class_count_[0] == 5
    assert np.isfinite(model.predict_joint_log_proba(TEST)).all()


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_numbers_stay_numbers_beside_a_text():
    rows = [{"x": 1}, {"x": 2}, {"x": "two"}, {"x": 2.0}]
    y = ["a", "b", "b", "b"]
    whole = NaiveBayes().fit(rows, y)
    parts = NaiveBayes().fit(rows[:2], y[:2]).partial_fit(rows[2:], y[2:])
    stream = NaiveBayes()
    for row, label in zip(rows, y, strict=True):
        stream.learn_one(row, label)
    for model in (parts, stream):
        assert np.array_equal(model.predict_proba(rows), whole.predict_proba(rows))
        assert model.schema_["holds"].tolist() == ["numbers and strings"]
    many = NaiveBayes().fit(np.random.default_rng(0).normal(size=(9000, 1)), np.arange(9000) % 2)
    many.partial_fit([{"0": "text"}], [0])
    assert many.schema_["holds"].tolist() == ["numbers and strings"]


def test_decay_and_half_life():
    model = NaiveBayes().fit(X, Y).decay(0.5)
    np.testing.assert_allclose(model.class_count_, WHOLE.class_count_ / 2)
    batch = NaiveBayes(half_life=10).fit(X, Y)
    steps = NaiveBayes(half_life=10).partial_fit(X[:123], Y[:123]).partial_fit(X[123:], Y[123:])
    stream = NaiveBayes(half_life=10)
    for row, label in zip(records(X), Y, strict=True):
        stream.learn_one(row, label)
    for other in (steps, stream):
        np.testing.assert_allclose(other.class_count_, batch.class_count_, rtol=1e-9)
    assert batch.class_count_.sum() == pytest.approx(1 / (1 - 0.5**0.1), rel=1e-12)


# ---- explanations ----
def test_contributions_add_up():
    e = WHOLE.explain(TEST)
    joint = WHOLE.predict_joint_log_proba(TEST)
    np.testing.assert_allclose(e.base + e.contributions.sum(axis=2), joint, rtol=1e-12)
    assert e.contributions.shape == (200, 2, 5)
    assert len(e.to_frame()) == 200 * 2 * 6
    assert "job" in str(WHOLE.explain_one(records(TEST)[0]))


# ---- bad tables ----


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda t: t.assign(age=np.inf), "column 'age' holds inf"),
        (lambda t: t.drop(columns="job"), r"lacks the column\(s\) \['job'\]"),
        (lambda t: t.assign(age="old"), "row 0, column 'age' holds the string 'old'"),
        (lambda t: t.iloc[:0], r"0 sample\(s\)"),
    ],
)
def test_bad_tables_are_refused(spoil, words):
    with pytest.raises(ValueError, match=words):
        WHOLE.predict(spoil(TEST))
    assert np.array_equal(WHOLE.predict_proba(TEST), EXPECTED)


def test_bernoulli_is_two_levels():
    model = NaiveBayes({"smoker": Bernoulli()}).fit(X, Y)
    assert np.array_equal(model.predict_proba(TEST), EXPECTED)
