"""LazyNaiveBayes over databases and JSON lines: the answers of a model fitted to the same rows."""

from __future__ import annotations

import datetime
import gzip
import json

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi

import tallybayes
from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.errors import SourceError
from tallybayes.families import Gaussian

N = 60
ROWS = pa.table(
    {
        "select": [["a", "b", "c", 'q"', None][i * 7 % 5] for i in range(N)],
        "a.b": [i % 3 == 0 for i in range(N)],
        "x": [None if i % 9 == 0 else i / 7 for i in range(N)],
        "day": [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)],
        "y": ["no" if i % 4 else "yes" for i in range(N)],
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


def same(lazy, model, **kwargs):
    np.testing.assert_allclose(
        lazy.predict_proba(ASKED, **kwargs), model.predict_proba(ASKED), rtol=1e-9
    )


def test_answers_are_those_of_a_model_of_the_rows(database):
    same(LazyNaiveBayes(tallybayes.table("the rows", database), "y"), fitted())
    query = tallybayes.sql('SELECT * FROM "the rows" -- all of them', database)
    same(LazyNaiveBayes(query, "y"), fitted())


def test_a_condition_is_part_of_the_statement(database):
    lazy = LazyNaiveBayes(tallybayes.table("the rows", database), "y", where="x > 2 -- some")
    same(lazy, fitted(ROWS.filter(pa.compute.greater(ROWS["x"], 2))))
    narrow = pa.compute.and_(pa.compute.greater(ROWS["x"], 2), pa.compute.less(ROWS["x"], 6))
    same(lazy, fitted(ROWS.filter(narrow)), where="x < 6")
    with pytest.raises(ValueError, match="nope"):
        lazy.predict(ASKED, where="nope = 1")


def test_rows_that_come_are_counted(postgres_server, postgres_url):
    with dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", ROWS)
        connection.commit()
    lazy = LazyNaiveBayes(tallybayes.table("rows", postgres_url), "y")
    same(lazy, fitted())
    postgres_server.execute("DELETE FROM rows WHERE x > 6", postgres_url)
    left = pa.compute.less_equal(ROWS["x"], 6).fill_null(True)
    same(lazy, fitted(ROWS.filter(left)))


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
    same(lazy, fitted())
    same(lazy, fitted(path))


def test_a_fraction_in_a_late_line_is_not_rounded(tmp_path):
    late = [{"x": 1, "y": "no"}] * 30_000 + [{"x": 1.5, "y": "yes"}, {"x": 2.7, "y": "yes"}]
    path = tmp_path / "late.jsonl"
    path.write_text(lines(late))
    lazy = LazyNaiveBayes(path, "y")
    lazy.predict([{"x": 1}])
    moments, _ = lazy.tally_.groups
    mean = moments.origin + moments.s1_hi / moments.n
    np.testing.assert_allclose(mean[:, 0], [1.0, 2.1])
