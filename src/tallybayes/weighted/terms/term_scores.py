"""Leave-one-out values of the terms for the learning rows, and their weighted scores: from stored
values, or recomputed from tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.rows import MIN_COUNT, LearningRows
from tallybayes.weighted.terms.column_tables import ColumnTable
from tallybayes.weighted.terms.pair_terms import CountedPair, PairTerm

__all__ = [
    "RowScores",
    "Terms",
    "Weights",
    "log_normalised",
    "rows_taken_out",
    "scores_of",
    "shares_of",
]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

CHUNK_VALUES = 1 << 17  # rows times classes that are scored at a time
MIN_ROWS = 8192  # rows, as logarithms of tables are made each time


@dataclass(frozen=True, eq=False)
class Weights:
    """Learned weights.

    Parameters
    ----------
    terms : float64 array (n_terms,)
        w, 0 or more.
    deviations : float64 array (n_classes, n_terms)
        u; 0 for two classes.
    offsets : float64 array (n_classes,)
        b, in nats.
    scale : float
        γ.
    """

    terms: Array
    deviations: Array
    offsets: Array
    scale: float

    def by_class(self) -> Array:
        """w_t + u_tk, float64 (n_classes, n_terms)."""
        return self.terms + self.deviations

    def times(self, factor: float) -> Weights:
        """All of them, the offsets too, times a factor."""
        return Weights(
            factor * self.terms, factor * self.deviations, factor * self.offsets, self.scale
        )

    def with_more(self, count: int, start: float) -> Weights:
        """So many more terms, of this weight."""
        before = len(self.terms)
        terms = np.full(before + count, start)
        deviations = np.zeros((len(self.deviations), before + count))
        terms[:before], deviations[:, :before] = self.terms, self.deviations
        return Weights(terms, deviations, self.offsets, self.scale)


class Terms:
    """The values of terms for the learning rows, in arrays that grow.

    Of two classes only the difference is kept, the second's less the first's: (1, n_terms, n_rows).
    Of more, each class: (n_classes, n_terms, n_rows).

    Parameters
    ----------
    n_classes, n_rows : int
    room : int
        Terms that there may be without a copy; what is not used takes no memory.
    """

    def __init__(self, n_classes: int, n_rows: int, room: int = 16) -> None:
        self.n_classes = n_classes
        layers = 1 if n_classes == 2 else n_classes
        self._room = np.empty((layers, max(room, 1), n_rows), dtype=np.float32)
        self.pair: list[bool] = []

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def values(self) -> Values:
        return self._room[:, : len(self.pair)]

    def add(self, values: Values, *, pair: bool) -> None:
        """One more term, values (n_classes, n_rows), centred over classes."""
        if len(self) == self._room.shape[1]:
            layers, room, n_rows = self._room.shape
            wider = np.empty((layers, 2 * room, n_rows), dtype=np.float32)
            wider[:, :room] = self._room
            self._room = wider
        self._room[:, len(self)] = values[1:] - values[:1] if self.n_classes == 2 else values
        self.pair.append(pair)


def scores_of(values: Values, by_class: Array, offset: Array) -> Array:
    """S, float64 (n_classes, n_rows).

    Parameters
    ----------
    values : float32 array, as of :class:`Terms`
    by_class : float64 array (n_classes, n_terms)
    offset : float64 array (n_classes,)
        log p + b.
    """
    scores = np.empty((len(offset), values.shape[2]))
    if len(values) == 1:
        half = 0.5 * (by_class[1].astype(np.float32) @ values[0])
        np.subtract(offset[0], half, out=scores[0])
        np.add(offset[1], half, out=scores[1])
        return scores
    for k, w in enumerate(by_class.astype(np.float32)):
        np.add(w @ values[k], offset[k], out=scores[k])
    return scores


def shares_of(scores: Array) -> Array:
    """P, float64 (n_classes, n_rows), of scores."""
    shares: Array = scores - scores.max(axis=0)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=0)
    return shares


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

    rows: LearningRows
    share: Array
    tables: list[ColumnTable]

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
        """Some rows and their scores, in blocks that fit into the cache."""
        offset, n_classes = np.log(self.share) + weights.offsets, self.rows.n_classes
        by_class = np.ascontiguousarray(weights.by_class().T)
        step = max(MIN_ROWS, CHUNK_VALUES // n_classes)
        for begin in range(0, self.rows.n, step):
            part = slice(begin, min(begin + step, self.rows.n))
            scores = np.tile(offset, (part.stop - begin, 1))
            self._add(part, by_class, scores)
            yield part, scores

    def _add(self, part: slice, by_class: Array, into: Array) -> None:
        """Adds the contributions of terms with these weights to the scores of some rows; terms that
        weigh 0 add nothing."""
        y, removed = self.rows.y[part], self.rows.removed[part]
        cells, threads, d = self.rows.cells[:, part], get_num_threads(), len(self.tables)
        for t in np.flatnonzero(by_class.any(axis=1)).tolist():
            w = by_class[t]
            if t < d:
                smoothed = self.tables[t].smoothed
                _kernels.add_column(
                    cells[t], y, removed, smoothed, self.share, MIN_COUNT, w, into, threads
                )
            else:
                pair = self.pairs[t - d]
                codes, proba = pair.term.codes(cells), pair.proba[part]
                _kernels.add_pair(
                    codes, y, removed, proba, pair.C, pair.E, pair.prior, w, into, threads
                )

    def contributions(self, weights: Weights, terms: list[int]) -> Array:
        """What some terms, with these weights, add to the rows, float64 (n_rows, n_classes)."""
        n_classes = self.rows.n_classes
        by_class = np.zeros((len(self.tables) + len(self.pairs), n_classes))
        by_class[terms] = weights.by_class().T[terms]
        added = np.zeros((self.rows.n, n_classes))
        self._add(slice(0, self.rows.n), by_class, added)
        return added

    def values(self, term: int) -> Values:
        """What a term adds to the rows, centred over classes, float32 (n_classes, n_rows)."""
        d = len(self.tables)
        n_terms = d + len(self.pairs)
        alone = np.zeros((n_terms, self.rows.n_classes))
        alone[term] = 1.0
        scores = np.zeros((self.rows.n, self.rows.n_classes))
        self._add(slice(0, self.rows.n), alone, scores)
        return np.ascontiguousarray(scores.T.astype(np.float32))

    def proba(self, weights: Weights) -> Values:
        """P, float32 (n_rows, n_classes)."""
        proba = np.empty((self.rows.n, self.rows.n_classes), dtype=np.float32)
        for part, scores in self._chunks(weights):
            _kernels.normalise(scores, np.zeros(scores.shape[1]), True, None, get_num_threads())
            proba[part] = scores
        return proba


def rows_taken_out(
    tables: list[ColumnTable],
    pairs: list[PairTerm],
    rounds: list[Weights],
    rows: LearningRows,
    share: Array,
) -> RowScores:
    """The terms of a model on rows that were learned, for any weights.

    What is expected of a row in a pair is computed by the terms and weights that there were when
    the pair was taken, the row taken out of them, too: so the rounds of learning are gone through
    again.

    Parameters
    ----------
    tables : list of ColumnTable
    pairs : list of PairTerm
        By round.
    rounds : list of Weights
        When each round of pairs was taken.
    rows : LearningRows
        Rows of weight 0 are not taken out.
    share : float64 array (n_classes,)
        p.
    """
    scores = RowScores(rows, share, tables)
    nothing = np.zeros(len(share))
    for place, weights in enumerate(rounds):
        proba = scores.proba(weights)
        for pair in (pair for pair in pairs if pair.round == place):
            there = _expected_there(pair, rows, proba)
            scores.pairs.append(CountedPair(pair, pair.counted, pair.expected, nothing, there))
    return scores


def _expected_there(pair: PairTerm, rows: LearningRows, proba: Values) -> Values:
    """P, as far as the expected counts of each row's cell hold it.

    A fit without a part of the rows has counted this part with P as it was then. P of a row that is
    heavy for its cells differs from that where the row is taken out of the columns, too, and more
    might be taken than is expected. Half of the least expected count stays: an empty cell has it.
    """
    expected = pair.expected[pair.codes(rows.cells)]
    taken = np.maximum(rows.removed, np.finfo(np.float64).tiny)[:, None]
    with np.errstate(over="ignore"):
        most = (expected - 0.5 * pair.expected.min()) / taken
    bounded: Values = np.minimum(proba, most).astype(np.float32)
    return bounded
