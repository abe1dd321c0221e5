"""Declared levels: the sets A_j of values that each column can take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimators.cases import LAYOUTS, assert_same_counts, refused
from tallybayes import CategoricalNB
from tallybayes.errors import UnseenLevel

WEATHER = [["sun", "rain", "snow"], ["calm", "wind"]]
DAYS = [["sun", "calm"], ["rain", "wind"], ["rain", "calm"], ["sun", "wind"], ["sun", "calm"]]
PLANS = ["out", "in", "in", "out", "out"]


def as_object(days):
    return np.array(days, dtype=object)


def as_pandas(days):
    return pd.DataFrame(days, columns=["sky", "air"])


def as_polars(days):
    return pl.DataFrame(days, schema=["sky", "air"], orient="row")


HOLDERS = {"list": list, "array": np.array, "object": as_object, "pandas": as_pandas}
HOLDERS["polars"] = as_polars


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_declared_levels_are_counted_in_the_order_of_their_declaration(holder):
    model = CategoricalNB(levels=WEATHER).fit(holder(DAYS), PLANS)
    sky, air = model.category_count_
    assert sky.tolist() == [[0, 2, 0], [3, 0, 0]]  # classes "in", "out"; levels sun, rain, snow
    assert air.tolist() == [[1, 1], [2, 1]]
    assert model.n_categories_.tolist() == [3, 2]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]).sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(
        np.exp(model.feature_log_prob_[0]), [[1 / 5, 3 / 5, 1 / 5], [4 / 6, 1 / 6, 1 / 6]]
    )
    assert model.predict(holder([["sun", "wind"], ["snow", "wind"]])).tolist() == ["out", "in"]


def test_declared_levels_are_the_same_model_as_their_codes():
    codes = np.array([[WEATHER[j].index(v) for j, v in enumerate(day)] for day in DAYS])
    by_value = CategoricalNB(levels=WEATHER).fit(DAYS, PLANS)
    by_code = CategoricalNB(min_categories=[3, 2]).fit(codes, PLANS)
    assert_same_counts(by_value, by_code)
    assert by_value.predict_proba(DAYS).tolist() == by_code.predict_proba(codes).tolist()


def test_columns_of_different_types_can_be_declared():
    frame = pd.DataFrame({"size": [1.5, 2.5, 2.5], "n": [3, 4, 3], "ok": [True, False, True]})
    levels = [[1.5, 2.5], [3, 4], [False, True]]
    model = CategoricalNB(levels=levels).fit(frame, ["a", "b", "b"])
    assert [column.tolist() for column in model.category_count_] == [
        [[1, 0], [0, 2]],
        [[1, 0], [1, 1]],
        [[0, 1], [1, 1]],
    ]


def test_a_row_of_different_types_can_be_a_list():
    """A nested list with a string makes NumPy turn every number into a string."""
    model = CategoricalNB(levels=[["sun", "rain"], [0, 1]])
    model.fit([["sun", 0], ["rain", 1]], ["out", "in"])
    assert model.predict([["sun", 0]]).tolist() == ["out"]


def test_levels_of_different_types_can_be_declared_for_one_column():
    x = np.array([[1], ["a"], [1]], dtype=object)
    model = CategoricalNB(levels=[[1, "a"]]).fit(x, [0, 1, 0])
    assert model.category_count_[0].tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize("unseen", ["smooth", "ignore", "error"])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "forget"])
def test_training_refuses_a_value_that_is_not_declared(learn, unseen):
    model = CategoricalNB(levels=WEATHER, unseen=unseen).fit(DAYS, PLANS)
    wrong = [*DAYS[:3], ["sun", "storm"]]
    with refused(UnseenLevel, r"row 3, column 1 holds 'storm'.*'calm', 'wind'.*declare it", model):
        getattr(model, learn)(wrong, PLANS[:4])


def test_an_undeclared_value_in_a_frame_is_named_by_its_column():
    model = CategoricalNB(levels=WEATHER, unseen="error").fit(as_pandas(DAYS), PLANS)
    with refused(UnseenLevel, r"row 0, column 1 \('air'\) holds 'storm'", model):
        model.predict(as_pandas([["sun", "storm"]]))


def test_predicting_an_undeclared_value_follows_unseen():
    smooth = CategoricalNB(levels=WEATHER).fit(DAYS, PLANS)
    ignore = CategoricalNB(levels=WEATHER, unseen="ignore").fit(DAYS, PLANS)
    refuse = CategoricalNB(levels=WEATHER, unseen="error").fit(DAYS, PLANS)
    query = [["fog", "calm"]]
    table = {"in": (2, 5, 2 / 4), "out": (3, 6, 3 / 5)}  # rows, n + 3α, P(calm)
    for k, (rows_of, total, calm) in enumerate(table.values()):
        prior = np.log(rows_of / 5) + np.log(calm)
        assert smooth.predict_joint_log_proba(query)[0, k] == pytest.approx(
            prior + np.log(1 / total), rel=1e-14
        )
        assert ignore.predict_joint_log_proba(query)[0, k] == pytest.approx(prior, rel=1e-14)
    with refused(UnseenLevel, "row 0, column 0 holds 'fog'", refuse):
        refuse.predict(query)


@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "NaN"])
@pytest.mark.parametrize("unseen", ["smooth", "error"])
def test_a_missing_value_is_no_unseen_level(missing, unseen):
    """NaN is refused everywhere else; taken for a level, it would be scored without a word."""
    model = CategoricalNB(levels=WEATHER, unseen=unseen).fit(DAYS, PLANS)
    query = np.array([["sun", "calm"], [missing, "calm"]], dtype=object)
    with refused(ValueError, "row 1, column 0", model):
        model.predict(query)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_declared_levels_refuse_sparse_rows(layout):
    x = LAYOUTS[layout](np.eye(2))
    with refused(
        TypeError, r"[Ss]parse.*X\.toarray\(\)", model := CategoricalNB(levels=[[0, 1]] * 2)
    ):
        model.fit(x, [0, 1])


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([["sun"]], "levels declares 1 columns, X has 2"),
        ([*WEATHER, ["x"]], "levels declares 3 columns, X has 2"),
        ([["sun", "rain"], []], r"levels\[1\] must be a list of at least one value"),
        ([["sun", "rain", "sun"], ["calm", "wind"]], r"levels\[0\] declares a value twice"),
        ([["sun", "rain"], "calm"], r"levels\[1\] must be a list"),
        ([["sun", "rain"], [["calm"], ["wind"]]], r"levels\[1\] must be a list"),
        ("ab", "levels"),
        (7, "levels"),
    ],
    ids=str,
)
def test_declarations_that_do_not_fit_are_refused(levels, message):
    model = CategoricalNB(levels=levels)
    with refused(ValueError, message, model):
        model.fit(DAYS, PLANS)
