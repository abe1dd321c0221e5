"""Classifiers of documents, as a report reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.documents.weighted import DocumentModel
from tallybayes.reporting.columns import ColumnFacts
from tallybayes.reporting.form.of_documents import text_form
from tallybayes.reporting.subjects.contract import Contributions, Subject, Text
from tallybayes.tokens.documents import in_one_string
from tallybayes.validation import LeftOut

__all__ = ["DocumentSubject"]

Array = NDArray[np.float64]

N_TOP_TERMS = 12  # of each class
MAX_CLASSES = 40  # that terms are shown of


class DocumentSubject(Subject):
    """A :class:`tallybayes.TextNB`."""

    unit = "document"
    learns_in_parts = False  # weights and the ridge are learned of all documents

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.tally_.documents, dtype=np.float64)

    @property
    def samples_first(self) -> bool:  # type: ignore[override]  # an attribute there
        return not isinstance(self.model._fitted(), DocumentModel)

    @property
    def stale(self) -> bool:
        return bool(self.model._fitted().needs_reweighting)

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """A weighted model is learned again, which gives the predictions that its own figures are
        of; others choose nothing on documents."""
        found: LeftOut | None = self.model._left_out(X, y, weight, groups)
        if found is not None:
            return found
        log_proba = np.asarray(self.model.leave_one_out(X, y, weight, groups))
        ones = np.ones(len(log_proba)) if weight is None else weight
        return LeftOut(np.arange(len(log_proba)), log_proba, ones, "counts")

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        """Terms tell little of a document: the classes have to weigh what they weigh in the
        model."""
        classes, own = np.unique(np.asarray(y), return_inverse=True)
        if not np.array_equal(classes, self.classes):
            return False
        rows = np.bincount(own, weight, len(classes))
        return bool(np.allclose(rows, self.class_rows, rtol=1e-9))

    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        tally = self.model.tally_
        facts = ColumnFacts(
            self.unit, "text", f"{tally.n_terms:,} terms", str(self.model.analyzer_), True
        )
        rows = self.class_rows
        for k in np.argsort(-rows, kind="stable")[:MAX_CLASSES].tolist():
            label = self.classes[k]
            for term, value in self.model.top_terms(label, N_TOP_TERMS):
                facts.terms.append((str(label), str(term), float(value)))
        return [facts]

    def contributions(self, X: Any) -> Contributions:
        base, of_terms, names = np.zeros(len(self.classes)), [], []
        for explained in self.model.explain(X):
            base = explained.base
            of_terms.append(explained.contributions)
            names.append([(str(term), "") for term in explained.terms])
        return Contributions(base, of_terms, names)

    def text(self, X: Any) -> Text | None:
        model = self.model._fitted()
        documents = self.model._counter.rows(X, model.tally)
        form = text_form(self.model, documents)
        if isinstance(form, str):
            return Text(None, form)
        n = int(form.carried.sum())
        if form.carried.all() or not len(documents):
            return Text(form, terms=n)
        whole = model.scorer.posterior(documents)
        cut = model.scorer.posterior(form.kept(documents))
        best = whole.argmax(axis=1)
        row = np.arange(len(best))
        apart = np.abs(whole - cut)[row, best]
        same = float((cut.argmax(axis=1) == best).mean())
        return Text(form, "", n, len(best), same, float(apart.mean()), float(apart.max()))

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        return [{self.unit: in_one_string(document)} for document in X]
