"""What a fitted :class:`WeightedNaiveBayes` holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tallybayes.estimators.table_model import TableModel
from tallybayes.estimators.table_reading import ColumnReading
from tallybayes.estimators.weighted_words import Term, columns_read, terms_of
from tallybayes.estimators.weighting import WeightingNow, apply_weighting
from tallybayes.families.class_prior import PriorWithout
from tallybayes.tables import Table
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
        """What the terms add after each row itself is taken out of what columns and pairs count,
        (n_rows, n_classes), in nats; weights and corrections as they are."""
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
    """What the terms add to rows, each without itself."""
    cells, local = now.score.cells(x), np.searchsorted(now.present, own)
    removed, n = np.minimum(weight, 1.0), len(now.tables)
    scores: Array = now.score.contributions(x).sum(axis=2)
    for j in (t for t in now.score.speaking if t < n):
        left = now.tables[j].without(cells[j], local, removed, now.share)
        scores += _change(now, j, left - now.tables[j].full[cells[j]], cells[j], now.present)
    if len(now.score.speaking) and now.score.speaking[-1] >= n:
        proba = softmax(scores + now.score.offset, axis=1)[:, now.learned]
        place = np.searchsorted(now.learned, own)
        for t in (t for t in now.score.speaking if t >= n):
            pair = now.score.pairs[t - n]
            codes = pair.codes(cells)
            left = pair.without(codes, place, removed, proba)
            scores += _change(now, t, left - pair.full[codes], codes, now.learned)
    return scores


def _change(
    now: WeightingNow, t: int, change: Array, codes: NDArray[np.int32], at: NDArray[np.intp]
) -> Array:
    """How the score changes, (n_rows, n_classes), where a term's log-ratios of the classes `at`
    do."""
    change[codes < 0] = 0.0
    wide = np.zeros((len(change), len(now.by_class)))
    wide[:, at] = change
    wide -= wide.mean(axis=1, keepdims=True)
    return now.by_class[:, t] * wide
