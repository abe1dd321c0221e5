"""Classifiers of tables, as a report reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tallybayes.cross_validation import (
    held_out_predictions,
    leave_one_out,
    usual_folds,
)
from tallybayes.explain.explanation import Explanation
from tallybayes.explain.importances import terms_apart
from tallybayes.models.weighted.model import WeightedModel
from tallybayes.models.weighted.terms import weights_of
from tallybayes.reporting.columns import ColumnFacts, Values, added, bins_of, number_text
from tallybayes.reporting.form.form import Form
from tallybayes.reporting.form.of_tables import form_of_table
from tallybayes.reporting.form.of_weighted import form_of_weighted
from tallybayes.reporting.measures.figures import Predictions
from tallybayes.reporting.subjects.contract import Contributions, Subject
from tallybayes.tally import GridCounts, LevelCounts
from tallybayes.validation import LeftOut

__all__ = ["TableSubject", "contributions_of"]

Array = NDArray[np.float64]

N_TOP_TERMS = 8  # of each class, of a column of text


class TableSubject(Subject):
    """A :class:`tallybayes.NaiveBayes` or :class:`tallybayes.WeightedNaiveBayes`."""

    @property
    def _held(self) -> Any:
        return self.model._fitted()

    @property
    def _is_weighted(self) -> bool:
        return isinstance(self._held, WeightedModel)

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.class_count_)

    @cached_property
    def form(self) -> Form | None:
        held = self._held
        if isinstance(held, WeightedModel):
            return None if held.now is None else form_of_weighted(held)
        return form_of_table(held)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [term.columns for term in self._held.pairs]

    @property
    def stale(self) -> bool:
        return bool(self._held.chosen.stale)

    @property
    def samples_first(self) -> bool:  # type: ignore[override]  # an attribute there
        return not self._is_weighted

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """A weighted model is fitted again, which gives the predictions that its own figures are
        of; a plain one is cross-validated."""
        n = len(y)
        ones = np.ones(n) if weight is None else weight
        if self._is_weighted:
            weighting = self._held.chosen.weighting
            pruned = weighting is not None and weighting.figures.log_loss_increase is not None
            found: LeftOut | None = None if pruned else self.model._left_out(X, y, weight, groups)
            if found is not None:
                return found
        elif n > 1:
            labels = np.asarray(y)
            log_proba = np.empty((n, len(self.classes)))
            folds = usual_folds(labels, groups)
            parts = held_out_predictions(self.model, X, labels, folds, weight, groups)
            for rows, some in parts:
                log_proba[rows] = some
            return LeftOut(np.arange(n), log_proba, ones, "folds")
        log_proba = leave_one_out(self.model, X, y, weight, groups)
        return LeftOut(np.arange(n), log_proba, ones, "counts")

    @property
    def learns_in_parts(self) -> bool:  # type: ignore[override]  # an attribute there
        return not self._is_weighted

    # ---- columns ---------------------------------------------------------------------------------
    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        held, form = self._held, self.form
        counted, weights = self._values(), weights_of(held.chosen.weighting)
        places = {} if form is None else {c.name: j for j, c in enumerate(form.columns)}
        importances = self._apart
        text_terms = held.text_terms
        found = []
        for read in held.columns_read:
            facts = ColumnFacts(
                read.name,
                read.holds,
                read.family,
                read.why,
                read.part is not None,
                importances.get(read.name, 0.0),
                weights.get(read.name),
            )
            values = counted.get(read.name)
            if values is not None and values.n_rows > 0.0:
                facts.missing = float(values.missing.sum()) / values.n_rows
                facts.dates = values.dates
                facts.bins, facts.hidden_levels = bins_of(values)
                if form is not None and read.name in places and facts.used:
                    facts.nats = added(form, places[read.name], facts.bins)
            if read.name in text_terms:
                facts.terms = self._top_terms(read.name)
            found.append(facts)
        return found

    @cached_property
    def _apart(self) -> dict[str, float]:
        """How far each term moves the scores of the classes apart, in nats."""
        return terms_apart(self._held)

    @property
    def pair_importances(self) -> list[float]:
        return [self._apart.get(" × ".join(pair), 0.0) for pair in self.pairs]

    def _top_terms(self, name: str) -> list[tuple[str, str, float]]:
        found = []
        for label in self.classes.tolist()[:12]:
            for term, value in self.model.top_terms(name, label, N_TOP_TERMS):
                found.append((str(label), str(term), float(value)))
        return found

    def _values(self) -> dict[str, Values]:
        """What was counted of each column."""
        tally, rows = self._held.tally_read, self.class_rows
        n = len(rows)
        found: dict[str, Values] = {}
        for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
            if columns.names is None or len(columns.names) != 1:
                continue
            name = columns.names[0]
            none = Values(np.zeros(0), np.zeros((n, 0)), [], np.zeros((n, 0)), rows)
            before = found.get(name, none)
            if isinstance(group, GridCounts):
                counts, numbers = group.counts, group.values()
                missing = before.missing - counts.sum(axis=1)
                found[name] = Values(
                    numbers, counts, before.levels, before.of_levels, missing, columns.dates
                )
            elif isinstance(group, LevelCounts) and columns.levels is not None:
                levels = [str(level) for level in columns.levels[0].tolist()]
                counts = group.counts[:, : len(levels)]
                missing = before.missing - group.counts.sum(axis=1)
                found[name] = Values(
                    before.numbers, before.of_numbers, levels, counts, missing, before.dates
                )
        return {name: _without_residue(values) for name, values in found.items()}

    # ---- rows ------------------------------------------------------------------------------------
    def _explained(self, X: Any) -> Explanation:
        explanation: Explanation = self.model.explain(X)
        return explanation

    def contributions(self, X: Any) -> Contributions:
        return contributions_of(self._explained(X))

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        return list(self._explained(X).values)

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        if self._held.chosen.calibration is not None:
            return None
        log_proba, own = predictions.log_proba, predictions.own
        if learned:
            given = None if (predictions.weight == 1.0).all() else predictions.weight
            log_proba = leave_one_out(self.model, X, self.classes[own], given)
        row, found = np.arange(len(own)), {}
        with np.errstate(invalid="ignore"):
            loss = -log_proba[row, own].mean()
            for name, share in self._shares(X, predictions, learned):
                if not share.any():
                    continue
                rest = log_proba - share
                without = logsumexp(rest, axis=1) - rest[row, own]
                found[name] = float(without.mean() - loss)
        return found

    def _shares(
        self, X: Any, predictions: Predictions, learned: bool
    ) -> Iterator[tuple[str, Array]]:
        """What each term adds to rows, (n_rows, n_classes); to rows that were learned, without the
        row itself. Terms of a weighted model stay as they are: their weights depend on it."""
        if learned and not self._is_weighted:
            x = self.model._read_rows(X)
            own = predictions.own.astype(np.int64)
            given = self.model._weights(predictions.weight, x, self.model.classes_, own)
            weight = predictions.weight if given is None else given
            yield from self._held.score.contributions_without(x, own, weight).items()
            return
        explained = self._explained(X)
        for t, name in enumerate(explained.columns):
            yield name, explained.contributions[:, :, t]


def _without_residue(values: Values) -> Values:
    """Counts without what rounding has left of missing rows."""
    missing = np.where(values.missing < 1e-6, 0.0, values.missing)
    return replace(values, missing=missing)


def contributions_of(explained: Explanation) -> Contributions:
    """What adds to the scores of explained rows, with the values of the terms."""
    names = [
        [(name, _value_of(name, row)) for name in explained.columns] for row in explained.values
    ]
    of_terms = [rows.T for rows in explained.contributions]
    return Contributions(explained.base, of_terms, names)


def _value_of(name: str, row: Mapping[str, Any]) -> str:
    """The value of a column in a row; of a pair, both values."""
    if name in row:
        return shown_value(row[name])
    parts = name.split(" × ")
    return " × ".join(shown_value(row.get(part)) for part in parts)


def shown_value(value: Any) -> str:
    """A value as people read it; nothing for a missing value."""
    if value is None:
        return ""
    return number_text(value) if isinstance(value, float) else str(value)
