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
    assert "is a model" in run("report", model, "comma.csv", "-o", model, code=1).line
    assert (
        "is not a directory"
        in run("report", model, "comma.csv", "-o", "none/page.html", code=1).line
    )
    Path("bare.csv").write_text("age\n3\n")
    assert "no column 'buys'" in run("report", model, "bare.csv", code=1).line
    assert not Path("report.html").exists()
