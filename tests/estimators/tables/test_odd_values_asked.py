"""Values that a column of their kind cannot hold: asked after learning, they are warned of."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tallybayes import LazyNaiveBayes, NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import FamilyWarning, UnseenLevel, UnseenWarning
from tallybayes.families import Poisson

Y = np.repeat(["a", "b"], 100)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "calls": rng.poisson(np.where(Y == "a", 2, 6)),
            "ill": rng.random(200) < np.where(Y == "a", 0.2, 0.8),
        }
    )


WAYS = {
    "frame": lambda model, row: model.predict_proba(pd.DataFrame([row])),
    "dicts": lambda model, row: model.predict_proba([row]),
    "one": lambda model, row: model.predict_proba_one(row),
    "best": lambda model, row: model.predict_one(row),
}


def learned(table, live, **options):
    model = NaiveBayes({"calls": Poisson()}, **options).fit(table, Y)
    if live:  # the score follows rows that are learned one by one
        model.predict_one({"calls": 2, "ill": True})
        model.learn_one({"calls": 2, "ill": False}, "a")
    return model


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_fraction_in_a_column_of_counts_is_warned_of_once(table, way, live):
    model, ask = learned(table, live), WAYS[way]
    ask(model, {"calls": 3.0, "ill": None})
    with pytest.warns(
        FamilyWarning, match=r"row 0, column 'calls' holds 1.5, which is not a whole"
    ) as w:
        ask(model, {"calls": 1.5, "ill": True})
    assert w[0].filename == __file__
    ask(model, {"calls": 2.5, "ill": True})


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(("way", "value"), [*zip(WAYS, [2, -1, 1.5, "yes"], strict=True)])
def test_another_value_in_a_column_of_booleans_is_warned_of_once(table, way, live, value):
    model, ask = learned(table, live), WAYS[way]
    for usual in (True, 1, 0.0, "True", None, np.nan, np.True_, np.int64(1)):
        ask(model, {"calls": 3, "ill": usual})
    with pytest.warns(UnseenWarning, match=rf"row 0, column 'ill' holds '{value}', but") as w:
        ask(model, {"calls": 1, "ill": value})
    assert w[0].filename == __file__
    ask(model, {"calls": 2, "ill": value})


def test_what_is_no_count_at_all_is_refused(table):
    model = learned(table, False)
    for value, why in ((-1, "counts are not negative"), ("two", "holds the string 'two'")):
        for ask in WAYS.values():
            with pytest.raises(ValueError, match=why):
                ask(model, {"calls": value, "ill": True})


def test_the_row_is_named(table):
    rows = pd.DataFrame({"calls": [1, np.nan, 2.5], "ill": [True, 2, None]})
    model = learned(table, False)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.predict(rows)
    assert [str(w.message).partition(",")[0] for w in found] == ["row 2", "row 1"]


def test_a_level_that_is_refused_is_not_warned_of(table):
    model = learned(table, False, unseen="error")
    with pytest.raises(UnseenLevel):
        model.predict([{"calls": 1, "ill": 2}])


def test_a_weighted_model_says_so_too(table):
    model = WeightedNaiveBayes().fit(table, Y)
    with pytest.warns(UnseenWarning, match="column 'ill' holds '2'"):
        model.predict_one({"calls": 1, "ill": 2})


def test_a_lazy_model_says_so_and_understands_bits(table):
    model = LazyNaiveBayes(table.assign(y=Y), "y", columns={"calls": Poisson()})
    asked = model.predict_proba([{"calls": 1, "ill": v} for v in (True, 1, False, 0.0)])
    assert np.array_equal(asked[0], asked[1])
    assert np.array_equal(asked[2], asked[3])
    with pytest.warns(FamilyWarning, match=r"column 'calls' holds 1.5"):
        model.predict([{"calls": 1.5, "ill": True}])
    with pytest.warns(UnseenWarning, match="column 'ill' holds '2'"):
        model.predict([{"calls": 1, "ill": 2}])
    model.predict([{"calls": 1.5, "ill": 2}])


@pytest.mark.parametrize("factor", [-0.1, 1.5, np.nan, np.inf, "0.5", None, [0.5]])
def test_decay_takes_a_number_from_0_to_1(factor):
    model = NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1])
    before = model.class_count_.tolist()
    with pytest.raises(ValueError, match="decay takes a factor from 0 to 1, got"):
        model.decay(factor)
    assert model.class_count_.tolist() == before


def test_a_model_without_rows_says_just_that():
    """And not that the keys of the row that is asked about are unknown."""
    model = NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1]).decay(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="holds no rows"):
            model.predict([{"a": "x"}])
