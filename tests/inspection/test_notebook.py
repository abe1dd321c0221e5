"""What notebooks show: the numbers of the model in escaped tables, and scikit-learn's diagram."""

import re
import warnings
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st

from plots.cases import table, table_model, wine
from plots.hostile import HOSTILE
from tallybayes import NaiveBayes
from tallybayes.readable import html_table, plain, shaded
from tallybayes.text import TextNB


class Parsed(HTMLParser):
    """Tags, and the cells of tables as text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows, self.open = set(), [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        self.open = tag in ("td", "th") or (self.open and tag == "bdi")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.open = self.open and tag == "bdi"

    def handle_data(self, data):
        if self.open:
            self.rows[-1][-1] += data


OURS = {"table", "thead", "tbody", "tr", "td", "th", "bdi", "p"}


@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=70)), max_size=4))
def test_a_table_gives_back_what_it_was_given(rows):
    found = Parsed(html_table(["a", "b"], rows, "that is <all>"))
    expected = [[plain(cell, 60) if cell else "" for cell in row] for row in rows]
    assert found.rows == [["a", "b"], *expected]
    assert found.tags <= OURS


@given(st.text(max_size=300))
def test_plain_text_is_short_printable_and_unchanged_where_it_can_be(text):
    found = plain(text, 40)
    assert found.isprintable()
    assert found.strip()
    if text.isprintable() and text.strip() and len(text) <= 40:
        assert found == text


def learned(model):
    """The part of a classifier's HTML below the diagram."""
    html = model._repr_html_()
    assert html == model._repr_mimebundle_()["text/html"] or "sk-container" in html
    return html[html.index("<summary>What was learned") :]


def test_a_classifier_of_tables():
    model, frame, y = table_model()
    html = learned(model)
    assert "What was learned: 2 classes, 7 columns<" in html
    rows = Parsed(html).rows
    counts = {label: int((y == label).sum()) for label in ("no", "yes")}
    shares = [[k, str(n), f"{100 * n / len(y):.1f} %"] for k, n in counts.items()]
    assert sorted(rows[1:3]) == sorted(shares)
    read = model.schema_
    expected = read[["column", "holds", "family"]].to_numpy().tolist()
    assert rows[4:] == [[plain(cell, 60) for cell in row] for row in expected]
    assert set(frame.columns) == {row[0] for row in rows[4:]}


def test_classifiers_of_arrays_and_documents():
    assert "What was learned: 3 classes, 2 columns<" in learned(wine())
    mail = TextNB().fit(["a b", "c d"] * 4, ["x", "y"] * 4)
    html = learned(mail)
    assert f"2 classes, {mail.tally_.n_terms} terms<" in html
    assert Parsed(html).rows[1:] == [["x", "4", "50.0 %"], ["y", "4", "50.0 %"]]


def test_the_diagram_of_the_parameters_stays():
    for model in (NaiveBayes(alpha=3.0), table_model(alpha=3.0)[0]):
        html = model._repr_html_()
        assert "sk-container-id" in html
        assert ("What was learned" in html) == hasattr(model, "classes_")
        assert model._repr_mimebundle_()["text/plain"] == repr(model)
        assert ("What was learned" in model._repr_mimebundle_()["text/html"]) == hasattr(
            model, "classes_"
        )
    with sklearn.config_context(display="text"):
        assert not hasattr(NaiveBayes(), "_repr_html_")
        assert "text/html" not in NaiveBayes()._repr_mimebundle_()


def test_a_model_that_lost_all_its_rows():
    frame, y = table(30)
    model = NaiveBayes().fit(frame, y).forget(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "sk-container-id" in model._repr_html_()
    assert {"fit", "alpha"} <= set(dir(model))
    assert "tables_" not in dir(model)
    assert "tables_" in dir(NaiveBayes().fit(frame, y))


def test_many_classes_and_columns_are_counted():
    y = np.arange(300) % 13
    frame = pd.DataFrame({f"c{j}": y % (j + 2) for j in range(12)})
    html = learned(NaiveBayes().fit(frame, y))
    assert "… and 3 more classes" in html
    assert "… and 2 more columns" in html


def test_an_explanation_is_the_printed_table():
    model, frame, _ = table_model()
    explained = model.explain(frame.iloc[[0]])
    rows = Parsed(explained._repr_html_()).rows
    lines = str(explained).splitlines()
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert "".join("".join(row).split()) == "".join(line.split())
    assert rows[-1][1:] == [f"{100 * p:.1f} %" for p in model.predict_proba(frame.iloc[[0]])[0]]


def test_a_schema_and_a_tally():
    model, _, y = table_model()
    tally = model.tally_
    found = Parsed(tally._repr_html_())
    assert sorted(found.rows[1:]) == [[k, str((y == k).sum())] for k in ("no", "yes")]
    rows = Parsed(tally.schema._repr_html_()).rows[1:]
    assert rows == [
        [g.kind, str(g.n_features), ", ".join(g.names or ())] for g in tally.schema.groups[:10]
    ]
    assert "… and 2 more groups; " in tally.schema._repr_html_()
    assert "2 classes: no, yes" in tally.schema._repr_html_()


MAILS = ["cheap money now", "money\nmoney <b>cheap</b>", "meeting at noon", "lunch at noon"] * 4


def marks(html):
    """The shaded pieces of a passage, with their nats."""
    found = re.findall(r'<mark style="[^"]*" title="([^"]*) nats">(.*?)</mark>', html, re.S)
    return [(unescape(text), float(nats)) for nats, text in found]


def test_a_document_is_shaded():
    model = TextNB().fit(MAILS, ["spam", "spam", "ham", "ham"] * 4)
    explained = model.explain_one("<b>cheap</b> meeting, $5\n<script>x</script>")
    html = explained._repr_html_()
    assert Parsed(html).tags <= OURS | {"mark"}
    passage = html[html.index("<p ") : html.index("</p>")]
    text = unescape(re.sub("<[^>]*>", "", passage))
    assert text == explained.document
    spans = explained.spans()
    assert spans
    sums = [sum(v for a, b, v in spans if a <= i < b) for i in range(len(text))]
    place = 0
    for piece, nats in marks(html):
        place = text.index(piece, place)
        np.testing.assert_allclose(sums[place : place + len(piece)], nats, atol=5.1e-4)
        place += len(piece)
    assert {text for text, _ in marks(html)} >= {"meeting"}
    shown = [(row[0], float(row[1])) for row in Parsed(html).rows[2:]]
    assert [term for term, _ in shown] == [plain(t, 60) for t in explained.terms[:10]]
    np.testing.assert_allclose([v for _, v in shown], explained.for_label[:10], atol=5.1e-4)
    percent = f"{100 * explained.probabilities.max():.1f} %"
    assert Parsed(html).rows[0] == [explained.label, percent]


@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.floats(-9, 9)), max_size=5),
)
def test_shading_keeps_the_passage_and_adds_overlaps(text, spans):
    spans = [(min(a, b), max(a, b), v) for a, b, v in spans]
    html = shaded(text, spans)
    printed = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
    assert unescape(re.sub("<[^>]*>", "", html)) == printed
    if text.isprintable():
        total = sum(len(piece) * nats for piece, nats in marks(html))
        expected = sum(v * (min(b, len(text)) - min(a, len(text))) for a, b, v in spans)
        assert total == pytest.approx(expected, abs=0.03)


def test_a_long_passage_is_cut():
    html = shaded("x" * 10_000, [(0, 9_000, 1.0)])
    assert marks(html) == [("x" * 4_000, 1.0)]
    assert html.endswith("…</p>")


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 160)]
    frame = pd.DataFrame({name: labels for name in HOSTILE if name.strip()})
    return NaiveBayes().fit(frame, labels), frame


def test_names_are_text(hostile):
    model, frame = hostile
    explained = model.explain(frame.iloc[[0]])
    pages = [explained._repr_html_(), model.tally_._repr_html_(), model.tally_.schema._repr_html_()]
    for html in [*pages, learned(model)]:
        assert not Parsed(html).tags - OURS - {"details", "summary"}
        assert "<script" not in html
        assert "\u202e" not in html
        assert len(html) < 20_000
    cells = {cell for row in Parsed(learned(model)).rows for cell in row}
    assert {plain(name, 60) for name in HOSTILE} <= cells
