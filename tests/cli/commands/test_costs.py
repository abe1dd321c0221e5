"""Decisions by cost on the command line are those of Python, and files keep their costs."""

import csv
import io
import json

import numpy as np
import pytest

from tallybayes import load, open_model
from tallybayes.model_files import evaluate

COSTS = "actual,no,yes,ask\nno,0,1,0.3\nyes,5,0,0.3\n"


@pytest.fixture(params=[["--plain", "--no-estimate"], []], ids=["plain", "weighted"])
def people(run, tmp_path, request):
    rng = np.random.default_rng(4)
    lines = []
    for i in range(160):
        yes = bool(rng.random() < 0.35)
        town = ["north", "south", ""][int(rng.choice(3, p=[0.6, 0.3, 0.1]))]
        age = round(float(rng.normal(52 if yes else 38, 6)), 1)
        lines.append(f"{i},{age},{town},{'yes' if yes else 'no'}")
    (tmp_path / "people.csv").write_text("\n".join(["id,age,town,bought", *lines]) + "\n")
    (tmp_path / "costs.csv").write_text(COSTS)
    (tmp_path / "costs.jsonl").write_text(
        '{"actual": "no", "no": 0, "yes": 1, "ask": 0.3}\n'
        '{"actual": "yes", "no": 5, "yes": 0, "ask": 0.3}\n'
    )
    columns = ["--column", "id=none", "--column", "town=none"]
    run("fit", "people.csv", "-t", "bought", *columns, *request.param, "-o", "m.tally")
    return list(csv.DictReader(io.StringIO((tmp_path / "people.csv").read_text())))


def decided(outcome):
    return [row["prediction"] for row in csv.DictReader(io.StringIO(outcome.out))]


@pytest.mark.parametrize("costs", ["costs.csv", "costs.jsonl"])
def test_predict_decides_as_python_does(run, people, tmp_path, costs):
    found = run("predict", "m.tally", "people.csv", "--costs", costs, "--proba")
    model = load(tmp_path / "m.tally")
    rows = [{"age": float(row["age"]), "town": row["town"] or None} for row in people]
    table = {"no": {"no": 0, "yes": 1, "ask": 0.3}, "yes": {"no": 5, "yes": 0, "ask": 0.3}}
    assert decided(found) == model.decide(rows, table).decision.tolist()
    assert set(decided(found)) == {"no", "yes", "ask"}
    model.with_costs(table).save(tmp_path / "with.tally")
    again = run("predict", "with.tally", "people.csv", "--proba")
    assert again.out == found.out
    run("predict", "m.tally", "people.csv", "--costs", costs, "-o", "out.jsonl", "--json")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == decided(found)


def test_evaluate_states_costs_by_the_values_of_a_column(run, people):
    words = ("evaluate", "m.tally", "people.csv", "--costs", "costs.csv", "--by", "town")
    found = run(*words, "--json").document["estimate"]["costs"]
    choices = decided(run("predict", "m.tally", "people.csv", "--costs", "costs.csv"))
    price = {("no", "no"): 0.0, ("no", "yes"): 1.0, ("yes", "no"): 5.0, ("yes", "yes"): 0.0}

    def figures(rows):
        own = [people[i]["bought"] for i in rows]
        made = [choices[i] for i in rows]
        cost = [0.3 if d == "ask" else price[a, d] for a, d in zip(own, made, strict=True)]
        rest = [a != d for a, d in zip(own, made, strict=True) if d != "ask"]
        return np.mean(cost), made.count("ask") / len(made), np.mean(rest) if rest else None

    everything = list(range(len(people)))
    for stated, rows in [(found, everything)] + [
        (group, [i for i in everything if people[i]["town"] == group["value"]])
        for group in found["by"]["groups"]
    ]:
        cost, referred, error = figures(rows)
        assert stated["rows"] == len(rows)
        assert stated["cost"] == pytest.approx(cost)
        assert stated["referred"] == pytest.approx(referred)
        assert stated["error_of_the_rest"] == pytest.approx(error)
    assert [group["value"] for group in found["by"]["groups"]] == ["", "north", "south"]
    shown = run(*words).out
    for text in ("Cost of a row", "(missing)", "north", "referred", "cost if always taken"):
        assert text in shown
    of_python = evaluate(open_model("m.tally"), _rows("people.csv"), costs="costs.csv", by="town")
    assert of_python.costs.cost == pytest.approx(found["cost"])
    assert "costs" not in run("evaluate", "m.tally", "people.csv", "--json").document["estimate"]


def _rows(path):
    from tallybayes.sources import open_rows

    return open_rows(path)


def test_rows_of_unknown_classes_and_without_labels_are_left_aside(run, people, tmp_path):
    lines = (tmp_path / "people.csv").read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ",maybe"
    (tmp_path / "some.csv").write_text("\n".join(lines) + "\n")
    words = ("--costs", "costs.csv", "--by", "town", "--json")
    found = run("evaluate", "m.tally", "some.csv", *words).document["estimate"]["costs"]
    assert (found["rows"], found["rows_without_costs"]) == (160, 1)
    lines[2] = lines[2].rpartition(",")[0] + ","
    (tmp_path / "some.csv").write_text("\n".join(lines) + "\n")
    outcome = run("evaluate", "m.tally", "some.csv", "--skip-unlabelled", *words)
    assert outcome.document["estimate"]["costs"]["rows"] == 159
    assert sum(g["rows"] for g in outcome.document["estimate"]["costs"]["by"]["groups"]) == 159


def test_a_file_keeps_its_costs_when_it_learns(run, people, tmp_path):
    model = load(tmp_path / "m.tally")
    table = {"no": {"no": 0, "yes": 1, "ask": 0.3}, "yes": {"no": 5, "yes": 0, "ask": 0.3}}
    model.with_costs(table).save(tmp_path / "with.tally")
    run("update", "with.tally", "people.csv")
    assert set(decided(run("predict", "with.tally", "people.csv"))) == {"no", "yes", "ask"}
    assert "Cost of a row" in run("evaluate", "with.tally", "people.csv").out
    assert load(tmp_path / "with.tally").costs == table
    assert "'ask'" in run("sql", "with.tally", "--table", "people").out
    assert "sql writes" in run("export", "with.tally", "-o", "with.py", code=1).line


def test_what_cannot_be_done_says_so_in_one_line(run, people, tmp_path):
    for text, message in (
        ("actual,no\nno,0\n", "the class 'yes' has none"),
        ("actual,no,yes\nno,0,\nyes,1,0\n", "'yes' costs None in the class 'no'"),
        ("actual,no,yes\nno,0,x\nyes,1,0\n", "'yes' costs 'x' in the class 'no'"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        for command in ("predict", "evaluate"):
            line = run(command, "m.tally", "people.csv", "--costs", "bad.csv", code=1).line
            assert message in line
    assert (
        "no such file"
        in run("predict", "m.tally", "people.csv", "--costs", "none.csv", code=1).line
    )
    assert "--costs" in run("evaluate", "m.tally", "people.csv", "--by", "town", code=2).line
    words = ("evaluate", "m.tally", "people.csv", "--costs", "costs.csv", "--by", "twon")
    assert "--by names 'twon'" in (line := run(*words, code=1).line)
    assert "'town'" in line


def test_documents_are_decided_about_as_well(run, tmp_path):
    lines = [f"{'good' if i % 2 else 'bad'} day {i % 5},{'yn'[i % 2]}" for i in range(40)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,t", *lines]) + "\n")
    (tmp_path / "costs.csv").write_text("actual,n,y\nn,0,0\ny,1,1\n")
    run("fit", "texts.csv", "--column", "text=text", "--target", "t", "-o", "t.tally")
    found = run("predict", "t.tally", "texts.csv", "--costs", "costs.csv")
    assert set(decided(found)) == {"n"}  # of equal costs the first
    words = ("evaluate", "t.tally", "texts.csv", "--costs", "costs.csv")
    assert run(*words, "--json").document["estimate"]["costs"]["cost"] == pytest.approx(0.5)
    assert "model of documents" in run(*words, "--by", "text", code=2).line
