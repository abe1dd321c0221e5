"""Names and values that try to be SQL, and sources, columns and parameters that are wrong."""

import contextlib
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from tallybayes import LazyNaiveBayes, NaiveBayes
from tallybayes.engines.sql import Bound, Written
from tallybayes.errors import IncompatibleTallies, UnseenLevel, UnseenWarning
from tallybayes.families import Bernoulli, Binned, Categorical, Dirichlet, Gaussian, Poisson
from tallybayes.families.choice import UNDECLARED
from tallybayes.sources.databases import quoted

EVIL = [
    'x"; DROP TABLE kept; --',
    "x'; DROP TABLE kept; --",
    "x') OR 1=1; DELETE FROM kept; /*",
    "*/ x",
    "-- x",
    "?",
    "$1",
    "{0}",
    "%s",
    "名前",
    " x\ty\n",
    'a""b',
    "\\",
    "y",
    "l0",
    "x0",
    "evidence",
    "cell",
    "select",
]


@pytest.fixture
def db():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
        yield connection
        assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(1,)]


@pytest.mark.parametrize("through", ["table", "relation"])
@pytest.mark.parametrize("name", EVIL)
def test_no_name_and_no_value_breaks_out(db, name, through):
    x = [name, "plain", name, "other", None, name + "\0"]
    frame = pd.DataFrame(
        {name: x, "n": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "the class": list("aabbab")}
    )
    db.register("frame", frame)
    db.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM frame")
    source, connection = (db.table(quoted(name)), None) if through == "relation" else (name, db)
    lazy = LazyNaiveBayes(source, "the class", connection=connection)
    columns = {name: Categorical(), "n": UNDECLARED}
    model = NaiveBayes(columns).fit(frame.drop(columns="the class"), frame["the class"])
    asked = [{name: value, "n": 2.5} for value in (name, "plain", name + "\0", "'; SELECT 1", "")]
    expected = model.predict_proba(asked)
    np.testing.assert_allclose(lazy.predict_proba(asked), expected, rtol=1e-9)
    # the class under that name, too
    turned = LazyNaiveBayes(
        source, name, connection=connection, where=f"{quoted(name)} IS NOT NULL"
    )
    turned.predict([{"the class": "a"}])
    assert set(turned.classes_) == set(x) - {None}


def test_half_a_surrogate_pair_is_a_level_never_seen(db):
    db.execute("CREATE TABLE t AS SELECT 'a' AS x, 'n' AS y UNION ALL SELECT 'b', 'y'")
    lazy = LazyNaiveBayes("t", "y", connection=db)
    np.testing.assert_allclose(lazy.predict_proba([{"x": "\ud800"}]), [[0.5, 0.5]], rtol=1e-15)


def test_a_name_with_nul_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        quoted("a\0b")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([*EVIL, "a\0b", ""], "VARCHAR"),
        ([0.1, -1e308, 5e-324, float("inf")], "DOUBLE"),
        ([2**100, -3], "HUGEINT"),
        ([True, False], "BOOLEAN"),
        ([], "VARCHAR"),
    ],
)
def test_values_arrive_as_they_are(values, kind):
    bound, written = Bound(), Written()
    by_marker = f"SELECT unnest({bound.array(values, kind)})"
    as_text = f"SELECT unnest({written.array(values, kind)})"
    expected = [(value,) for value in values]
    assert duckdb.execute(by_marker, bound.values).fetchall() == expected
    assert duckdb.execute(as_text).fetchall() == expected


@pytest.mark.parametrize(
    "where",
    [
        "true); DROP TABLE kept; --",
        "true)) DELETE FROM kept --",
        "true)); DELETE FROM kept; SELECT ((1",
    ],
)
@pytest.mark.parametrize("through", ["table", "relation"])
def test_a_condition_cannot_do_more_than_read(db, where, through):
    source, connection = (db.table("kept"), None) if through == "relation" else ("kept", db)
    lazy = LazyNaiveBayes(source, "one", connection=connection)
    with pytest.raises(ValueError, match=r"SELECT statement|Parser Error"):
        lazy.predict([{}, {}], where=where)
    with pytest.raises(ValueError, match=r"SELECT statement|Parser Error"):
        LazyNaiveBayes("SELECT 1; DROP TABLE kept", "one", connection=db).predict([{}, {}])


# ---- sources that are wrong ----------------------------------------------------------------------
FRAME = pd.DataFrame({"x": ["a", "b"], "n": [1.0, 2.0], "y": ["n", "y"]})


def ask(*args, rows=({"x": "a"},), where=None, **settings):
    return LazyNaiveBayes(*args, **settings).predict(list(rows), where)


def test_a_missing_table_column_or_target_is_one_clear_error(db):
    db.register("t", FRAME)
    with pytest.raises(ValueError, match="Table with name nothing does not exist"):
        ask("nothing", "y", connection=db)
    with pytest.raises(ValueError, match="no column 'z', the target; its columns are"):
        ask("t", "z", connection=db)
    with pytest.raises(ValueError, match="columns= names 'z', which the source does not have"):
        ask("t", "y", connection=db, columns={"z": None})
    with pytest.raises(ValueError, match="columns= names 'y', which is the target"):
        ask("t", "y", connection=db, columns={"y": None})
    with pytest.raises(ValueError, match='column "z" not found'):
        ask("t", "y", connection=db, where="z = 1")
    with pytest.raises(ValueError, match=r"lacks the column\(s\) \['n'\]"):
        LazyNaiveBayes("t", "y", connection=db).predict(pd.DataFrame({"x": ["a"]}))


def test_no_file():
    with pytest.raises(ValueError, match="No files found"):
        ask("there is no such file.parquet", "y")
    with pytest.raises(ValueError, match="connection= has to say where"):
        ask("t", "y")
    with pytest.raises(ValueError, match="connection= has to say where"):
        ask("SELECT * FROM t", "y")


@pytest.mark.parametrize("source", [3, None, [1, 2], {"x": [1]}])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match="source is a data frame"):
        LazyNaiveBayes(source, "y")


def test_a_relation_has_a_connection_of_its_own(db):
    with pytest.raises(ValueError, match="connection of its own"):
        LazyNaiveBayes(db.table("kept"), "one", connection=db)
    with pytest.raises(ValueError, match="takes no values"):
        ask(db.table("kept"), "one", rows=[{}, {}], where=("one = ?", [1]))


def test_rows_without_a_label_are_an_error_as_in_fit():
    frame = FRAME.assign(y=["n", None])
    with pytest.raises(ValueError, match=r"1 rows of the evidence have no label .* 'y'"):
        ask(frame, "y")
    assert ask(frame, "y", where="y IS NOT NULL").tolist() == ["n"]
    with pytest.raises(ValueError, match=r"NaN|None"):  # by pandas 3, by pandas 2
        NaiveBayes().fit(frame[["x"]], frame["y"])
    numbers = FRAME.assign(y=[1.0, np.nan])
    with pytest.raises(ValueError, match="have no label"):
        ask(numbers, "y")


def test_no_evidence_no_question():
    with pytest.raises(ValueError, match="there is no evidence"):
        ask(FRAME, "y", where="x = 'never'")
    with pytest.raises(ValueError, match="no row is asked about"):
        LazyNaiveBayes(FRAME, "y").predict(FRAME[["x", "n"]].iloc[:0])
    with pytest.raises(ValueError, match="continuous"):
        ask(FRAME.assign(y=[0.5, 1.7]), "y")


def test_numbers_that_cannot_be_counted():
    with pytest.raises(ValueError, match="column 'n' of the source holds infinity"):
        ask(FRAME.assign(n=[1.0, np.inf]), "y", rows=[{"n": 1.0}])
    with pytest.raises(ValueError, match="column 'n' is too large"):
        ask(FRAME.assign(n=[1e200, -1e200], y="n"), "y", rows=[{"n": 1.0}])
    with pytest.raises(ValueError, match=r"holds -1\.0: counts are not negative"):
        ask(FRAME.assign(n=[1.0, -1.0]), "y", rows=[{"n": 1.0}], columns={"n": Poisson()})
    with pytest.raises(ValueError, match="infinity"):
        ask(FRAME, "y", rows=[{"n": np.inf}])
    with pytest.raises(ValueError, match="the string 'much'"):
        ask(FRAME, "y", rows=[{"n": "much"}])


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_a_row_without_a_key_of_the_source_is_warned_of_once(kind, tmp_path):
    source = pd.DataFrame({"level": ["a", "b"], "y": [0, 1]})
    if kind == "file":
        source.to_csv(tmp_path / "rows.csv", index=False)
        source = str(tmp_path / "rows.csv")
    lazy = LazyNaiveBayes(source, "y")
    with pytest.warns(UnseenWarning, match="row 1: none of its keys is a column"):
        lazy.predict([{"level": "a"}, {"Level": "a"}])
    lazy.predict([{"Level": "a"}])


def test_a_level_that_is_not_declared():
    with pytest.raises(UnseenLevel, match=r"column 'x' of the source holds 'b'.* declared levels"):
        ask(FRAME, "y", columns={"x": Categorical(levels=["a", "c"])})


def test_a_column_that_is_no_scalar():
    frame = FRAME.assign(n=[[1], [2]])
    with pytest.raises(ValueError, match="column 'n' of the source is of the type INTEGER"):
        ask(frame, "y")
    assert ask(frame, "y", columns={"n": None}).tolist() == ["n"]


@pytest.mark.parametrize(
    "family",
    [
        Binned(),
        Bernoulli(),
        Gaussian(transform="log"),
        Categorical(prior=Dirichlet(1.0, (0.5, 0.5))),
    ],
    ids=repr,
)
def test_families_that_need_more_than_was_asked(family):
    with pytest.raises(ValueError, match="columns= gives 'x'"):
        ask(FRAME, "y", columns={"x": family})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "alpha is a finite number from 0 on"),
        ({"alpha": "auto"}, "alpha is a finite number"),
        ({"class_alpha": np.nan}, "class_alpha is a finite number"),
        ({"missing": "drop"}, "missing is one of 'ignore', 'level'"),
        ({"unseen": "what"}, "unseen is one of"),
        ({"where": ""}, "where= is a condition in SQL"),
        ({"columns": {"x": 3}}, "gives 'x' the family 3"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(ValueError, match=message):
        LazyNaiveBayes(FRAME, "y", **settings)


def test_attributes_are_of_the_last_question():
    model = LazyNaiveBayes(FRAME, "y")
    with pytest.raises(AttributeError, match="none has been asked yet"):
        _ = model.classes_
    with pytest.raises(ValueError, match="no evidence"):
        model.predict([{"x": "a"}], where="false")
    assert not hasattr(model, "tally_")
    assert repr(model) == "LazyNaiveBayes(DataFrame, 'y')"


def test_counts_of_some_levels_do_not_merge():
    model = LazyNaiveBayes(FRAME, "y")
    model.predict([{"x": "a"}])
    first = model.tally_
    model.predict([{"x": "b"}])
    with pytest.raises(IncompatibleTallies, match="ask the joined source"):
        first.merged(model.tally_)
    with pytest.raises(IncompatibleTallies):
        _ = first + model.tally_


def test_without_duckdb_the_error_says_what_to_install():
    program = """
import sys
sys.modules["duckdb"] = None
import tallybayes
try:
    tallybayes.LazyNaiveBayes("x.parquet", "y")
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'tallybayes[duckdb]'" in done.stdout


def test_a_connection_of_another_library_is_refused():
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as other,
        pytest.raises(TypeError, match=r"what duckdb.connect\(\) gives, got a Connection"),
    ):
        LazyNaiveBayes("t", "y", connection=other)


# ---- names that differ in case only --------------------------------------------------------------
def some_source(kind, frame, tmp_path):
    if kind == "parquet":
        frame.to_parquet(tmp_path / "rows.parquet")
        return str(tmp_path / "rows.parquet")
    if kind == "csv":
        frame.to_csv(tmp_path / "rows.csv", index=False)
        return str(tmp_path / "rows.csv")
    if kind == "pandas":
        return frame
    import polars
    import pyarrow

    return polars.from_pandas(frame) if kind == "polars" else pyarrow.Table.from_pandas(frame)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet", "csv"])
def test_names_that_are_one_name_in_sql_are_refused(kind, tmp_path):
    frame = pd.DataFrame({"v": list("abab"), "V": list("xxyy"), "t": list("pqpq")})
    model = LazyNaiveBayes(some_source(kind, frame, tmp_path), "t")
    where = "t = 'p'" if kind == "csv" else None  # without a condition, no SQL is involved
    with pytest.raises(ValueError, match="columns 'V' and 'v', which are one name in SQL"):
        model.predict([{"v": "a"}], where)
    apart = frame.rename(columns={"V": "V_1"})  # as DuckDB would call it
    made = LazyNaiveBayes(some_source(kind, apart, tmp_path), "t")
    np.testing.assert_allclose(
        made.predict_proba(apart),
        NaiveBayes().fit(apart[["v", "V_1"]], apart["t"]).predict_proba(apart),
    )
