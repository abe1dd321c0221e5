"""``tallybayes report``: a page from a model file and rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest


@pytest.fixture
def model(run, files):
    """A model of the rows of comma.csv."""
    run("fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--no-estimate")
    return "m.tally"


def test_the_page_shows_the_model_by_the_rows(run, model):
    found = run("report", model, "comma.csv", "-o", "page.html")
    assert "page.html shows m.tally, judged on 240 rows" in found.out
    page = Path("page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["model"] == "WeightedNaiveBayes"
    assert data["learned"]
    since = next(c for c in data["columns"] if c["name"] == "since")
    assert re.match(r"20\d\d-\d\d-\d\d", since["bins"][0]["label"])


def test_the_page_in_chinese_and_as_a_document(run, model):
    found = run("report", model, "rest.csv", "-o", "page.html", "--lang", "zh", "--json").document
    assert found["rows"] == 120
    assert found["headline"]["accuracy"][0] > 0.5
    assert '<html lang="zh-Hans">' in Path("page.html").read_text(encoding="utf-8")


def test_what_cannot_be_is_one_line(run, model):
    assert (
        "the languages are en and zh"
        in run("report", model, "comma.csv", "--lang", "fr", code=2).line
    )
    assert (
        "is not a directory"
        in run("report", model, "comma.csv", "-o", "none/page.html", code=1).line
    )
    Path("bare.csv").write_text("age\n3\n")
    assert "no column 'buys'" in run("report", model, "bare.csv", code=1).line
    assert not Path("report.html").exists()


def data_of(path: str) -> dict:
    """What a page shows."""
    page = Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_fit_writes_a_page_of_the_rows_that_it_learned(run, files):
    words = ["fit", "comma.csv", "--target", "buys", "-o", "m.tally", "--report", "page.html"]
    found = run(*words)
    assert "page.html shows m.tally, judged on 240 rows" in found.out
    data = data_of("page.html")
    assert data["learned"]
    assert data["rowsGiven"] == 240
    once = run("fit", "half.csv", *words[2:], "--plain", "--test", "rest.csv", "--json").document
    data = data_of("page.html")
    assert not data["learned"]
    assert data["headline"]["by"] == "new"
    assert data["headline"]["accuracy"][0] == pytest.approx(once["estimate"]["accuracy"], abs=1e-6)


def test_fit_of_documents_writes_a_page(run, tmp_path):
    for label, text in (("good", "a fine day"), ("bad", "an awful evening")):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i in range(12):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(f"{text} number {i}")
    run("fit", "mail", "-o", "m.tally", "--report", "page.html")
    assert data_of("page.html")["rowsGiven"] == 24


def test_evaluate_writes_a_page_of_the_rows_that_it_judges(run, model):
    found = run("evaluate", model, "rest.csv", "--report", "page.html")
    assert "page.html shows m.tally, judged on 120 rows" in found.out
    assert data_of("page.html")["rowsGiven"] == 120


def test_a_page_that_cannot_be_written_is_known_before_the_work(run, model):
    fit = ["fit", "comma.csv", "--target", "buys", "-o", "new.tally", "--report"]
    assert "is not a directory" in run(*fit, "none/page.html", code=1).line
    assert "where the model goes" in run(*fit, "new.tally", code=2).line
    stdin = ["fit", "-", "--target", "buys", "-o", "new.tally", "--report", "page.html"]
    assert "standard input is read once" in run(*stdin, code=2).line
    assert not Path("new.tally").exists()
    with_stdin = run("evaluate", model, "-", "--report", "page.html", stdin=b"", code=2)
    assert "standard input is read once" in with_stdin.line
