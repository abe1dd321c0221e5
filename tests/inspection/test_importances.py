"""Importances are means over rows that were left out; tables hold what the score adds up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import RFE, SelectFromModel

from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.families import Binned, Categorical, Gaussian, Multinomial, Poisson

RNG = np.random.default_rng(0)
N = 300
Y = RNG.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2])
CODE = np.searchsorted(["p", "q", "r"], Y)
ROWS = pd.DataFrame(
    {
        "level": RNG.choice(list("uvwx"), N),
        "tells": np.array(list("abc"))[np.where(RNG.random(N) < 0.7, CODE, RNG.integers(0, 3, N))],
        "count": RNG.poisson(1 + CODE),
        "noise": RNG.integers(0, 40, N) / 4.0,
    }
)
ROWS.loc[::7, "level"] = None


def by_refitting(columns, rows, labels, **parameters):
    """Mean of the largest less the smallest contribution, each row by a model without it."""
    found = np.zeros(rows.shape[1])
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        model = NaiveBayes(columns=columns, classes=sorted(set(labels)), **parameters)
        model.fit(rows[others], labels[others])
        found += np.ptp(model.explain(rows[i : i + 1]).contributions[0], axis=0)
    return found / len(rows)


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_they_are_what_refitting_without_each_row_gives(missing):
    """Levels are declared: an undeclared one would be gone with its only row."""
    few, labels = ROWS[:80], Y[:80]
    columns = {
        "level": Categorical(levels=list("uvwx")),
        "tells": Categorical(levels=list("abc")),
        "count": Poisson(),
        "noise": Gaussian(ddof=1.0),
    }
    model = NaiveBayes(columns=columns, missing=missing).fit(few, labels)
    np.testing.assert_allclose(
        model.feature_importances_, by_refitting(columns, few, labels, missing=missing), rtol=1e-6
    )


def test_a_column_of_noise_says_less_than_one_that_tells():
    for model in (NaiveBayes(), WeightedNaiveBayes()):
        found = model.fit(ROWS, Y).feature_importances_
        assert found.shape == (model.n_features_in_,)
        assert (found >= 0.0).all()
        level, tells, count, noise = found
        assert min(tells, count) > 2 * max(level, noise)


def test_a_left_out_column_is_zero_and_copies_count_alike():
    rows = ROWS.assign(twin=ROWS["tells"], key=[f"k{i}" for i in range(N)])
    model = NaiveBayes(columns={"key": None, "noise": None}).fit(rows, Y)
    found = dict(zip(rows.columns, model.feature_importances_, strict=True))
    assert found["key"] == found["noise"] == 0.0
    assert found["twin"] == found["tells"] > 0.0


@given(st.integers(1, 5))
def test_they_do_not_depend_on_the_order_of_rows_or_on_later_questions(seed):
    order = np.random.default_rng(seed).permutation(N)
    model = NaiveBayes().fit(ROWS, Y)
    first = model.feature_importances_
    first[:] = -1.0  # a copy
    model.predict(ROWS)
    shuffled = NaiveBayes().fit(ROWS.iloc[order], Y[order])
    np.testing.assert_allclose(shuffled.feature_importances_, model.feature_importances_, rtol=1e-9)


def test_they_follow_what_is_learned_and_forgotten():
    model = NaiveBayes().fit(ROWS, Y)
    before = model.feature_importances_
    model.partial_fit(ROWS[:50], Y[:50])
    assert not np.array_equal(model.feature_importances_, before)
    model.forget(ROWS[:50], Y[:50])
    np.testing.assert_allclose(model.feature_importances_, before, rtol=1e-9)


def test_groups_and_unsmoothed_columns_have_finite_ones():
    numbers = pd.DataFrame({"a": RNG.poisson(2, N), "b": RNG.poisson(1 + CODE), "c": CODE + 0.5})
    for columns in (
        {("a", "b"): Multinomial()},
        {("a", "b"): Gaussian(covariance="full")},
        {"a": Binned(), "b": Categorical(alpha=0.0)},
    ):
        model = NaiveBayes(columns=columns, estimate="mean").fit(numbers, Y)
        assert np.isfinite(model.feature_importances_).all()
        assert (model.feature_importances_[:2] > 0.0).all()


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_scikit_learn_selects_columns_by_them(kind):
    x = RNG.normal(size=(N, 6))
    x[:, [1, 4]] += CODE[:, None] * [1.5, 2.0]
    assert RFE(kind(), n_features_to_select=2).fit(x, Y).get_support().tolist() == [
        j in (1, 4) for j in range(6)
    ]
    chosen = SelectFromModel(kind(), threshold="1.5*mean").fit(x, Y).get_support()
    assert chosen.tolist() == [j in (1, 4) for j in range(6)]


def test_before_fitting_there_are_none():
    for kind in (NaiveBayes, WeightedNaiveBayes):
        assert not hasattr(kind(), "feature_importances_")
        assert not hasattr(kind(), "tables_")


# ---- tables --------------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_tables_hold_what_explanations_show(missing):
    columns = {"count": Binned(bins=4), "noise": Gaussian()}
    model = NaiveBayes(columns=columns, missing=missing).fit(ROWS, Y)
    tables = model.tables_
    assert list(tables) == list(ROWS.columns)
    classes = list(model.classes_)
    for name in ("level", "tells"):
        table = tables[name].set_index(name)
        assert ("(missing)" in table.index) == (missing == "level")
        for level in sorted(set(ROWS[name].dropna())):
            shown = model.explain([{name: level}])
            j = shown.columns.index(name)
            np.testing.assert_allclose(table.loc[level, classes], shown.contributions[0, :, j])
        unseen = model.explain([{name: "never seen"}]).contributions[0, :, j]
        np.testing.assert_allclose(table.loc["(any other)", classes], unseen)
    table = tables["noise"]
    assert table["noise"].is_monotonic_increasing
    shown = model.explain([{"noise": value} for value in table["noise"]])
    j = shown.columns.index("noise")
    np.testing.assert_allclose(table[classes], shown.contributions[:, :, j])
    assert len(tables["count"]) == 4 + (missing == "level")


def test_tables_of_a_group_of_counts_hold_what_one_more_adds():
    counts = pd.DataFrame({"a": RNG.poisson(2, N), "b": RNG.poisson(1 + CODE)})
    model = NaiveBayes(columns={("a", "b"): Multinomial()}).fit(counts, Y)
    one = model.explain([{"a": 1, "b": 0}]).contributions[0, :, 0]
    np.testing.assert_allclose(model.tables_["a"][list(model.classes_)].iloc[0], one)
