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

CHUNK = 1 << 21  # contributions that are held at once


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
        step = max(1, CHUNK // (len(self.log_prior) * max(len(now.score.tables), 1)))
        for start in range(0, x.n_rows, step):
            rows = slice(start, start + step)
            found[rows] += _terms_without(now, x.take(rows), own[rows], weight[rows])
        return found


def _terms_without(now: WeightingNow, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
    """What the terms add to rows, each without itself."""
    cells, local = now.score.cells(x), np.searchsorted(now.present, own)
    removed, n = np.minimum(weight, 1.0), len(now.tables)
    shares = now.score.contributions(x)
    for j in (t for t in now.score.speaking if t < n):
        left = now.tables[j].without(cells[j], local, removed, now.share)
        shares[:, :, j] += _change(
            now, j, left - now.tables[j].full[cells[j]], cells[j], now.present
        )
    columns: Array = shares[:, :, :n].sum(axis=2)
    # what was expected of a row when its pair was taken: by the columns, or by them and other pairs
    proba = softmax(columns + now.score.offset, axis=1)[:, now.learned]
    place = np.searchsorted(now.learned, own)
    for t in (t for t in now.score.speaking if t >= n):
        pair = now.score.pairs[t - n]
        codes = pair.codes(cells)
        left = pair.without(codes, place, removed, proba)
        shares[:, :, t] += _change(now, t, left - pair.full[codes], codes, now.learned)
    scores: Array = shares.sum(axis=2)
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
