"""Models of Spark DataFrames are those of the same rows in memory, however the rows are read; and
what is wrong with one is said in one message.
"""

import os
import stat
import sys
from importlib.util import module_from_spec, spec_from_file_location
from operator import add
from pathlib import Path

import numpy
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from engines.test_contract import assert_same
from servers import spark_daemon
from servers.spark import on_spark
from sources.spark.rows import a_table
from tallybayes import NaiveBayes, WeightedNaiveBayes, collect
from tallybayes.engines.contract import Condition, Counting
from tallybayes.engines.registry import engine_named
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.families import Gaussian
from tallybayes.sources import spark as of_spark
from tallybayes.sources.batches import Batches, ParquetFile
from tallybayes.sources.spark import SparkFrame
from tallybayes.tables.columns import values_of
from tallybayes.tally import TableTally

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


def numbers_and_texts(n=900, seed=0):
    """Rows of the types that are read without Spark."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    gone = rng.random(n) < 0.1

    def column(values, kind):
        return pa.array([None if no else v for v, no in zip(values, gone, strict=True)], kind)

    return pa.table(
        {
            "a.b": column(rng.normal(2.0 * y, 1.0).tolist(), pa.float64()),
            "small": column(rng.normal(0.0, 1.0 + y).tolist(), pa.float32()),
            "sel`ect": column(np.where(y, "ja", "🙂 nein").tolist(), pa.string()),
            "count": column(rng.integers(-3, 4, n).tolist(), pa.int16()),
            "flag": column((rng.random(n) < 0.3 + 0.4 * y).tolist(), pa.bool_()),
            "pair": pa.array([[1, 2]] * n),
            "y": np.where(y, "yes", "no").tolist(),
        }
    )


PLAIN = numbers_and_texts()
NAMES = [name for name in PLAIN.column_names if name != "pair"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of row groups of 100 rows."""
    made = tmp_path_factory.mktemp("rows")
    for k in range(3):
        pq.write_table(PLAIN.slice(300 * k, 300), made / f"{k}.parquet", row_group_size=100)
    return made


@pytest.fixture
def session(monkeypatch):
    """Tasks of some 4 kB each, so that files are cut."""
    from servers.spark import session

    monkeypatch.setattr(of_spark, "MIN_PIECE_BYTES", 4096)
    return session()


@pytest.fixture
def read_by_tasks(monkeypatch):
    """Of each fold, how many tasks read files themselves; 0 where Spark did."""
    found, fold = [], SparkFrame.fold

    def noted(self, *given):
        result = fold(self, *given)
        found.append(len(self._pieces or ()))
        return result

    monkeypatch.setattr(SparkFrame, "fold", noted)
    return found


def test_tasks_read_plain_files_and_the_tally_is_that_of_memory(folder, session, read_by_tasks):
    rows = session.read.parquet(str(folder)).select(*(f"`{n.replace('`', '``')}`" for n in NAMES))
    model = NaiveBayes().fit(rows, "y")
    assert read_by_tasks[0] > 1
    assert_same(model.tally_, NaiveBayes().fit(PLAIN.select(NAMES), "y").tally_)


def test_the_sample_is_taken_from_the_files(tmp_path, session, read_by_tasks, monkeypatch):
    monkeypatch.setattr(WeightedNaiveBayes, "sample_size", 400)
    for k in range(3):
        rows = PLAIN.select(NAMES).slice(300 * k, 300)
        pq.write_table(rows, tmp_path / f"{k}.parquet", row_group_size=100)
    model = WeightedNaiveBayes().fit(session.read.parquet(str(tmp_path)), "y")
    assert read_by_tasks[0] > 1
    memory = WeightedNaiveBayes().fit(str(tmp_path), "y")
    x = PLAIN.select([n for n in NAMES if n != "y"])
    np.testing.assert_allclose(model.predict_proba(x), memory.predict_proba(x), rtol=0, atol=1e-9)


def other_frames(session, folder, tmp_path):
    """Frames of files that are more than the files, by why."""
    rows = session.read.parquet(str(folder)).drop("pair")
    by_year = tmp_path / "by_year"
    rows.withColumn("year", rows["count"] % 2).write.partitionBy("year").parquet(str(by_year))
    wider = tmp_path / "wider"
    session.read.parquet(str(folder)).selectExpr("cast(count as int) as count", "y").write.parquet(
        str(wider)
    )
    yield "a filter", rows.where("flag")
    yield "a limit", rows.limit(500)
    yield "a renamed column", rows.withColumnRenamed("count", "n")
    yield "a computed column", rows.withColumn("twice", rows["count"] * 2)
    yield "folders of partitions", session.read.parquet(str(by_year))
    yield "a join", rows.crossJoin(session.range(2))
    yield "two scans", rows.union(rows)
    yield "an option", session.read.option("mergeSchema", "true").parquet(str(folder)).drop("pair")
    yield "another format", session.read.schema("count long, y string").json(str(tmp_path / "*.j"))
    yield "dates", rows.selectExpr("date '2020-01-01' as d", "y")


def test_whatever_is_more_than_files_is_left_to_spark(folder, session, tmp_path):
    (tmp_path / "rows.j").write_text('{"count": 1, "y": "yes"}\n')
    for why, rows in other_frames(session, folder, tmp_path):
        types = [field.dataType.simpleString() for field in rows.schema.fields]
        assert of_spark.pieces_of(rows, types) is None, why
    rows = session.read.parquet(str(folder)).drop("pair").persist()
    try:
        assert of_spark.pieces_of(rows, ["string"]) is None
    finally:
        rows.unpersist()


def test_files_of_other_types_than_the_frame_are_left_to_spark(folder, session, read_by_tasks):
    rows = session.read.schema("count int, y string").parquet(str(folder))
    model = NaiveBayes().fit(rows, "y")  # int16 in the files
    assert read_by_tasks == [0]
    expected = NaiveBayes().fit(PLAIN.select(["count", "y"]), "y").tally_
    assert_same(model.tally_, expected)


def test_a_file_that_has_changed_is_left_to_spark(session, tmp_path, read_by_tasks):
    path = tmp_path / "one.parquet"
    pq.write_table(PLAIN.select(NAMES), path)
    rows = session.read.parquet(str(path))
    os.utime(path, (1.0, 1.0))
    assert isinstance(NaiveBayes().fit(rows, "y").tally_, TableTally)
    assert read_by_tasks == [0]


def test_an_error_in_the_rows_names_the_file_and_its_row(session, tmp_path):
    x = np.arange(300.0)
    x[250] = np.inf
    table = pa.table({"x": x, "y": ["yes", "no"] * 150})
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=100)
    with pytest.raises(ValueError, match=r"one\.parquet: .*row 250, column 'x'"):
        NaiveBayes().fit(session.read.parquet(str(tmp_path)), "y")


def test_each_row_group_belongs_to_one_piece_whatever_their_size(folder):
    files = sorted(str(path) for path in folder.iterdir())
    sizes = {path: os.stat(path).st_size for path in files}
    for cores in (1, 3, 50):
        for least in (64, 4096, 1 << 23):
            whole = [of_spark.Piece(p, 0, n, n, 0) for p, n in sizes.items()]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(of_spark, "MIN_PIECE_BYTES", least)
                tasks = of_spark._shared(whole, cores)
            pieces = [piece for task in tasks for piece in task]
            assert all(tasks)
            assert sum(piece.end - piece.start for piece in pieces) == sum(p.size for p in whole)
            found = [
                (piece.path, group)
                for piece in pieces
                for group in ParquetFile(piece.path).groups_between(piece.start, piece.end)
            ]
            assert found == [(path, group) for path in files for group in range(3)]


@pytest.fixture(scope="module")
def four_rows():
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


def test_a_row_without_a_label_is_refused_and_its_column_named(model, four_rows):
    for learn in (model.fit, model.partial_fit, model.forget):
        refused(
            model, lambda learn=learn: learn(four_rows, "y"), r"partition 1 .* 1 rows .* column 'y'"
        )


def test_columns_that_are_not_there_are_named(model, four_rows):
    refused(model, lambda: model.fit(four_rows, "z"), r"the Spark DataFrame has no column 'z'")
    refused(model, lambda: model.partial_fit(four_rows.select("y"), "y"), r"lacks .*'a.b'")
    refused(model, lambda: model.predict(four_rows.select("y")), r"lacks .*'a.b'")
    refused(model, lambda: model.score(four_rows.select("y"), "y"), r"lacks .*'a.b'")


def test_a_value_that_is_not_admitted_is_named_with_its_row(model, spark):
    four_rows = spark.createDataFrame(pa.table({"a.b": ["1", "2", "3", "x"], "y": ["u"] * 4}))
    declared = NaiveBayes({"a.b": Gaussian()})
    with pytest.raises(ValueError, match=r"partition 1 .* row 1, column 'a.b' holds .* 'x'"):
        declared.fit(four_rows, "y")
    assert not hasattr(declared, "classes_")


def test_no_rows_are_no_model(model, four_rows):
    refused(model, lambda: model.fit(four_rows.where("y = 'none'"), "y"), "has no rows")
    refused(model, lambda: model.score(four_rows.where("y = 'none'"), "y"), "0 sample")


def test_names_have_to_be_different(model, four_rows):
    twice = four_rows.selectExpr("y", "1 AS x", "2 AS x")
    refused(model, lambda: model.fit(twice, "y"), r"two columns are named 'x'")
    named = four_rows.selectExpr("*", "1 AS prediction")
    refused(model, lambda: model.predict(named), r"'prediction'.*withColumnRenamed")


def test_a_task_that_fails_is_one_message(model, four_rows):
    bad = four_rows.selectExpr("y", "CAST(concat('no ', y) AS INT) AS number")
    refused(model, lambda: model.fit(bad, "y"), r"(?s)the Spark DataFrame cannot.*CAST_INVALID.*no")

    def fails(batches):
        for _ in batches:
            raise KeyError("upstream")
        yield

    bad = four_rows.select("y").mapInArrow(fails, "y string")
    error = refused(model, lambda: model.fit(bad, "y"), r"cannot be read: KeyError: 'upstream'$")
    assert isinstance(error, SourceError)


def test_what_needs_rows_here_is_refused(model, four_rows):
    for ask in (model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba):
        refused(model, lambda ask=ask: ask(four_rows), r"stay on the cluster.*limit")
    with pytest.raises(SourceError, match=r"stay on the cluster: predict gives them there"):
        model.predict_rows(four_rows)
    spark = engine_named("spark")
    with pytest.raises(ValueError, match=r"'x > 1'.*Spark DataFrame.*filter"):
        spark.collect(Counting({}, where=[Condition("x > 1")]), four_rows, "y")
    with pytest.raises(ValueError, match="connection="):
        spark.open(four_rows, "somewhere")


def test_a_python_without_the_package_is_explained(model, four_rows, tmp_path, monkeypatch):
    """Such as the executors of a cluster have, to which nothing was shipped."""
    for library in (numpy, pa):
        where = Path(library.__file__).parent
        for path in (where, where.parent / f"{where.name}.libs"):
            if path.exists():
                (tmp_path / path.name).symlink_to(path)
    (tmp_path / "servers").symlink_to(Path(spark_daemon.__file__).parent)  # which Spark starts
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        'PYTHONPATH=$(echo "$PYTHONPATH" | tr : "\\n" | grep "zip$" | tr "\\n" :)'
        f'"{tmp_path}"\n'
        f'export PYTHONPATH\nexec "{sys.executable}" -S "$@"\n'
    )
    os.chmod(python, stat.S_IRWXU)
    monkeypatch.setattr(four_rows.sparkSession.sparkContext, "pythonExec", str(python))
    refused(
        model,
        lambda: model.fit(four_rows, "y"),
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
