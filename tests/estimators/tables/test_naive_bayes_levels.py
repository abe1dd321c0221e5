"""Levels: those that are declared, odd ones, and a class of a single row."""

from __future__ import annotations

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.base import clone

from tallybayes import NaiveBayes, load
from tallybayes.errors import UnseenLevel
from tallybayes.families import Categorical, Dirichlet, Gaussian, Multinomial, Poisson


# ---- declared ------------------------------------------------------------------------------------
def test_levels_are_kept_as_a_tuple():
    given = (
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        pd.Index(["a", "b"]),
        dict.fromkeys("ab"),
    )
    families = [Categorical(levels=levels) for levels in given]
    assert {f.levels for f in families} == {("a", "b")}
    assert len(set(families)) == 1
    assert clone(NaiveBayes({"x": families[0]})).columns == {"x": families[1]}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (["a", "a"], "'a' twice"),
        ([1, 1.0], "twice"),
        ([], "empty"),
        ("abc", "a list of the values"),
        (3, "a list of the values"),
        ([None, "a"], "a missing value"),
        ([float("nan"), 1], "a missing value"),
        ([pd.NA, 1], "a missing value"),
        ([[1], [2]], "not a number, string, boolean or date"),
    ],
)
def test_levels_that_cannot_be_declared(levels, words):
    with pytest.raises(ValueError, match=words):
        Categorical(levels=levels)


def test_levels_that_are_one_level_of_a_table():
    with pytest.raises(ValueError, match=r"the level '1' twice.*name each once"):
        NaiveBayes({"x": Categorical(levels=["1", 1])}).fit([{"x": 1}], [0])
    NaiveBayes({"x": Categorical(levels=[True, 1])}).fit([{"x": 1}, {"x": True}], [0, 1])


def test_declared_levels_are_named_as_tables_name_them():
    levels = [1, 2.0, True, "x", 0.5, datetime.date(2020, 1, 2), decimal.Decimal("7.0"), 2**60 + 1]
    names = ["1", "2", "True", "x", "0.5", "2020-01-02", "7", str(2**60 + 1)]
    model = NaiveBayes({"x": Categorical(levels=levels)})
    model.fit([{"x": value} for value in levels], [i % 2 for i in range(8)])
    assert model.tally_.schema.groups[0].levels[0].tolist() == names
    by_name = model.predict_proba([{"x": name} for name in names])
    assert np.array_equal(by_name, model.predict_proba([{"x": value} for value in levels]))
    for value, expected in zip(levels, by_name, strict=True):
        assert list(model.predict_proba_one({"x": value}).values()) == pytest.approx(expected)
    for value in levels:
        model.learn_one({"x": value}, 0)
    assert model.tally_.groups[0].counts.sum(axis=0).tolist() == [2.0] * 8
    with pytest.raises(UnseenLevel):
        model.learn_one({"x": 2**60}, 0)


# ---- odd numbers ---------------------------------------------------------------------------------
NEAR = [2**60, 2**60 + 1, None, 2**60 + 1]


def near_frames():
    yield "dicts", [{"x": v} for v in NEAR]
    yield "pandas", pd.DataFrame({"x": pd.array(NEAR, dtype="Int64")})
    yield "objects", pd.DataFrame({"x": pd.Series(NEAR, dtype=object)})
    yield "polars", pl.DataFrame({"x": NEAR})
    yield "pyarrow", pa.table({"x": NEAR})
    yield "no missing values", pd.DataFrame({"x": np.array([2**60, *[2**60 + 1] * 3])})
    yield "unsigned", pl.DataFrame({"x": [2**63, 2**63 + 1, None, 2**63 + 1]}, {"x": pl.UInt64})


@pytest.mark.parametrize("frame", [x for _, x in near_frames()], ids=[n for n, _ in near_frames()])
def test_large_whole_numbers_stay_apart_as_levels(frame):
    model = NaiveBayes({"x": Categorical()}).fit(frame, [0, 1, 1, 1])
    assert model.schema_["family"].tolist() == ["categorical, 2 levels"]
    assert model.predict(frame).tolist()[:2] == [0, 1]
    first = int(model.tally_.schema.groups[0].levels[0][0])
    assert first in (2**60, 2**63)
    assert [model.predict_one({"x": first}), model.predict_one({"x": first + 1})] == [0, 1]
    model.learn_one({"x": first + 1}, 1)
    assert model.schema_["family"].tolist() == ["categorical, 2 levels"]


def test_large_whole_numbers_among_texts():
    """Numbers do not distinguish them, so that all of them are one level; as levels they differ."""
    rows = [{"x": v} for v in (2**60, 2**60 + 1, "a", "b")]
    levels = NaiveBayes().fit(rows, [0, 1, 1, 0])
    assert levels.schema_["family"].tolist() == ["categorical, 3 levels"]
    for row in (rows[0], {"x": 2**61}, {"x": 7}):
        assert levels.predict_proba_one(row) == levels.predict_proba_one(rows[1])
    declared = NaiveBayes({"x": Categorical()}).fit(rows, [0, 1, 1, 0])
    assert declared.schema_["family"].tolist() == ["categorical, 4 levels"]


TOO_LARGE = [10**400, -(10**400), 10**5000, fractions.Fraction(10**400), decimal.Decimal("sNaN")]


@pytest.mark.parametrize("value", TOO_LARGE, ids=range(len(TOO_LARGE)))
@pytest.mark.parametrize("columns", ["auto", {"x": Categorical()}, {"x": Gaussian()}], ids=str)
def test_what_no_float_holds_is_a_value_error(value, columns):
    words = "too large for float64|signalling NaN"
    frame = pd.DataFrame({"x": pd.Series([value, 1], dtype=object)})
    model = NaiveBayes(columns).fit([{"x": 1}, {"x": 2}], [0, 1])
    for call in (
        lambda: NaiveBayes(columns).fit([{"x": value}, {"x": 1}], [0, 1]),
        lambda: NaiveBayes(columns).fit(frame, [0, 1]),
        lambda: NaiveBayes(columns).learn_one({"x": value}, 0),
        lambda: model.learn_one({"x": value}, 0),
        lambda: model.predict_one({"x": value}),
        lambda: model.predict([{"x": value}]),
        lambda: model.explain_one({"x": value}),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert model.class_count_.tolist() == [1.0, 1.0]


def test_the_level_of_a_very_large_number_is_short():
    values = [1e300, 1e100, 2.0**64, 2.0**63, 10**30, "a"]
    expected = ["1e+300", "1e+100", repr(2.0**64), str(2**63), "1e+30", "a"]
    columns = {"x": Categorical()}
    rows = [{"x": v} for v in values]
    stream = NaiveBayes(columns)
    for row in rows:
        stream.learn_one(row, 0)
    numbers = NaiveBayes(columns).fit(
        pd.DataFrame({"x": [1e300, 1e100, 2.0**64, 2.0**63]}), [0] * 4
    )
    for model, n in ((NaiveBayes(columns).fit(rows, [0] * 6), 6), (stream, 6), (numbers, 4)):
        assert sorted(model.tally_.schema.groups[0].levels[0].tolist()) == sorted(expected[:n])


# ---- a class of one row --------------------------------------------------------------------------
def test_a_class_of_one_row_is_possible_elsewhere():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"x": [*rng.normal(0.0, 1.0, 80), *rng.normal(1.5, 2.0, 80), 1.0]})
    y = ["a"] * 80 + ["b"] * 80 + ["one"]
    model = NaiveBayes().fit(x, y)
    assert model.schema_["family"].tolist() == ["Gaussian"]
    query = pd.DataFrame({"x": [0.0, 1.0, 2.5]})
    found = model.predict_joint_log_proba(query)[:, 2] - model.class_log_prior_[2]
    a, b = x["x"][:80], x["x"][80:160]
    within = np.sqrt((79 * a.var() + 79 * b.var()) / 158)
    of_a = stats.norm(a.mean(), a.std()).pdf(query["x"])
    of_b = stats.norm(b.mean(), b.std()).pdf(query["x"])
    of_one = stats.norm(1.0, within).pdf(query["x"])
    pooled = (80 * of_a + 80 * of_b + of_one) / 161
    expected = np.log((1 * of_one + pooled) / 2)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


# ---- files ---------------------------------------------------------------------------------------
EVERYTHING = {
    int: Gaussian(),
    ("a", "b"): Multinomial(),
    "c": Categorical(prior=Dirichlet(2.0), levels=["x", "y"]),
    "d": Categorical(prior=Dirichlet(3.0, base="marginal")),
    "e": Gaussian(transform="log"),
    "f": Poisson(estimate="posterior"),
    "day": Gaussian(ddof=1),
    "id": None,
}


def drawn(n=120, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.poisson(2, n),
            "b": rng.poisson(1, n),
            "c": rng.choice(["x", "y"], n),
            "d": rng.choice(list("pqrs"), n),
            "e": rng.lognormal(size=n),
            "f": rng.poisson(3, n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "whole": rng.integers(0, 50, n),
            "rest": rng.normal(size=n).round(2),
            "id": np.arange(n).astype(str),
        }
    ), rng.choice(["no", "yes"], n)


def test_a_model_of_every_kind_of_column_comes_back_bit_for_bit(tmp_path):
    x, y = drawn()
    query, _ = drawn(50, seed=4)
    model = NaiveBayes(EVERYTHING).fit(x, y)
    model.save(tmp_path / "m.tally")
    loaded = load(tmp_path / "m.tally")
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.tally_ == model.tally_
    assert [g.dates for g in loaded.tally_.schema.groups] == [
        g.dates for g in model.tally_.schema.groups
    ]
    assert any(g.dates for g in loaded.tally_.schema.groups)
    for call in ("predict_joint_log_proba", "predict_proba"):
        assert getattr(loaded, call)(query).tolist() == getattr(model, call)(query).tolist()
    assert loaded.schema_.equals(model.schema_)
    assert loaded.feature_names_in_.tolist() == list(x.columns)
    for m in (model, loaded):  # and learns on, and merges, in the same way
        m.partial_fit(query, ["yes"] * 50)
    both = loaded + model
    assert both.class_count_.sum() == 340
    assert loaded.predict_proba(query).tolist() == model.predict_proba(query).tolist()
    with pytest.raises(UnseenLevel):
        loaded.learn_one({"c": "z"}, "yes")
    loaded.save(tmp_path / "n.tally")
    again = load(tmp_path / "n.tally")
    assert again.predict_proba(query).tolist() == loaded.predict_proba(query).tolist()
