"""Columns that stand beside predictions are as they are in the data, whatever the model makes of
them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

N = 60
KEYS = [f"{7 + i:05}" for i in range(N)]


@pytest.fixture(params=[[], ["--plain", "--no-estimate"]], ids=["weighted", "plain"])
def rows(run, tmp_path, request):
    """Training rows with a key that looks like a number, and a model of them for each use of it."""
    lines = [
        f"{key},{i % 7},2024-01-{1 + i % 28:02},{'yn'[i % 7 > 3]}" for i, key in enumerate(KEYS)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["id,x,day,t", *lines]) + "\n")
    data = [dict(zip(("id", "x", "day", "t"), line.split(","), strict=True)) for line in lines]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    pq.write_table(pa.Table.from_pylist(data), tmp_path / "rows.parquet")
    for name, column in {"none": ["--column", "id=none"], "read": []}.items():
        run("fit", "rows.csv", "-t", "t", *column, *request.param, "-o", f"{name}.tally")
    return data


@pytest.mark.parametrize("data", ["rows.csv", "rows.jsonl", "rows.parquet"])
@pytest.mark.parametrize("model", ["none", "read"])
def test_a_key_is_kept_whatever_the_model_makes_of_it(run, rows, model, data):
    alone = run("predict", f"{model}.tally", data, "--proba").out.splitlines()[1:]
    keep = [word for name in ("id", "day", "t") for word in ("--keep", name)]
    head, *lines = run("predict", f"{model}.tally", data, "--proba", *keep).out.splitlines()
    assert head == "id,day,t,prediction,p(n),p(y)"
    assert lines == [
        f"{row['id']},{row['day']},{row['t']},{rest}" for row, rest in zip(rows, alone, strict=True)
    ]


def test_a_kept_column_that_is_no_number_is_refused_where_the_model_reads_numbers(run, rows):
    with open("bad.csv", "w") as file:
        file.write("id,x,day\n1,2,2024-01-01\nK7,2,2024-01-01\n")
    alone = run("predict", "read.tally", "bad.csv", code=1).line
    assert "bad.csv, line 3: column 'id' holds 'K7'" in alone
    assert run("predict", "read.tally", "bad.csv", "--keep", "id", code=1).line == alone


def test_a_kept_column_has_no_name_that_predictions_have(run, rows):
    with open("again.csv", "w") as file:
        file.write("id,x,day,prediction,p(y)\n1,2,2024-01-01,a,b\n")
    for name, more in (("prediction", ()), ("p(y)", ("--proba",))):
        line = run("predict", "none.tally", "again.csv", "--keep", name, *more, code=2).line
        assert f"--keep {name}" in line
        assert "rename" in line
    assert "b,y" in run("predict", "none.tally", "again.csv", "--keep", "p(y)").out


@pytest.mark.parametrize("data", ["texts.csv", "texts.jsonl", "texts.parquet"])
def test_keys_stand_beside_predictions_of_texts(run, tmp_path, data):
    texts = [f"{['good nice day', 'bad awful mess'][i % 2]} {'abc'[i % 3]}" for i in range(60)]
    found = [
        {"id": f"{i:03}", "text": text, "t": "yn"[i % 2], "n": i if i % 5 else None}
        for i, text in enumerate(texts)
    ]
    table = pa.Table.from_pylist(found)
    pq.write_table(table, "texts.parquet")
    with open("texts.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in found)
    cells = [",".join("" if v is None else str(v) for v in row.values()) for row in found]
    (tmp_path / "texts.csv").write_text("\n".join(["id,text,t,n", *cells]) + "\n")
    none = [word for name in ("id", "n") for word in ("--column", f"{name}=none")]
    fit = ("fit", "texts.csv", "-t", "t", "--column", "text=text", *none, "--no-ridge")
    run(*fit, "-o", "text.tally")
    alone = run("predict", "text.tally", data).out.splitlines()[1:]
    keep = ["--keep", "id", "--keep", "n", "--keep", "t"]
    head, *lines = run("predict", "text.tally", data, *keep).out.splitlines()
    assert head == "id,n,t,prediction"
    expected = [
        f"{row['id']},{'' if row['n'] is None else row['n']},{row['t']},{label}"
        for row, label in zip(found, alone, strict=True)
    ]
    assert lines == expected
    assert "Did you mean 'id'?" in run("predict", "text.tally", data, "--keep", "ids", code=1).line


def test_documents_that_are_files_have_names(run, tmp_path):
    for label, text in (("good", "a fine day"), ("bad", "an awful evening")):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i in range(6):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(f"{text} number {i}")
    run("fit", "mail", "-o", "m.tally", "--no-ridge")
    line = run("predict", "m.tally", "mail", "--keep", "id", code=2).line
    assert "--keep is for rows" in line


CELLS = ["1.10", "NA", " a ", "007", "true", "1e3", "2024/1/31", "", "12345678901234567890", "?"]


@pytest.mark.parametrize("model", ["none", "read"])
@pytest.mark.parametrize("twice", [[], ["new.csv"]], ids=["one file", "two files"])
@pytest.mark.parametrize("stdin", [False, True])
def test_cells_of_csv_are_kept_as_the_file_has_them(run, tmp_path, model, twice, stdin):
    lines = [f"{cell},{i % 3}," + "uv"[i % 2] for i, cell in enumerate(CELLS * 4)]
    data = "\n".join(["id,x,t", *lines]) + "\n"
    (tmp_path / "new.csv").write_text(data)
    column = ["--column", "id=none"] if model == "none" else []
    run("fit", "new.csv", "-t", "t", *column, "--plain", "--no-estimate", "-o", "m.tally")
    alone = run("predict", "m.tally", "new.csv", "--proba").out.split()[1:]
    if stdin:
        found = run("predict", "m.tally", "-", "--proba", "--keep", "id", stdin=data.encode())
        twice = []
    else:
        found = run("predict", "m.tally", "new.csv", *twice, "--proba", "--keep", "id")
    expected = [f"{cell},{rest}" for cell, rest in zip(CELLS * 4, alone, strict=True)]
    assert found.out.splitlines()[1:] == expected * (1 + len(twice))


@pytest.mark.parametrize("keep", [["id"], ["id", "s"]])
@pytest.mark.parametrize("stdin", [False, True])
def test_values_of_json_are_kept_digit_by_digit(run, tmp_path, keep, stdin):
    written = ["1.10", "12345678901234567890", "true", '"NA"', '" b "', "null", "1e3", '"007"']
    lines = [f'{{"id": {v}, "s": "{i}.0", "x": {i % 3}, "t": "uv"}}' for i, v in enumerate(written)]
    data = "\n".join([*lines, '{"x": 1, "t": "w"}', ""])
    (tmp_path / "new.jsonl").write_text(data)
    run("fit", "new.jsonl", "-t", "t", "--plain", "--no-estimate", "-o", "m.tally")
    words = [word for name in keep for word in ("--keep", name)]
    source, given = ("-", data.encode()) if stdin else ("new.jsonl", None)
    out = run("predict", "m.tally", source, "--format", "jsonl", *words, stdin=given).out
    kept = [line.rsplit(",", 1)[0] for line in out.splitlines()[1:]]
    cells = ["" if v == "null" else v.strip('"') for v in written]
    beside = [f",{i}.0" for i in range(len(cells))] if "s" in keep else [""] * len(cells)
    assert kept == [*(f"{a}{b}" for a, b in zip(cells, beside, strict=True)), "," * (len(keep) - 1)]


def test_keys_of_folders_are_kept_as_they_are_named(run, tmp_path):
    for month in ("01", "02"):
        folder = tmp_path / "data" / f"month={month}"
        folder.mkdir(parents=True)
        (folder / "t.csv").write_text("x,t\n1,u\n2,v\n")
    run("fit", "data", "-t", "t", "--plain", "--no-estimate", "-o", "m.tally")
    out = run("predict", "m.tally", "data", "--keep", "month").out
    assert [line[:2] for line in out.splitlines()[1:]] == ["01", "01", "02", "02"]


def test_a_row_is_explained_by_its_key_as_it_is_written(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,x,t\n1.10,1,u\n1.1,2,v\n NA ,3,u\n")
    run("fit", "t.csv", "-t", "t", "--column", "id=none", "--plain", "--no-estimate")
    for key, row in (("1.10", 0), ("1.1", 1), ("NA", 2)):
        found = run("explain", "t.tally", "t.csv", "--key", f"id={key}", "--json").document
        assert [each["row"] for each in found["rows"]] == [row]


def test_cells_beside_documents_are_kept_as_the_file_has_them(run, tmp_path):
    lines = [f"{cell},word{i % 3} good," + "uv"[i % 2] for i, cell in enumerate(CELLS * 4)]
    (tmp_path / "t.csv").write_text("\n".join(["id,body,t", *lines]) + "\n")
    fit = ("fit", "t.csv", "-t", "t", "--column", "body=text", "--column", "id=none", "--no-ridge")
    run(*fit, "-o", "m.tally")
    out = run("predict", "m.tally", "t.csv", "--keep", "id").out
    assert [line.rsplit(",", 1)[0] for line in out.splitlines()[1:]] == CELLS * 4
