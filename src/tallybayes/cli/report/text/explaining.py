"""Why a document got its class: its most informative words, marked in the text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.cli.io.chosen_rows import ChosenRows
from tallybayes.cli.io.documents.source import Document, DocumentSource
from tallybayes.cli.report.text.marked import marked_lines, shared_spans, telling_words
from tallybayes.cli.terminal.console import cut, document, line, progress, say, table
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.explain.explanation import DocumentExplanation

if TYPE_CHECKING:
    from tallybayes.cli.io.document_file import DocumentFile

__all__ = ["explain", "say_terms", "terms_as_json"]

MAX_TERMS = 15  # terms that are shown
MAX_TERM_CHARACTERS = 30  # characters of a term


def explain(file: DocumentFile, source: DocumentSource, chosen: ChosenRows, json: bool) -> None:
    """Explains documents, to people or to machines."""
    source.keep_columns(chosen.columns)
    explained = []
    for i, found in enumerate(_documents(file, source, chosen)):
        explanation = file.model.explain_one(found.text)
        if json:
            explained.append(_as_json(file, found, explanation))
            continue
        if i:
            say(line())
        _say(file, source.where(found), explanation)
    if json:
        document("explain", {"rows": explained} if chosen.several else explained[0])


def _documents(file: DocumentFile, source: DocumentSource, chosen: ChosenRows) -> list[Document]:
    """The documents of these numbers and keys, or the only one."""
    seen, last = 0, chosen.last()
    found: list[Document] = []
    keys: set[tuple[str, str]] = set()
    with progress() as bar:
        for batch in file.batches(source, bar, "looking for the document"):
            if not chosen and seen + batch.n_rows > 1:
                raise Failure(
                    f"{source.name} has several documents: name one by --row N, from 0 on", USAGE
                )
            for i, one in enumerate(batch.documents, batch.first):
                held = {*zip(chosen.columns, one.kept, strict=False)} & {*chosen.keys}
                keys |= held  # type: ignore[arg-type]
                if not chosen or i in chosen.numbers or held:
                    found.append(one)
            seen = batch.first + batch.n_rows
            if chosen and last is not None and last < seen:
                break
    if len(found) < len(chosen.numbers) or chosen.keys:
        chosen.need_found(source.name, seen, file.unit, keys)
    return found


def terms_as_json(explanation: DocumentExplanation, classes: list[str]) -> list[dict[str, Any]]:
    """What each term adds to each class."""
    by_class = [dict(zip(classes, c, strict=True)) for c in explanation.contributions.tolist()]
    return [
        {"term": term, "contribution": shares}
        for term, shares in zip(explanation.terms, by_class, strict=True)
    ]


def _as_json(
    file: DocumentFile, found: Document, explanation: DocumentExplanation
) -> dict[str, Any]:
    """The explanation of a document, for machines."""
    classes = file.classes
    return {
        "document": found.name or None,
        "row": found.number,
        "prediction": classes[int(explanation.probabilities.argmax())],
        "probability": dict(zip(classes, explanation.probabilities.tolist(), strict=True)),
        "unit": "nats",
        "base": dict(zip(classes, explanation.base.tolist(), strict=True)),
        "terms": terms_as_json(explanation, classes),
    }


def _say(file: DocumentFile, where: str, explanation: DocumentExplanation) -> None:
    names, proba = file.classes, explanation.probabilities
    order = np.argsort(-proba, kind="stable").tolist()
    best = names[order[0]]
    say(line(f"{where}: predicted {best}, probability {proba[order[0]]:.1%}", "bold"))
    if len(order) > 1:
        shown = ", ".join(f"{names[k]} {proba[k]:.1%}" for k in order[1:5])
        more = f" and {len(order) - 5} more" if len(order) > 5 else ""
        say(line(f"Other classes: {shown}{more}"))
    say_terms(explanation, names, order, "(intercept)")
    say(line("+1 nat multiplies the odds of the two classes by 2.7.", "dim"))


def say_terms(
    explanation: DocumentExplanation, names: list[str], order: list[int], rest: str
) -> None:
    """Prints a document with its most informative words marked, and its terms in a table.

    Parameters
    ----------
    explanation : DocumentExplanation
    names : list of str
        Of the classes.
    order : list of int
        The classes, the most probable first.
    rest : str
        What else the score consists of.
    """
    best, other = names[order[0]], names[order[min(1, len(order) - 1)]]
    colours = sys.stdout.isatty()
    words = telling_words(explanation.document, shared_spans(explanation))
    say(line(), *marked_lines(explanation.document, words, colours), line())
    say(line(_legend(best, other, colours), "dim"), line())
    evidence = _evidence(explanation, order, rest)
    say(table(f"Evidence for {best} over {other}", *evidence, chart=True))
    hidden = len(explanation.terms) - MAX_TERMS
    if hidden > 0:
        say(line(f"{hidden:,} terms with less influence are summed (--json has all)", "dim"))


def _legend(best: str, other: str, colours: bool) -> str:
    if colours:
        return f"green: for {best}; red: for {other}; the bolder, the more"
    return f"[+nats] for {best}, [-nats] for {other}; a term's nats are divided among its words"


def _evidence(
    explanation: DocumentExplanation, order: list[int], rest: str
) -> tuple[list[str], list[list[Any]]]:
    """The head and the rows of the table of terms."""
    best, other = order[0], order[min(1, len(order) - 1)]
    values = explanation.for_label.tolist()
    prior = float(explanation.base[best] - explanation.base[other])
    rows = [(rest, prior)]
    rows += [
        (str(t), v) for t, v in zip(explanation.terms[:MAX_TERMS], values[:MAX_TERMS], strict=True)
    ]
    if len(values) > MAX_TERMS:
        rows.append((f"{len(values) - MAX_TERMS:,} more terms", sum(values[MAX_TERMS:])))
    widest = max((abs(nats) for _, nats in rows if np.isfinite(nats)), default=0.0) or 1.0
    lines: list[list[Any]] = []
    for term, nats in rows:
        size = round(12 * min(abs(nats), widest) / widest)
        bar = " " * 12 + "│" + "█" * size if nats > 0 else " " * (12 - size) + "█" * size + "│"
        cell = line(bar, "green" if nats > 0 else "red")
        lines.append([cut(term, MAX_TERM_CHARACTERS), f"{nats:+.3f}", cell])
    lines.append(["sum", f"{prior + sum(values):+.3f}", ""])
    return ["term", ">nats", ""], lines
