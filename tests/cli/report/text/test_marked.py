"""Marks in a document: their nats are those of the terms, and the terminal is not steered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import TextNB
from tallybayes.cli.show_text import marked_lines

TEXTS = ["cheap pills now", "buy cheap pills", "lunch at noon?", "see you at noon"]
MODEL = TextNB(ridge=False).fit(TEXTS, ["spam", "spam", "ham", "ham"])


@given(st.lists(st.sampled_from(["cheap", "pills", "at", "noon", "lunch", "x", "\n", "?", "\t"])))
def test_the_nats_of_the_words_are_those_of_the_terms(words):
    text = " ".join(words)
    explanation = MODEL.explain_one(text)
    found = explanation.words()
    assert sum(w.nats for w in found) == pytest.approx(explanation.for_label.sum(), abs=1e-9)


def plain(text, colours=False):
    words = MODEL.explain_one(text).words()
    return [str(line) for line in marked_lines(text, words, colours)]


def test_words_are_marked_by_numbers_or_by_colours():
    (line,) = plain("buy cheap pills at noon")
    assert line.startswith("buy[+")
    assert "noon[-" in line
    assert plain("buy cheap pills at noon", colours=True) == ["buy cheap pills at noon"]


def test_control_characters_are_escapes_and_lines_are_lines():
    lines = plain("cheap\x1b[2J pills\r\n\tsecond\u202eline\n\nlast")
    assert len(lines) == 4
    assert "\\x1b" in lines[0]
    assert lines[1] == "    second\\u202eline"


def test_of_a_long_document_the_telling_lines_are_shown():
    text = "\n".join(["nothing here"] * 500 + ["cheap pills"] + ["z" * 9000] * 2)
    lines = plain(text)
    assert len(lines) < 60
    assert any(line.startswith("cheap[") for line in lines)
    assert max(map(len, lines)) < 2100
