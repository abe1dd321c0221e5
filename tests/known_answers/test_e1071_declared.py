"""R's e1071 where a factor declares a level that no training row has; see test_e1071.py."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from known_answers.test_e1071 import FRAMES, GROUP, NUMBERS, TEST, TRAIN, answers
from tallybayes import NaiveBayes
from tallybayes.families import Categorical

DRINKS = ["water", "milk", "tea", "juice"]


def model(levels):
    columns = {"weight": NUMBERS, "meals": NUMBERS, "drink": Categorical(levels=levels)}
    return NaiveBayes(columns, alpha=1.0, class_alpha=0.0, unseen="ignore")


@FRAMES
@pytest.mark.parametrize("levels", [DRINKS, DRINKS[::-1]], ids=["in order", "turned"])
def test_a_level_that_is_declared_counts_and_can_be_predicted(frame, levels):
    got = model(levels).fit(frame(TRAIN), GROUP).predict_proba(frame(TEST))
    np.testing.assert_allclose(got, answers("declared"), rtol=1e-12)
    juice = (TEST["drink"] == "juice").to_numpy()
    assert np.abs(got - answers("laplace-1"))[juice].max() > 1e-3


def test_in_parts_and_one_row_at_a_time():
    parts = model(DRINKS).fit(TRAIN[:30], GROUP[:30]) + model(DRINKS).fit(TRAIN[30:], GROUP[30:])
    stream = model(DRINKS)
    for row, label in zip(TRAIN.to_dict("records"), GROUP, strict=True):
        stream.learn_one(row, label)
    for way in (parts, stream):
        got = way.predict_proba(pl.from_pandas(TEST))
        np.testing.assert_allclose(got, answers("declared"), rtol=1e-12)
