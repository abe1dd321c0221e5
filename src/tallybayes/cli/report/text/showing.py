"""What a model of text holds, for people and for machines."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.io.document_file import DocumentFile
from tallybayes.cli.report.text.quality import (
    class_table,
    description,
    quality_document,
    quality_table,
)
from tallybayes.cli.report.text.top_terms import top_terms_document, top_terms_tables
from tallybayes.cli.terminal.console import document, line, number_of, say

__all__ = ["content_of", "say_model", "show"]


def content_of(file: DocumentFile, path: str, show_all: bool = False) -> dict[str, Any]:
    """A model for machines."""
    return {
        "model": path,
        "target": file.target,
        "column": file.column,
        "rows": file.rows,
        "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        "options": file.model.get_params(),
        "analyzer": file.model.analyzer_,
        "terms": file.model.tally_.n_terms,
        "penalty": file.model.penalty_,
        "unlabelled_weight": file.model.unlabelled_weight_,
        "estimate": quality_document(file),
        "top_terms": top_terms_document(file, show_all),
    }


def say_model(file: DocumentFile, show_all: bool) -> None:
    """Quality and top terms for people."""
    say(*quality_table(file))
    say(*top_terms_tables(file, show_all))


def show(file: DocumentFile, path: str, show_all: bool, json: bool) -> None:
    """Shows vocabulary, classes, quality and top terms."""
    if json:
        document("show", content_of(file, path, show_all))
        return
    given = ", ".join(f"{k}={v!r}" for k, v in file.model.get_params().items() if v is not None)
    say(
        line(f"{path}: {number_of(file.rows, 'document')}, {description(file)}", "bold"),
        line(given, "dim"),
        line(),
        class_table(file, show_all),
    )
    say_model(file, show_all)
