"""Models whose declarations differ for a column are not merged, and both stay as they were."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.errors import IncompatibleTallies
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    Multinomial,
    Poisson,
    Smooth,
)

NUMBERS = [{"x": i % 5 + 1, "z": i % 3 + 1} for i in range(40)]
STRINGS = [{"x": "ab"[i % 2], "z": 1} for i in range(40)]
Y = ["no", "yes"] * 20

GROUP = {("x", "z"): Multinomial()}
FULL = {("x", "z"): Gaussian(covariance="full")}
DIFFER = [
    ({"x": Gaussian()}, NUMBERS, {"x": Categorical()}, NUMBERS),
    ({"x": Gaussian()}, NUMBERS, {"x": Categorical()}, STRINGS),
    ({"x": Gaussian()}, NUMBERS, {"x": Poisson()}, NUMBERS),
    ({"x": Binned()}, NUMBERS, {"x": Smooth()}, NUMBERS),
    ({"x": Gaussian()}, NUMBERS, {"x": None}, NUMBERS),
    ({"x": Gaussian(transform="log")}, NUMBERS, {"x": Gaussian()}, NUMBERS),
    ({"x": Bernoulli()}, STRINGS, {"x": Categorical()}, STRINGS),
    (
        {"x": Categorical(levels=["a", "b"])},
        STRINGS,
        {"x": Categorical(levels=["a", "b", "c"])},
        STRINGS,
    ),
    ({"x": Categorical(levels=["b", "c", "1"])}, [{"x": "c"}] * 40, "auto", STRINGS),
    ({"x": Categorical()}, NUMBERS, "auto", NUMBERS),
    ({"x": Gaussian()}, NUMBERS, "auto", STRINGS),
    ({"x": Poisson()}, NUMBERS, "auto", [{"x": -1}, {"x": 2}] * 20),
    ({"x": None}, NUMBERS, "auto", NUMBERS),
    (GROUP, NUMBERS, "auto", NUMBERS),
    (GROUP, NUMBERS, {"x": Gaussian()}, NUMBERS),
    (GROUP, NUMBERS, FULL, NUMBERS),
    (FULL, NUMBERS, {("z", "x"): Gaussian(covariance="full")}, NUMBERS),
]


@pytest.mark.parametrize("case", DIFFER, ids=range(len(DIFFER)))
def test_models_that_declare_a_column_differently_are_not_merged(case):
    columns, rows, others, other_rows = case
    a = NaiveBayes(columns).fit(rows, Y)
    b = NaiveBayes(others).fit(other_rows, Y)
    for mine, theirs in ((a, b), (b, a)):
        before = mine.predict_proba(rows if mine is a else other_rows)
        count, schema = mine.tally_.copy(), mine.schema_
        with pytest.raises(IncompatibleTallies, match=r"column '[xz]' is declared as") as told:
            mine.merge(theirs)
        for what in (columns, others):
            family = "no family" if what == "auto" else next(iter(what.values()))
            shown = "left out" if family is None else family if what == "auto" else repr(family)
            assert shown in str(told.value)
        assert mine.tally_ == count
        assert mine.schema_.equals(schema)
        assert np.array_equal(mine.predict_proba(rows if mine is a else other_rows), before)


def test_what_is_read_only_may_differ():
    a = NaiveBayes({"x": Gaussian(ddof=1)}, alpha=2.0).fit(NUMBERS, Y)
    a.merge(NaiveBayes({"x": Gaussian()}).fit(NUMBERS, Y)).merge(NaiveBayes().fit(NUMBERS, Y))
    assert a.class_count_.tolist() == [60.0, 60.0]
    assert a.schema_["family"][0] == "Gaussian"
    late = NaiveBayes({"x": Categorical()}).fit(STRINGS, Y)
    assert late.merge(NaiveBayes().fit(STRINGS, Y)).class_count_.sum() == 80.0
    assert late.merge(NaiveBayes().fit([{"w": 1}], ["no"])).class_count_.sum() == 81.0


def test_weighted_models_and_arrays_too():
    a = WeightedNaiveBayes({"x": Categorical()}).fit(NUMBERS, Y)
    b = WeightedNaiveBayes().fit(NUMBERS, Y)
    for mine, theirs in ((a, b), (b, a)):
        with pytest.raises(IncompatibleTallies, match="column 'x' is declared as"):
            mine.merge(theirs)
    x = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(IncompatibleTallies):
        GaussianNB().fit(x, Y).merge(GaussianNB().fit(x[:, :2], Y))


def test_tallies_of_groups_and_of_single_columns_do_not_add():
    group = NaiveBayes(GROUP).fit(NUMBERS, Y).tally_
    full = NaiveBayes(FULL).fit(NUMBERS, Y).tally_
    single = NaiveBayes().fit(NUMBERS, Y).tally_
    for one, other in ((group, single), (single, full), (full, group)):
        with pytest.raises(IncompatibleTallies, match="column 'x' is counted as"):
            one.merged(other)
