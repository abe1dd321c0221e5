"""Decisions by cost are the best of all decisions, in every form that costs and models have."""

import io
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.cases import rows
from estimators.small_table import DATA, WHOLE, Y
from tallybayes import (
    CostClassifier,
    GaussianNB,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
    load,
    open_model,
)
from tallybayes.decisions import CostFigures, Costs
from tallybayes.errors import ModelFileError

X = pd.DataFrame(DATA)
COSTS = {"no": {"no": 0, "yes": 1, "ask": 0.3}, "yes": {"no": 5, "yes": 0, "ask": 0.3}}
FRAME = pd.DataFrame([[0, 1, 0.3], [5, 0, 0.3]], ["no", "yes"], ["no", "yes", "ask"])
NAMED = {"actual": ["no", "yes"], "no": [0, 5], "yes": [1, 0], "ask": [0.3, 0.3]}


# ---- laws ----------------------------------------------------------------------------------------
def some_costs(k, d):
    whole = st.integers(-20, 20).map(float)
    return arrays(np.float64, (k, d), elements=st.one_of(whole, st.floats(-1e3, 1e3)))


@given(st.data(), st.integers(2, 5), st.integers(1, 6), st.integers(1, 8))
def test_no_decision_costs_less_than_the_one_that_is_made(data, k, d, n):
    costs = data.draw(some_costs(k, d))
    shares = data.draw(arrays(np.float64, (n, k), elements=st.floats(0.01, 1.0)))
    proba = shares / shares.sum(axis=1, keepdims=True)
    table = {f"c{c}": {f"d{i}": v for i, v in enumerate(row)} for c, row in enumerate(costs)}
    read = Costs.read(table, np.array([f"c{c}" for c in range(k)]))
    found = read.decide(proba)
    for i in range(n):
        searched = [sum(proba[i, c] * costs[c, j] for c in range(k)) for j in range(d)]
        assert found.decision[i] == f"d{searched.index(min(searched))}"  # of equals the first
        assert found.expected[i].tolist() == pytest.approx(searched, rel=1e-12, abs=1e-9)


@given(some_costs(3, 3), st.lists(st.integers(-50, 50), min_size=3, max_size=3))
def test_what_every_decision_costs_alike_and_a_common_factor_decide_nothing(costs, more):
    costs = np.round(costs)
    proba = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.0, 0.5, 0.5]])  # exact in binary
    labels = np.array(["a", "b", "c"])
    once = Costs.read(costs, labels).decide(proba).decision
    shifted = costs + np.array(more, float)[:, None]
    assert Costs.read(shifted, labels).decide(proba).decision.tolist() == once.tolist()
    assert Costs.read(4.0 * costs, labels).decide(proba).decision.tolist() == once.tolist()


def test_of_equal_costs_the_first_decision_is_made():
    read = Costs.read({"a": {"z": 1, "y": 1}, "b": {"z": 1, "y": 1}}, np.array(["a", "b"]))
    assert read.decide(np.full((3, 2), 0.5)).decision.tolist() == ["z", "z", "z"]


def test_equal_costs_of_all_errors_give_the_most_probable_class():
    for model, x, y in (
        (WHOLE, X, Y),
        (GaussianNB().fit(*rows()), *rows()),
        (WeightedNaiveBayes().fit(X, Y), X, Y),
    ):
        k = len(model.classes_)
        found = model.decide(x, 1.0 - np.eye(k))
        assert np.array_equal(found.decision, model.predict(x))
        assert found.expected == pytest.approx(1.0 - model.predict_proba(x))
        assert model.with_costs(1.0 - np.eye(k)).score(x, y) == pytest.approx(model.score(x, y) - 1)


def test_a_row_alone_is_decided_as_among_others():
    whole = WHOLE.decide(X, COSTS)
    for i in range(0, len(X), 17):
        one = WHOLE.decide(X.iloc[[i]], COSTS)
        assert one.decision[0] == whole.decision[i]
        assert one.expected[0].tolist() == whole.expected[i].tolist()


# ---- known answers -------------------------------------------------------------------------------
def test_two_classes_are_decided_by_the_threshold_of_elkan():
    """Elkan (2001), equation 2: p* = (c10 − c00) / (c10 − c00 + c01 − c11)."""
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])  # of "no" and "yes"
    yes = WHOLE.predict_proba(X)[:, 1]
    decided = WHOLE.decide(X, costs).decision
    assert ((decided == "yes") == (yes > 1.0 / 6.0)).all()
    assert 0 < (decided == "yes").sum() < len(X)


def test_reject_costs_give_the_rule_of_chow():
    """Chow (1970): refer where the largest probability is below 1 − the price of that."""
    costs = {"no": {"no": 0, "yes": 1, "ask": 0.3}, "yes": {"no": 1, "yes": 0, "ask": 0.3}}
    largest = WHOLE.predict_proba(X).max(axis=1)
    decided = WHOLE.decide(X, costs).decision
    assert ((decided == "ask") == (largest < 0.7)).all()
    assert 0 < (decided == "ask").sum() < len(X)


@pytest.mark.parametrize(
    "costs",
    [FRAME, pd.DataFrame(NAMED), pl.DataFrame(NAMED), pa.table(NAMED), FRAME.T.to_dict()],
    ids=["index", "pandas", "polars", "pyarrow", "dict"],
)
def test_costs_are_the_same_in_every_form(costs):
    expected = WHOLE.decide(X, COSTS)
    found = WHOLE.decide(X, costs)
    assert np.array_equal(found.decision, expected.decision)
    assert np.array_equal(found.expected, expected.expected)


def test_numbered_classes_are_told_from_numbered_rows():
    x, y = rows(classes=(0, 1))
    model = GaussianNB().fit(x, y)
    expected = model.decide(x, [[0, 5], [1, 0]])
    for frame in (
        pd.DataFrame([[0, 5], [1, 0]]),  # whose first column could be the classes, but for its name
        pd.DataFrame({"actual": [0, 1], "0": [0, 1], "1": [5, 0]}),
        pd.DataFrame({"actual": [1, 0], "0": [1, 0], "1": [0, 5]}),
        pd.DataFrame({0: [1, 0], 1: [0, 5]}, index=[1, 0]),
    ):
        found = model.decide(x, frame)
        assert np.array_equal(found.decision, expected.decision)
        assert np.array_equal(found.expected, expected.expected)


def test_decisions_that_are_classes_keep_the_type_of_the_labels():
    x, y = rows(classes=(3, 7))
    model = GaussianNB().fit(x, y)
    by_number = model.decide(x, {3: {3: 0, 7: 2}, 7: {3: 1, 7: 0}})
    by_text = model.decide(x, {"3": {"3": 0, "7": 2}, "7": {"3": 1, "7": 0}})
    assert by_number.decision.dtype.kind == by_text.decision.dtype.kind == "i"
    assert np.array_equal(by_number.decision, by_text.decision)
    mixed = model.decide(x, {3: {3: 0, 7: 2, "ask": 0.1}, 7: {3: 1, 7: 0, "ask": 0.1}}).decision
    assert set(mixed.tolist()) <= {3, 7, "ask"}
    assert "ask" in mixed.tolist()


def test_what_decisions_cost_is_added_up():
    costs = Costs.read(COSTS, np.array(["no", "yes"]))
    figures = CostFigures(costs)
    proba = np.array([[0.99, 0.01], [0.1, 0.9], [0.5, 0.5], [0.1, 0.9], [0.5, 0.5]])
    figures.add(np.array([1, 1, 0, 0, -1]), proba, np.array([1.0, 2.0, 3.0, 4.0, 9.0]))
    assert costs.decide(proba).decision.tolist() == ["no", "yes", "ask", "yes", "ask"]
    assert figures.cost == pytest.approx((1 * 5 + 2 * 0 + 3 * 0.3 + 4 * 1) / 10)
    assert figures.referred == pytest.approx(3 / 10)
    assert figures.error == pytest.approx((1 + 4) / 7)
    assert figures.shares.tolist() == pytest.approx([0.1, 0.6, 0.3])
    assert figures.always.tolist() == pytest.approx([5 * 0.3, 0.7, 0.3])
    assert (figures.rows, figures.unpriced) == (5, 1)
    each = np.array([5.0, 0.0, 0.3, 1.0])
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    spread = np.average((each - figures.cost) ** 2, weights=weight)
    assert figures.cost_se == pytest.approx(np.sqrt(spread * (weight**2).sum()) / weight.sum())


# ---- the classifier ------------------------------------------------------------------------------
def test_a_classifier_with_costs_decides_as_its_model_does():
    decided = WHOLE.with_costs(COSTS)
    assert np.array_equal(decided.predict(X), WHOLE.decide(X, COSTS).decision)
    assert np.array_equal(decided.predict_proba(X), WHOLE.predict_proba(X))
    assert decided.decisions_.tolist() == ["no", "yes", "ask"]
    assert decided.classes_.tolist() == ["no", "yes"]
    assert decided.feature_names_in_.tolist() == list(X.columns)
    costs = Costs.read(COSTS, WHOLE.classes_).values
    place = {"no": 0, "yes": 1, "ask": 2}
    of_rows = [costs[place[a], place[d]] for a, d in zip(Y, decided.predict(X), strict=True)]
    assert decided.score(X, Y) == pytest.approx(-np.mean(of_rows))
    weights = np.linspace(0.5, 2.0, len(Y))
    assert decided.score(X, Y, weights) == pytest.approx(-np.average(of_rows, weights=weights))


def test_a_classifier_with_costs_is_an_estimator_of_scikit_learn():
    made = clone(WHOLE.with_costs(COSTS)).fit(X, Y)
    assert np.array_equal(made.predict(X), WHOLE.decide(X, COSTS).decision)
    x, y = rows(classes=("no", "yes"))
    pipeline = make_pipeline(StandardScaler(), CostClassifier(GaussianNB(), COSTS)).fit(x, y)
    assert set(pipeline.predict(x)) <= {"no", "yes", "ask"}
    scores = cross_val_score(CostClassifier(GaussianNB(), COSTS), x, y, cv=3)
    assert (scores <= 0.0).all()
    found = GridSearchCV(
        CostClassifier(NaiveBayes(), COSTS), {"estimator__alpha": [0.1, 1.0]}, cv=3
    ).fit(X, Y)
    assert found.best_estimator_.estimator_.alpha in (0.1, 1.0)
    of_another = CostClassifier(LogisticRegression(), COSTS).fit(x, y)
    assert not hasattr(of_another, "to_sql")
    assert set(of_another.predict(x)) <= {"no", "yes", "ask"}
    assert np.array_equal(pickle.loads(pickle.dumps(made)).predict(X), made.predict(X))


def test_it_learns_and_forgets_as_its_model_and_a_refused_call_changes_nothing():
    first, rest = slice(0, 70), slice(70, None)
    made = CostClassifier(NaiveBayes(), COSTS).partial_fit(X.iloc[first], Y[first])
    made.partial_fit(X.iloc[rest], Y[rest])
    assert made.estimator_.tally_ == WHOLE.tally_
    with pytest.raises(ValueError, match="the class 'maybe' has none"):
        made.partial_fit(X.iloc[:1], ["maybe"])
    assert made.estimator_.tally_ == WHOLE.tally_
    made.forget(X.iloc[rest], Y[rest])
    assert made.estimator_.tally_ == NaiveBayes().fit(X.iloc[first], Y[first]).tally_
    unchanged = WHOLE.tally_
    WHOLE.with_costs(COSTS).partial_fit(X, Y)
    assert WHOLE.tally_ == unchanged


def test_a_file_holds_the_costs_with_the_model(tmp_path):
    path = tmp_path / "model.tally"
    for model, x in ((WHOLE, X), (GaussianNB().fit(*rows(classes=("no", "yes"))), rows()[0])):
        decided = model.with_costs(FRAME)
        decided.save(path)
        again = load(path)
        assert isinstance(again, CostClassifier)
        assert np.array_equal(again.predict(x), decided.predict(x))
        assert again.estimator_ == model
        again.save(path)
        assert np.array_equal(load(path).predict(x), decided.predict(x))
    WHOLE.with_costs(COSTS).save(path)
    file = open_model(str(path))
    assert file.decisions().decisions == ["no", "yes", "ask"]
    assert np.array_equal(file.classifier.predict(X), WHOLE.decide(X, COSTS).decision)
    held = io.BytesIO()
    WHOLE.with_costs(COSTS).save(held)
    held.seek(0)
    assert np.array_equal(load(held).predict(X), WHOLE.decide(X, COSTS).decision)
    documents = ["good day", "bad day", "good night", "bad night"] * 5
    text = TextNB().fit(documents, ["no", "yes", "no", "yes"] * 5).with_costs(COSTS)
    text.save(path)
    assert np.array_equal(load(path).predict(documents), text.predict(documents))
    assert open_model(str(path)).decisions().decisions == ["no", "yes", "ask"]


def test_costs_that_a_file_cannot_have_are_found(tmp_path, monkeypatch):
    from tallybayes.estimators import saving

    path = tmp_path / "model.tally"
    monkeypatch.setattr(saving, "costs_by_name", lambda costs, classes: {"no": {"no": 0.0}})
    WHOLE.with_costs(COSTS).save(path)
    with pytest.raises(ModelFileError, match="the class 'yes' has none"):
        load(path)


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
@pytest.mark.parametrize("costs", [COSTS, {"no": {"no": 0, "yes": 1}, "yes": {"no": 9, "yes": 0}}])
def test_sql_decides_as_predict_does(kind, costs):
    decided = kind().fit(X, Y).with_costs(costs)
    with duckdb.connect() as db:
        db.register("people", pa.Table.from_pandas(X))
        found = db.sql(decided.to_sql("people")).to_arrow_table()
    assert found["prediction"].to_pylist() == decided.predict(X).tolist()
    assert found["p(yes)"].to_numpy() == pytest.approx(decided.predict_proba(X)[:, 1])


def test_sql_has_decisions_of_several_types_as_text_and_null_for_what_is_refused():
    x, y = rows(classes=(3, 7, 9))
    frame = pd.DataFrame(x, columns=list("abcd"))
    costs = {c: {**{d: float(c != d) for d in (3, 7, 9)}, "ask": 0.4} for c in (3, 7, 9)}
    decided = NaiveBayes().fit(frame, y).with_costs(costs)
    frame.loc[0, "a"] = np.inf
    with duckdb.connect() as db:
        db.register("t", frame)
        found = db.sql(decided.to_sql("t")).fetchall()
    assert found[0][0] is None
    assert [row[0] for row in found[1:]] == [str(d) for d in decided.predict(frame.iloc[1:])]


def test_the_report_states_what_decisions_cost():
    pytest.importorskip("jinja2")
    report = WHOLE.with_costs(COSTS).report(X, Y, learned=False)
    shown = report.data["decisions"]
    assert shown["cost"] == pytest.approx(-WHOLE.with_costs(COSTS).score(X, Y), rel=1e-6)
    assert [name for name, _, _ in shown["each"]] == ["no", "yes", "ask"]
    assert sum(share for _, share, _ in shown["each"]) == pytest.approx(1.0)
    assert WHOLE.report(X, Y, learned=False).data["decisions"] is None


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (np.eye(3), r"\(2, 2\) for these 2 classes, got the shape \(3, 3\)"),
        (np.zeros((2, 3)), "Other decisions need names"),
        ([[0, 1], [np.nan, 0]], "'no' costs nan in the class 'yes'. Give it a price"),
        ([[0, np.inf], [1, 0]], "'yes' costs inf in the class 'no'"),
        ({"no": {"no": 0, "yes": 1}, "yes": {"no": 5}}, "'yes' costs None in the class 'yes'"),
        ({"no": {"no": 0, "yes": "one"}, "yes": {"no": 5, "yes": 0}}, "'yes' costs 'one'"),
        ({"no": {"no": 0, "yes": 1}}, "the class 'yes' has none; there are rows for 'no'"),
        ({"no": {"no": 0}, "yse": {"no": 1}}, "'yse'.*Did you mean 'yse'"),
        ({"no": 3, "yes": 4}, "give each class a mapping of decisions to costs.*'no' has 3"),
        ({"no": {}, "yes": {}}, "costs name no decision"),
        (FRAME.iloc[:, [0, 0]], "name the decision 'no' twice"),
        (pd.concat([FRAME, FRAME]), "name the class 'no' twice"),
        (FRAME.iloc[:1], "the class 'yes' has none"),
        ({"act": {"no": 1, "yes": 0}, "ask": {"no": 1, "yes": 1}}, "are the classes: transpose it"),
        (None, "got the shape"),
    ],
)
def test_costs_that_cannot_be_read_say_what_is_wrong(costs, message):
    with pytest.raises(ValueError, match=message):
        WHOLE.decide(X, costs)
    with pytest.raises(ValueError, match=message):
        WHOLE.with_costs(costs)
    made = CostClassifier(NaiveBayes(), costs)
    with pytest.raises(ValueError, match=message):
        made.fit(X, Y)
    assert "estimator_" not in vars(made)


def test_labels_that_have_no_costs_and_models_that_are_not_fitted_are_refused():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        CostClassifier(NaiveBayes(), COSTS).predict(X)
    with pytest.raises(ValueError, match="maybe"):
        WHOLE.with_costs(COSTS).score(X.iloc[:2], ["no", "maybe"])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "2 samples|inconsistent|shape"),
        ([1.0, np.nan], "NaN"),
        ([1.0, -2.0], r"sample_weight\[1\] is -2"),
    ],
)
def test_weights_that_are_not_one_a_row_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        WHOLE.with_costs(COSTS).score(X.iloc[:2], ["no", "yes"], weights)
