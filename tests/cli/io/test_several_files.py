"""Several files, patterns, folders and databases are read as one table."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import load


@pytest.fixture
def parts(tmp_path):
    """A table, and its parts in two formats; the numbers are strings in Parquet."""
    rows = [(i % 7, f"j{i % 3}", "ab"[i % 2 if i % 5 else 0]) for i in range(120)]
    lines = [f"{x},{job},{y}" for x, job, y in rows]
    (tmp_path / "all.csv").write_text("\n".join(["x,job,y", *lines]))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.csv").write_text("\n".join(["x,job,y", *lines[:50]]))
    columns = zip(*rows[50:], strict=True)
    table = pa.table(dict(zip(("x", "job", "y"), columns, strict=True)))
    pq.write_table(
        table.set_column(0, "x", table["x"].cast(pa.string())), tmp_path / "data/2.parquet"
    )
    return tmp_path


FIT = ("-t", "y", "--plain", "--no-estimate", "-o")


@pytest.fixture
def whole(run, parts):
    run("fit", "all.csv", *FIT, "all.tally")
    return load("all.tally")


def test_files_patterns_and_folders_are_one_table(run, whole):
    for data in (["data/1.csv", "data/2.parquet"], ["data/*"], ["data"]):
        run("fit", *data, *FIT, "m.tally")
        assert load("m.tally") == whole
    run("fit", "data", *FIT[:-1])
    assert load("data.tally") == whole


def test_every_command_takes_them(run, whole, tmp_path):
    alone = run("predict", "all.tally", "all.csv", "--proba").out
    assert run("predict", "all.tally", "data/*", "--proba").out == alone
    figures = [
        run("evaluate", "all.tally", *data, "--json").document["estimate"]
        for data in (["all.csv"], ["data"])
    ]
    assert figures[0]["confusion"] == figures[1]["confusion"]
    assert figures[0]["log_loss"] == pytest.approx(figures[1]["log_loss"], rel=1e-12)
    explained = [
        run("explain", "all.tally", *data, "--row", 77, "--json").document
        for data in (["all.csv"], ["data/1.csv", "data/2.parquet"])
    ]
    assert explained[0] == explained[1]
    for row, place in ((49, "data/1.csv, line 51"), (50, "data/2.parquet, row 0")):
        assert f"({place}): predicted" in run("explain", "all.tally", "data", "--row", row).out
    run("update", "all.tally", "data/*", "-o", "more.tally")
    assert run("show", "more.tally", "--json").document["rows"] == 240
    run("forget", "more.tally", "data")
    assert load("more.tally") == whole


def test_a_row_is_named_by_its_file_and_line(run, parts):
    (parts / "data" / "3.csv").write_text("x,job,y\n1,j1,a\nmany,j1,b\n2,j2,\n")
    line = run("fit", "data", *FIT, "m.tally", code=1).line
    assert "data/3.csv, line 4 has no label in 'y'" in line
    found = run("fit", "data", *FIT, "m.tally", "--skip-unlabelled")
    assert "column 'x': data/3.csv, line 3 holds 'many'" in found.err
    assert "1 row without a label left out" in found.err
    run("fit", "all.csv", *FIT, "m.tally")
    line = run("predict", "m.tally", "data", code=1).line
    assert "data/3.csv, line 3: column 'x' holds 'many', which is not a number" in line


def test_a_stray_file_is_named(run, parts):
    (parts / "data" / "notes.csv").write_text("when,what\n1,2\n")
    line = run("fit", "data", *FIT, "m.tally", code=1).line
    assert "data/notes.csv lacks 'x', 'job', 'y'" in line
    assert "leave the file out" in line
    assert not (parts / "m.tally").exists()


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_file_of_several_leaves_the_model_file_as_it_was(run, parts, cut):
    run("fit", "all.csv", *FIT, "m.tally")
    before, there = (parts / "m.tally").read_bytes(), sorted(parts.iterdir())
    damaged = parts / "data" / "2.parquet"
    content = bytearray(damaged.read_bytes())
    if cut:
        del content[-9:]
    else:  # in the middle of a page, which is found while rows before it have been counted
        content[8:60] = bytes(52)
    damaged.write_bytes(content)
    for command in (["fit", "data", *FIT, "m.tally"], ["update", "m.tally", "data"]):
        assert "2.parquet is a damaged or incomplete Parquet file" in run(*command, code=1).line
        assert (parts / "m.tally").read_bytes() == before
        assert sorted(parts.iterdir()) == there


def test_what_is_wrong_with_several(run, parts):
    assert "add -o MODEL" in run("fit", "data/*", "-t", "y", code=2).line
    assert "matches the pattern" in run("fit", "none/*.csv", *FIT, "m.tally", code=1).line
    (parts / "empty").mkdir()
    run("fit", "all.csv", *FIT, "m.tally")
    line = run("predict", "m.tally", "empty", code=1).line
    assert "empty is a directory without files of rows" in line


def test_dates_in_one_file_and_words_in_another_are_strings(run, tmp_path):
    dates = [f"2020-01-{1 + i % 28:02}" for i in range(60)]
    labels = ["ab"[i % 2] for i in range(60)]
    pq.write_table(pa.table({"since": dates, "y": labels}), tmp_path / "1.parquet")
    words = [*dates[:-1], "never"]
    pq.write_table(pa.table({"since": words, "y": labels}), tmp_path / "2.parquet")
    found = run("fit", "1.parquet", "2.parquet", *FIT, "m.tally", "--json")
    assert found.document["columns"][0]["family"] == "categorical, 29 levels"
    assert found.err.count("is not read as dates") == 1
    run("fit", "1.parquet", *FIT, "d.tally")
    line = run("predict", "d.tally", "2.parquet", code=1).line
    assert "row 59: column 'since' holds 'never', which is not a date" in line


def test_a_table_or_query_of_a_database(run, whole, parts):
    with duckdb.connect(str(parts / "w.duckdb")) as db:
        db.execute("CREATE TABLE t AS FROM 'all.csv'")
    run("fit", "w.duckdb", "--table", "t", *FIT, "m.tally")
    assert load("m.tally") == whole
    run("fit", "w.duckdb", "--sql", "SELECT x, job, y FROM t", *FIT, "m.tally")
    assert load("m.tally") == whole
    alone = run("predict", "all.tally", "all.csv").out
    assert run("predict", "m.tally", "w.duckdb", "--table", "t").out == alone
    assert "--table NAME" in run("fit", "w.duckdb", *FIT, "m.tally", code=2).line
    assert "databases" in run("fit", "all.csv", "--table", "t", *FIT, "m.tally", code=2).line
    assert "'nothing'" in run("fit", "w.duckdb", "--table", "nothing", *FIT, "x.tally", code=1).line


def test_a_table_of_postgresql(run, whole, postgres_server, postgres_url):
    postgres_server.execute("CREATE TABLE t (x int, job text, y text)", postgres_url)
    rows = ((i % 7, f"j{i % 3}", "ab"[i % 2 if i % 5 else 0]) for i in range(120))
    values = ", ".join(f"({x}, '{job}', '{y}')" for x, job, y in rows)
    postgres_server.execute(f"INSERT INTO t VALUES {values}", postgres_url)
    run("fit", postgres_url, "--table", "t", *FIT, "m.tally")
    assert load("m.tally") == whole
    alone = run("predict", "all.tally", "all.csv").out
    assert run("predict", "m.tally", postgres_url, "--sql", "SELECT x, job FROM t").out == alone
    line = run("fit", postgres_url, "--table", "nothing", *FIT, "x.tally", code=1).line
    assert "nothing" in line
    assert "--table NAME" in run("fit", postgres_url, *FIT, "x.tally", code=2).line


def test_key_columns_stand_beside_predictions(run, whole, parts):
    lines = ["id,x,job,word", *(f'{i:03},{i % 7},j{i % 3},"a,{i}"' for i in range(9))]
    (parts / "new.csv").write_text("\n".join(lines))
    labels = run("predict", "all.tally", "new.csv").out.splitlines()[1:]
    out = run(
        "predict", "all.tally", "new.csv", "--keep", "id", "--keep", "word", "--keep", "x"
    ).out
    assert out.splitlines()[0] == "id,word,x,prediction"
    assert out.splitlines()[1:] == [f'{i:03},"a,{i}",{i % 7},{labels[i]}' for i in range(9)]
    line = run("predict", "all.tally", "new.csv", "--keep", "ids", code=1).line
    assert "--keep names 'ids'" in line
    assert "Did you mean 'id'?" in line
    run("predict", "all.tally", "new.csv", "--keep", "id", "-o", "p.parquet")
    assert pq.read_table(parts / "p.parquet")["id"].to_pylist() == [f"{i:03}" for i in range(9)]


def test_counts_of_parts_merge_to_the_model_of_all(run, whole, parts):
    found = run("count", "data/1.csv", "-t", "y", "-o", "1.tally", "--json").document
    assert (found["command"], found["rows"]) == ("count", 50)
    assert found["classes"] == {"a": 30.0, "b": 20.0}
    assert "70 rows counted" in run("count", "data/2.parquet", "-t", "y", "-o", "2.tally").out
    run("merge", "1.tally", "2.tally", "-o", "m.tally")
    assert load("m.tally") == whole
    assert run("predict", "1.tally", "all.csv").out.count("\n") == 121
    line = run("count", "all.csv", "-t", "z", "-o", "z.tally", code=1).line
    assert "no column 'z'" in line
    assert not (parts / "z.tally").exists()


def test_a_target_without_its_option_is_named(run, parts):
    line = run("fit", "all.csv", "buys", code=2).line
    assert "buys: No such file" in line
    assert "--target 'buys'" in line
    assert "add -o MODEL" in run("fit", "all.csv", "all.csv", code=2).line
