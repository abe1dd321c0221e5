"""Reports in a browser: people, wine, and 20 Newsgroups and Chinese titles, which need the data."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from reporting.conftest import report, rows_of
from tallybayes import WeightedNaiveBayes
from tallybayes.text import TextNB

OPEN_ALL = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
NO_ALT = "document.querySelectorAll('svg.plot:not([aria-label]), svg[aria-label=\"\"]').length"
SERIOUS = ("serious", "critical")


def data(*parts: str) -> Path:
    """A file of the folder of real data."""
    folder = os.environ.get("TALLYBAYES_DATA")
    path = Path(folder or "", *parts)
    if folder is None or not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} in the folder that TALLYBAYES_DATA names")
    return path


def newsgroups() -> tuple[list[str], list[str]]:
    """Each fortieth training post, in full."""
    posts, labels = [], []
    with tarfile.open(data("text", "20news-bydate.tar.gz")) as archive:
        members = [m for m in archive if m.isfile() and "-train/" in m.name]
        for member in members[::40]:
            posts.append(archive.extractfile(member).read().decode("latin-1"))
            labels.append(member.name.split("/")[-2])
    return posts, labels


def titles() -> tuple[list[str], list[str]]:
    """Each eightieth Chinese title, with the names of the classes."""
    names = data("zh", "class.txt").read_text(encoding="utf-8").split()
    lines = data("zh", "train_subset.txt").read_text(encoding="utf-8").splitlines()[::80]
    parts = [line.rpartition("\t") for line in lines]
    return [text for text, _, _ in parts], [names[int(k)] for _, _, k in parts]


def is_well_made(shown) -> None:
    """At 390 pixels: nothing serious is wrong, all charts have an alternative."""
    shown.page.evaluate(OPEN_ALL)
    shown.settle()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert shown.page.evaluate(NO_ALT) == 0
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
    found = axe.Axe().run(shown.page).response["violations"]
    nodes = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in SERIOUS]
    assert nodes == []


@pytest.mark.parametrize(
    ("name", "lang", "scheme"), [("weighted", "en", "light"), ("plain", "zh", "dark")]
)
def test_people(opened, name, lang, scheme):
    made = report(name, lang).html
    is_well_made(opened(made, viewport={"width": 390, "height": 844}, color_scheme=scheme))


def test_wine(opened):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = WeightedNaiveBayes().fit(X, y)
    shown = opened(model.report(X, y).html, viewport={"width": 390, "height": 844})
    is_well_made(shown)
    found = shown.page.evaluate(
        "(rows) => rows.map((row) => tallybayes.predict(row).proba)", rows_of(X)
    )
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("read", "lang"), [(newsgroups, "en"), (titles, "zh")])
def test_texts(opened, read, lang):
    documents, labels = read()
    model = TextNB().fit(documents, labels)
    made = model.report(documents, labels, lang=lang)
    assert len(made.html.encode("utf-8")) < 2_000_000
    shown = opened(
        made.html,
        viewport={"width": 390, "height": 844},
        color_scheme="dark" if lang == "zh" else "light",
    )
    is_well_made(shown)
    some = documents[::10]
    rows = model._counter.rows(some, model.tally_)
    carried = np.isin(
        model.tally_.terms.tolist(), shown.page.evaluate("tallybayes.textModel.names")
    )
    held = carried[rows.terms]
    row = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    sizes = np.bincount(row[held], minlength=len(some))
    kept = type(rows)(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        rows.terms[held],
        rows.counts[held],
        rows.n_terms,
    )
    expected = model._fitted().scorer.posterior(kept)
    found = shown.page.evaluate(
        "(texts) => texts.map((t) => tallybayes.predictText(t).proba)", some
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
