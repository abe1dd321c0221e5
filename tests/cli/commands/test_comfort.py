"""What commands print besides their results, and how they are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallybayes.cli.app import COMMANDS
from tallybayes.cli.messages import WORDS, in_ascii

ROWS = [f"K{i},{i % 7},{'yn'[i % 7 > 3]}" for i in range(60)]


@pytest.fixture
def model(run):
    Path("t.csv").write_text("\n".join(["id,value,t", *ROWS]) + "\n")
    run("fit", "t.csv", "-t", "t", "--column", "id=none", "--plain", "-o", "m.tally")
    return "m.tally"


@pytest.mark.parametrize("plain", [(), ("--plain",)])
def test_the_last_line_of_a_fit_is_its_accuracy(run, model, plain):
    out = run("fit", "t.csv", "-t", "t", *plain, "-o", "n.tally").out
    assert out.splitlines()[-1].startswith("accuracy ")
    out = run("fit", "t.csv", "-t", "t", *plain, "--test", "t.csv", "-o", "n.tally").out
    assert "(test file t.csv); always 'y': 60.00%" in out.splitlines()[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_ends_with_examples(run, command):
    text = run(command, "--help").out
    examples = text.partition("\nExamples:\n")[2].splitlines()
    assert examples
    assert all(f"tallybayes {command} " in line for line in examples if line[2] != " ")


def test_quiet_commands_print_results_and_errors_only(run, model):
    quiet = run("fit", "t.csv", "-t", "t", "-o", "q.tally", "-q")
    assert (quiet.out, quiet.err) == ("", "")
    assert run("fit", "t.csv", "-t", "t", "-o", "q.tally").out
    alone = run("predict", model, "t.csv").out
    assert run("predict", model, "t.csv", "-q").out == alone
    run("predict", model, "t.csv", "-o", "p.csv", "--quiet")
    assert run("evaluate", model, "t.csv", "--json", "-q").document["estimate"]["rows"] == 60
    assert "no column" in run("evaluate", model, "t.csv", "-t", "x", "-q", code=1).line


def test_several_rows_are_explained_by_number_and_by_key(run, model):
    one = run("explain", model, "t.csv", "--row", 3, "--json").document
    by_key = run("explain", model, "t.csv", "--key", "id=K3", "--key", "value=6", "--json").document
    assert [row["row"] for row in by_key["rows"]] == [3, *range(6, 60, 7)]
    assert {"command": "explain", **by_key["rows"][0]} == one
    text = run("explain", model, "t.csv", "--row", 5, "--row", 2).out
    assert [line.split(":")[0] for line in text.splitlines() if "predicted" in line] == [
        "Row 2 (line 4)",
        "Row 5 (line 7)",
    ]
    assert "no row has id=K60" in run("explain", model, "t.csv", "--key", "id=K60", code=1).line
    assert "there is no row 60" in run("explain", model, "t.csv", "--row", 60, code=1).line
    assert "COL=VALUE" in run("explain", model, "t.csv", "--key", "K3", code=2).line
    assert "Did you mean 'id'" in run("explain", model, "t.csv", "--key", "ids=1", code=1).line


def test_several_documents_are_explained(run):
    rows = "".join(
        f"K{i},{['good day', 'bad mess'][i % 2]} {i % 3},{'yn'[i % 2]}\n" for i in range(20)
    )
    Path("d.csv").write_text("id,text,t\n" + rows)
    fit = ("fit", "d.csv", "-t", "t", "--column", "text=text", "--column", "id=none", "--no-ridge")
    run(*fit, "-o", "d.tally")
    found = run("explain", "d.tally", "d.csv", "--key", "id=K4", "--row", 1, "--json").document
    assert [(row["row"], row["prediction"]) for row in found["rows"]] == [(1, "n"), (4, "y")]


def test_a_renamed_column_of_data_is_recognised(run, model):
    Path("new.csv").write_text("id,values\nK1,3\n")
    line = run("predict", model, "new.csv", code=1).line
    assert "Did you mean 'values'? Rename it to 'value'." in line


def test_signs_are_words_where_a_stream_takes_ascii_only(process, model):
    narrow = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = process("evaluate", model, "t.csv", **narrow).out
    assert found.isascii()
    assert "?" not in found
    assert "+/-" in found
    assert all(in_ascii(sign).isascii() for sign in WORDS)
    assert in_ascii("工 → 2") == "\\u5de5 -> 2"
