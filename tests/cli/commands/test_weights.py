"""A column of weights: each row counts as often as its weight says."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes

TABLE = [  # a contingency table
    ("first", "male", "yes", 62),
    ("first", "male", "no", 118),
    ("first", "female", "yes", 141),
    ("first", "female", "no", 4),
    ("third", "male", "yes", 88),
    ("third", "male", "no", 422),
    ("third", "female", "yes", 90),
    ("third", "female", "no", 106),
]
NAMES = ("ticket", "sex", "survived", "n")
FIT = ("--target", "survived", "--weight", "n")


@pytest.fixture(autouse=True)
def files(run):
    rows = [dict(zip(NAMES, row, strict=True)) for row in TABLE]
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in TABLE)]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    Path("table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), "table.parquet")
    each = [",".join(row[:3]) for row in TABLE for _ in range(row[3])]
    Path("each.csv").write_text("\n".join([",".join(NAMES[:3]), *each]) + "\n")


def counts(path: str) -> tallybayes.tally.TableTally:
    return tallybayes.load(path).tally_


@pytest.mark.parametrize("data", ["table.csv", "table.jsonl", "table.parquet"])
def test_rows_are_counted_by_their_weights(run, data):
    found = run("fit", data, *FIT, "--plain", "-o", "m.tally", "--json").document
    assert found["rows"] == 1031
    assert [c["column"] for c in found["columns"]] == ["ticket", "sex"]
    run("count", data, *FIT, "-o", "c.tally")
    python = tallybayes.NaiveBayes().fit(data, "survived", sample_weight="n")
    assert counts("c.tally") == counts("m.tally") == python.tally_
    line = run("predict", "m.tally", data, "--proba").out.splitlines()[1]
    first = python.predict_proba([{"ticket": "first", "sex": "male"}])[0]
    assert [float(p) for p in line.split(",")[1:]] == pytest.approx(first, abs=1e-12)


def test_a_weighted_model_learns_from_weights(run):
    found = run("fit", "table.csv", *FIT, "-o", "m.tally", "--json").document
    assert found["rows"] == 1031
    assert "weighted by n" in found["estimate"]["measured_on"]


def test_a_model_remembers_the_column(run):
    run("fit", "table.csv", *FIT, "--plain", "--no-estimate", "-o", "m.tally")
    before = counts("m.tally")
    assert "1,031 rows added" in run("update", "m.tally", "table.parquet").out
    assert "1,031 rows removed" in run("forget", "m.tally", "table.jsonl").out
    assert counts("m.tally") == before
    line = run("update", "m.tally", "each.csv", code=1).line
    assert "each.csv has no column 'n' of weights" in line
    shutil.copy("table.csv", "other.csv")
    Path("other.csv").write_text(Path("table.csv").read_text().replace(",n\n", ",m\n", 1))
    assert "1,031 rows added" in run("update", "m.tally", "other.csv", "--weight", "m").out


def test_figures_are_weighted(run):
    run("fit", "table.csv", *FIT, "--plain", "--no-estimate", "-o", "m.tally")
    by_weight = run("evaluate", "m.tally", "table.csv", "--json").document["estimate"]
    each = run("evaluate", "m.tally", "each.csv", "--weight", "one", "--json", code=1)
    assert "no column 'one'" in each.line
    text = Path("each.csv").read_text().replace("\n", ",1\n").replace("survived,1", "survived,n")
    Path("each.csv").write_text(text)
    each = run("evaluate", "m.tally", "each.csv", "--json").document["estimate"]
    for name in ("accuracy", "log_loss"):
        assert by_weight[name] == pytest.approx(each[name], abs=1e-12)
    assert (by_weight["rows"], each["rows"]) == (8, 1031)
    assert by_weight["confusion"] == each["confusion"]
    run("report", "m.tally", "table.csv", "-o", "page.html")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--weight", "m"), 1, "no column 'm' of weights"),
        (("--weight", "survived"), 2, "is the target"),
        (("--weight", "sex"), 1, "line 2 has no weight in 'sex'"),
        (("--weight", "n", "--column", "n=categorical"), 2, "given a family"),
    ],
)
def test_what_is_no_weight_is_refused(run, words, code, part):
    assert part in run("fit", "table.csv", "-t", "survived", *words, "--plain", code=code).line
    assert not Path("table.tally").exists()


@pytest.mark.parametrize("cell", ["", "-1", "inf", "x"])
def test_a_wrong_weight_names_its_line(run, cell):
    text = Path("table.csv").read_text().replace(",118\n", f",{cell}\n")
    Path("bad.csv").write_text(text)
    assert "bad.csv, line 3" in run("fit", "bad.csv", *FIT, "--plain", code=1).line
    run("fit", "table.csv", *FIT, "--plain", "--no-estimate")
    assert "bad.csv, line 3" in run("update", "table.tally", "bad.csv", code=1).line
    assert "bad.csv, line 3" in run("evaluate", "table.tally", "bad.csv", code=1).line
