"""What a fitted :class:`WeightedNaiveBayes` holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.table_model import TableModel
from tallybayes.estimators.table_reading import ColumnReading
from tallybayes.estimators.weighted_words import Term, columns_read, terms_of
from tallybayes.estimators.weighting import WeightingNow, apply_weighting
from tallybayes.families.class_prior import PriorWithout
from tallybayes.tables import Table
from tallybayes.weighted.rows import LEAST
from tallybayes.weighted.score import WeightedScore

__all__ = ["WeightedModel"]

Array = NDArray[np.float64]

CHUNK = 1 << 16  # rows that are scored at once


class WeightedModel(TableModel):
    """The state of a :class:`WeightedNaiveBayes`; see :class:`TableModel`."""

    @property
    def now(self) -> WeightingNow | None:
        """The weights under the counts as they are; None where nothing could be learned yet."""
        return self.once("now", self._now)  # type: ignore[no-any-return]

    def _now(self) -> WeightingNow | None:
        weighting = self.chosen.weighting
        if weighting is None or not self.tally.classes.count.any():
            return None
        return apply_weighting(weighting, self.tally, self.log_prior)

    def _read_columns(self) -> list[ColumnReading]:
        return columns_read(self)

    @property
    def parts(self) -> list[Term]:
        return terms_of(self)

    @property
    def score(self) -> Any:
        now = self.now
        if now is None:
            return self.once("score", lambda: WeightedScore([], [], [], self.log_prior))
        return now.score

    def log_prior_without(self, own: NDArray[np.int64], weight: Array) -> PriorWithout:
        """The log-prior as it is: the class offsets were learned beside it."""
        return PriorWithout(self.log_prior, self.log_prior[own])

    def likelihood_without(self, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
        """What the terms add after each row itself is taken out of the columns' counts, (n_rows,
        n_classes), in nats; pairs and corrections as they are."""
        found = np.zeros((x.n_rows, len(self.log_prior)))
        now = self.now
        if now is None:
            return found
        found += now.score.offset - self.log_prior
        for start in range(0, x.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            found[rows] += _terms_without(now, x.take(rows), own[rows], weight[rows])
        return found


def _terms_without(now: WeightingNow, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
    cells = now.score.cells(x)
    index, local = np.arange(x.n_rows), np.searchsorted(now.present, own)
    removed = np.minimum(weight, 1.0)
    scores: Array = now.score.contributions(x).sum(axis=2)
    for j, table in enumerate(now.tables):
        if j not in now.score.speaking:
            continue
        left = table.smoothed[cells[j]]
        whole = left.sum(axis=1, keepdims=True) - removed[:, None]
        left[index, local] -= removed
        change = np.log(np.maximum(left, LEAST) / np.maximum(whole, LEAST) / now.share)
        change -= table.full[cells[j]]
        change[cells[j] < 0] = 0.0
        wide = np.zeros_like(scores)
        wide[:, now.present] = change
        wide -= wide.mean(axis=1, keepdims=True)
        scores += now.by_class[:, j] * wide
    return scores
