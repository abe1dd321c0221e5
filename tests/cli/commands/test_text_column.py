"""A column of text from the command line: declared by name, learned, asked and updated."""

from __future__ import annotations

from pathlib import Path

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
