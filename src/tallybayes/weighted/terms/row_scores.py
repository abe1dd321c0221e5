"""Scores of all rows, each taken out, recomputed from tables; and the class probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.terms.column_tables import ColumnTable
from tallybayes.weighted.terms.learning_rows import LEAST, LearningRows
from tallybayes.weighted.terms.pair_terms import CountedPair
from tallybayes.weighted.terms.term_scores import Weights

__all__ = ["RowScores", "log_normalised"]

Array = NDArray[np.float64]
Shares = NDArray[np.float32]

CHUNK = 1 << 17  # rows times classes that are scored at a time
FEWEST = 8192  # rows, as logarithms of tables are made each time


def log_normalised(scores: Array) -> Array:
    """Log-probabilities of scores (n_rows, n_classes)."""
    logs = scores.copy()
    _kernels.normalise(logs, np.zeros(scores.shape[1]), False, None, get_num_threads())
    return logs


class RowScores:
    """The terms of a model on all rows.

    Parameters
    ----------
    rows : LearningRows
    share : float64 array (n_classes,)
        p.
    tables : list of ColumnTable
    """

    def __init__(self, rows: LearningRows, share: Array, tables: list[ColumnTable]) -> None:
        self.rows, self.share, self.tables = rows, share, tables
        self.pairs: list[CountedPair] = []

    def scores(self, weights: Weights) -> Array:
        """S, float64 (n_rows, n_classes)."""
        scores = np.empty((self.rows.n, self.rows.n_classes))
        for part, found in self._chunks(weights):
            scores[part] = found
        return scores

    def _chunks(self, weights: Weights) -> Iterator[tuple[slice, Array]]:
        """Some rows and their scores, so many at a time that these stay at hand."""
        offset, n_classes = np.log(self.share) + weights.offsets, self.rows.n_classes
        by_class = np.ascontiguousarray(weights.by_class().T)
        step = max(FEWEST, CHUNK // n_classes)
        for begin in range(0, self.rows.n, step):
            part = slice(begin, min(begin + step, self.rows.n))
            scores = np.tile(offset, (part.stop - begin, 1))
            self._add(part, by_class, scores)
            yield part, scores

    def _add(self, part: slice, by_class: Array, into: Array) -> None:
        """Adds what terms with these weights say of some rows to their scores."""
        y, removed = self.rows.y[part], self.rows.removed[part]
        cells, threads = self.rows.cells[:, part], get_num_threads()
        for t, table in enumerate(self.tables):
            codes, w = cells[t], by_class[t]
            _kernels.add_column(
                codes, y, removed, table.smoothed, self.share, LEAST, w, into, threads
            )
        for pair, w in zip(self.pairs, by_class[len(self.tables) :], strict=True):
            codes, proba = pair.term.codes(cells), pair.proba[part]
            _kernels.add_pair(
                codes, y, removed, proba, pair.C, pair.E, pair.prior, w, into, threads
            )

    def values(self, term: int) -> Shares:
        """What a term says of the rows, centred over classes, float32 (n_classes, n_rows)."""
        d = len(self.tables)
        n_terms = d + len(self.pairs)
        alone = np.zeros((n_terms, self.rows.n_classes))
        alone[term] = 1.0
        scores = np.zeros((self.rows.n, self.rows.n_classes))
        self._add(slice(0, self.rows.n), alone, scores)
        return np.ascontiguousarray(scores.T.astype(np.float32))

    def proba(self, weights: Weights) -> Shares:
        """P, float32 (n_rows, n_classes)."""
        proba = np.empty((self.rows.n, self.rows.n_classes), dtype=np.float32)
        for part, scores in self._chunks(weights):
            _kernels.normalise(scores, np.zeros(scores.shape[1]), True, None, get_num_threads())
            proba[part] = scores
        return proba
