"""Rows that repeat: the model of a table is that of its copies, which count as one row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.estimators.tables.test_weighted_invariance import MORE, MORE_Y, log_loss, mixed

from tallybayes import WeightedNaiveBayes
from tallybayes.errors import DependentRowsWarning
from tallybayes.families import Text
from tallybayes.tables import read_table
from tallybayes.weighted.rows import row_contents, without_copies

pytestmark = pytest.mark.filterwarnings("ignore:.*(no column|alone|fewer than|left out)")

X, Y = mixed(900)
FEW, FEW_Y = mixed(120, 2)

repeated = pytest.mark.filterwarnings("ignore::tallybayes.errors.DependentRowsWarning")


def times(x, y, n):
    return pd.concat([x] * n, ignore_index=True), np.tile(y, n)


def observations(x, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return without_copies(read_table(x, 1), np.unique(y, return_inverse=True)[1], weight)


def same_predictions(one, other):
    assert one.log_loss_ == other.log_loss_
    np.testing.assert_array_equal(one.predict_proba(MORE), other.predict_proba(MORE))


@repeated
@pytest.mark.parametrize(("n", "options"), [(2, {}), (36, {}), (10, {"parts": 1})])
def test_copies_of_a_table_give_the_model_of_the_table(n, options):
    """The table has twins itself, so some contents occur twice as often as others."""
    model = WeightedNaiveBayes(**options).fit(*times(X, Y, n))
    same_predictions(model, WeightedNaiveBayes(**options).fit(X, Y))
    assert model.class_count_.sum() == n * len(Y)


@repeated
def test_an_over_sampled_class_is_one_of_more_weight():
    rare = np.flatnonzero(Y == 1)[:60]
    few = np.sort(np.append(np.flatnonzero(Y == 0), rare))
    x, y = X.iloc[few], Y[few]
    again = np.append(np.arange(len(y)), np.repeat(np.flatnonzero(y == 1), 9))
    model = WeightedNaiveBayes().fit(x.iloc[again], y[again])
    same_predictions(model, WeightedNaiveBayes().fit(x, y, np.where(y == 1, 10.0, 1.0)))


@repeated
@pytest.mark.parametrize("copies", ["drawn", "a part"])
def test_irregular_copies_predict_fresh_rows_about_as_well_as_the_table(copies):
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(len(Y)), 36)
    some = rng.permutation(rows)[: 8 * len(rows) // 10]
    some = rng.integers(0, len(Y), 10 * len(Y)) if copies == "drawn" else some
    model = WeightedNaiveBayes().fit(X.iloc[some], Y[some])
    table = WeightedNaiveBayes().fit(X, Y)
    assert log_loss(model, MORE, MORE_Y) < 1.03 * log_loss(table, MORE, MORE_Y)
    assert abs(model.log_loss_ - table.log_loss_) < 2.0 * table.log_loss_se_


@repeated
@pytest.mark.parametrize("kind", ["identifier", "text"])
def test_columns_of_identifiers_and_of_text_are_read_as_in_the_table(kind):
    x, columns = X.copy(), {}
    if kind == "identifier":
        x["id"] = [f"p{i}" for i in range(len(x))]
    else:
        words = np.random.default_rng(0).choice(["fine", "late", "kind"], (len(Y), 9))
        heard = np.random.default_rng(1).random(len(Y)) < 0.3
        ends = np.where(heard & (Y == 1), "good", "new")
        x["note"] = [" ".join([*row, end]) for row, end in zip(words, ends, strict=True)]
        columns = {"note": Text()}
    ours = WeightedNaiveBayes(columns or "auto").fit(*times(x, Y, 10))
    theirs = WeightedNaiveBayes(columns or "auto").fit(x, Y)
    assert ours.log_loss_ == pytest.approx(theirs.log_loss_, rel=1e-6)
    assert ours.schema_.family.tolist() == theirs.schema_.family.tolist()


@repeated
def test_weights_that_are_learned_again_and_pruned_leave_copies_out_together():
    model, table = WeightedNaiveBayes().fit(*times(X, Y, 10)), WeightedNaiveBayes().fit(X, Y)
    same_predictions(model.simplify(*times(X, Y, 10), 2), table.simplify(X, Y, 2))
    same_predictions(model.reweight(*times(X, Y, 10)), table)


def test_repetition_is_named():
    said = "copies of 132 observations, about 10 times.*sample_weight"
    with pytest.warns(DependentRowsWarning, match=said):
        WeightedNaiveBayes().fit(*times(FEW, FEW_Y, 10))


def test_copies_of_different_weights_weigh_what_they_do_together():
    x, y = times(FEW, FEW_Y, 4)
    weight = np.random.default_rng(0).random(len(y))
    found = observations(x, y, weight)
    assert found is not None
    of_rows = pd.Series(weight).groupby(pd.util.hash_pandas_object(x, index=False).values).sum()
    of_observations = (
        pd.Series(found.weight)
        .groupby(pd.util.hash_pandas_object(x.iloc[found.rows], index=False).values)
        .sum()
    )
    pd.testing.assert_series_equal(of_rows, of_observations)


def test_large_whole_numbers_are_told_apart_and_equal_whatever_their_type():
    big = np.array([2**60, 2**60 + 1, -(2**60) - 1, 5])
    contents = row_contents(read_table(pd.DataFrame({"a": big}), 1))
    assert len(set(contents.tolist())) == 4
    as_float = row_contents(read_table(pd.DataFrame({"a": [5.0, 2.0**60]}), 1))
    assert contents[[3, 0]].tolist() == as_float.tolist()


def many(rng, n):
    """Rows of which some are looked at first."""
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n)}), rng.integers(
        0, 2, n
    )


@pytest.mark.parametrize("n", [1, 10])
def test_copies_are_found_among_many_rows(n):
    x, y = many(np.random.default_rng(0), 7_000)
    found = observations(*times(x, y, n))
    assert (found is None) if n == 1 else (len(found.rows) == 7_000)


@pytest.mark.parametrize(
    "kind", ["few levels", "labels vary", "other counts", "twins", "templates"]
)
def test_equal_rows_that_are_usual_are_not_copies(kind):
    """Of few levels, with any label, of very different frequencies, few, or of few contents."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 3, (3000, 3)), columns=list("abc"))
    y = (x.a + x.b).to_numpy() % 2
    if kind == "labels vary":
        x, y = pd.concat([X] * 10, ignore_index=True), rng.integers(0, 2, 10 * len(X))
    elif kind == "other counts":
        often = rng.geometric(0.02, len(Y))
        x, y = X.loc[np.repeat(X.index, often)].reset_index(drop=True), np.repeat(Y, often)
    elif kind == "twins":
        x, y = X, Y
    elif kind == "templates":
        x, y = times(X[:8], Y[:8], 25)
    assert observations(x, y) is None
