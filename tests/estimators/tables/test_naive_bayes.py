"""NaiveBayes: one classifier for a table."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import NegativeTally, UnseenLevel
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth


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


def same(model, query=TEST):
    assert np.array_equal(model.predict_proba(query), EXPECTED)
    assert model.schema_.equals(WHOLE.schema_)


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


# ---- the same model, however the rows come ----
def test_batches_of_any_size():
    for size in (1, 37, 250):
        model = NaiveBayes()
        for i in range(0, len(X), size):
            model.partial_fit(X.iloc[i : i + size], Y[i : i + size])
        same(model)


def test_order_of_rows_and_columns():
    order = np.random.default_rng(3).permutation(len(X))
    model = NaiveBayes().fit(X.iloc[order], Y[order])
    assert np.array_equal(model.predict_proba(TEST), EXPECTED)
    turned = NaiveBayes().fit(X[X.columns[::-1]], Y)
    np.testing.assert_allclose(turned.predict_proba(TEST), EXPECTED, rtol=1e-12)
    assert np.array_equal(WHOLE.predict_proba(TEST[TEST.columns[::-1]]), EXPECTED)


def test_parts_merged_and_one_row_at_a_time():
    parts = [NaiveBayes().fit(X.iloc[i::5], Y[i::5]) for i in (3, 0, 4, 1, 2)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    same(total)
    stream = NaiveBayes()
    for row, label in zip(records(X), Y, strict=True):
        stream.learn_one(row, label)
    same(stream)


@pytest.mark.parametrize(
    "frame",
    [
        pl.from_pandas,
        pa.Table.from_pandas,
        records,
        lambda t: t.astype({"job": "category", "smoker": object}),
        lambda t: t.astype({"age": "float64", "visits": "int16"}),
    ],
    ids=["polars", "pyarrow", "dicts", "category", "widths"],
)
def test_frames_and_types(frame):
    model = NaiveBayes().fit(frame(X), Y)
    assert np.array_equal(model.predict_proba(frame(TEST)), EXPECTED)


def test_forget_undoes_learn():
    more, labels = people(100, seed=7)
    model = NaiveBayes().fit(X, Y).partial_fit(more, labels).forget(more, labels)
    np.testing.assert_allclose(model.predict_proba(TEST), EXPECTED, rtol=1e-9)
    model.learn_one(records(more)[0], labels[0]).forget_one(records(more)[0], labels[0])
    np.testing.assert_allclose(model.predict_proba(TEST), EXPECTED, rtol=1e-9)
    before = model.tally_
    with pytest.raises(NegativeTally, match="more than was counted"):
        model.forget(more.assign(job="astronaut"), labels)
    assert model.tally_ == before


def test_weight_two_is_two_rows():
    twice = NaiveBayes().fit(pd.concat([X, X]), np.r_[Y, Y])
    weighted = NaiveBayes().fit(X, Y, np.full(len(X), 2.0))
    counts = [model.tally_.classes.count.tolist() for model in (twice, weighted)]
    assert counts[0] == counts[1]
    # what is chosen is what rows of weight 1 choose: a row of weight 2 is one row
    families = [m.schema_["family"].tolist() for m in (NaiveBayes().fit(X, Y), weighted)]
    assert families[0] == families[1]


def test_saved_pickled_and_copied(tmp_path):
    WHOLE.save(tmp_path / "m")
    same(tallybayes.load(tmp_path / "m"))
    same(pickle.loads(pickle.dumps(WHOLE)))
    same(copy.deepcopy(WHOLE))
    declared = NaiveBayes({"age": Gaussian(ddof=1), "job": None}).fit(X, Y)
    declared.save(tmp_path / "m")
    again = tallybayes.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(TEST), declared.predict_proba(TEST))


# ---- families ----
def test_homogeneous_columns_are_the_five_classifiers():
    """Same families and kernels: equal to 1e-12."""
    x, y = load_wine(return_X_y=True)
    columns = {str(j): Gaussian(var_smoothing=0.0) for j in range(x.shape[1])}
    table = NaiveBayes(columns, class_alpha=0.0).fit(x, y)
    alone = tallybayes.GaussianNB(var_smoothing=0.0).fit(x, y)
    np.testing.assert_allclose(table.predict_proba(x), alone.predict_proba(x), atol=1e-12)
    codes = np.random.default_rng(0).integers(0, 4, (200, 3))
    label = codes[:, 0] % 2
    table = NaiveBayes({str(j): Categorical() for j in range(3)}, class_alpha=0.0)
    table.fit(codes, label)
    alone = tallybayes.CategoricalNB().fit(codes, label)
    np.testing.assert_allclose(table.predict_proba(codes), alone.predict_proba(codes), atol=1e-12)


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
def test_odd_columns():
    n = len(X)
    odd = X.assign(empty=None, constant=1, key=[f"id{i}" for i in range(n)])
    model = NaiveBayes().fit(odd, Y)
    with pytest.warns(UserWarning, match="column 'key' is left out"):
        schema = model.schema_
    schema = schema.set_index("column")
    assert schema.loc["empty", "why"] == "no value was seen"
    assert schema.loc["key", "family"] == "left out"
    wide = TEST.assign(empty=None, constant=1, key="id1")
    np.testing.assert_allclose(model.predict_proba(wide), EXPECTED, rtol=1e-9)
    assert np.array_equal(WHOLE.predict_proba(TEST.assign(extra=1)), EXPECTED)


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
    same(WHOLE)


def test_a_target_with_gaps_is_refused():
    for labels in ([None, *Y[1:]], [np.nan, *([0.0] * (len(Y) - 1))]):
        with pytest.raises(ValueError, match=r"NaN|label"):
            NaiveBayes().fit(X, np.array(labels, dtype=object))


def test_a_class_with_one_row_and_many_levels():
    y = Y.copy()
    y[0] = "once"
    model = NaiveBayes().fit(X.assign(code=[f"c{i // 2}" for i in range(len(X))]), y)
    assert np.isfinite(model.predict_proba(TEST.assign(code="c1"))).all()


def test_in_scikit_learn():
    assert cross_val_score(NaiveBayes(), X, Y, cv=3).mean() > 0.7
    search = GridSearchCV(NaiveBayes(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["alpha"] in (0.1, 1.0)


def test_bernoulli_is_two_levels():
    model = NaiveBayes({"smoker": Bernoulli()}).fit(X, Y)
    assert np.array_equal(model.predict_proba(TEST), EXPECTED)
