"""Bad tables, by frame library: labels that are missing, no rows, a class with one row.

The outcomes are those of the table in docs/decisions/0007-tables.md. Where a table is
refused, the model stays as it was.
"""

from __future__ import annotations

import copy
import datetime
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from estimators.small_table import DATA, EVERY, EXPECTED, TABLES, N, Y, refused, trained
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Binned, Gaussian

MISSING = {
    "None": ["yes", None],
    "NaN": [1.0, np.nan],
    "NA": np.array(["yes", pd.NA], dtype=object),
    "pandas str": pd.Series(["yes", None], dtype="str"),
    "pandas string": pd.Series(["yes", None], dtype="string"),
    "pandas category": pd.Series(["yes", None], dtype="category"),
    "pandas Int64": pd.Series([1, None], dtype="Int64"),
    "pandas boolean": pd.Series([True, None], dtype="boolean"),
    "NaT": pd.Series([pd.Timestamp("2026-01-01"), None]),
    "polars": pl.Series(["yes", None]),
    "pyarrow": pa.array(["yes", None]),
}


@pytest.mark.parametrize("y", MISSING.values(), ids=MISSING)
def test_a_target_with_gaps_is_refused(y):
    table = pd.DataFrame({name: column[:2] for name, column in DATA.items()})
    words = "contains (NaN|NA|NaT|None): row 1 has no label. Drop such rows from X and y"
    refused(words, lambda: NaiveBayes().fit(table, y))
    model = trained()
    refused(words, lambda: model.partial_fit(table, y), model)
    refused(words, lambda: model.forget(table, y), model)


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, ["a list"]], ids=repr)
def test_a_row_without_a_label_is_refused(label):
    model = trained()
    row = {"age": 40.0, "visits": 1, "job": "cook"}
    error = TypeError if isinstance(label, list) else ValueError
    with pytest.raises(error, match=r"learn_one takes a label|unhashable"):
        model.learn_one(row, label)
    assert np.array_equal(model.predict_proba(pd.DataFrame(DATA)), EXPECTED)
    fresh = NaiveBayes()
    with pytest.raises(error, match=r"learn_one takes a label|unhashable"):
        fresh.learn_one(row, label)
    with pytest.raises(NotFittedError):
        fresh.predict_one(row)


@TABLES
def test_no_rows_are_refused(frame):
    model = trained()
    none = frame(DATA)[:0] if not isinstance(frame(DATA), pa.Table) else frame(DATA).slice(0, 0)
    words = r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"
    refused(words, lambda: NaiveBayes().fit(none, []))
    refused(words, lambda: model.partial_fit(none, []), model)
    refused(words, lambda: model.predict(none), model)


def test_no_columns_are_refused():
    words = r"Found array with 0 feature\(s\)"
    for empty in (pd.DataFrame(index=range(N)), [{}] * N, np.empty((N, 0))):
        refused(words, lambda x=empty: NaiveBayes().fit(x, Y))


@EVERY
@pytest.mark.parametrize(
    "columns",
    ["auto", {"age": Gaussian(ddof=1)}, {"age": Binned()}, {"age": Gaussian()}],
    ids=["auto", "ddof=1", "Binned", "Gaussian"],
)
def test_a_class_with_one_row(frame, columns):
    """A class of one row has no spread of its own and takes that of the others, whatever ddof."""
    labels = Y.copy()
    labels[3] = "once"
    model = NaiveBayes(columns).fit(frame(DATA), labels)
    assert model.class_count_[1] == 1
    assert np.isfinite(model.predict_joint_log_proba(frame(DATA))).all()
    got = model.predict_proba(frame(DATA))
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-12)
    if columns != "auto":  # which chooses among all of these
        assert (got[:, 1] > 0.0).all()
        assert (got[:, 1] < 0.5).all()


MODELS = [NaiveBayes(), NaiveBayes(calibrate="temperature"), WeightedNaiveBayes()]


@pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])
def test_a_series_is_a_row_as_its_dict_is(model):
    frame = pd.DataFrame({"n": [1.0, 2.0, None, 9.0] * 5, "t": ["x", "y", "x", "z"] * 5})
    model = clone(model).fit(frame, list("abba") * 5)
    for row in (frame.iloc[1], frame.iloc[2]):
        series, mapping = row, MappingProxyType(dict(row))
        for one in (series, mapping):
            assert model.predict_one(one) == model.predict_one(dict(row))
            assert model.predict_proba_one(one) == model.predict_proba_one(dict(row))
            assert str(model.explain_one(one)) == str(model.explain_one(dict(row)))
            other, same = copy.deepcopy(model), copy.deepcopy(model)
            other.learn_one(one, "a").learn_one(one, "b").forget_one(one, "a")
            same.learn_one(dict(row), "a").learn_one(dict(row), "b").forget_one(dict(row), "a")
            assert other.tally_ == same.tally_


@pytest.mark.parametrize("row", [[1.0, "x"], "nx", 3, None, pd.DataFrame({"n": [1.0]})], ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=["plain", "calibrated", "weighted"])
def test_what_is_no_row_is_refused_and_changes_nothing(model, row):
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 9.0] * 5, "t": ["x", "y", "x", "z"] * 5})
    model = clone(model).fit(frame, list("abba") * 5)
    before = model.predict_proba(frame).tobytes()
    for call in (model.predict_one, model.predict_proba_one, model.explain_one):
        with pytest.raises(TypeError, match="a row is a dict of values by column"):
            call(row)
    for call in (model.learn_one, model.forget_one):
        with pytest.raises(TypeError, match="a row is a dict of values by column"):
            call(row, "a")
    assert model.class_count_.tolist() == [10.0, 10.0]
    assert model.predict_proba(frame).tobytes() == before


@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_a_column_of_which_no_level_was_seen_is_told(model):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"on": rng.random(200) < 0.5, "n": rng.normal(size=200)})
    fitted = model().fit(x, np.where(x["on"] ^ (rng.random(200) < 0.2), "a", "b"))
    other = x.assign(on=x["on"].map({True: "yes", False: "no"}))
    with pytest.warns(UserWarning, match="'on': none of its levels in 200 rows was seen in train"):
        fitted.predict(other)
    fitted.predict(other[:19])  # few rows may all be new
    fitted.predict(other.assign(on=[*other["on"][1:], "True"]))


@pytest.mark.parametrize("given", [3, 2.5, True, datetime.date(2020, 1, 2)], ids=str)
@pytest.mark.parametrize("model", [NaiveBayes, WeightedNaiveBayes])
def test_a_column_of_levels_that_arrives_as_other_values_is_told_as_strings_are(model, given):
    x = pd.DataFrame({"city": list("BPO") * 20, "n": range(60)})
    fitted = model().fit(x, np.where((x["city"] == "B") ^ (x["n"] % 7 == 0), "a", "b"))
    with pytest.warns(UserWarning, match="'city': none of its levels in 60 rows was seen in train"):
        fitted.predict(x.assign(city=given))


def test_new_levels_of_many_are_no_surprise():
    x = pd.DataFrame({"ticket": [f"t{i // 2}" for i in range(200)]})
    model = NaiveBayes().fit(x, np.arange(200) % 2)
    model.predict("new " + x)
