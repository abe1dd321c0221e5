"""R's e1071 on a mixed table with missing values: numbers, factors and a logical column, three
classes.

e1071/naive_bayes.R writes the table and runs Debian's r-cran-e1071 1.7-13 on it; its head says what
e1071 does. The options below say the same: `class_alpha=0` as its prior is not smoothed,
`Gaussian(ddof=1)` as its sd is over n − 1, `missing="ignore"` as it leaves NA out, and
`unseen="ignore"` as it turns a level that the factor does not have into NA.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes
from tallybayes.families import Gaussian

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
