"""Terms and weights in rounds: columns, pairs beyond what columns predict, then cell offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.progress import steps
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.cell_offsets import (
    FOLDS,
    MAX_ROWS_ALL_FOLDS,
    SALT,
    CorrectedCells,
    Correction,
    correction,
    stops_early,
)
from tallybayes.weighted.fit.learned import Learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.optim.weights import compared_is_final, learn_weights
from tallybayes.weighted.rows import LearningRows, sampled
from tallybayes.weighted.terms.column_tables import NULL_TERM, ColumnTable, column_values
from tallybayes.weighted.terms.pair_search import Found, Pairs
from tallybayes.weighted.terms.pair_terms import PairTerm, pair_values
from tallybayes.weighted.terms.term_scores import (
    RowScores,
    Terms,
    Weights,
    log_normalised,
    scores_of,
    shares_of,
)

__all__ = ["Rounds"]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

MAX_ROUNDS = 8
GROWTH_FACTOR = 2  # times as many terms: the γ of weights that classes share is chosen again
MAX_PAIRS = 100  # of a round
MIN_FILLED_SHARE = 0.25  # of those that find a place: fewer mean that there are few more
MAX_PAIRED_COLUMNS = 400  # columns among which pairs are looked for
MAX_ROWS = 25_000  # that weights are learned on
MAX_VALUES = 100_000_000  # of terms, rows and classes
MAX_DEVIATIONS = 4_000
MIN_COLUMN_GAIN = 5.0  # nats that a column has to gain by itself for its cells to be corrected


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
    options : FitOptions
    among : iterable of (str, str), optional
        The pairs of columns that may be taken, by name; any unless given.
    weight : float64 array (n_rows,), optional
        Weights with which pairs are counted for the final model, where some rows are left out here
        (weight 0 in `rows`). Not given where none is.
    """

    is_null: NDArray[np.bool_]
    columns: list[ColumnCells]
    rows: LearningRows
    p: Array
    options: FitOptions
    among: Iterable[tuple[str, str]] | None
    index: NDArray[np.intp]

    def __init__(
        self,
        columns: list[ColumnCells],
        tables: list[ColumnTable],
        rows: LearningRows,
        p: Array,
        options: FitOptions,
        among: Iterable[tuple[str, str]] | None = None,
        weight: Array | None = None,
    ) -> None:
        d, n_classes = len(columns), rows.n_classes
        self.columns, self.rows, self.p, self.options, self.among = columns, rows, p, options, among
        self.by_class: bool = options.by_class and n_classes * (d + 1) <= MAX_DEVIATIONS
        self.most: int = max(4, min(d, MAX_PAIRS))
        terms = d + MAX_ROUNDS * self.most
        room = MAX_VALUES // (terms * (1 if n_classes == 2 else n_classes))
        self.index, stands = sampled(rows.y, rows.weight, n_classes, max(1, min(MAX_ROWS, room)))
        self.counted: LearningRows = rows.take(self.index)
        self.sample: LearningRows = replace(self.counted, weight=stands)
        self.is_null = np.array([table.choice == NULL_TERM for table in tables], dtype=bool)
        outside = np.full(rows.n, True)
        outside[self.index] = False
        small = 2 * len(self.index) < rows.n  # a copy of most rows would take memory
        self.others: NDArray[np.intp] = np.arange(rows.n) if small else np.flatnonzero(outside)
        """The rows that are scored from tables: those outside the sample, or all, if it is
        small."""
        others = rows if small else rows.take(self.others)

        def outside_sample(weight: Array) -> LearningRows:
            return replace(others, weight=np.where(outside, weight, 0.0)[self.others])

        self.rest: RowScores = RowScores(outside_sample(rows.weight), p, tables)
        self._room = terms
        self._terms: Terms | None = None
        self.rounds: list[Weights] = []
        self._sample_proba: list[Values] = []  # when each round of pairs was taken
        self._validated = 0
        self.weights: Weights = self.learn_weights(None)
        self._pairs: Pairs | None = None
        self._of_all: list[PairTerm] = []
        self._rest_of_all = None if weight is None else outside_sample(weight)

    @property
    def terms(self) -> Terms:
        """The log-ratios of the terms on the sample; computed again after they were freed."""
        if self._terms is None:
            y, removed = self.sample.y, self.counted.removed
            self._terms = Terms(self.rows.n_classes, self.sample.n, self._room)
            for table, cells in zip(self.rest.tables, self.sample.cells, strict=True):
                values = column_values(table, cells, y, removed, self.p)
                self._terms.add(values, pair=False)
            for pair in self.rest.pairs:
                values = pair_values(pair, self.counted, self._sample_proba[pair.term.round])
                self._terms.add(values, pair=True)
        return self._terms

    def give_up_values(self) -> None:
        """Frees the log-ratios of the terms, most of the memory that the rounds need, until other
        terms are tried."""
        self._terms = None

    def learn_weights(self, start: Weights | None, penalty: float | None = None) -> Weights:
        """Weights of the terms there are: near enough to choose pairs by, or, under a penalty that
        is given, final.

        γ is chosen with the columns alone, and again where the terms are twice as many: without
        deviations only, where that takes next to nothing.
        """
        final, chosen = penalty is not None, self._validated > 0
        once = self.by_class and self.rows.n_classes > 2
        due = (
            not (final or (once and chosen)) and len(self.terms) >= GROWTH_FACTOR * self._validated
        )
        if due:
            self._validated = len(self.terms)
        return learn_weights(
            self.terms,
            self.sample,
            start,
            np.log(self.p),
            by_class=self.by_class,
            penalty=penalty if final else self.options.penalty,
            only_compared=not final,
            validated=due,
        )

    def sample_scores(self) -> Array:
        """S of the sample, from its log-ratios, float64 (n_classes, n_sample)."""
        offset = np.log(self.p) + self.weights.offsets
        return scores_of(self.terms.values, self.weights.by_class(), offset)

    def scores(self) -> Array:
        """S of all rows, float64 (n_classes, n_rows): those outside the sample recomputed from
        tables."""
        of_sample = self.sample_scores()
        if not len(self.others):
            return of_sample
        scores = np.empty((self.rows.n, self.rows.n_classes))
        scores[self.others] = self.rest.scores(self.weights)
        scores[self.index] = of_sample.T
        return scores.T

    def top_columns_by_effect(self, n: int) -> NDArray[np.intp]:
        """The columns with the largest mean effect on the scores of the learning rows."""
        if len(self.columns) <= n:
            return np.arange(len(self.columns))
        effect = (
            (~self.is_null) * self.weights.terms * (self.terms.values**2).mean(axis=(0, 2)) ** 0.5
        )
        return np.sort(np.argsort(-effect, kind="stable")[:n])

    def add_pairs(self, *, all_that_gain: bool = False) -> None:
        """Rounds of pairs and of weights.

        Parameters
        ----------
        all_that_gain : bool
            Whether a pair is worth its place where it gains at all; else it has to gain more than
            one of so many pairs would by chance.
        """
        if self._pairs is None:
            self._pairs = Pairs(
                self.columns, self.sample, self.p, self.top_columns_by_effect(MAX_PAIRED_COLUMNS)
            )
            if self.among is not None:
                self._pairs.only(self.among)
        with steps("rounds of pairs", MAX_ROUNDS) as tick:
            for _ in range(MAX_ROUNDS):
                places = min(self.most, self._places)
                if places <= 0:
                    return
                proba = self._proba_of_sample()
                found = self._pairs.best(proba, places, all_that_gain=all_that_gain)
                if not found:
                    return
                self._add_round(found, proba)
                self.weights = self.learn_weights(self.weights)
                tick()
                if len(found) < MIN_FILLED_SHARE * self.most:
                    return

    @property
    def _places(self) -> int:
        """Of pairs that are not taken."""
        d, most = len(self.columns), MAX_ROUNDS * self.most
        if self.options.interactions is not None:
            most = min(most, self.options.interactions)
        if self.by_class and self.rows.n_classes > 2:
            most = min(most, max(d, MAX_DEVIATIONS // self.rows.n_classes - d - 1))
        return most - len(self.rest.pairs)

    def _proba_of_sample(self) -> Values:
        """P of the sample, float32 (n_sample, n_classes)."""
        return np.ascontiguousarray(shares_of(self.sample_scores()).T, dtype=np.float32)

    def _add_round(self, found: list[Found], proba: Values) -> None:
        """Pairs as terms, with P of the sample."""
        others = self.rest.proba(self.weights)
        for choice in found:
            self._take(choice, proba, others)
        self._sample_proba.append(proba)
        self.rounds.append(self.weights)

    def _take(self, choice: Found, proba: Values, others: Values) -> None:
        """Another pair as a term, with P of the sample and of the other rows."""
        assert self._pairs is not None
        number, rest = len(self.rounds), self.rest.rows
        of_sample = self._pairs.sums(choice, self.counted, proba)
        sums = of_sample
        if rest.weight.any():
            sums = of_sample + self._pairs.sums(choice, rest, others)
        counted = self._pairs.counted(choice, sums, others, number)
        self.terms.add(pair_values(counted, self.counted, proba), pair=True)
        self.rest.pairs.append(counted)
        if self._rest_of_all is not None:
            sums = of_sample + self._pairs.sums(choice, self._rest_of_all, others)
            counted = self._pairs.counted(choice, sums, others, number)
        self._of_all.append(counted.term)

    def of_all(self, n_pairs: int) -> list[PairTerm]:
        """The first pairs, counted on all rows, including those left out here."""
        return self._of_all[:n_pairs]

    def learned(self) -> Learned:
        """Adds pairs and corrections, if the options request them, and predicts the rows."""
        if self.options.interactions != 0 and len(self.columns) > 1:
            self.add_pairs()
        learned, scores = self.fitted()
        found = self.corrected(learned.sizes, scores) if self.options.polish else None
        if found is None:
            tested, log_proba = np.arange(self.rows.n), log_normalised(scores)
            return replace(learned, tested=tested, log_proba=log_proba)
        corrections, honest = found
        return replace(
            learned,
            corrections=corrections,
            tested=honest.tested,
            log_proba=log_normalised(scores[honest.tested] + honest.left_out),
        )

    def fitted(self) -> tuple[Learned, Array]:
        """The terms there are with their weights, which predict no row yet; and S of all rows,
        float64 (n_rows, n_classes)."""
        if not compared_is_final(self.terms, self.sample.n, by_class=self.by_class):
            self.weights = self.learn_weights(self.weights, self.weights.scale)
        tables, weights = self.rest.tables, self.weights
        weights.terms[: len(tables)][self.is_null] = 0.0
        weights.deviations[:, : len(tables)][:, self.is_null] = 0.0
        learned = Learned(
            columns=self.columns,
            choices=[table.choice for table in tables],
            pairs=[pair.term for pair in self.rest.pairs],
            rounds=list(self.rounds),
            weights=weights,
            corrections=None,
            offset=np.log(self.p) + weights.offsets,
            tested=np.arange(0),
            log_proba=np.empty((0, self.rows.n_classes)),
        )
        return learned, np.ascontiguousarray(self.scores().T)

    def corrected(self, sizes: list[int], scores: Array) -> tuple[list[Array], Correction] | None:
        """Offsets of the cells of informative columns and of pairs, of terms of these sizes."""
        rows, tables = self.rows, self.rest.tables
        informative = [
            t for t in range(len(sizes)) if t >= len(tables) or tables[t].gain > MIN_COLUMN_GAIN
        ]
        maps = [(t, np.arange(sizes[t], dtype=np.int32)) for t in informative]
        cells = CorrectedCells(maps, rows.n_classes)
        if not cells.feasible:
            return None
        index, stands = cells.learning_rows(rows)
        some = rows if len(index) == rows.n else rows.take(index)
        scores, fold = scores[index], some.folds(FOLDS, SALT)
        if rows.n_classes == 2 and len(index) >= MAX_ROWS_ALL_FOLDS:
            codes = (self.codes(t, some.cells) for t in informative)
            if stops_early(codes, scores, some.y, stands, fold == 0):
                return None
        numbered = self.numbered(cells, index)
        found = correction(numbered, scores, some.y, stands, cells.n, fold)
        if found is None:
            return None
        corrections = cells.of_terms(found.cells, sizes)
        return corrections, found._replace(tested=index[found.tested])

    def codes(self, t: int, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cell of rows in a term; −1 for none."""
        d = len(self.columns)
        return cells[t] if t < d else self.rest.pairs[t - d].term.codes(cells)

    def contributions_of_others(
        self, weights: Weights, terms: list[int], index: NDArray[np.intp]
    ) -> Array:
        """What some terms, with these weights, add to rows outside the sample, float64
        (n_some, n_classes)."""
        return self.rest.contributions(weights, terms)[np.searchsorted(self.others, index)]

    def numbered(self, cells: CorrectedCells, index: NDArray[np.intp]) -> NDArray[np.int32]:
        """The corrected cells of some rows, (n_some, n_maps); −1 for none."""
        return cells.numbered(self.codes, self.rows.cells, index)
