"""What is wrong with a Spark DataFrame, or with its cluster, is said in one message."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from servers.spark import on_spark
from tallybayes import NaiveBayes
from tallybayes.engines.contract import Condition, Counting
from tallybayes.engines.registry import engine_named
from tallybayes.errors import SourceError
from tallybayes.families import Gaussian

pytestmark = on_spark


@pytest.fixture(scope="module")
def rows():
    from servers.spark import session

    table = pa.table({"a.b": [1.0, 2.0, 3.0, 4.0], "y": ["u", "v", "u", None]})
    return session().createDataFrame(table)


@pytest.fixture
def model():
    return NaiveBayes().fit(pa.table({"a.b": [1.0, 2.0]}), ["u", "v"])


def refused(model, learn, match):
    """The model stays as it was."""
    before = model.tally_
    with pytest.raises(ValueError, match=match) as error:
        learn()
    assert model.tally_ == before
    assert "Traceback" not in str(error.value)
    return error.value


def test_a_row_without_a_label_is_refused_and_its_column_named(model, rows):
    for learn in (model.fit, model.partial_fit, model.forget):
        refused(model, lambda learn=learn: learn(rows, "y"), r"partition 1 .* 1 rows .* column 'y'")


def test_columns_that_are_not_there_are_named(model, rows):
    refused(model, lambda: model.fit(rows, "z"), r"the Spark DataFrame has no column 'z'")
    refused(model, lambda: model.partial_fit(rows.select("y"), "y"), r"lacks .*'a.b'")
    refused(model, lambda: model.predict(rows.select("y")), r"lacks .*'a.b'")
    refused(model, lambda: model.score(rows.select("y"), "y"), r"lacks .*'a.b'")


def test_a_value_that_is_not_admitted_is_named_with_its_row(model, spark):
    rows = spark.createDataFrame(pa.table({"a.b": ["1", "2", "3", "x"], "y": ["u"] * 4}))
    declared = NaiveBayes({"a.b": Gaussian()})
    with pytest.raises(ValueError, match=r"partition 1 .* row 1, column 'a.b' holds .* 'x'"):
        declared.fit(rows, "y")
    assert not hasattr(declared, "classes_")


def test_no_rows_are_no_model(model, rows):
    refused(model, lambda: model.fit(rows.where("y = 'none'"), "y"), "has no rows")
    refused(model, lambda: model.score(rows.where("y = 'none'"), "y"), "0 sample")


def test_names_have_to_be_different(model, rows):
    twice = rows.selectExpr("y", "1 AS x", "2 AS x")
    refused(model, lambda: model.fit(twice, "y"), r"two columns are named 'x'")
    named = rows.selectExpr("*", "1 AS prediction")
    refused(model, lambda: model.predict(named), r"'prediction'.*withColumnRenamed")


def test_a_task_that_fails_is_one_message(model, rows):
    bad = rows.selectExpr("y", "CAST(concat('no ', y) AS INT) AS number")
    refused(model, lambda: model.fit(bad, "y"), r"(?s)the Spark DataFrame cannot.*CAST_INVALID.*no")

    def fails(batches):
        for _ in batches:
            raise KeyError("upstream")
        yield

    bad = rows.select("y").mapInArrow(fails, "y string")
    error = refused(model, lambda: model.fit(bad, "y"), r"cannot be read: KeyError: 'upstream'$")
    assert isinstance(error, SourceError)


def test_what_needs_rows_here_is_refused(model, rows):
    for ask in (model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba):
        refused(model, lambda ask=ask: ask(rows), r"stay on the cluster.*limit")
    with pytest.raises(SourceError, match=r"stay on the cluster: predict gives them there"):
        model.predict_rows(rows)
    spark = engine_named("spark")
    with pytest.raises(ValueError, match=r"'x > 1'.*Spark DataFrame.*filter"):
        spark.collect(Counting({}, where=[Condition("x > 1")]), rows, "y")
    with pytest.raises(ValueError, match="connection="):
        spark.open(rows, "somewhere")


def test_a_python_without_the_package_is_explained(model, rows, tmp_path, monkeypatch):
    """Such as the executors of a cluster have, to which nothing was shipped."""
    for library in (numpy, pa):
        where = Path(library.__file__).parent
        for path in (where, where.parent / f"{where.name}.libs"):
            if path.exists():
                (tmp_path / path.name).symlink_to(path)
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        'PYTHONPATH=$(echo "$PYTHONPATH" | tr : "\\n" | grep "zip$" | tr "\\n" :)'
        f'"{tmp_path}"\n'
        f'export PYTHONPATH\nexec "{sys.executable}" -S "$@"\n'
    )
    os.chmod(python, stat.S_IRWXU)
    monkeypatch.setattr(rows.sparkSession.sparkContext, "pythonExec", str(python))
    refused(
        model,
        lambda: model.fit(rows, "y"),
        r"No module named 'tallybayes' on the executors.*--py-files cannot.*spark\.archives",
    )


@pytest.mark.parametrize("damage", ["cut off", "gone"])
def test_a_file_of_several_that_cannot_be_read_is_named(model, spark, tmp_path, damage):
    for name in ("1", "2"):
        pq.write_table(pa.table({"a.b": [1.0, 2.0], "y": ["u", "v"]}), tmp_path / f"{name}.parquet")
    frame, second = spark.read.parquet(str(tmp_path)), tmp_path / "2.parquet"
    if damage == "gone":
        second.unlink()
    else:
        second.write_bytes(second.read_bytes()[:-9])
    said = r"cannot be read: .*reading file .*2\.parquet.*not (a Parquet file|exist)"
    error = refused(model, lambda: model.partial_fit(frame, "y"), said)
    assert isinstance(error, SourceError)


def test_a_lost_session_is_explained():
    from py4j.protocol import Py4JNetworkError

    from tallybayes.sources.spark import explained

    lost = Py4JNetworkError("Answer from Java side is empty")
    for error in (lost, ConnectionRefusedError(111, "Connection refused")):
        expected = pytest.raises(SourceError, match=r"connection to Spark is lost.*new session")
        with expected, explained("the Spark DataFrame"):
            raise error


def test_ctrl_c_stays_what_it_is_where_spark_says_that_jobs_are_cancelled():
    from py4j.protocol import Py4JError

    from tallybayes.sources.spark import explained

    def interrupted():
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JError("Job 3 cancelled as part of cancellation of all jobs")

    with pytest.raises(KeyboardInterrupt), explained("the Spark DataFrame"):
        interrupted()
