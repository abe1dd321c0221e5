"""tally_, what was counted, and probability_tables_, the lookup tables as frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes.tables.columns
from estimators.cases import DISCRETE, assert_same_counts, counts, every, rows
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tallybayes.errors import IncompatibleTallies

# ---- tally_ ------------------------------------------------------------------------------------
CHANGES = {
    "partial_fit of few rows": lambda m, x, y: m.partial_fit(x[:1], y[:1]),
    "partial_fit of many rows": lambda m, x, y: m.partial_fit(
        np.tile(x, (200, 1)), np.tile(y, 200)
    ),
    "negative weights": lambda m, x, y: m.partial_fit(x[:1], y[:1], sample_weight=[-0.5]),
    "forget": lambda m, x, y: m.forget(x[:5], y[:5]),
    "merge": lambda m, x, y: m.merge(type(m)().fit(x, y)),
    "fit": lambda m, x, y: m.fit(x[:9], y[:9]),
}


@every()
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_tally_taken_before_a_change_does_not_change(NB, change):
    x, y = rows()
    model = NB().fit(x, y)
    tally = model.tally_
    before = {name: array.copy() for name, array in tally.arrays().items()}
    change(model, x, y)
    for name, array in tally.arrays().items():
        assert array.tobytes() == before[name].tobytes(), name
    now = counts(model)
    assert any(not np.array_equal(now[name], before[name]) for name in before)


@every()
def test_the_tally_is_the_same_one_until_the_model_changes(NB):
    x, y = rows()
    model = NB().fit(x, y)
    assert model.tally_ is model.tally_
    taken = model.tally_
    model.partial_fit(x, y)
    assert model.tally_ is not taken
    assert model.tally_ != taken


@every()
def test_tallies_of_parts_that_share_a_schema_add_and_subtract(NB):
    x, y = rows()
    params = {"min_categories": 5} if NB is CategoricalNB else {}
    whole = NB(**params).fit(x, y)
    less = NB(**params).fit(x, y).forget(x[:20], y[:20])
    gone = whole.tally_ - less.tally_
    assert (gone.classes.count == np.bincount(y[:20], minlength=3)).all()
    assert less.tally_ + gone == whole.tally_
    double, twice = whole.tally_ * 2.0, whole.tally_ + whole.tally_
    assert double.groups == twice.groups
    assert (double.classes.count == twice.classes.count).all()
    assert (2.0 * double.classes.effective_rows == twice.classes.effective_rows).all()
    assert -whole.tally_ + whole.tally_ == whole.tally_.zero()


def test_tallies_of_other_columns_do_not_add():
    x, y = rows()
    a, b = MultinomialNB().fit(x, y).tally_, MultinomialNB().fit(x[:, :2], y).tally_
    with pytest.raises(IncompatibleTallies, match=r"schemas.*merged"):
        a + b


# ---- probability_tables_ -----------------------------------------------------------------------
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def read(frame):
    """A frame of any library as a dict of lists."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """Makes one library the only one that frames are made by."""
    monkeypatch.setattr(tallybayes.tables.columns, "FRAMES", (request.param,))
    return request.param


def test_tables_are_frames_of_the_library_at_hand(library):
    tables = MultinomialNB().fit(*rows()).probability_tables_
    assert {type(table) for table in tables.values()} == {LIBRARIES[library]}


def test_without_any_frame_library_the_tables_say_what_to_install(monkeypatch):
    monkeypatch.setattr(tallybayes.tables.columns, "FRAMES", ("no_such_library",))
    model = MultinomialNB().fit(*rows())
    with pytest.raises(ImportError, match="install one of pandas, polars and pyarrow"):
        _ = model.probability_tables_


def test_categorical_tables_are_the_lookup_table_of_the_algorithm(library):
    """P_λ(x_j = a | c) for every a in A_j and every c, and P_λ(c): equations 11 and 12."""
    levels = [["sun", "rain", "snow"], [10, 20]]
    frame = pd.DataFrame({"sky": ["sun", "rain", "rain"], "wind": [10, 20, 10]})
    model = CategoricalNB(levels=levels, class_alpha=1.0).fit(frame, ["out", "in", "in"])
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "sky", "wind"]
    assert tables["prior"]["class"] == ["in", "out"]
    assert tables["prior"]["count"] == [2.0, 1.0]
    assert tables["prior"]["probability"] == pytest.approx([3 / 5, 2 / 5], rel=1e-15)
    assert list(tables["sky"]) == ["level", "in", "out"]
    assert tables["sky"]["level"] == ["sun", "rain", "snow"]
    assert tables["sky"]["in"] == pytest.approx([1 / 5, 3 / 5, 1 / 5], rel=1e-15)
    assert tables["sky"]["out"] == pytest.approx([2 / 4, 1 / 4, 1 / 4], rel=1e-15)
    assert tables["wind"]["level"] == [10, 20]
    assert tables["wind"]["in"] == pytest.approx([2 / 4, 2 / 4], rel=1e-15)


def test_levels_without_declaration_are_called_by_their_codes():
    tables = CategoricalNB().fit([[0, 2], [1, 0]], [0, 1]).probability_tables_
    assert read(tables["0"])["level"] == [0, 1]
    assert read(tables["1"])["level"] == [0, 1, 2]


@every(MultinomialNB, BernoulliNB, ComplementNB)
def test_tables_of_sums_have_a_row_a_feature_and_a_column_a_class(NB, library):
    x, y = rows(classes=("a", "b", "c"))
    model = NB().fit(pd.DataFrame(x, columns=list("wxyz")), y)
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "weights" if NB is ComplementNB else "features"]
    table = tables.popitem()[1]
    values = model.feature_log_prob_ if NB is ComplementNB else np.exp(model.feature_log_prob_)
    assert list(table) == ["feature", "a", "b", "c"]
    assert table["feature"] == list("wxyz")
    for k, c in enumerate("abc"):
        assert table[c] == pytest.approx(values[k], rel=1e-15)


def test_gaussian_tables_are_means_and_variances(library):
    x, y = rows()
    model = GaussianNB().fit(x, y)
    tables = {name: read(table) for name, table in model.probability_tables_.items()}
    assert list(tables) == ["prior", "mean", "variance"]
    assert tables["prior"]["probability"] == pytest.approx([1 / 3] * 3)
    for k in range(3):
        assert tables["mean"][str(k)] == pytest.approx(model.theta_[k], rel=1e-15)
        assert tables["variance"][str(k)] == pytest.approx(model.var_[k], rel=1e-15)


@every()
def test_the_table_of_the_prior_has_every_class(NB):
    x, y = rows()
    model = NB().partial_fit(x, y, classes=[0, 1, 2, 3])
    prior = read(model.probability_tables_["prior"])
    assert prior["class"] == [0, 1, 2, 3]
    assert prior["count"] == [20.0, 20.0, 20.0, 0.0]
    assert prior["probability"] == pytest.approx([1 / 3] * 3 + [0.0])


@every(*DISCRETE, GaussianNB)
@pytest.mark.parametrize("label", ["level", "feature"])
def test_a_class_called_as_the_first_column_does_not_displace_it(NB, label):
    x, y = rows(classes=(label, "other"))
    model = NB().fit(x, y)
    for name, table in model.probability_tables_.items():
        if name != "prior":
            first, *classes = read(table).values()
            assert len(classes) == 2, name
            assert not all(isinstance(value, float) for value in first), name


def test_a_feature_called_prior_does_not_displace_the_prior():
    frame = pd.DataFrame({"prior": [0, 1, 1], "other": [1, 0, 1]})
    model = CategoricalNB().fit(frame, ["a", "b", "b"])
    tables = model.probability_tables_
    assert len(tables) == 3
    assert any("probability" in read(table) for table in tables.values())


@every()
def test_tables_follow_the_model(NB):
    x, y = rows()
    model = NB().fit(x, y)
    first = {k: read(t) for k, t in model.probability_tables_.items()}
    model.partial_fit(x[:30] * 0 + 1, y[:30])
    second = {k: read(t) for k, t in model.probability_tables_.items()}
    assert all(first[name] != second[name] for name in first)
    fresh = NB().fit(np.concatenate([x, x[:30] * 0 + 1]), np.concatenate([y, y[:30]]))
    assert_same_counts(model, fresh)
