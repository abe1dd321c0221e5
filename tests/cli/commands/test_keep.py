"""Columns that stand beside predictions are as they are in the data, whatever the model makes of
them."""

from __future__ import annotations

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
