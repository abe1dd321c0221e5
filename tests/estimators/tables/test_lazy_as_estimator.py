"""LazyNaiveBayes has what code for scikit-learn asks of a classifier that needs no fit."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer

from tallybayes import LazyNaiveBayes, NaiveBayes

ROWS = pd.DataFrame({"x": list("aabbab") * 5, "z": list("uvuvvv") * 5})
Y = np.array(list("ppqqpp") * 5)
SOURCE = ROWS.assign(y=Y)


def test_score_is_the_share_of_right_labels():
    model = LazyNaiveBayes(SOURCE, "y")
    right = model.predict(ROWS) == Y
    assert model.score(ROWS, Y) == right.mean()
    weight = np.arange(1.0, len(Y) + 1)
    assert model.score(ROWS, Y, sample_weight=weight) == np.average(right, weights=weight)
    few = model.score(ROWS, Y, where="x = 'a'")
    assert few == (model.predict(ROWS, where="x = 'a'") == Y).mean() != model.score(ROWS, Y)
    assert get_scorer("accuracy")(model, ROWS, Y) == model.score(ROWS, Y)


def test_parameters_come_back_as_given_and_can_be_set():
    model = LazyNaiveBayes(SOURCE, "y", alpha=2)
    given = model.get_params()
    assert given["source"] is SOURCE
    assert (given["target"], given["alpha"], given["columns"]) == ("y", 2, None)
    changed = model.set_params(alpha=0.5, columns={"z": None})
    assert changed is model
    expected = NaiveBayes(alpha=0.5, columns={"z": None}).fit(ROWS, Y)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)
    model.set_params(source=SOURCE[:6])
    assert model.predict(ROWS).shape == (30,)
    assert model.class_count_.sum() == 6.0


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"alpha": -1.0}, ValueError),
        ({"target": 3}, TypeError),
        ({"source": 3}, TypeError),
        ({"columns": {"x": "gauss"}}, (TypeError, ValueError)),
        ({"colour": 1}, ValueError),
    ],
)
def test_after_refused_parameters_the_others_stay(bad, error):
    model = LazyNaiveBayes(SOURCE, "y")
    with pytest.raises(error):
        model.set_params(missing="level", **bad)
    assert model.missing == "ignore"
    assert (
        model.predict(ROWS[:1]).tolist() == LazyNaiveBayes(SOURCE, "y").predict(ROWS[:1]).tolist()
    )


def test_a_clone_asks_the_same_source_by_the_same_connection():
    connection = duckdb.connect()
    connection.register("source_frame", SOURCE)
    connection.sql("CREATE TABLE days AS SELECT * FROM source_frame")
    model = LazyNaiveBayes("days", "y", connection=connection, where=("x = ?", ["a"]))
    twin = clone(model)
    assert twin is not model
    assert twin.connection is connection
    assert {k: v for k, v in twin.get_params().items() if v is not model.get_params()[k]} == {}
    np.testing.assert_array_equal(twin.predict_proba(ROWS), model.predict_proba(ROWS))
    assert clone(LazyNaiveBayes(SOURCE, "y")).source is SOURCE


def test_it_is_a_classifier_that_needs_no_fit():
    model = LazyNaiveBayes(SOURCE, "y")
    assert is_classifier(model)
    assert repr(model) == "LazyNaiveBayes(DataFrame, 'y')"
    assert not hasattr(model, "fit")
