"""Sources on the command line: files, patterns, folders, pipes, workbooks, layouts of CSV."""

import gzip
import json
import os
import threading
import time
from pathlib import Path

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes
from tallybayes import NaiveBayes, load


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


ROWS = [(i % 7, "yn"[(i % 7 > 3) ^ (i % 3 == 0)], 2019 + i % 3) for i in range(120)]


@pytest.fixture(params=["csv", "parquet"])
def data(run, request):
    """A folder with a file for each year, and the same in one file."""
    for year in (2019, 2020, 2021):
        part = pa.table(
            {"x": [r[0] for r in ROWS if r[2] == year], "t": [r[1] for r in ROWS if r[2] == year]}
        )
        folder = Path("data") / f"year={year}"
        folder.mkdir(parents=True)
        if request.param == "parquet":
            pq.write_table(part, folder / "0.parquet")
        else:
            lines = [f"{x},{t}" for x, t in zip(*part.to_pydict().values(), strict=True)]
            (folder / "0.csv").write_text("\n".join(["x,t", *lines]) + "\n")
    Path("all.csv").write_text(
        "\n".join(["x,t,year", *(f"{x},{t},{y}" for x, t, y in ROWS)]) + "\n"
    )


@pytest.mark.parametrize("plain", [(), ("--plain", "--no-estimate")])
def test_keys_of_folders_are_columns(run, data, plain):
    found = run("fit", "data", "-t", "t", *plain, "-o", "m.tally", "--json").document
    assert {c["column"] for c in found["columns"]} == {"x", "year"}
    run("fit", "all.csv", "-t", "t", *plain, "-o", "all.tally")
    assert load("m.tally").tally_ == load("all.tally").tally_
    out = run("predict", "m.tally", "data", "--keep", "year").out.splitlines()[1:]
    assert [line.split(",")[0] for line in out] == sorted(str(r[2]) for r in ROWS)
    assert "120 rows added" in run("update", "m.tally", "data").out
    none = run("fit", "data", "-t", "t", "--plain", "--column", "year=none", "-o", "n.tally").out
    assert "left out" in none


def test_files_with_other_columns_are_joined_by_name(run):
    Path("1.csv").write_text("x,t\n" + "".join(f"{x},{t}\n" for x, t, _ in ROWS[:60]))
    Path("2.csv").write_text("year,x,t\n" + "".join(f"{y},{x},{t}\n" for x, t, y in ROWS[60:]))
    fit = ("fit", "1.csv", "2.csv", "-t", "t", "--plain", "--no-estimate", "-o", "m.tally")
    assert "year" in run(*fit, code=1).line
    found = run(*fit, "--union-by-name", "--json").document
    missing = {c["column"]: c["missing"] for c in found["columns"]}
    assert missing == {"x": 0.0, "year": 0.5}


NESTED = [
    {"who": {"age": 20 + i % 9, "town": "ab"[i % 2]}, "n": i % 5, "y": "uv"[i % 3 == 0]}
    for i in range(60)
]


@pytest.fixture
def nested(tmp_path):
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, NESTED)))
    (tmp_path / "t.json").write_text(json.dumps(NESTED))
    flat = [f"{r['who']['age']},{r['who']['town']},{r['n']},{r['y']}" for r in NESTED]
    (tmp_path / "t.csv").write_text("who.age,who.town,n,y\n" + "\n".join(flat) + "\n")


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_a_model_reads_objects_as_it_was_fitted(run, tmp_path, nested, name):
    fit = ("-t", "y", "--plain", "--no-estimate", "--json")
    run("fit", name, *fit, "--flatten", "-o", "m.tally")
    run("fit", "t.csv", *fit, "-o", "c.tally")
    expected = run("predict", "c.tally", "t.csv", "--proba").out
    assert run("predict", "m.tally", name, "--proba").out == expected
    assert run("predict", "m.tally", "t.csv", "--proba").out == expected
    for command in ("update", "forget"):
        run(command, "m.tally", name)
    assert run("predict", "m.tally", name, "--proba").out == expected
    for words in (("evaluate", "--json"), ("explain", "--row", "3", "--json")):
        found = run(words[0], "m.tally", name, *words[1:]).document
        other = run(words[0], "c.tally", "t.csv", *words[1:]).document
        alike = [{k: v for k, v in each.items() if k != "model"} for each in (found, other)]
        assert json.dumps(alike[0]).replace(name, "") == json.dumps(alike[1]).replace("t.csv", "")
    run("count", name, "-t", "y", "--flatten", "-o", "n.tally")
    assert run("predict", "n.tally", name, "--proba").out == expected
    run("report", "m.tally", name, "-o", "page.html")


def test_what_reads_objects_is_said(run, nested):
    said = run("fit", "t.json", "-t", "y", "--plain", "--no-estimate").err
    assert "column 'who' is left out: its type is object; --flatten" in " ".join(said.split())


def test_a_text_within_an_object(run, tmp_path):
    rows = [
        {"mail": {"body": f"free money {i}" if i % 2 else f"see you {i}"}, "y": "ab"[i % 2]}
        for i in range(40)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("fit", "t.jsonl", "-t", "y", "--flatten", "--column", "mail.body=text", "-o", "m.tally")
    found = run("predict", "m.tally", "t.jsonl").out.split()
    assert found == ["prediction", *(row["y"] for row in rows)]


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that somebody writes these bytes to."""
    writers = []

    def pipe(data, name="pipe"):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
        writer.start()
        writers.append(writer)
        return name

    yield pipe
    for writer in writers:
        writer.join(timeout=10)
        assert not writer.is_alive()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_as_a_file_is(run, files, tmp_path, pipe, pack):
    data = (tmp_path / "comma.csv").read_bytes()
    run("fit", "comma.csv", "-t", "buys", "-o", "file.tally", "--plain", "--no-estimate")
    made = run("fit", pipe(pack(data), "a"), "-t", "buys", "-o", "pipe.tally", "--plain")
    assert "10-fold cross-validation" in made.out  # of the rows kept while they were counted
    found = run("predict", "pipe.tally", pipe(pack(data), "b"), "--proba").out
    assert found == run("predict", "file.tally", "comma.csv", "--proba").out
    tested = run("fit", "comma.csv", "-t", "buys", "-o", "t.tally", "--test", pipe(data, "c"))
    assert "test file c" in tested.out


def test_what_is_wrong_in_a_pipe(run, files, pipe):
    run("fit", "comma.csv", "-t", "buys", "-o", "m.tally", "--plain", "--no-estimate")
    line = run("predict", "m.tally", pipe(b"age\n1\n", "a"), code=1).line
    assert "a lacks the column(s)" in line
    line = run("predict", "m.tally", pipe(b"", "b"), code=1).line
    assert "b is empty" in line
    line = run("predict", "m.tally", pipe(b"PAR1" + bytes(20) + b"PAR1", "c"), code=1).line
    assert "c can be read only once" in line


def test_ctrl_c_while_a_pipe_is_waited_for(process, files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    job = process.start("fit", "--plain", "pipe", "-t", "buys", "-o", "m.tally")
    with (tmp_path / "pipe").open("wb", buffering=0) as writer:
        writer.write((tmp_path / "comma.csv").read_bytes())
        time.sleep(1.5)
        job.send_signal(2)
        assert job.wait(timeout=20) == 130
    job.communicate()
    assert not (tmp_path / "m.tally").exists()


def test_the_shells_substitution(process, run, files, tmp_path):
    run("fit", "--plain", "comma.csv", "-t", "buys", "-o", "m.tally", "--no-estimate")
    whole = run("predict", "m.tally", "comma.csv").out.splitlines()
    read, write = os.pipe()
    os.write(write, b"".join((tmp_path / "comma.csv").read_bytes().splitlines(keepends=True)[:5]))
    os.close(write)
    job = process.start("predict", "m.tally", f"/dev/fd/{read}", pass_fds=(read,))
    os.close(read)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    found = out.decode().splitlines()
    assert len(found) >= 3
    assert found == whole[: len(found)]


def test_a_workbook_goes_through_the_commands(run, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active["A1"] = "see the other sheet"
    sheet = book.create_sheet("sales")
    lines = ["age,town,y"]
    sheet.append(["age", "town", "y"])
    for i in range(40):
        sheet.append([i % 9, "ab"[i % 2], "uv"[i % 3 == 0]])
        lines.append(f"{i % 9},{'ab'[i % 2]},{'uv'[i % 3 == 0]}")
    book.save(tmp_path / "t.xlsx")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    given = ("-t", "y", "--plain", "--no-estimate")
    assert "has the sheets 'notes', 'sales'" in run("fit", "t.xlsx", *given, code=1).line
    run("fit", "t.xlsx", "--sheet", "sales", *given)
    run("fit", "t.csv", *given, "-o", "c.tally")
    expected = run("predict", "c.tally", "t.csv", "--proba").out
    assert run("predict", "t.tally", "t.xlsx", "--sheet", "sales", "--proba").out == expected
    stdin = (tmp_path / "t.xlsx").read_bytes()
    assert (
        run("predict", "t.tally", "-", "--sheet", "sales", "--proba", stdin=stdin).out == expected
    )
    found = run("doctor", "t.xlsx", "--sheet", "sales", "-t", "y", "--json").document
    assert "fit t.xlsx --target y --sheet sales" in found["command"]
    assert "tallybayes.files('t.xlsx', sheet='sales')" in found["python"]
    assert found["sound"]
    assert (
        "suffix gives the format" in run("predict", "t.tally", "t.csv", "-o", "p.xlsx", code=2).err
    )


def rows(n=60):
    """Lines without a header, with signs in numbers and days before months."""
    return "".join(
        f"{1 + i % 28}.02.2020   {1 + i % 9}.{i:03},50  {'ja' if i % 3 else 'nein'}\n"
        for i in range(n)
    )


@pytest.fixture
def laid(tmp_path):
    (tmp_path / "laid.txt").write_text("# made by hand\n" + rows())
    return "laid.txt"


LAID = (
    *("--skip", 1, "--no-header", "--names", "day,price,buys", "--delimiter", "blanks"),
    *("--decimal", ",", "--thousands", ".", "--dates", "dmy"),
)


def test_a_model_is_that_of_the_same_options_in_python(run, laid, tmp_path):
    run("fit", laid, "-t", "buys", "--plain", "--no-estimate", "-o", "m.tally", *LAID)
    source = tallybayes.csv(
        tmp_path / laid,
        skip=1,
        header=False,
        names=["day", "price", "buys"],
        delimiter="blanks",
        decimal=",",
        thousands=".",
        dates="dmy",
    )
    model = tallybayes.load(tmp_path / "m.tally")
    assert model.tally_ == NaiveBayes().fit(source, "buys").tally_
    kinds = {g.names[0]: (g.kind, g.dates) for g in model.tally_.schema.groups}
    assert kinds == {"day": ("grid", True), "price": ("grid", False)}


def test_the_model_remembers_how_numbers_and_dates_are_spelt(run, laid, tmp_path):
    run("fit", laid, "-t", "buys", "--plain", "--no-estimate", "-o", "m.tally", *LAID)
    (tmp_path / "new.csv").write_text("day;price\n03.02.2020;1.000,50\n")
    (tmp_path / "iso.csv").write_text("day;price\n2020-02-03;1000,50\n")
    (tmp_path / "new.jsonl").write_text('{"day": "2020-02-03", "price": 1000.5}\n')
    found = [run("predict", "m.tally", name, "--proba").out for name in ("new.csv", "iso.csv")]
    assert found[0] == found[1]
    assert run("predict", "m.tally", "new.jsonl", "--proba").out == found[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--delimiter", ";;"), "--delimiter ';;' is not one ASCII character, tab or blanks"),
        (("--thousands", "x"), "--thousands 'x' is not one of"),
        (("--thousands", "."), "--thousands '.' is the decimal sign"),
        (("--dates", "dym"), "--dates 'dym' is not one of ymd, dmy, mdy"),
        (("--names", "a,a,b"), "--names has 'a' twice"),
        (("--encoding", "utf-99"), "--encoding 'utf-99' is not known"),
    ],
)
def test_what_cannot_be_is_a_usage_error(run, laid, words, message):
    assert message in run("fit", laid, "-t", "buys", *words, code=2).line


def test_what_has_no_effect_is_refused(run, files, tmp_path):
    for words in (("--delimiter", ";"), ("--encoding", "latin-1"), ("--no-header",)):
        line = run("fit", "table.jsonl", "-t", "buys", *words, code=1).line
        assert "table.jsonl is JSON lines, and " in line
    line = run("fit", "table.parquet", "-t", "buys", "--skip", 1, code=1).line
    assert "table.parquet is a Parquet file, and skip is for CSV" in line


def test_a_missing_header_and_blanks_are_pointed_out(run, laid, tmp_path):
    (tmp_path / "bare.csv").write_text("5.1,3.5,no\n4.9,3.0,yes\n")
    assert "--names A,B,… --no-header" in run("fit", "bare.csv", "-t", "buys", code=1).line
    (tmp_path / "below.txt").write_text("price   buys\n1   ja\n2   nein\n")
    assert "--delimiter blanks" in run("fit", "below.txt", "-t", "buys", code=1).line


def test_a_document_na_is_a_document_from_a_pipe_too(run, tmp_path):
    content = "said,y\n" + "NA,a\nNA NA,a\nnull,b\nso it goes,b\n" * 5
    (tmp_path / "t.csv").write_text(content)
    words = ("-t", "y", "--column", "said=text", "--no-estimate", "-o")
    run("fit", "t.csv", *words, "file.tally")
    run("fit", "-", *words, "pipe.tally", stdin=content.encode())
    terms = [tallybayes.load(tmp_path / f"{n}.tally").tally_ for n in ("file", "pipe")]
    assert terms[0] == terms[1]
