"""--flatten at every command that reads rows; a model reads as it was fitted."""

from __future__ import annotations

import json

import pytest

ROWS = [
    {"who": {"age": 20 + i % 9, "town": "ab"[i % 2]}, "n": i % 5, "y": "uv"[i % 3 == 0]}
    for i in range(60)
]


@pytest.fixture
def data(tmp_path):
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "t.json").write_text(json.dumps(ROWS))
    flat = [f"{r['who']['age']},{r['who']['town']},{r['n']},{r['y']}" for r in ROWS]
    (tmp_path / "t.csv").write_text("who.age,who.town,n,y\n" + "\n".join(flat) + "\n")


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_a_model_reads_objects_as_it_was_fitted(run, tmp_path, data, name):
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


def test_what_reads_objects_is_said(run, data):
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
