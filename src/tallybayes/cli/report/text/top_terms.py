"""The most informative terms of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.io.document_file import DocumentFile
from tallybayes.cli.terminal.console import cut, line, table

__all__ = ["top_terms_document", "top_terms_tables"]

SHOWN_TERMS, ALL_TERMS = 10, 50
MAX_CLASSES = 20
MAX_TERM_CHARACTERS = 30  # characters of a term
MEASURE = (
    "What one occurrence in a document of mean length adds to the score of the class against all "
    "others, in nats, by the counts and without the ridge"
)


def _found(
    file: DocumentFile, n: int, names: list[str] | None = None
) -> dict[str, list[tuple[Any, float]]]:
    labels = dict(zip(file.classes, file.model.classes_.tolist(), strict=True))
    return {name: file.model.top_terms(labels[name], n) for name in names or file.classes}


def _is_hashed(file: DocumentFile) -> bool:
    return file.model._counter.options["n_features"] is not None


def top_terms_document(file: DocumentFile, show_all: bool) -> dict[str, Any]:
    """Terms and nats by class; None where terms are hashed and so have no names."""
    if _is_hashed(file):
        return {"measure": MEASURE, "classes": None}
    found = _found(file, ALL_TERMS if show_all else SHOWN_TERMS)
    named = {
        name: [{"term": term, "nats": nats} for term, nats in terms]
        for name, terms in found.items()
    }
    return {"measure": MEASURE, "classes": named}


def top_terms_tables(file: DocumentFile, show_all: bool) -> list[Any]:
    """A table of a row for each class, or with all terms a table for each class."""
    if _is_hashed(file):
        return [line("The terms are hashed, so they have no names to show.", "dim")]
    if show_all:
        found = _found(file, ALL_TERMS)
        return [_long(name, terms) for name, terms in found.items()] + [line(MEASURE, "dim")]
    shown = file.classes
    if len(shown) > MAX_CLASSES:
        most = np.argsort(-file.class_rows, kind="stable")[:MAX_CLASSES]
        shown = [shown[k] for k in sorted(most.tolist())]
    found = _found(file, SHOWN_TERMS, shown)
    rows = [
        (
            name,
            "  ".join(
                f"{cut(str(term), MAX_TERM_CHARACTERS)} {nats:+.2f}" for term, nats in found[name]
            ),
        )
        for name in shown
    ]
    cells = [(name, line(text)) for name, text in rows]
    return [table("Top terms of each class", ["class", "terms"], cells), line(MEASURE, "dim")]


def _long(name: str, terms: list[tuple[Any, float]]) -> Any:
    top = max((nats for _, nats in terms), default=0.0)
    rows = [
        (
            cut(str(term), MAX_TERM_CHARACTERS),
            f"{nats:+.3f}",
            "█" * round(24 * max(nats, 0.0) / (top or 1.0)),
        )
        for term, nats in terms
    ]
    return table(f"Top terms of {name}", ["term", ">nats", ""], rows, chart=True)
