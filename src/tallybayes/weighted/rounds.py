"""Terms and weights in rounds: columns first, pairs for what they do not say, a last correction."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned, tables_of
from tallybayes.weighted.pair_terms import PairTerm, pair_values
from tallybayes.weighted.pairs import Pairs
from tallybayes.weighted.polish import Correction, correction
from tallybayes.weighted.row_scores import RowScores, log_normalised
from tallybayes.weighted.rows import LearningRows, column_values
from tallybayes.weighted.sampling import sampled
from tallybayes.weighted.tables import SILENT, ColumnTable
from tallybayes.weighted.terms import Terms, Weights
from tallybayes.weighted.weights import learn_weights

__all__ = ["Asked", "Rounds"]

Array = NDArray[np.float64]

ROUNDS = 8
MOST_PAIRS = 100  # of a round
MOST_PAIRED = 400  # columns among which pairs are looked for
MOST_ROWS = 25_000  # that weights are learned on
MOST_VALUES = 100_000_000  # of terms, rows and classes
MOST_DEVIATIONS = 4_000
MOST_CORRECTED = 10_000_000  # cells of rows that corrections are learned on
MOST_STEPS = 50_000_000  # those times classes
MOST_CORRECTIONS = 1_000_000  # cells times classes
CHANCE = 5.0  # nats that a column has to gain by itself for its cells to be corrected


class Asked(NamedTuple):
    """What is asked of the learning; see `learn`."""

    interactions: int | None
    by_class: bool
    polish: bool
    penalty: float | None


class Rounds:
    """The terms so far, and their weights.

    Parameters
    ----------
    columns : list of ColumnCells
    tables : list of ColumnTable
    rows : LearningRows
        All rows; weights are learned and pairs chosen on a sample of them, if they are many.
    p : float64 array (n_classes,)
        Shares of the classes.
    asked : Asked
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        tables: list[ColumnTable],
        rows: LearningRows,
        p: Array,
        asked: Asked,
    ) -> None:
        d, n_classes = len(columns), rows.n_classes
        self.columns, self.rows, self.p, self.asked = columns, rows, p, asked
        self.by_class = asked.by_class and n_classes * (d + 1) <= MOST_DEVIATIONS
        self.most = max(4, min(d, MOST_PAIRS))
        terms = d + ROUNDS * self.most
        room = MOST_VALUES // (terms * (1 if n_classes == 2 else n_classes))
        self.index, stands = sampled(rows.y, rows.weight, n_classes, max(1, min(MOST_ROWS, room)))
        self.removed = rows.removed[self.index]
        self.sample = replace(rows.take(self.index), weight=stands)
        self.silent = np.array([table.choice == SILENT for table in tables], dtype=bool)
        self.scores = RowScores(rows, p, tables)
        self.terms = Terms(n_classes, len(self.index), terms)
        for table, cells in zip(tables, self.sample.cells, strict=True):
            self.terms.add(column_values(table, cells, self.sample.y, self.removed, p), pair=False)
        self.rounds: list[Weights] = []
        self.weights = self.learn_weights(None)

    def learn_weights(self, start: Weights | None) -> Weights:
        return learn_weights(
            self.terms,
            self.sample,
            start,
            np.log(self.p),
            by_class=self.by_class,
            penalty=self.asked.penalty,
        )

    def loudest(self, most: int) -> NDArray[np.intp]:
        """The columns that say most of the learning rows."""
        if len(self.columns) <= most:
            return np.arange(len(self.columns))
        said = (~self.silent) * self.weights.terms * (self.terms.values**2).mean(axis=(0, 2)) ** 0.5
        return np.sort(np.argsort(-said, kind="stable")[:most])

    def add_pairs(self) -> None:
        """Rounds of pairs and of weights."""
        d, most = len(self.columns), ROUNDS * self.most
        if self.asked.interactions is not None:
            most = min(most, self.asked.interactions)
        if self.by_class and self.rows.n_classes > 2:
            most = min(most, max(d, MOST_DEVIATIONS // self.rows.n_classes - d - 1))
        pairs = Pairs(self.columns, self.sample, self.p, self.loudest(MOST_PAIRED))
        for _ in range(ROUNDS):
            left = min(self.most, most - len(self.scores.pairs))
            if left <= 0:
                return
            proba = self.scores.proba(self.weights)
            some = proba[self.index]
            found = pairs.best(some, left)
            if not found:
                return
            for choice in found:
                counted = pairs.counted(choice, self.rows, proba, len(self.rounds))
                values = pair_values(counted, self.sample, self.removed, some)
                self.terms.add(values, pair=True)
                self.scores.pairs.append(counted)
            self.rounds.append(self.weights)
            self.weights = self.learn_weights(self.weights)

    def learned(self) -> Learned:
        if self.asked.interactions != 0 and len(self.columns) > 1:
            self.add_pairs()
        tables, weights = self.scores.tables, self.weights
        weights.terms[: len(tables)][self.silent] = 0.0
        weights.deviations[:, : len(tables)][:, self.silent] = 0.0
        pairs = [pair.term for pair in self.scores.pairs]
        full = [table.full for table in tables] + [pair.full for pair in pairs]
        scores = self.scores.scores(weights)
        tested, corrections = np.arange(self.rows.n), None
        found = self.corrected(full, pairs, scores) if self.asked.polish else None
        if found is not None:
            corrections, honest = found
            tested = honest.tested
            scores = scores[tested] + honest.left_out
        return Learned(
            columns=self.columns,
            choices=[table.choice for table in tables],
            pairs=pairs,
            rounds=self.rounds,
            weights=weights,
            corrections=corrections,
            tables=tables_of(full, weights, corrections),
            offset=np.log(self.p) + weights.offsets,
            tested=tested,
            log_proba=log_normalised(scores),
        )

    def corrected(
        self, full: list[Array], pairs: list[PairTerm], scores: Array
    ) -> tuple[list[Array], Correction] | None:
        """Corrections of the cells of columns that tell by themselves and of pairs."""
        rows, tables = self.rows, self.scores.tables
        d = len(tables)
        told = [t for t in range(len(full)) if t >= d or tables[t].gain > CHANCE]
        start = np.cumsum([0, *(len(full[t]) for t in told)])
        if start[-1] * rows.n_classes > MOST_CORRECTIONS or not told:
            return None
        most = max(1, min(MOST_CORRECTED, MOST_STEPS // rows.n_classes) // len(told))
        index, stands = sampled(rows.y, rows.weight, rows.n_classes, most)
        some = rows.take(index).cells

        def codes(t: int, cells: NDArray[np.int32]) -> NDArray[np.int32]:
            return cells[t] if t < d else pairs[t - d].codes(cells)

        numbered = np.empty((len(index), len(told)), dtype=np.int32)
        for place, t in enumerate(told):
            cells = codes(t, some)
            numbered[:, place] = np.where(cells < 0, -1, cells + start[place])
        found = correction(numbered, scores[index], rows.y[index], stands, int(start[-1]))
        if found is None:
            return None
        added = found.cells - found.cells.mean(axis=1, keepdims=True)
        corrections = [np.zeros(table.shape) for table in full]
        for t, more in zip(told, np.split(added, start[1:-1]), strict=True):
            corrections[t] = more
        return corrections, found._replace(tested=index[found.tested])
