"""A document with its most informative words marked: in colour on a terminal, else by numbers in
brackets.

The nats of a term are divided among its occurrences and, for a pair of words, among its words. So
the marks of all words add up to the contribution of the terms.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from itertools import islice
from typing import Any, NamedTuple

from tallybayes.cli.terminal.console import pieces
from tallybayes.explain.explanation import DocumentExplanation
from tallybayes.tokens import CJK

__all__ = ["Word", "marked_lines", "shared_spans", "telling_words"]

WORD = re.compile(CJK)
MAX_TERMS = 400  # that are looked for in the document, those that tell most
MIN_SHARE = 0.05  # of the strongest word's nats, from which on a word is marked
SHADES = ("", "bold ", "bold reverse ")  # of the strength of a word
SHADE_SHARES = (0.2, 0.6)  # of the strongest word's nats, from which on the next shade is taken
LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
MAX_LINES = 40  # of a document that are shown
MAX_LINE_CHARACTERS = 2_000  # characters of a line that are shown


class Word(NamedTuple):
    """A word of a document: the places of its first character and after its last one, and its
    contribution to the predicted class, in nats."""

    begin: int
    end: int
    nats: float


def telling_words(text: str, spans: list[tuple[int, int, float]]) -> list[Word]:
    """The words of a document with their shares of the terms that run over them.

    Parameters
    ----------
    text : str
    spans : list of (int, int, float)
        Where terms stand, and the nats of each; several spans of one term have its nats divided
        among them already.
    """
    words = [Word(*match.span(), 0.0) for match in WORD.finditer(text)]
    begins = [word.begin for word in words]
    nats = [0.0] * len(words)
    for begin, end, value in spans:
        first = max(0, bisect_right(begins, begin) - 1)
        touched = []
        for i in range(first, len(words)):
            if words[i].begin >= end:
                break
            if words[i].end > begin:
                touched.append(i)
        for i in touched:
            nats[i] += value / len(touched)
    return [word._replace(nats=value) for word, value in zip(words, nats, strict=True)]


def marked_lines(text: str, words: list[Word], colours: bool) -> list[Any]:
    """The lines of a document; of a long one those with the strongest words, and "…" between.

    Parameters
    ----------
    text : str
    words : list of Word
        In their order.
    colours : bool
        Whether words are marked by colour, else by numbers.
    """
    strongest = max((abs(word.nats) for word in words), default=0.0)
    lines: list[list[tuple[str, str]]] = []
    weights: list[float] = []
    at = i = 0
    for piece in text.splitlines(keepends=True):
        place, end = at, at + min(len(piece), MAX_LINE_CHARACTERS)
        line, weight = [], 0.0
        while i < len(words) and words[i].begin < at + len(piece):
            word, i = words[i], i + 1
            if word.end > end or abs(word.nats) < max(MIN_SHARE * strongest, 1e-9):
                continue
            line.append((_plain(text[place : word.begin]), ""))
            line.append(_marked(text[word.begin : word.end], word.nats, strongest, colours))
            weight, place = max(weight, abs(word.nats)), word.end
        line.append((_plain(text[place:end]) + " …" * (len(piece) > MAX_LINE_CHARACTERS), ""))
        lines.append(line)
        weights.append(weight)
        at += len(piece)
    return [pieces(line) for line in _cut(lines, weights)]


def _plain(text: str) -> str:
    """Text between the words, without line ends; tabs are spaces."""
    return text.rstrip(LINE_ENDS).replace("\t", "    ")


def _marked(text: str, nats: float, strongest: float, colours: bool) -> tuple[str, str]:
    if not colours:
        return f"{text}[{nats:+.2f}]", ""
    shade = SHADES[bisect_right(SHADE_SHARES, abs(nats) / strongest)]
    return text, f"{shade}{'green' if nats > 0 else 'red'}"


def _cut(lines: list[list[tuple[str, str]]], weights: list[float]) -> list[list[tuple[str, str]]]:
    """At most so many lines: the ones with the strongest words, in their order."""
    order = sorted(range(len(lines)), key=lambda i: (-weights[i], i))
    shown = []
    last = -1
    for i in sorted(order[:MAX_LINES]):
        shown += [[("…", "dim")]] * (i != last + 1)
        shown.append(lines[i])
        last = i
    return shown + [[("…", "dim")]] * (last != len(lines) - 1)


def shared_spans(explanation: DocumentExplanation) -> list[tuple[int, int, float]]:
    """Where the terms that tell most stand, the nats of each divided among its places."""
    found = []
    pairs = zip(explanation.terms, explanation.for_label.tolist(), strict=True)
    for term, nats in islice(pairs, MAX_TERMS):
        if isinstance(term, str) and math.isfinite(nats):
            places = explanation.places(term)
            found += [(*place, nats / len(places)) for place in places]
    return found
