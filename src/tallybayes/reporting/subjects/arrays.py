"""Classifiers of arrays, as a report reads them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logsumexp

from tallybayes.cross_validation import leave_one_out
from tallybayes.reporting.columns import (
    ColumnFacts,
    Values,
    added,
    bins_of,
    number_text,
)
from tallybayes.reporting.form.form import Form
from tallybayes.reporting.form.of_arrays import form_of_array
from tallybayes.reporting.measures.figures import Predictions
from tallybayes.reporting.subjects.contract import Contributions, Subject
from tallybayes.validation import LeftOut

__all__ = ["ArraySubject"]

Array = NDArray[np.float64]

MAX_COLUMNS = 2_000  # columns whose values are shown
HOLDS = {"levels": "level codes", "sums": "counts", "moments": "numbers", "cross": "numbers"}


class ArraySubject(Subject):
    """One of the five classifiers of arrays."""

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.class_count_)

    @cached_property
    def form(self) -> Form | None:
        return form_of_array(self.model._fitted())

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """By leave-one-out: these classifiers choose nothing on rows."""
        log_proba = leave_one_out(self.model, X, y, weight, groups)
        ones = np.ones(len(log_proba)) if weight is None else weight
        return LeftOut(np.arange(len(log_proba)), log_proba, ones, "counts")

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        """Sums tell little of rows: the classes have to weigh what they weigh in the model."""
        classes, own = np.unique(np.asarray(y), return_inverse=True)
        if not np.array_equal(classes, self.classes):
            return False
        rows = np.bincount(own, weight, len(classes))
        if not np.allclose(rows, self.class_rows, rtol=1e-9):
            return False
        return super().can_have_learned(X, y, weight)

    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        form, model = self.form, self.model._fitted()
        assert form is not None
        holds, family = HOLDS.get(model.columns.kind, "numbers"), type(model.family).__name__
        x = _dense(X, slice(None)) if len(form.columns) <= MAX_COLUMNS else None
        why = f"{type(self.model).__name__} reads all columns alike"
        found = []
        for j, reader in enumerate(form.columns):
            facts = ColumnFacts(reader.name, holds, family, why, True)
            if x is not None:
                values = _counted(x[:, j], own, len(self.classes))
                facts.bins, facts.hidden_levels = bins_of(values)
                facts.nats = added(form, j, facts.bins)
                weight = np.array([b.counts.sum() for b in facts.bins])
                k = len(self.classes)  # nats are against the mean of the other classes
                spread = np.ptp(facts.nats, axis=1) * ((k - 1) / k)
                facts.importance = float(weight @ spread / max(float(weight.sum()), 1e-300))
            found.append(facts)
        return found

    def contributions(self, X: Any) -> Contributions:
        form, x = self.form, _dense(X, slice(None))
        assert form is not None
        each = [form.scores_of(j, x[:, j], [], False) for j in range(x.shape[1])]
        of_terms = np.stack(each, axis=1)
        names = [
            [(c.name, number_text(v)) for c, v in zip(form.columns, row, strict=True)]
            for row in x.tolist()
        ]
        return Contributions(form.base, list(of_terms), names)

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        assert self.form is not None
        names = [column.name for column in self.form.columns]
        return [dict(zip(names, row, strict=True)) for row in _dense(X, slice(None)).tolist()]

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        log_proba, own = predictions.log_proba, predictions.own
        form, x, found = self.form, _dense(X, slice(None)), {}
        assert form is not None
        row = np.arange(len(own))
        with np.errstate(invalid="ignore"):
            loss = -log_proba[row, own].mean()
            for j, reader in enumerate(form.columns):
                rest = log_proba - form.scores_of(j, x[:, j], [], False)
                found[reader.name] = float((logsumexp(rest, axis=1) - rest[row, own]).mean() - loss)
        return found


def _dense(X: Any, rows: Any) -> Array:
    """Rows as numbers."""
    x = X[rows].toarray() if issparse(X) else np.asarray(X)[rows]
    return np.asarray(x, dtype=np.float64)


def _counted(x: Array, own: NDArray[np.intp], n_classes: int) -> Values:
    numbers, place = np.unique(x, return_inverse=True)
    at = own * len(numbers) + place
    counts = np.bincount(at, minlength=n_classes * len(numbers)).reshape(n_classes, -1)
    none = np.zeros((n_classes, 0))
    return Values(numbers, counts.astype(np.float64), [], none, np.zeros(n_classes))
