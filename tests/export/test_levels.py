"""Levels as DuckDB finds them: few, many, odd, under a collation."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from export.databases import SQLite, check_same, scored
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.export.dialects import DIALECTS
from tallybayes.families import Categorical

ODD = ["", "it's", "back\\slash", "nul\0", "new\nline", "😀", "Ünï", "NULL", "(a number)"]


def rows_of(levels, n_classes=2, n=600):
    """Every level, missing values, and labels that depend on them."""
    rng = np.random.default_rng(len(levels))
    codes = rng.integers(0, len(levels), n)
    labels = (codes + rng.integers(0, 3, n)) % n_classes
    column = [None if rng.random() < 0.1 else levels[i] for i in codes]
    return pa.table({"level": pa.array(column, pa.string())}), labels


def asked_of(levels):
    """Known levels, unknown ones and missing values."""
    return pa.table({"level": pa.array([*levels, "unknown", "UNKNOWN 2", None], pa.string())})


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_levels", [1, 9, 127, 128, 129, 300, 1000])
def test_any_number_of_levels(duckdb, n_levels, n_classes):
    levels = [*ODD, *(f"level {i}" for i in range(n_levels))][:n_levels]
    table, y = rows_of(levels, n_classes, n=600 + 4 * n_levels)
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    check_same(duckdb, model, asked_of(levels))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("n_levels", [9, 300])
def test_unseen_levels_are_refused_where_the_model_refuses_them(duckdb, n_levels):
    levels = [*ODD, *(f"level {i}" for i in range(n_levels))][:n_levels]
    table, y = rows_of(levels, n=3000)
    model = NaiveBayes(columns={"level": Categorical(unseen="error")}).fit(table, y)
    labels, proba = scored(duckdb, model, asked_of(levels))
    assert labels[n_levels : n_levels + 2] == [None, None]
    assert np.isnan(proba[n_levels : n_levels + 2]).all()
    known = asked_of(levels).take([*range(n_levels), n_levels + 2])
    check_same(duckdb, model, known)


def test_a_collation_of_the_table_does_not_change_what_a_level_is(duckdb):
    table, y = rows_of(["a", "A", "b"])
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    asked = pa.table({"level": ["a", "A", "b", "B"]})
    duckdb.connection.execute("CREATE TABLE loose (i INTEGER, level VARCHAR COLLATE NOCASE)")
    duckdb.connection.execute("INSERT INTO loose VALUES (0,'a'), (1,'A'), (2,'b'), (3,'B')")
    found = duckdb.select(model.to_sql("loose", keep=["i"])).sort_by("i")
    proba = np.stack([found.column(2 + k).to_numpy() for k in range(2)], axis=1)
    np.testing.assert_allclose(proba, model.predict_proba(asked), rtol=0, atol=1e-9)


def test_a_list_in_several_strings_is_one_list(monkeypatch):
    short = replace(DIALECTS["sqlite"], most_digits=500)
    monkeypatch.setitem(DIALECTS, "sqlite", short)
    levels = [f"level {i}" for i in range(300)]
    table, y = rows_of(levels, n_classes=3, n=1500)
    model = NaiveBayes(columns={"level": Categorical()}).fit(table, y)
    strings = re.findall("'([^']*)'", model.to_sql("t", "sqlite"))
    assert max(map(len, strings)) <= 500
    database = SQLite()
    check_same(database, model, asked_of(levels))
    database.close()


@pytest.mark.parametrize("model", [NaiveBayes(), WeightedNaiveBayes(parts=1)])
def test_names_of_the_statement_may_be_names_of_the_table(database, model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    names = ["a0", "w", "t", "s0", "c0", "x0"]
    table = pa.table({name: [f"v{i}" for i in (y + rng.integers(0, 4, 300))] for name in names})
    model.fit(table, y)
    check_same(database, model, table, name="w")
    check_same(database, model, table, name="t")
    check_same(database, model, table, name="stage0")


def test_rows_of_duckdb_come_in_the_order_of_the_table():
    import duckdb

    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    level = np.array([f"v{i}" for i in (y + rng.integers(0, 5, 500))])
    model = NaiveBayes().fit(pa.table({"level": level, "x": rng.normal(y)}), y)
    with duckdb.connect(config={"threads": 4}) as connection:
        connection.execute(
            "CREATE TABLE many AS SELECT i, 'v' || (i % 7) AS level, i * 0.001 AS x "
            "FROM range(500000) AS r(i)"
        )
        found = connection.sql(model.to_sql("many", keep=["i"])).to_arrow_table()
    np.testing.assert_array_equal(found["i"].to_numpy(), np.arange(500_000))
