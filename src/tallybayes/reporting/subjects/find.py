"""Which subject a classifier is."""

from __future__ import annotations

from typing import Any

from tallybayes.estimators.arrays.base import ArrayClassifier
from tallybayes.estimators.tables.base import TableClassifier
from tallybayes.estimators.text.document_classifier import DocumentClassifier
from tallybayes.reporting.subjects.arrays import ArraySubject
from tallybayes.reporting.subjects.contract import Subject
from tallybayes.reporting.subjects.documents import DocumentSubject
from tallybayes.reporting.subjects.tables import TableSubject

__all__ = ["subject_of"]


def subject_of(model: Any) -> Subject:
    """The subject of a fitted classifier.

    Raises
    ------
    TypeError
        For anything else.
    """
    kinds: list[tuple[type, type[Subject]]] = [
        (TableClassifier, TableSubject),
        (ArrayClassifier, ArraySubject),
        (DocumentClassifier, DocumentSubject),
    ]
    for kind, subject in kinds:
        if isinstance(model, kind) and hasattr(model, "classes_"):
            return subject(model)
    raise TypeError(
        f"a report is made of a fitted classifier of tallybayes with counts of its own, got a "
        f"{type(model).__name__}"
    )
