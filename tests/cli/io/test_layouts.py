"""How CSV is laid out and spelt, as options of the command line; a model remembers the spelling."""

from __future__ import annotations

import pytest

import tallybayes
from tallybayes import NaiveBayes


def rows(n=60):
    """Lines without a header, with signs in numbers and days before months."""
    return "".join(
        f"{1 + i % 28}.02.2020   {1 + i % 9}.{i:03},50  {'ja' if i % 3 else 'nein'}\n"
        for i in range(n)
    )


@pytest.fixture
def laid(tmp_path):
    (tmp_path / "laid.txt").write_text("# made by hand\n" + rows())
    return "laid.txt"


LAID = (
    *("--skip", 1, "--no-header", "--names", "day,price,buys", "--delimiter", "blanks"),
    *("--decimal", ",", "--thousands", ".", "--dates", "dmy"),
)


def test_a_model_is_that_of_the_same_options_in_python(run, laid, tmp_path):
    run("fit", laid, "-t", "buys", "--plain", "--no-estimate", "-o", "m.tally", *LAID)
    source = tallybayes.csv(
        tmp_path / laid,
        skip=1,
        header=False,
        names=["day", "price", "buys"],
        delimiter="blanks",
        decimal=",",
        thousands=".",
        dates="dmy",
    )
    model = tallybayes.load(tmp_path / "m.tally")
    assert model.tally_ == NaiveBayes().fit(source, "buys").tally_
    kinds = {g.names[0]: (g.kind, g.dates) for g in model.tally_.schema.groups}
    assert kinds == {"day": ("grid", True), "price": ("grid", False)}


def test_the_model_remembers_how_numbers_and_dates_are_spelt(run, laid, tmp_path):
    run("fit", laid, "-t", "buys", "--plain", "--no-estimate", "-o", "m.tally", *LAID)
    (tmp_path / "new.csv").write_text("day;price\n03.02.2020;1.000,50\n")
    (tmp_path / "iso.csv").write_text("day;price\n2020-02-03;1000,50\n")
    (tmp_path / "new.jsonl").write_text('{"day": "2020-02-03", "price": 1000.5}\n')
    found = [run("predict", "m.tally", name, "--proba").out for name in ("new.csv", "iso.csv")]
    assert found[0] == found[1]
    assert run("predict", "m.tally", "new.jsonl", "--proba").out == found[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--delimiter", ";;"), "--delimiter ';;' is not one ASCII character, tab or blanks"),
        (("--thousands", "x"), "--thousands 'x' is not one of"),
        (("--thousands", "."), "--thousands '.' is the decimal sign"),
        (("--dates", "dym"), "--dates 'dym' is not one of ymd, dmy, mdy"),
        (("--names", "a,a,b"), "--names has 'a' twice"),
        (("--encoding", "utf-99"), "--encoding 'utf-99' is not known"),
    ],
)
def test_what_cannot_be_is_a_usage_error(run, laid, words, message):
    assert message in run("fit", laid, "-t", "buys", *words, code=2).line


def test_what_has_no_effect_is_refused(run, files, tmp_path):
    for words in (("--delimiter", ";"), ("--encoding", "latin-1"), ("--no-header",)):
        line = run("fit", "table.jsonl", "-t", "buys", *words, code=1).line
        assert "table.jsonl is JSON lines, and " in line
    line = run("fit", "table.parquet", "-t", "buys", "--skip", 1, code=1).line
    assert "table.parquet is a Parquet file, and skip is for CSV" in line


def test_a_missing_header_and_blanks_are_pointed_out(run, laid, tmp_path):
    (tmp_path / "bare.csv").write_text("5.1,3.5,no\n4.9,3.0,yes\n")
    assert "--names A,B,… --no-header" in run("fit", "bare.csv", "-t", "buys", code=1).line
    (tmp_path / "below.txt").write_text("price   buys\n1   ja\n2   nein\n")
    assert "--delimiter blanks" in run("fit", "below.txt", "-t", "buys", code=1).line


def test_a_document_na_is_a_document_from_a_pipe_too(run, tmp_path):
    content = "said,y\n" + "NA,a\nNA NA,a\nnull,b\nso it goes,b\n" * 5
    (tmp_path / "t.csv").write_text(content)
    words = ("-t", "y", "--column", "said=text", "--no-estimate", "-o")
    run("fit", "t.csv", *words, "file.tally")
    run("fit", "-", *words, "pipe.tally", stdin=content.encode())
    terms = [tallybayes.load(tmp_path / f"{n}.tally").tally_ for n in ("file", "pipe")]
    assert terms[0] == terms[1]
