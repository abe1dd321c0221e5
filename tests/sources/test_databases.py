"""Tables and queries of databases as sources: how they are named, read and refused."""

import datetime

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi

import tallybayes
from tallybayes import NaiveBayes, WeightedNaiveBayes, collect
from tallybayes.errors import LeftOutWarning, SourceError
from tallybayes.families import Gaussian
from tallybayes.sources.databases import quoted, quoted_path, shown
from tallybayes.sources.files import source_of
from tallybayes.tables import arrow

ODD = ["select", "a.b", 'qu"o', "it's", "🙂", "Ünï", " ", "A b"]
ROWS = pa.table(
    {
        **{name: [f"{name}{i % 3}" for i in range(30)] for name in ODD},
        "x": [None if i % 7 == 0 else i / 4 for i in range(30)],
        "day": [datetime.date(2020, 1, 1 + i) for i in range(30)],
        "flag": [i % 4 == 0 for i in range(30)],
        "y": ["no" if i % 3 else "yes" for i in range(30)],
    }
)


@pytest.fixture
def duck():
    with duckdb.connect() as connection:
        connection.register("given", ROWS)
        connection.execute('CREATE TABLE "my rows" AS FROM given')
        yield connection


@pytest.fixture
def duck_file(tmp_path, duck):
    path = tmp_path / "warehouse.duckdb"
    duck.execute(f"ATTACH '{path}' AS w; CREATE TABLE w.\"my rows\" AS FROM given; DETACH w")
    return path


@pytest.fixture
def postgres(postgres_url):
    with dbapi.connect(postgres_url) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("my rows", ROWS)
        connection.commit()
    return postgres_url


@pytest.fixture(params=["duck", "duck_file", "postgres"])
def database(request):
    """A connection, file or URL of a database that has the rows."""
    return request.getfixturevalue(request.param)


# ---- reading -------------------------------------------------------------------------------------
def test_a_table_and_a_query_are_the_rows(database):
    expected = collect(ROWS, "y")
    query = 'SELECT * FROM "my rows"; '
    for rows in (tallybayes.table("my rows", database), tallybayes.sql(query, database)):
        assert list(rows.columns()) == ROWS.column_names
        assert collect(rows, "y") == expected
        assert collect(rows, "y") == expected  # as often as it is asked for
    assert collect(source_of(database, table="my rows"), "y") == expected
    commented = tallybayes.sql('SELECT * FROM "my rows" -- all', database)
    assert collect(commented, "y") == expected


def test_a_model_learns_forgets_and_predicts_as_of_a_frame(database):
    rows = tallybayes.table("my rows", database)
    some = tallybayes.sql('SELECT * FROM "my rows" WHERE x > 3', database)
    columns = {"x": Gaussian(), "day": Gaussian()}
    model, expected = NaiveBayes(columns).fit(rows, "y"), NaiveBayes(columns).fit(ROWS, "y")
    assert model == expected
    assert model.score(rows, "y") == expected.score(ROWS, ROWS["y"].to_pylist())
    assert model.predict(rows).tolist() == expected.predict(ROWS).tolist()
    model.partial_fit(some, "y").forget(some, "y")
    np.testing.assert_allclose(model.predict_proba(rows), expected.predict_proba(ROWS), rtol=1e-9)
    learned = WeightedNaiveBayes().fit(rows, "y")
    np.testing.assert_array_equal(
        learned.predict_proba(rows), WeightedNaiveBayes().fit(ROWS, "y").predict_proba(ROWS)
    )


def test_weights_are_a_column(database):
    rows = tallybayes.sql('SELECT x, flag, y, 2 AS w FROM "my rows"', database)
    expected = collect(ROWS.select(["x", "flag", "y"]), "y")
    assert collect(rows, "y", sample_weight="w").classes.count.tolist() == [40.0, 20.0]
    assert (expected * 2.0).classes.count.tolist() == [40.0, 20.0]


@pytest.mark.parametrize(
    ("database", "rows", "each"), [("duck", 300_000, "y"), ("postgres", 27_000, "repeat(y, 500)")]
)
def test_batches_hold_a_bounded_number_of_rows(request, database, rows, each):
    made = "range" if database == "duck" else "generate_series"
    query = f"SELECT {each} AS y FROM (SELECT 'yes' AS y) AS one, {made}(1, {rows + 1}) AS more"
    many = tallybayes.sql(query, request.getfixturevalue(database))
    sizes = [batch.num_rows for batch in many.record_batches()]
    assert len(sizes) > 2
    assert max(sizes) < rows


def test_values_of_an_open_transaction_are_seen(postgres_url):
    with dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", ROWS)
        assert collect(tallybayes.table("rows", connection), "y") == collect(ROWS, "y")
        with pytest.raises(SourceError, match=r'relation "rows" does not exist'):
            collect(tallybayes.table("rows", postgres_url), "y")


def test_every_type_of_postgresql_is_read_as_what_it_is(postgres_server, postgres_url):
    postgres_server.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')", postgres_url)
    postgres_server.execute(
        "CREATE TABLE types (i smallint, f real, n numeric(30, 20), m money, c char(4), v varchar, "
        "b boolean, d date, t timestamptz, h time, p interval, u uuid, j jsonb, e mood, a int[])",
        postgres_url,
    )
    values = (
        "1, 1.5, 0.1, 3.5, 'z', 'v', true, '2020-01-02', '2020-01-01 12:00+00', '01:00', "
        "'1 day', '00000000-0000-0000-0000-000000000001', '{}', 'sad', '{1}'"
    )
    postgres_server.execute(f"INSERT INTO types VALUES ({values})", postgres_url)
    rows = tallybayes.table("types", postgres_url)
    kinds = {name: column.kind for name, column in rows.columns().items()}
    assert kinds == {
        "i": "integer",
        "f": "float",
        "n": "float",
        "m": "float",
        "c": "text",
        "v": "text",
        "b": "boolean",
        "d": "date",
        "t": "date",
        "h": "float",
        "p": "float",
        "u": "text",
        "j": "text",
        "e": "category",
        "a": None,
    }
    with pytest.warns(LeftOutWarning, match=r"'a' is of the type list"):
        (part,) = rows.parts()
    columns = part.read().columns
    numbers = {n: c.values.tolist() for n, c in columns.items() if hasattr(c, "values")}
    assert numbers == {
        "i": [1],
        "f": [1.5],
        "n": [0.1],
        "m": [3.5],
        "d": [18263.0],
        "t": [18262.5],
        "h": [3600.0],
        "p": [86400.0],
    }
    levels = {n: c.levels for n, c in columns.items() if n in ("c", "v", "u", "j", "e")}
    nil = "00000000-0000-0000-0000-000000000001"
    assert levels == {"c": ["z"], "v": ["v"], "u": [nil], "j": ["{}"], "e": ["sad"]}


def test_nested_columns_and_intervals_of_duckdb_are_left_out(duck):
    rows = tallybayes.sql("SELECT {'a': 1} AS s, INTERVAL 1 DAY AS p, 1.5::DECIMAL(9,2) AS d", duck)
    with pytest.warns(LeftOutWarning) as said:
        (part,) = rows.parts()
    assert [str(w.message).split("column ")[1][:3] for w in said] == ["'s'", "'p'"]
    assert list(part.read().columns) == ["d"]
    with pytest.raises(SourceError, match=r"column 's' is of the type struct"):
        list(rows.parts(["s"]))


# ---- names ---------------------------------------------------------------------------------------
def test_names_are_quoted_and_paths_are_parted_at_dots_of_plain_names():
    assert quoted('a"b') == '"a""b"'
    assert quoted_path("w.main.t") == '"w"."main"."t"'
    assert quoted_path("my rows.2020") == '"my rows.2020"'
    with pytest.raises(ValueError, match="NUL"):
        quoted("a\0b")


def test_no_name_is_read_as_sql(database):
    evil = 'x"; DROP TABLE "my rows"; --'
    with pytest.raises(SourceError, match="cannot be read"):
        collect(tallybayes.table(evil, database), "y")
    assert collect(tallybayes.table("my rows", database), "y") == collect(ROWS, "y")


def test_messages_show_no_password():
    url = "postgresql://me:secret@host:5433/db?password=secret&sslmode=require"
    assert shown(url) == "postgresql://me@host:5433/db"
    with pytest.raises(SourceError) as error:
        collect(tallybayes.table("t", "postgresql://me:secret@/db?host=/nowhere"), "y")
    assert "secret" not in str(error.value)
    assert "table 't' of postgresql://me@/db cannot be read" in str(error.value)


# ---- refusals ------------------------------------------------------------------------------------
def test_a_query_that_fails_names_source_and_column(database):
    model = NaiveBayes().fit(ROWS, "y")
    before = model.tally_
    for query, said in (
        ('SELECT nope, y FROM "my rows"', "nope"),
        ("SELECT * FROM nowhere", "nowhere"),
        ('SELEC * FROM "my rows"', "SELEC"),
        ('SELECT CAST("select" AS INTEGER) AS x, y FROM "my rows"', "select0"),
    ):
        rows = tallybayes.sql(query, database)
        with pytest.raises(SourceError, match=f"(?s)the query of .* cannot be read: .*{said}"):
            model.partial_fit(rows, "y")
    assert model.tally_ == before


def test_only_one_select_is_run(database):
    for query in ('DROP TABLE "my rows"', 'SELECT 1 AS y); DROP TABLE "my rows"; SELECT (1'):
        with pytest.raises(ValueError, match=r"one SELECT statement|cannot be read"):
            collect(tallybayes.sql(query, database), "y")
    assert collect(tallybayes.table("my rows", database), "y") == collect(ROWS, "y")


def test_a_url_is_read_in_a_transaction_that_changes_nothing(postgres_server, postgres):
    postgres_server.execute(
        'CREATE FUNCTION taken() RETURNS int LANGUAGE sql AS $$DELETE FROM "my rows"; SELECT 1$$',
        postgres,
    )
    with pytest.raises(SourceError, match="read-only transaction"):
        collect(tallybayes.sql("SELECT taken() AS x, 'a' AS y", postgres), "y")
    assert collect(tallybayes.table("my rows", postgres), "y") == collect(ROWS, "y")


def test_a_row_without_a_label_and_a_table_without_rows_are_refused(database):
    for condition, said in (
        ("NULLIF(y, 'no') AS y", r"of .*: .*label|label"),
        ("y", "no rows"),
    ):
        where = " WHERE x > 1e6" if said == "no rows" else ""
        rows = tallybayes.sql(f'SELECT x, {condition} FROM "my rows"{where}', database)
        with pytest.raises(ValueError, match=said) as error:
            NaiveBayes().fit(rows, "y")
        assert rows.name in str(error.value)


def test_a_lost_connection_leaves_the_model_as_it_was(postgres_server, postgres):
    model = NaiveBayes().fit(ROWS.select(["x", "y"]), "y")
    before = model.tally_
    rows = tallybayes.sql(
        "SELECT CASE WHEN i < 400000 THEN i ELSE pg_terminate_backend(pg_backend_pid())::int END "
        "AS x, 'no' AS y FROM generate_series(1, 500000) AS i",
        postgres,
    )
    with pytest.raises(SourceError, match=r"the query of postgresql://.* cannot be read: .*termin"):
        model.partial_fit(rows, "y")
    assert model.tally_ == before


def test_a_connection_can_be_used_again_after_an_error(postgres_url):
    with dbapi.connect(postgres_url) as connection:
        good = tallybayes.sql("SELECT 1 AS x, 'a' AS y", connection)
        infinite = "SELECT 'inf'::float8 AS x, 'a' AS y FROM generate_series(1, 300000)"
        with pytest.raises(ValueError, match="'x' holds inf"):  # while rows still come
            collect(tallybayes.sql(infinite, connection), "y")
        assert collect(good, "y").classes.count.tolist() == [1.0]
        with pytest.raises(SourceError, match="division by zero"):
            collect(tallybayes.sql("SELECT 1 / 0 AS x, 'a' AS y", connection), "y")
        with pytest.raises(SourceError, match=r"aborted.*call rollback\(\)"):
            collect(tallybayes.sql("SELECT 2 AS x, 'a' AS y", connection), "y")
        connection.rollback()
        assert collect(good, "y").classes.count.tolist() == [1.0]


def test_no_permission_is_said_with_the_table(postgres_server, postgres):
    postgres_server.execute("CREATE ROLE guest LOGIN", postgres)
    try:
        schema = postgres.rpartition("%3D")[2]
        postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest", postgres)
        url = postgres.replace("postgres@", "guest@")
        with pytest.raises(SourceError, match="permission denied for table my rows"):
            collect(tallybayes.table("my rows", url), "y")
    finally:
        postgres_server.execute("DROP OWNED BY guest; ", postgres)
        postgres_server.execute("DROP ROLE guest", postgres)


def test_a_database_without_a_table_says_which_there_are(duck_file, postgres):
    for where in (duck_file, str(duck_file), postgres):
        with pytest.raises(SourceError, match=r"say which table.*'my rows'"):
            source_of(where)
        with pytest.raises(SourceError, match="give one of them"):
            source_of(where, sql="SELECT 1", table="t")


def test_a_file_that_is_open_for_writing_says_what_to_do(duck_file):
    with duckdb.connect(str(duck_file)) as writing:
        with pytest.raises(SourceError, match="give that connection"):
            collect(tallybayes.table("my rows", duck_file), "y")
        assert collect(tallybayes.table("my rows", writing), "y") == collect(ROWS, "y")


def test_what_is_no_database_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,2\n")
    with pytest.raises(SourceError, match="no such file"):
        tallybayes.table("t", tmp_path / "none.duckdb")
    with pytest.raises(SourceError, match="not a database of DuckDB"):
        tallybayes.table("t", path)
    with pytest.raises(SourceError, match="not a database of DuckDB"):
        source_of(path, sql="SELECT 1")
    with pytest.raises(TypeError, match="got a dict"):
        tallybayes.sql("SELECT 1", {})
    with pytest.raises(TypeError, match="got a int"):
        tallybayes.sql(1, path)
    with pytest.raises(TypeError, match="got a int"):
        tallybayes.table(1, path)
    for empty in ("", " ; "):
        with pytest.raises(SourceError, match="empty"):
            tallybayes.sql(empty, duckdb)
    with pytest.raises(SourceError, match="empty"):
        tallybayes.table("", duckdb)


def test_rows_of_a_table_are_tables_of_arrow(database):
    rows = tallybayes.table("my rows", database)
    read = arrow.read_batches(list(rows.record_batches(["a.b", "x"])))
    assert list(read.columns) == ["a.b", "x"]
    assert read.n_rows == 30


# ---- predictions ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def model():
    return NaiveBayes({"day": None}).fit(ROWS, "y")


def same_predictions(table, model):
    """Whether a table has the columns that the model does not read, and its predictions."""
    assert table.column_names == ["day", "y", "prediction", "p(no)", "p(yes)"]
    assert table["day"].to_pylist() == ROWS["day"].to_pylist()
    assert table["prediction"].to_pylist() == model.predict(ROWS).tolist()
    proba = np.column_stack([table["p(no)"], table["p(yes)"]])
    np.testing.assert_array_equal(proba, model.predict_proba(ROWS))


def test_rows_are_predicted_beside_columns_that_stay(database, model):
    rows = tallybayes.table("my rows", database)
    predicted = model.predict_rows(rows)
    same_predictions(pa.table(predicted), model)
    same_predictions(pa.table(predicted), model)  # as often as the source is read
    some = model.predict_rows(rows, keep=["y", "x"])
    assert some.schema.names == ["y", "x", "prediction", "p(no)", "p(yes)"]
    assert pa.table(some).schema == some.schema


def test_a_relation_is_predicted_as_a_relation_when_it_is_asked_for(duck, model):
    relation = duck.sql('SELECT * FROM "my rows"')
    predicted = model.predict(relation)
    assert isinstance(predicted, duckdb.DuckDBPyRelation)
    same_predictions(predicted.to_arrow_table(), model)
    duck.execute("DELETE FROM \"my rows\" WHERE y = 'yes'")
    left = predicted.aggregate("count(*), count(DISTINCT day)").fetchall()
    assert left == [(20, 20)]


def test_a_model_that_corrects_its_labels_predicts_a_relation_as_others_do(duck):
    noise = ROWS.select(["y"]).append_column("n", [[(7 * i) % 11 for i in range(30)]])
    weighted = WeightedNaiveBayes(parts=1).fit(noise, "y")
    assert weighted._fitted().prior_share  # whose labels are those of the corrected probabilities
    for model in (weighted, NaiveBayes(calibrate="isotonic").fit(noise, "y")):
        predicted = model.predict(duck.from_arrow(noise))
        assert isinstance(predicted, duckdb.DuckDBPyRelation)
        table = predicted.to_arrow_table()
        assert table["prediction"].to_pylist() == model.predict(noise).tolist()
        proba = np.column_stack([table["p(no)"], table["p(yes)"]])
        np.testing.assert_array_equal(proba, model.predict_proba(noise))


def test_predictions_are_written_to_the_database_that_has_the_rows(duck, postgres, model):
    duck.cursor().from_arrow(model.predict_rows(duck.table('"my rows"'))).create("said")
    same_predictions(duck.sql("FROM said").to_arrow_table(), model)
    predicted = model.predict_rows(tallybayes.table("my rows", postgres))
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("said", predicted)
        connection.commit()
    said = pa.Table.from_batches(tallybayes.table("said", postgres).record_batches())
    same_predictions(said, model)


def test_rows_that_cannot_be_predicted_are_refused(duck, model):
    rows = tallybayes.sql('SELECT *, 1 AS prediction FROM "my rows"', duck)
    with pytest.raises(SourceError, match=r"has a column 'prediction'.*keep="):
        model.predict_rows(rows)
    assert pa.table(model.predict_rows(rows, keep=[])).num_rows == 30
    with pytest.raises(ValueError, match=r"no column that keep= names: 'nope'"):
        model.predict_rows(rows, keep=["nope"])
    with pytest.raises(SourceError, match=r"lacks the column\(s\) \['x'\]"):
        model.predict_rows(tallybayes.sql('SELECT * EXCLUDE x FROM "my rows"', duck))
    infinite = tallybayes.sql("SELECT * REPLACE ('inf'::DOUBLE AS x) FROM \"my rows\"", duck)
    with pytest.raises(ValueError, match="'x' holds inf"):
        list(model.predict_rows(infinite).record_batches())


def test_no_rows_have_no_predictions(database, model):
    rows = tallybayes.sql('SELECT * FROM "my rows" WHERE x > 1e6', database)
    assert pa.table(model.predict_rows(rows)).num_rows == 0
