"""Partitioned folders, and files with other columns, on the command line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import load

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
