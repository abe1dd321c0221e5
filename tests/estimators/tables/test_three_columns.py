"""Three columns together: a rule that no pair of columns holds."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from tallybayes import WeightedNaiveBayes, leave_one_out, load
from tallybayes.errors import StaleWarning
from tallybayes.plots import NomogramDisplay, TermDisplay

NAMES = ["a", "b", "c", "d"]


def rows_of_a_rule(n=900, seed=0):
    """A number, and levels of which three decide the label nine times in ten, where pairs say
    less; some are missing."""
    rng = np.random.default_rng(seed)
    yes = rng.integers(0, 2, (n, 4))
    table = pd.DataFrame(np.where(yes, "yes", "no"), columns=NAMES).astype(object)
    table = table.mask(rng.random(table.shape) < 0.02)
    table["x"] = rng.normal(size=n)
    y = np.where(yes[:, :3].all(axis=1) | (yes[:, 3] & (table["x"] > 1.0)), "all", "not all")
    swapped = rng.random(n) < 0.02
    return table, np.where(swapped, "not all", y)


@pytest.fixture(scope="module")
def rows():
    return rows_of_a_rule(), rows_of_a_rule(seed=1)


@pytest.fixture(scope="module")
def model(rows):
    (X, y), _ = rows
    return WeightedNaiveBayes().fit(X, y)


def of_three(model):
    return [columns for columns in model.interactions_ if len(columns) == 3]


def test_three_columns_have_a_table(rows, model):
    _, (fresh, labels) = rows
    assert {frozenset(columns) for columns in of_three(model)} >= {frozenset("abc")}
    assert model.score(fresh, labels) > 0.96
    columns = of_three(model)[0]
    table = model.tables_[columns]
    assert list(table.columns) == [*columns, "all", "not all"]
    yes = (table[list(columns)] == "yes").all(axis=1)
    assert table.loc[yes, "all"].item() == table["all"].max() > 0.0


def test_all_ways_to_predict_say_the_same(rows, model):
    _, (fresh, _) = rows
    expected = model.predict_proba(fresh)
    explained = model.explain(fresh)
    total = explained.base + explained.contributions.sum(axis=2)
    np.testing.assert_allclose(total, model.predict_joint_log_proba(fresh))
    for i in range(40):
        row = {k: v for k, v in fresh.iloc[i].to_dict().items() if v == v}
        one = model.predict_proba_one(row)
        np.testing.assert_allclose([one[c] for c in model.classes_], expected[i], atol=1e-12)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict_proba(fresh), expected)


def test_a_file_holds_them(rows, model, tmp_path):
    _, (fresh, _) = rows
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(fresh), model.predict_proba(fresh))
    assert again.interactions_ == model.interactions_


def test_rows_that_come_and_go_leave_no_trace(rows):
    (X, y), (fresh, labels) = rows
    model = WeightedNaiveBayes().fit(X, y)
    said = model.predict_joint_log_proba(fresh)
    new = fresh[:30].assign(a=fresh["a"][:30].where(np.arange(30) % 2 == 0, "perhaps"))
    model.partial_fit(new, labels[:30])
    with pytest.warns(StaleWarning):
        assert np.isfinite(model.predict_joint_log_proba(new)).all()
    model.forget(new, labels[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        np.testing.assert_allclose(model.predict_joint_log_proba(fresh), said)
        without = leave_one_out(model, X[:50], y[:50])
    np.testing.assert_allclose(np.exp(without).sum(axis=1), 1.0)


def test_the_order_of_rows_and_columns_does_not_matter(rows, model):
    (X, y), (fresh, _) = rows
    order = np.random.default_rng(0).permutation(len(y))
    other = WeightedNaiveBayes().fit(X.iloc[order, ::-1], y[order])
    said = other.predict_proba(fresh[X.columns[::-1]])
    np.testing.assert_allclose(said, model.predict_proba(fresh), rtol=1e-12)


def test_none_where_no_interactions_are_asked_for(rows):
    (X, y), _ = rows
    assert WeightedNaiveBayes(interactions=0).fit(X, y).interactions_ == []
    for most in (1, 2):
        assert len(WeightedNaiveBayes(interactions=most).fit(X, y).interactions_) <= most


def test_they_are_shown(rows, model):
    (X, y), _ = rows
    columns = of_three(model)[0]
    assert "triple" in model.summary()
    display = TermDisplay.from_estimator(model, columns[::-1], label="all")
    assert display.columns == (columns[2], " × ".join(columns[1::-1]))
    table = model.tables_[columns]
    [cell] = np.flatnonzero((table[list(columns)] == "yes").all(axis=1))
    across = display.cells[1].index("yes × yes")
    nats = display.nats[display.cells[0].index("yes"), across]
    assert nats == pytest.approx(table["all"].iloc[cell] - table["not all"].iloc[cell])
    NomogramDisplay.from_estimator(model, X)
    assert list(columns) in model.report(X, y).data["pairs"]


def test_what_a_column_adds_has_a_third_of_it(model):
    adds = dict(zip([*NAMES, "x"], model.feature_importances_, strict=True))
    assert min(adds[name] for name in "abc") > 0.0
