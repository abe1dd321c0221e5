"""LazyNaiveBayes reads files, databases and its own database as NaiveBayes reads the same rows."""

import datetime
import gzip
import json
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pytest
from adbc_driver_postgresql import dbapi

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import MixedColumnWarning, SourceError
from tallybayes.families import Gaussian

PLAIN = dict.fromkeys([float, datetime.date], Gaussian(var_smoothing=0, ddof=1, pooled_rows=1))
N = 200
Z = np.random.default_rng(0).normal(size=N)
Y = ["a" if z + 0.3 * (i % 3) > 0 else "b" for i, z in enumerate(Z)]


def number(other, at=(3,)):
    return [other if i in at else round(z, 3) for i, z in enumerate(Z)]


CASES = {
    **{f"one {text!r} among numbers": (number(text), Y, 1.5) for text in ("", "NA", "NaN", "?")},
    "a string among numbers": (number("unknown", (3, 9)), Y, "unknown"),
    "numbers among strings": ([i % 3 or "none" for i in range(N)], Y, 1),
    "labels Yes and No": (number(1), [{"a": "Yes", "b": "No"}[y] for y in Y], 1.5),
    "labels 1.0": (number(1), [{"a": "1.0", "b": "0.0"}[y] for y in Y], 1.5),
    "whole labels": (number(1), [{"a": 10, "b": 9}[y] for y in Y], 1.5),
    "labels of dates": (number(1), [{"a": "2020-01-01", "b": "2020-02-01"}[y] for y in Y], 1.5),
    "levels T and F": (["T" if z > 0 else "F" for z in Z], Y, "T"),
    "levels with blanks": ([" p" if z > 0.3 else "p" if z > 0 else "q" for z in Z], Y, "p"),
    "levels with NA": (["NA" if i % 9 == 0 else "pq"[int(z > 0)] for i, z in enumerate(Z)], Y, "p"),
    "dates": ([f"2020-0{1 + i % 9}-11" for i in range(N)], Y, "2020-03-01"),
    "times": ([f"0{i % 9}:30" for i in range(N)], Y, "02:15"),
    "nothing": ([""] * N, Y, None),
}


def written(path, cells, labels):
    rows = [
        {"x": x, "z": i % 4, "y": y} for i, (x, y) in enumerate(zip(cells, labels, strict=True))
    ]
    if path.suffix == ".csv":
        path.write_text("x,z,y\n" + "".join(f"{r['x']},{r['z']},{r['y']}\n" for r in rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def same(lazy, fitted, rows):
    np.testing.assert_allclose(lazy.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-12)
    assert lazy.classes_.tolist() == fitted.classes_.tolist()
    assert lazy.classes_.dtype == fitted.classes_.dtype


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("case", CASES)
def test_text_is_read_as_by_naive_bayes(tmp_path, case, suffix):
    cells, labels, asked = CASES[case]
    path = written(tmp_path / f"t.{suffix}", cells, labels)
    for rows in ([{"x": asked, "z": 2}], [{"z": 1}], pd.DataFrame({"x": [asked], "z": [None]})):
        lazy = LazyNaiveBayes(path, "y")
        left_out = {"x": None} if isinstance(rows, list) and "x" not in rows[0] else {}
        same(lazy, NaiveBayes(PLAIN | left_out).fit(path, "y"), rows)
        assert lazy.statement_ == ""


@pytest.mark.parametrize(
    "kind", ["csv()", "list", "folder", "pattern", "arrow", "dataset", "lazy frame", "ipc in csv"]
)
def test_every_source_that_can_be_read_again(tmp_path, kind):
    frame = pd.DataFrame({"x": number(1), "z": [i % 4 for i in range(N)], "y": Y})
    path = tmp_path / "t.csv"
    table = pa.Table.from_pandas(frame)
    if kind in ("arrow", "ipc in csv"):
        path = tmp_path / ("t.arrow" if kind == "arrow" else "t.csv")
        pa.feather.write_feather(table, path, compression="uncompressed")
    else:
        frame.to_csv(path, index=False)
    source = {
        "csv()": lambda: tallybayes.csv(path),
        "list": lambda: [path, path],
        "folder": lambda: str(tmp_path),
        "pattern": lambda: str(tmp_path / "*.csv"),
        "dataset": lambda: pa.dataset.dataset(table),
        "lazy frame": lambda: pl.LazyFrame(frame),
    }.get(kind, lambda: path)()
    columns = PLAIN | {int: PLAIN[float]}
    rows = [{"x": 0.5, "z": 1}, {"x": -0.5, "z": 3}]
    same(LazyNaiveBayes(source, "y"), NaiveBayes(columns).fit(source, "y"), rows)
    if kind == "csv()":
        with pytest.raises(ValueError, match="has no column 'target', the target"):
            LazyNaiveBayes(source, "target").predict(rows)


def test_what_is_read_once_is_refused():
    batches = pa.table({"x": [1.0], "y": ["a"]}).to_batches()
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    for source in (reader, iter(batches)):
        with pytest.raises(ValueError, match=r"can be read only once.*fit a NaiveBayes"):
            LazyNaiveBayes(source, "y")


@pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
def test_a_condition_judges_columns_as_they_are_read(tmp_path):
    path = written(tmp_path / "t.csv", number("NA", (3, 5)), Y)
    rows = [{"x": 0.5, "z": 1}]
    kept = pd.DataFrame({"x": number(np.nan, (3, 5)), "z": [i % 4 for i in range(N)], "y": Y})
    kept = kept.astype({"x": float, "z": float})
    kept = kept[(kept["x"] > -0.5) & (kept["z"] < 3)]
    lazy = LazyNaiveBayes(path, "y", where=("x > ?", [-0.5]))
    fitted = NaiveBayes(PLAIN).fit(kept[["x", "z"]], kept["y"])
    np.testing.assert_allclose(lazy.predict_proba(rows, "z < 3"), fitted.predict_proba(rows))
    path = written(tmp_path / "m.csv", number("unknown", (3, 5)), Y)
    lazy = LazyNaiveBayes(path, "y", where="x <> 'unknown' AND y IS NOT NULL")
    lazy.predict(rows)
    assert lazy.class_count_.sum() == N - 2
    with pytest.raises(ValueError, match="DuckDB cannot judge the condition"):
        lazy.predict(rows, "no_such_column > 3")
    with pytest.raises(ValueError, match=r"where= has to be part of one SELECT|cannot judge"):
        lazy.predict(rows, "1); DROP TABLE t; --")


def test_it_warns_once(tmp_path):
    path = written(tmp_path / "t.csv", number("unknown", (3, 5)), Y)
    lazy = LazyNaiveBayes(path, "y")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            lazy.predict([{"x": 0.5}])
    assert [type(w.message) for w in caught] == [MixedColumnWarning]


FLOWERS_ASKED = 60
ROWS = pa.table(
    {
        "select": [["a", "b", "c", 'q"', None][i * 7 % 5] for i in range(FLOWERS_ASKED)],
        "a.b": [i % 3 == 0 for i in range(FLOWERS_ASKED)],
        "x": [None if i % 9 == 0 else i / 7 for i in range(FLOWERS_ASKED)],
        "day": [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(FLOWERS_ASKED)],
        "y": ["no" if i % 4 else "yes" for i in range(FLOWERS_ASKED)],
    }
)
ASKED = [
    {"select": "a", "a.b": True, "x": 1.5, "day": datetime.date(2020, 1, 9)},
    {"select": 'q"', "x": 3.0},
    {"select": "never seen"},
]


def fitted(rows=ROWS):
    own = Gaussian(var_smoothing=0, ddof=1, pooled_rows=1)
    return NaiveBayes({"x": own, "day": own}).fit(rows, "y")


@pytest.fixture(params=["duckdb", "file", "postgres"])
def database(request, tmp_path):
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("the rows", ROWS)
            connection.commit()
        yield url
        return
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", ROWS)
        connection.execute('CREATE TABLE "the rows" AS FROM given')
        if request.param == "duckdb":
            yield connection
    if request.param == "file":
        yield path


def answers_as(lazy, model, **kwargs):
    np.testing.assert_allclose(
        lazy.predict_proba(ASKED, **kwargs), model.predict_proba(ASKED), rtol=1e-9
    )


def test_answers_are_those_of_a_model_of_the_rows(database):
    answers_as(LazyNaiveBayes(tallybayes.table("the rows", database), "y"), fitted())
    query = tallybayes.sql('SELECT * FROM "the rows" -- all of them', database)
    answers_as(LazyNaiveBayes(query, "y"), fitted())


def test_a_condition_is_part_of_the_statement(database):
    lazy = LazyNaiveBayes(tallybayes.table("the rows", database), "y", where="x > 2 -- some")
    answers_as(lazy, fitted(ROWS.filter(pa.compute.greater(ROWS["x"], 2))))
    narrow = pa.compute.and_(pa.compute.greater(ROWS["x"], 2), pa.compute.less(ROWS["x"], 6))
    answers_as(lazy, fitted(ROWS.filter(narrow)), where="x < 6")
    with pytest.raises(ValueError, match="nope"):
        lazy.predict(ASKED, where="nope = 1")


def test_rows_that_come_are_counted(postgres_server, postgres_url):
    with dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", ROWS)
        connection.commit()
    lazy = LazyNaiveBayes(tallybayes.table("rows", postgres_url), "y")
    answers_as(lazy, fitted())
    postgres_server.execute("DELETE FROM rows WHERE x > 6", postgres_url)
    left = pa.compute.less_equal(ROWS["x"], 6).fill_null(True)
    answers_as(lazy, fitted(ROWS.filter(left)))


def test_what_a_database_cannot_do_is_refused(database, postgres_url):
    rows = tallybayes.table("the rows", database)
    with pytest.raises(ValueError, match="leave connection= out"):
        LazyNaiveBayes(rows, "y", connection=duckdb)
    lazy = LazyNaiveBayes(tallybayes.table("nowhere", postgres_url), "y")
    with pytest.raises(SourceError, match=r"'nowhere'.*does not exist"):
        lazy.predict(ASKED)
    with pytest.raises(ValueError, match="write them into the condition"):
        LazyNaiveBayes(tallybayes.sql("SELECT 1 AS x, 'a' AS y", postgres_url), "y").predict(
            [{"x": 1}], where=("x > ?", [0])
        )


def lines(rows):
    return "\n".join(json.dumps(row, default=str) for row in rows)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.ndjson.gz"])
def test_json_lines_are_read_with_the_types_of_all_lines(name, tmp_path):
    path = tmp_path / name
    content = lines(ROWS.to_pylist()).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    lazy = LazyNaiveBayes(path, "y")
    answers_as(lazy, fitted())
    answers_as(lazy, fitted(path))


def test_a_fraction_in_a_late_line_is_not_rounded(tmp_path):
    late = [{"x": 1, "y": "no"}] * 30_000 + [{"x": 1.5, "y": "yes"}, {"x": 2.7, "y": "yes"}]
    path = tmp_path / "late.jsonl"
    path.write_text(lines(late))
    lazy = LazyNaiveBayes(path, "y")
    lazy.predict([{"x": 1}])
    moments, _ = lazy.tally_.groups
    mean = moments.origin + moments.s1_hi / moments.n
    np.testing.assert_allclose(mean[:, 0], [1.0, 2.1])
