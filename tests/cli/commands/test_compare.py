"""What moved between two files is what Python says; the exit code says if it is too much."""

import json

import pytest

from tallybayes import collect, compare, load


@pytest.fixture
def months(run, tmp_path):
    for name, pay in (("june", ["card", "cash"] * 60), ("july", ["card"] * 100 + ["app"] * 20)):
        lines = [f"{how},{20 + i % 30},{'yn'[i % 3 == 0]}" for i, how in enumerate(pay)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["pay,age,sold", *lines]) + "\n")
        run("count", f"{name}.csv", "-t", "sold", "-o", f"{name}.tally")
    return load(tmp_path / "june.tally"), load(tmp_path / "july.tally")


def test_compare_states_what_python_says(run, months):
    found = compare(*months)
    told = run("compare", "june.tally", "july.tally", "--json").document
    assert told["columns"][0]["name"] == "pay"
    assert [c["psi"] for c in told["columns"]] == [c.psi for c in found.columns]
    assert [c["q_moved"] for c in told["columns"]] == [c.q_moved for c in found.columns]
    assert told["p_classes"] == found.p_classes
    assert told["columns"][0]["came"] == ["app"]
    shown = run("compare", "june.tally", "july.tally").out
    for text in ("pay", "+app, -cash", "q within", "Classes", "120 rows before"):
        assert text in shown


def test_the_exit_code_is_3_where_a_column_moved_too_far(run, months):
    run("compare", "june.tally", "july.tally", "--fail-over", "0.25", code=3)
    run("compare", "june.tally", "july.tally", "--fail-over", "50")
    run("compare", "june.tally", "june.tally", "--fail-over", "0.01")


def test_a_file_of_a_tally_without_labels_is_compared_too(run, months, tmp_path):
    import pandas as pd

    frame = pd.read_csv(tmp_path / "july.csv").drop(columns="sold")
    collect(frame).save(tmp_path / "rows.tally")
    told = run("compare", "june.tally", "rows.tally", "--json").document
    assert told["p_classes"] is None
    assert told["columns"][0]["came"] == ["app"]
    assert "q within" not in run("compare", "june.tally", "rows.tally").out


def test_rows_without_labels_are_counted_and_a_page_shows_what_moved(run, months, tmp_path):
    import pandas as pd

    frame = pd.read_csv(tmp_path / "july.csv").drop(columns="sold")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    counted = run("count", "rows.csv", "--no-target", "-o", "rows.tally", "--json").document
    assert counted["classes"] == {"(unlabelled)": 120}
    tally = load(tmp_path / "rows.tally").tally_
    assert tally == collect(frame)
    told = run("compare", "june.tally", "rows.tally", "--report", "page.html", "--json").document
    assert told["columns"] == json.loads(
        json.dumps(compare(months[0], tally).document()["columns"])
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"PSI {told['columns'][0]['psi']:.4f}" in page
    (tmp_path / "notes.html").write_text("mine")
    refused = run("compare", "june.tally", "rows.tally", "--report", "notes.html", code=2).line
    assert "--force" in refused
    either = run("count", "rows.csv", "-o", "x.tally", code=2).line
    assert "--target COL" in either
    assert "--no-target" in either


def test_what_cannot_be_compared_is_one_line(run, months, tmp_path):
    lines = [f"{'good' if i % 2 else 'bad'} day,{'yn'[i % 2]}" for i in range(40)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,t", *lines]) + "\n")
    run("fit", "texts.csv", "--column", "text=text", "--target", "t", "-o", "t.tally")
    assert "counts documents" in run("compare", "june.tally", "t.tally", code=1).line
    assert "none.tally" in run("compare", "june.tally", "none.tally", code=1).line
    rows = run("compare", "june.tally", "texts.csv", code=2).line
    assert "tallybayes count texts.csv --no-target" in rows
