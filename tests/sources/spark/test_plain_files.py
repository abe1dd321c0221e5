"""DataFrames that are plain Parquet files are read by the tasks; all others by Spark, alike."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines.test_contract import assert_same
from servers.spark import on_spark
from tallybayes import NaiveBayes, WeightedNaiveBayes
from tallybayes.sources import spark as of_spark
from tallybayes.sources.batches import ParquetFile
from tallybayes.sources.spark import SparkFrame
from tallybayes.tally import TableTally

pytestmark = on_spark


def a_table(n=900, seed=0):
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


TABLE = a_table()
NAMES = [name for name in TABLE.column_names if name != "pair"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of row groups of 100 rows."""
    made = tmp_path_factory.mktemp("rows")
    for k in range(3):
        pq.write_table(TABLE.slice(300 * k, 300), made / f"{k}.parquet", row_group_size=100)
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
    assert_same(model.tally_, NaiveBayes().fit(TABLE.select(NAMES), "y").tally_)


def test_the_sample_is_taken_from_the_files(tmp_path, session, read_by_tasks, monkeypatch):
    monkeypatch.setattr(WeightedNaiveBayes, "sample_size", 400)
    for k in range(3):
        rows = TABLE.select(NAMES).slice(300 * k, 300)
        pq.write_table(rows, tmp_path / f"{k}.parquet", row_group_size=100)
    model = WeightedNaiveBayes().fit(session.read.parquet(str(tmp_path)), "y")
    assert read_by_tasks[0] > 1
    memory = WeightedNaiveBayes().fit(str(tmp_path), "y")
    x = TABLE.select([n for n in NAMES if n != "y"])
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
    expected = NaiveBayes().fit(TABLE.select(["count", "y"]), "y").tally_
    assert_same(model.tally_, expected)


def test_a_file_that_has_changed_is_left_to_spark(session, tmp_path, read_by_tasks):
    path = tmp_path / "one.parquet"
    pq.write_table(TABLE.select(NAMES), path)
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
