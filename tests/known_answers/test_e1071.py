"""R's e1071 on a mixed table with missing values, and where a factor declares a level of no row."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes
from tallybayes.families import Categorical, Gaussian

HERE = Path(__file__).parent / "e1071"
TABLE = pd.read_csv(HERE / "table.csv")
COLUMNS = ["weight", "meals", "home", "drink", "tame"]
TRAIN, TEST = (TABLE[TABLE["part"] == part][COLUMNS] for part in ("train", "test"))
GROUP = TABLE["group"][TABLE["part"] == "train"].to_numpy()
NUMBERS = Gaussian(var_smoothing=0.0, ddof=1)
FRAMES = pytest.mark.parametrize(
    "frame",
    [lambda t: t, pl.from_pandas, lambda t: pa.Table.from_pandas(t, preserve_index=False)],
    ids=["pandas", "polars", "pyarrow"],
)


def answers(name):
    stored = pd.read_csv(HERE / f"{name}.csv")
    assert stored.columns.tolist() == ["cat", "dog", "owl"]
    assert len(stored) == len(TEST)
    return stored.to_numpy()


def model(laplace):
    """The model that says what e1071 says."""
    columns = {"weight": NUMBERS, "meals": NUMBERS}
    return NaiveBayes(columns, alpha=laplace, class_alpha=0.0, unseen="ignore")


def test_the_table_has_what_it_is_meant_to_have():
    assert (len(TRAIN), len(TEST)) == (60, 30)
    assert (TRAIN.isna().sum() > 2).all()
    assert TEST.isna().all(axis=1).sum() == 1  # a row of missing values: the class prior
    assert (TEST["drink"] == "juice").sum() == 2
    assert (TEST["home"] == "boat").sum() == 2
    assert not TRAIN["drink"].eq("juice").any()
    assert pd.crosstab(TRAIN["home"], GROUP).eq(0).any(axis=None)  # laplace = 0 rules classes out


@FRAMES
def test_laplace_0(frame):
    """A class that is ruled out has some 1e-300 there, by its threshold, for 0 here."""
    got = model(0).fit(frame(TRAIN), GROUP).predict_proba(frame(TEST))
    np.testing.assert_allclose(got, answers("laplace-0"), rtol=1e-12, atol=1e-290)
    assert (got == 0.0).any()


@FRAMES
def test_laplace_1(frame):
    got = model(1).fit(frame(TRAIN), GROUP).predict_proba(frame(TEST))
    np.testing.assert_allclose(got, answers("laplace-1"), rtol=1e-12)
    assert np.abs(got - answers("laplace-0")).max() > 0.01


@pytest.mark.parametrize("laplace", [0, 1])
def test_one_row_at_a_time(laplace):
    """A missing value is a key that is lacking, except in the first row, which names the
    columns."""
    one_by_one = model(laplace)
    for i, (row, label) in enumerate(zip(TRAIN.to_dict("records"), GROUP, strict=True)):
        one_by_one.learn_one({k: v for k, v in row.items() if v == v or i == 0}, label)
    for row, expected in zip(TEST.to_dict("records"), answers(f"laplace-{laplace}"), strict=True):
        got = list(one_by_one.predict_proba_one(row).values())
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-290)


DRINKS = ["water", "milk", "tea", "juice"]


def declared_model(levels):
    columns = {"weight": NUMBERS, "meals": NUMBERS, "drink": Categorical(levels=levels)}
    return NaiveBayes(columns, alpha=1.0, class_alpha=0.0, unseen="ignore")


@FRAMES
@pytest.mark.parametrize("levels", [DRINKS, DRINKS[::-1]], ids=["in order", "turned"])
def test_a_level_that_is_declared_counts_and_can_be_predicted(frame, levels):
    got = declared_model(levels).fit(frame(TRAIN), GROUP).predict_proba(frame(TEST))
    np.testing.assert_allclose(got, answers("declared"), rtol=1e-12)
    juice = (TEST["drink"] == "juice").to_numpy()
    assert np.abs(got - answers("laplace-1"))[juice].max() > 1e-3


def test_in_parts_and_one_row_at_a_time():
    parts = declared_model(DRINKS).fit(TRAIN[:30], GROUP[:30]) + declared_model(DRINKS).fit(
        TRAIN[30:], GROUP[30:]
    )
    stream = declared_model(DRINKS)
    for row, label in zip(TRAIN.to_dict("records"), GROUP, strict=True):
        stream.learn_one(row, label)
    for way in (parts, stream):
        got = way.predict_proba(pl.from_pandas(TEST))
        np.testing.assert_allclose(got, answers("declared"), rtol=1e-12)
