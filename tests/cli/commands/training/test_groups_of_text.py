"""``--group COLUMN`` of a model of text: its documents are left out together."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tallybayes import TextNB, load

TIMES = 5


@pytest.fixture
def letters(tmp_path):
    """A table of letters, several of each author, with whom every letter ends."""
    rng = np.random.default_rng(0)
    rows = []
    for author in range(60):
        mood = "glad" if author % 2 else "sad"
        words = rng.choice(["sun", "rain", "walk", "work", "tea", mood], 6).tolist()
        signed = [f"me{author}and{i}" for i in range(6)]
        for letter in range(TIMES):
            text = " ".join([*words, *signed, str(rng.integers(9))])
            rows.append([text, mood, f"author {author}", letter])
    order = rng.permutation(len(rows))
    path = tmp_path / "letters.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["body", "mood", "author", "letter"])
        out.writerows(rows[i] for i in order)
    return str(path), [rows[i] for i in order]


WORDS = ("-t", "mood", "-o", "m.tally", "--column", "body=text", "--column", "letter=none")


def test_documents_of_a_group_are_left_out_together(run, letters):
    path, rows = letters
    text, mood, author, _ = map(np.array, zip(*rows, strict=True))
    found = run("fit", path, *WORDS, "--group", "author", "--json", "--report", "p.html").document
    expected = TextNB().fit(text.tolist(), mood, groups=author)
    assert load("m.tally") == expected
    assert found["estimate"]["log_loss"] == pytest.approx(expected.log_loss_)
    alone = run("fit", path, *WORDS, "--json", "--column", "author=none", "--force").document
    assert alone["estimate"]["log_loss"] < 0.5 * expected.log_loss_
    run("reweight", "m.tally", path, "--group", "author")
    assert load("m.tally").log_loss_ == expected.log_loss_


def test_the_page_has_the_figures_of_the_fit(run, letters):
    path, _ = letters
    found = run("fit", path, *WORDS, "--group", "author", "--json", "--report", "p.html").document
    page = Path("p.html").read_text(encoding="utf-8")
    shown = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["headline"][
        "logLoss"
    ][0]
    assert shown == pytest.approx(found["estimate"]["log_loss"], rel=1e-6)


def test_a_group_that_is_not_there_is_named(run, letters, tmp_path):
    path, _ = letters
    assert "--group names 'sender'" in run("fit", path, *WORDS, "--group", "sender", code=1).line
    assert "--group mood is the target" in run("fit", path, *WORDS, "--group", "mood", code=2).line
    (tmp_path / "some.csv").write_text("body,mood,author\nsun,glad,a\nrain,sad,\ntea,glad,b\n")
    words = ("-t", "mood", "-o", "m.tally", "--column", "body=text", "--group", "author")
    assert (
        "some.csv, line 3 has no value in 'author'" in run("fit", "some.csv", *words, code=1).line
    )


def test_documents_of_a_folder_have_no_groups(run, tmp_path):
    for label in ("a", "b"):
        (tmp_path / "docs" / label).mkdir(parents=True)
        (tmp_path / "docs" / label / "1.txt").write_text(f"text of {label}")
    line = run("fit", "docs", "-o", "m.tally", "--group", "author", code=2).line
    assert "--group names a column of rows, and docs has none" in line
