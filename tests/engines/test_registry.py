"""Which engine reads a source; and what it takes to add one."""

import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from engines.sources import Sheet, Sheets
from tallybayes import LazyNaiveBayes, NaiveBayes, WeightedNaiveBayes
from tallybayes.engines import registry
from tallybayes.engines.registry import engine_named, engine_of, register_engine
from tallybayes.families import Categorical

ROWS = {"a": ["x", "z", "x", "z", "x"], "n": [1.0, 2.0, 3.0, 4.0, 9.0], "y": list("ppqqq")}


@pytest.fixture
def sheets():
    register_engine("sheets", Sheets())
    yield
    register_engine("sheets", None)


def test_each_source_has_its_engine():
    assert engine_of(pd.DataFrame(ROWS), "duckdb").name == "duckdb"
    assert engine_of(pa.table(ROWS), "stream").name == "stream"
    assert engine_of(duckdb.sql("SELECT 1 AS a"), "stream").name == "duckdb"
    assert engine_of("a table", "duckdb", ("stream",)).name == "duckdb"
    assert engine_of("a file.csv", "duckdb").name == "stream"
    assert engine_of(pl.LazyFrame(ROWS), "duckdb").name == "stream"


def test_an_engine_from_outside_is_found_and_answers_questions(sheets):
    """Nothing of the package changes: not the registry, not an estimator."""
    source = Sheet(pa.table(ROWS), 2)
    assert engine_of(source, "stream").name == "sheets"
    lazy = LazyNaiveBayes(source, "y", columns={"a": Categorical()})
    same = LazyNaiveBayes(pd.DataFrame(ROWS), "y", columns={"a": Categorical()})
    asked = [{"a": "x", "n": 2.5}, {"a": "never", "n": 8.0}]
    np.testing.assert_allclose(
        lazy.predict_joint_log_proba(asked), same.predict_joint_log_proba(asked), rtol=1e-12
    )


@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_a_classifier_learns_where_an_engine_from_outside_has_the_rows(sheets, kind):
    """The counts, the choices on a sample, and rows that are added and taken away."""
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 200)
    rows = {"a": rng.choice(["x", "z"], 200), "n": rng.normal(size=200) + (y == "q"), "y": y}
    source, table = Sheet(pa.table(rows), 3), pd.DataFrame(rows)
    found, expected = kind().fit(source, "y"), kind().fit(table, "y")
    asked = table.drop(columns="y")
    assert found.tally_ == expected.tally_
    assert np.array_equal(found.predict_proba(asked), expected.predict_proba(asked))
    for model in (found, expected):
        model.partial_fit(source if model is found else table, "y")
    assert found.tally_ == expected.tally_
    with pytest.raises(ValueError, match="no column 'z', the target"):
        kind().fit(source, "z")


def test_an_engine_that_was_taken_away_is_not_asked(sheets):
    register_engine("sheets", None)
    assert engine_of(Sheet(pa.table(ROWS), 2), "stream").name == "stream"


def test_names_are_told():
    with pytest.raises(
        ValueError, match=r"no engine 'flink'; engines are 'duckdb', 'spark', 'stream'$"
    ):
        engine_named("flink")
    with pytest.raises(ValueError, match="'stream' is that of an engine of tallybayes"):
        register_engine("stream", Sheets())


def test_to_ask_which_engine_reads_a_frame_imports_no_database(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert engine_of(pd.DataFrame(ROWS), "stream").name == "stream"


def test_every_engine_of_the_package_is_a_folder_and_a_line():
    for name, where in registry.ENGINES.items():
        assert engine_named(name).name == name
        assert where.startswith("tallybayes.engines.")
