"""``tallybayes sql``: the statement that it prints says what predict says."""

from __future__ import annotations

import duckdb
import pytest

ROWS = "age,job,buys\n20,cook,yes\n30,nurse,no\n25,cook,yes\n50,nurse,no\n41,,no\n22,cook,yes\n"


@pytest.fixture
def model(run, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    run("fit", "rows.csv", "-t", "buys", "--plain", "-o", "m.tally", "--no-estimate")
    return "m.tally"


def test_it_says_what_predict_says(run, model):
    statement = run("sql", model, "--table", "rows", "--schema", "main", "--keep", "age").out
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS FROM 'rows.csv'")
        found = connection.sql(statement)
        assert found.columns == ["age", "prediction", "p(no)", "p(yes)"]
        labels = [row[1] for row in found.fetchall()]
    assert labels == run("predict", model, "rows.csv").out.split()[1:]


def test_the_dialect_and_the_types_are_asked_for(run, model):
    statement = run("sql", model, "-t", "rows", "--dialect", "spark", "--type", "age=integer").out
    assert "`prediction`" in statement
    error = run("sql", model, "-t", "rows", "--type", "age", code=2).err
    assert "--type takes COL=TYPE" in error
    error = run("sql", model, "-t", "rows", "--dialect", "oracle", code=2).err
    assert "--dialect 'oracle' is not one of duckdb, postgres" in error
    assert "--table" in run("sql", model, code=2).err


def test_without_sqlglot_it_says_what_to_install(run, model, monkeypatch):
    monkeypatch.setattr("tallybayes.cli.ask.find_spec", lambda name: None)
    assert "pip install 'tallybayes[sql]'" in run("sql", model, "-t", "rows", code=1).err
