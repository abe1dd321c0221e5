"""``tallybayes export`` and ``sql``: what they write predicts what predict predicts."""

import runpy

import duckdb
import pytest

ROWS = "age,job,buys\n20,cook,yes\n30,nurse,no\n25,cook,yes\n50,nurse,no\n41,,no\n22,cook,yes\n"


@pytest.fixture
def model(run, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    run("fit", "rows.csv", "-t", "buys", "--plain", "-o", "m.tally", "--no-estimate")
    return "m.tally"


def test_a_module_of_python(run, model, tmp_path):
    assert run("export", model, "-o", "m.py").out == "Saved m.py\n"
    predict = runpy.run_path(str(tmp_path / "m.py"))["predict"]
    rows = [(20.0, "cook"), (30.0, "nurse"), (25.0, "cook"), (50.0, "nurse"), (41.0, None)]
    found = [predict({"age": age, "job": job}) for age, job in rows]
    assert found == run("predict", model, "rows.csv").out.split()[1:6]


def test_the_ending_says_what_is_written(run, model, tmp_path):
    assert run("export", model, "-o", "m.mjs").out == "Saved m.mjs and m.d.mts\n"
    assert "export const predict" in (tmp_path / "m.mjs").read_text()
    assert 'export type Label = "no" | "yes"' in (tmp_path / "m.d.mts").read_text()
    assert run("export", model, "-o", "m.onnx").out == "Saved m.onnx\n"
    assert (tmp_path / "m.onnx").stat().st_size > 1000
    error = run("export", model, "-o", "m.txt", code=1).err
    assert "one of .onnx, .py, .mjs, .js" in error


def test_a_file_is_replaced_with_force_only(run, model, tmp_path):
    (tmp_path / "m.py").write_text("mine")
    assert "--force" in run("export", model, "-o", "m.py", code=2).err
    assert (tmp_path / "m.py").read_text() == "mine"
    run("export", model, "-o", "m.py", "--force")
    assert "predict_proba" in (tmp_path / "m.py").read_text()


def test_types_are_replaced_with_force_only(run, model, tmp_path):
    (tmp_path / "m.d.mts").write_text("mine")
    assert "m.d.mts" in run("export", model, "-o", "m.mjs", code=2).err
    assert (tmp_path / "m.d.mts").read_text() == "mine"
    assert not (tmp_path / "m.mjs").exists()
    run("export", model, "-o", "m.mjs", "--force")
    assert "export type Label" in (tmp_path / "m.d.mts").read_text()


def test_a_model_of_documents(run, tmp_path):
    for label, words in {"a": "good day", "b": "bad night"}.items():
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i in range(6):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(words)
    run("fit", "mail", "-o", "t.tally", "--no-estimate")
    run("export", "t.tally", "-o", "t.py")
    predict = runpy.run_path(str(tmp_path / "t.py"))["predict"]
    assert [predict("a good day"), predict("bad, bad")] == ["a", "b"]


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
