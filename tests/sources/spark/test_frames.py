"""Models of Spark DataFrames are those of the same rows in memory."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from engines.test_contract import assert_same
from servers.spark import on_spark
from sources.spark.rows import a_table
from tallybayes import NaiveBayes, WeightedNaiveBayes, collect
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.sources import spark as of_spark
from tallybayes.sources.batches import Batches
from tallybayes.sources.spark import SparkFrame
from tallybayes.tables.columns import values_of

pytestmark = on_spark

TABLE = a_table()
X = TABLE.drop_columns(["w", "y"])


@pytest.fixture(scope="module")
def rows():
    """The rows in four partitions, of which some are empty."""
    from servers.spark import session

    whole = session().createDataFrame(TABLE)
    empty = session().createDataFrame(TABLE.slice(0, 0))
    return empty.union(whole).union(empty)


@pytest.fixture(scope="module")
def fitted(rows):
    return NaiveBayes().fit(rows, "y", "w")


def in_memory():
    return NaiveBayes().fit(TABLE, "y", "w")


def test_the_tally_is_that_of_memory(fitted):
    assert_same(fitted.tally_, in_memory().tally_)
    assert fitted.feature_names_in_.tolist() == X.column_names
    np.testing.assert_allclose(
        fitted.predict_proba(X), in_memory().predict_proba(X), rtol=0, atol=1e-9
    )


def test_predictions_are_added_to_the_rows_when_they_are_asked_for(fitted, rows):
    predicted = fitted.predict(rows)
    assert predicted.columns == [*TABLE.column_names, "prediction", "p(no)", "p(yes)"]
    found = predicted.toArrow()
    assert found.select(TABLE.column_names).equals(rows.toArrow())
    assert found["prediction"].to_pylist() == fitted.predict(X).tolist()
    probabilities = np.stack([found["p(no)"], found["p(yes)"]], axis=1)
    np.testing.assert_array_equal(probabilities, fitted.predict_proba(X))


def test_scores_are_those_of_memory(fitted, rows):
    assert fitted.score(rows, "y", "w") == fitted.score(TABLE, "y", "w")


def test_what_is_learned_in_addition_can_be_forgotten(fitted, rows):
    model = NaiveBayes().fit(TABLE, "y", "w")
    before = model.tally_
    model.partial_fit(rows, "y", sample_weight="w")
    assert_same(model.tally_, before + fitted.tally_)
    model.forget(rows, "y", "w")
    assert_same(model.tally_, before)


def test_a_weighted_model_learns_on_the_same_sample_as_of_batches(spark, monkeypatch):
    monkeypatch.setattr(WeightedNaiveBayes, "sample_size", 1200)
    table = a_table(1500).select(["sel`ect", "day", "flag", "a.b", "y"])
    batches = Batches(table.schema, lambda: table.to_batches(max_chunksize=400), "batches", False)
    expected = WeightedNaiveBayes().fit(batches, "y").predict_proba(table)
    model = WeightedNaiveBayes().fit(spark.createDataFrame(table), "y")
    np.testing.assert_allclose(model.predict_proba(table), expected, rtol=0, atol=1e-9)
    assert expected[:, 0].std() > 0.1


def test_rows_fade_in_their_order(rows):
    model = NaiveBayes(half_life=50.0)
    rows, table = rows.select("day", "y"), TABLE.select(["day", "y"])
    expected = model.fit(table, "y").tally_.classes.count
    np.testing.assert_allclose(model.fit(rows, "y").tally_.classes.count, expected, rtol=1e-12)


def test_nested_columns_are_left_out_with_a_warning(rows):
    nested = rows.selectExpr("price", "y", "array(1) AS list", "struct(w) AS `st.ruct`")
    with pytest.warns(LeftOutWarning) as warned:
        tally = collect(nested, "y")
    said = [str(w.message) for w in warned if w.category is LeftOutWarning]
    assert len(said) == 2
    assert "'list' is of the type array<int>" in said[0]
    assert "'st.ruct' is of the type struct" in said[1]
    assert tally.classes.count.sum() == TABLE.num_rows
    assert {group.names for group in tally.schema.groups} == {("price",)}


def test_answers_of_many_partitions_are_merged_in_their_order(spark):
    frame = SparkFrame(spark.range(0, 300, 1, numPartitions=18))
    found = frame.fold(None, lambda table: values_of(table.columns["id"]), add)
    assert found.result == list(range(300))
    assert found.n_rows == 300
    assert len(found.rows) == 18
    marks = np.array([first + size - 1 for first, size in found.rows])
    assert values_of(frame.take(found.names, marks).columns["id"]) == [
        300 * part // 18 - 1 for part in range(1, 19)
    ]


def test_a_frame_is_read_again_as_it_was_counted_or_refused(spark):
    frame = SparkFrame(spark.range(10))
    with pytest.raises(ValueError, match=r"of 3 rows that were counted, a second reading found 0"):
        frame.take(["id"], np.array([1 << 60, 1 + (1 << 60), 2 + (1 << 60)]))


def test_labels_of_other_types_are_predicted_as_they_are(spark):
    for labels, kind in (([1, 2], "bigint"), ([True, False], "boolean"), ([1.0, 2.0], "double")):
        rows = spark.createDataFrame(pa.table({"x": ["a", "b"] * 2, "y": labels * 2}))
        predicted = NaiveBayes().fit(pa.table({"x": ["a", "b"]}), labels).predict(rows)
        assert dict(predicted.dtypes)["prediction"] == kind
        assert [row.prediction for row in predicted.collect()] == labels * 2


class Connected(DataFrame):
    """A stand-in for a DataFrame of Spark Connect, whose plan cannot be seen, and whose server is
    asked whenever an attribute is not found, since it may be a column."""

    def __new__(cls, frame):
        return object.__new__(cls)

    def __init__(self, frame):
        self.frame = frame

    @property
    def schema(self):
        if self.frame is None:
            raise AnalysisException("[PATH_NOT_FOUND] Path does not exist: s3a://shop/none")
        return self.frame.schema

    def toDF(self, *names):
        return self.frame.toDF(*names)

    def __getattr__(self, name):
        raise AnalysisException(f"[UNRESOLVED_COLUMN] the server is asked for {name}")


def test_frames_of_spark_connect_are_counted_by_spark(spark, tmp_path):
    table = TABLE.select(["a.b", "flag", "y"])
    pq.write_table(table, tmp_path / "rows.parquet")
    rows = Connected(spark.read.parquet(str(tmp_path)))
    model = NaiveBayes().fit(rows, "y")
    assert_same(model.tally_, NaiveBayes().fit(table, "y").tally_)
    assert model.predict(rows).toArrow()["prediction"].to_pylist() == model.predict(table).tolist()
    assert model.score(rows, "y") == model.score(table, "y")
    with pytest.raises(SourceError, match=r"cannot be read: \[PATH_NOT_FOUND\].*s3a://shop/none"):
        model.partial_fit(Connected(None), "y")


def test_the_client_of_spark_connect_has_no_py4j(monkeypatch):
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    spec = spec_from_file_location("without_py4j", of_spark.__file__)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    expected = pytest.raises(SourceError, match="the frame cannot be read: gone")
    with expected, module.explained("the frame"):
        raise AnalysisException("gone")
