"""A column of text from the command line: declared by name, learned, asked and updated."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tallybayes import load

TABLE = """body,n,y
"good film, really good",1,a
"bad film",2,b
"12",3,b
"a good one",1,a
,2,a
"""


def test_a_declared_text_is_counted_by_its_terms(run):
    Path("t.csv").write_text(TABLE, encoding="utf-8")
    declared = "body=text(ngram_range=[1,1], alpha=0.5)"
    run("fit", "--plain", "t.csv", "--target", "y", "--column", declared, "--json")
    model = load("t.tally")
    family = model.columns["body"]
    assert (family.ngram_range, family.alpha) == ((1, 1), 0.5)
    assert "12" in model.tally_.groups[0].held.terms.tolist()
    assert run("predict", "t.tally", "t.csv").out.split()[1:3] == ["a", "b"]
    run("update", "t.tally", "t.csv")
    assert load("t.tally").tally_.groups[0].documents.sum() == 8.0


def _prose(n: int) -> str:
    rng = random.Random(0)
    things, good, bad = ["parcel", "letter", "phone"], ["quick", "perfect"], ["late", "broken"]
    lines = ["body,n,y"]
    for i in range(n):
        words = [*rng.choices(things, k=3), *rng.choices(good if i % 2 else bad, k=3)]
        lines.append(f"{' '.join(rng.sample(words, 6))} {rng.random()},{i % 5},{'ab'[i % 2]}")
    return "\n".join([*lines, ""])


def test_prose_is_found_and_its_words_are_explained(run):
    Path("p.csv").write_text(_prose(80), encoding="utf-8")
    out = run("fit", "--plain", "p.csv", "--target", "y", "--no-estimate").out
    assert "its strings are prose" in out
    informative = out[out.index("Most informative") :].split()
    apart = dict(zip(["body", "n"], load("p.tally").feature_importances_, strict=True))
    assert float(informative[informative.index("body") + 1]) == pytest.approx(
        apart["body"], abs=1e-4
    )
    assert "moves the scores of the classes apart" in " ".join(informative)
    out = run("explain", "p.tally", "p.csv", "--row", 1).out
    assert "Words of 'body'" in out
    assert "(the rest)" in out
    found = run("explain", "p.tally", "p.csv", "--row", 1, "--json").document
    [body] = [c for c in found["columns"] if c["column"] == "body"]
    for label, nats in body["contribution"].items():
        assert abs(sum(t["contribution"][label] for t in body["terms"]) - nats) < 1e-5
    run("fit", "--plain", "p.csv", "--target", "y", "--column", "body=categorical", "--no-estimate")
    assert "Words of" not in run("explain", "p.tally", "p.csv", "--row", 1).out
