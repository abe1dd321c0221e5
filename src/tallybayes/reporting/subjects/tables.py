"""Classifiers of tables, as a report reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tallybayes.estimators.cross_validation import leave_one_out
from tallybayes.inspection.explanation import Explanation
from tallybayes.models.weighted.model import WeightedModel
from tallybayes.models.weighted.terms import weights_of
from tallybayes.reporting.columns import ColumnFacts, Values, added, bins_of, number_text
from tallybayes.reporting.form.form import Form
from tallybayes.reporting.form.of_tables import form_of_table
from tallybayes.reporting.form.of_weighted import form_of_weighted
from tallybayes.reporting.measures.figures import Predictions
from tallybayes.reporting.subjects.contract import Contributions, Stated, Subject
from tallybayes.tally import GridCounts, LevelCounts

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
    def stated(self) -> Stated | None:
        weighting = self._held.chosen.weighting
        if weighting is None or not weighting.figures.left_out:
            return None
        f = weighting.figures
        return Stated(f.log_loss, f.accuracy, f.log_loss_se, f.accuracy_se, f.rows)

    @property
    def stale(self) -> bool:
        return bool(self._held.chosen.stale)

    def log_proba_without(self, X: Any, y: Any, weight: Array | None) -> Array:
        return leave_one_out(self.model, X, y, weight)

    @property
    def learns_in_parts(self) -> bool:  # type: ignore[override]
        return not self._is_weighted

    # ---- columns ---------------------------------------------------------------------------------
    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        held, form = self._held, self.form
        counted, weights = self._values(), weights_of(held.chosen.weighting)
        places = {} if form is None else {c.name: j for j, c in enumerate(form.columns)}
        importances = dict(zip(held.names, self._importances(), strict=True))
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

    def _importances(self) -> list[float]:
        if self._is_weighted and self._held.chosen.weighting is None:
            return [0.0] * len(self._held.names)
        importances: list[float] = np.asarray(self.model.feature_importances_).tolist()
        return importances

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
