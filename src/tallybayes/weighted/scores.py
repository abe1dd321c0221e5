"""Scores of weighted terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import Bounded, Shape
from tallybayes.score import CellTable, JointCells, Term
from tallybayes.tables import Empty, Table
from tallybayes.threads import get_num_threads
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.pairs import CountedPair, JointColumns, PairTerm
from tallybayes.weighted.rows import MIN_COUNT, LearningRows
from tallybayes.weighted.tables import ColumnTable

__all__ = [
    "RowScores",
    "Terms",
    "WeightedScore",
    "Weights",
    "log_normalised",
    "rows_taken_out",
    "scores_of",
    "shares_of",
]


# ---- values of the terms for learning rows, and their weighted scores ----------------------------
# Leave-one-out values of the terms for the learning rows, and their weighted scores: from stored
# values, or recomputed from tables.
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

    terms: Annotated[Array, Shape("n_terms"), Bounded]
    deviations: Annotated[Array, Shape("n_classes", "n_terms"), Bounded]
    offsets: Annotated[Array, Shape("n_classes"), Bounded]
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


@dataclass(eq=False)
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

    def __post_init__(self) -> None:
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


# ---- scoring with a weighted model: the class offsets, and a table for each column and pair ------
Cells = NDArray[np.int32]


@dataclass(eq=False)
class WeightedScore:
    """The score of a table's rows: one look-up a term and class.

    Parameters
    ----------
    columns : list of ColumnCells
    pairs : list of JointColumns
        Of columns by their place in `columns`.
    tables : list of float64 arrays (n_cells, n_classes)
        Of the columns, then of the pairs, in nats.
    offset : float64 array (n_classes,)
    """

    columns: list[ColumnCells]
    pairs: Sequence[JointColumns]
    tables: list[Array]
    offset: Array

    def __post_init__(self) -> None:
        self.offset = np.ascontiguousarray(self.offset)
        self.fallback: int = int(np.argmax(self.offset))
        self.speaking: list[int] = [t for t, table in enumerate(self.tables) if table.any()]
        read: set[int] = set()
        for t in self.speaking:
            pair = None if t < len(self.columns) else self.pairs[t - len(self.columns)]
            read |= {t} if pair is None else set(pair.columns)
        self.columns_read: list[int] = sorted(read)  # by their place: those that add to the score
        # after the last cell of each table comes an entry for what no cell holds: it adds nothing
        wide = [np.pad(self.tables[t].T, ((0, 0), (0, 1))) for t in self.speaking]
        self._start = np.cumsum([0, *(w.shape[1] for w in wide)]).astype(np.int64)
        self._scorer = None
        if wide:
            self._scorer = _kernels.LaneScorer(
                np.ascontiguousarray(np.concatenate(wide, axis=1)),
                None,
                self.offset,
                self.fallback,
                get_num_threads(),
            )

    @property
    def text_parts(self) -> dict[str, Any]:
        """Columns of text, which add to the score beside the tables of cells."""
        return {}

    def change_without(self, x: Table, own: NDArray[np.intp], weight: Array) -> Array:
        """How columns of text change the scores when each row is taken out of their counts."""
        return np.zeros((x.n_rows, len(self.offset)))

    def cells(self, x: Table) -> Cells:
        """The cell of each row in each column, int32 (n_columns, n_rows); −1 for what no cell
        holds, and in columns that add nothing."""
        cells = np.full((len(self.columns), x.n_rows), -1, dtype=np.int32)
        for j in self.columns_read:
            column = self.columns[j]
            cells[j] = column.codes(x.columns.get(column.name, Empty(x.n_rows)))
        return cells

    def _entries(self, cells: Cells) -> Cells:
        entries = np.empty((cells.shape[1], len(self.speaking)), dtype=np.int32, order="F")
        n = len(self.columns)
        for place, t in enumerate(self.speaking):
            codes = cells[t] if t < n else self.pairs[t - n].codes(cells)
            entries[:, place] = np.where(codes < 0, len(self.tables[t]), codes)
        return entries

    def terms(self) -> list[Term]:
        """The tables as terms of a formula, in the order in which they are added."""
        return [self._term(t) for t in self.speaking]

    def _term(self, t: int) -> Term:
        if t < len(self.columns):
            single, order = self.columns[t].formula_cells()
            wide = np.pad(self.tables[t].T, ((0, 0), (0, 1)))  # the last is for what is in no cell
            return CellTable(single, np.ascontiguousarray(wide[:, order]))
        pair = self.pairs[t - len(self.columns)]
        singles, orders = zip(*(self.columns[j].formula_cells() for j in pair.columns), strict=True)
        maps = [
            np.append(coarse, -1)[order] for coarse, order in zip(pair.maps, orders, strict=True)
        ]
        cells = JointCells(singles, tuple(maps), pair.sizes)
        return CellTable(cells, np.ascontiguousarray(self.tables[t].T))

    def joint(self, x: Table) -> Array:
        """The score of each class, (n_rows, n_classes), in nats."""
        return self.joint_of(self.cells(x))

    def joint_of(self, cells: Cells) -> Array:
        """The same of rows as cells (n_columns, n_rows)."""
        scores = np.tile(self.offset, (cells.shape[1], 1))
        if self._scorer is not None and len(scores):
            entries = self._entries(cells)
            self._scorer.score_codes(entries, self._start, scores, None, get_num_threads())
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The class of each row, and how many rows every class rules out."""
        best = np.full(x.n_rows, self.fallback, dtype=np.int64)
        if self._scorer is None or not x.n_rows:
            return best, 0
        entries = self._entries(self.cells(x))
        _, _, out = self._scorer.score_codes(entries, self._start, None, best, get_num_threads())
        return best, out

    def contributions(self, x: Table) -> Array:
        """What each term adds, (n_rows, n_classes, n_terms), in nats."""
        shares = np.zeros((x.n_rows, len(self.offset), len(self.tables)))
        entries = self._entries(self.cells(x))
        for place, t in enumerate(self.speaking):
            shares[:, :, t] = np.pad(self.tables[t], ((0, 1), (0, 0)))[entries[:, place]]
        return shares
