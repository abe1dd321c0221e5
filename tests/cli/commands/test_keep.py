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
