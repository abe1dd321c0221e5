"""The search for terms stage by stage, and corrections of cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import InitVar, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.progress import steps
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.objective import (
    NO_FUNCTIONS,
    CellFunctions,
    CorrectedRows,
    compared_is_final,
    learn_weights,
    solved,
)
from tallybayes.weighted.pairs import Found, Pairs, PairTerm, pair_values
from tallybayes.weighted.rows import LearningRows, sampled
from tallybayes.weighted.scores import (
    RowScores,
    Terms,
    Weights,
    scores_of,
    shares_of,
)
from tallybayes.weighted.tables import NULL_TERM, ColumnTable, column_values

__all__ = [
    "CorrectedCells",
    "FitOptions",
    "RidgePath",
    "Rounds",
]


# ---- offsets of cells on top of the terms, under a ridge -----------------------------------------
# Ridge-penalised cell offsets, fitted on top of the leave-one-out scores: which cells of terms are
# corrected, how they are numbered, on how many rows, and their offsets under one ridge or several.
Array = NDArray[np.float64]
Cells = NDArray[np.int32]

Index = NDArray[np.intp]

MAX_OFFSET_VALUES = 1_000_000  # cells times classes
MAX_ROW_CELLS = 10_000_000  # rows times ways in which a term is corrected
MAX_ROW_VALUES = 100_000_000  # those times classes
TOLERANCE_OF_LOSS = 2e-3  # what the last step under a ridge may gain
CHUNK = 4096  # rows that are numbered at a time: few enough to stay in the cache


class CorrectedCells:
    """The cells that are corrected, numbered over all terms.

    Parameters
    ----------
    maps : list of (int, int32 array (n_cells,))
        Each way in which a term is corrected: the term, and the corrected cell of each of its
        cells. A term can have several.
    n_classes : int
    """

    maps: list[tuple[int, Cells]]
    n_classes: int

    def __init__(self, maps: list[tuple[int, Cells]], n_classes: int) -> None:
        self.maps, self.n_classes = maps, n_classes
        sizes = [int(cells.max(initial=-1)) + 1 for _, cells in maps]
        self.starts: NDArray[np.int64] = np.cumsum([0, *sizes])
        """The first cell of each way, and the number of all."""

    @property
    def n(self) -> int:
        """How many cells are corrected."""
        return int(self.starts[-1])

    @property
    def feasible(self) -> bool:
        """Whether there is a cell to correct, and not too many."""
        return bool(self.maps) and self.n * self.n_classes <= MAX_OFFSET_VALUES

    def among(self, terms: Collection[int], corrections: Array) -> tuple[CorrectedCells, Array]:
        """The cells of some terms alone, and their rows of corrections (n, n_classes)."""
        each = np.split(corrections, self.starts[1:-1])
        kept = [i for i, (t, _) in enumerate(self.maps) if t in terms]
        some = CorrectedCells([self.maps[i] for i in kept], self.n_classes)
        return some, np.concatenate([corrections[:0], *(each[i] for i in kept)])

    def learning_rows(self, rows: LearningRows) -> tuple[Index, Array]:
        """A sample of rows that corrections are learned on; see `sampled`."""
        max_cells = min(MAX_ROW_CELLS, MAX_ROW_VALUES // self.n_classes)
        max_rows = max(1, max_cells // len(self.maps))
        return sampled(rows.y, rows.weight, self.n_classes, max_rows)

    def numbered(self, codes: Callable[[int, Cells], Cells], cells: Cells, index: Index) -> Cells:
        """The corrected cells of some rows, int32 (n_some, n_maps); −1 where a row has none.

        Parameters
        ----------
        codes : callable
            Of a term and the cells of rows (n_columns, n_some): each row's cell of the term, or −1.
        cells : int32 array (n_columns, n_rows)
        index : index array (n_some,)
        """
        sizes = [len(corrected) + 1 for _, corrected in self.maps]
        flat = np.full(sum(sizes), -1, dtype=np.int32)  # −1 reads the last of a map
        ends, lookups = np.cumsum(sizes).tolist(), []
        for (t, corrected), start, size, end in zip(
            self.maps, self.starts.tolist(), sizes, ends, strict=False
        ):
            lookup = flat[end - size : end]
            np.add(corrected, start, out=lookup[:-1])
            lookups.append((t, lookup))
        found = np.empty((len(index), len(lookups)), dtype=np.int32)
        for begin in range(0, len(index), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            some = np.ascontiguousarray(cells[:, index[chunk]])
            for place, (t, lookup) in enumerate(lookups):
                found[chunk, place] = lookup[codes(t, some)]
        return found

    def of_terms(self, corrections: Array, sizes: list[int]) -> list[Array]:
        """What is added to each cell of each term, centred over classes.

        Parameters
        ----------
        corrections : float64 array (n, n_classes)
        sizes : list of int
            The cells of each term.
        """
        found = [np.zeros((size, self.n_classes)) for size in sizes]
        centred = corrections - corrections.mean(axis=1, keepdims=True)
        for (t, cells), more in zip(self.maps, np.split(centred, self.starts[1:-1]), strict=True):
            found[t] += more[cells]
        return found


@dataclass(eq=False)
class RidgePath:
    """Corrections of the cells of terms, or functions of these cells, under one ridge after the
    other.

    Parameters
    ----------
    cells : CorrectedCells
    rows : CorrectedRows
        Rows that are learned from.
    curvature : float64 array (n_cells, n_classes) or (n_functions, n_classes)
        See :func:`solved`.
    left_out : callable
        Of q: scores of the rows left out, float64 (n_left_out, n_classes).
    functions : CellFunctions, optional

    Attributes
    ----------
    q : float64 array, like `curvature`
        The corrections, or the coefficients of the functions, so far.
    """

    cells: CorrectedCells
    rows: CorrectedRows
    curvature: Array
    left_out: Callable[[Array], Array]
    functions: CellFunctions = NO_FUNCTIONS

    def __post_init__(self) -> None:
        self.q: Array = np.zeros(self.curvature.shape)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, (n_left_out, n_classes)."""
        self.q = solved(
            self.rows,
            self.curvature,
            ridge,
            self.q,
            of_loss=TOLERANCE_OF_LOSS,
            functions=self.functions,
        )
        return self.left_out(self.q)


# ---- the options of fitting a weighted model -----------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a weighted model is fitted.

    Parameters
    ----------
    interactions : int, optional
        The most pairs there may be; 0 for none. Unless given, as many as help.
    by_class : bool
        Whether weights may deviate by class, for more than two classes. They do not where they
        would be more than 4,000.
    polish : bool
        Whether ridge-penalised cell offsets are fitted at last.
    penalty : float, optional
        γ, the penalty of the weights; chosen by cross-validation unless given.
    parts : int, optional
        In how many parts the rows are cut. Each is left out of a fit that is averaged with the
        others and with one of all rows (see `averaged`); 1: that one alone. Unless given, 5 up to
        4,000 rows, 3 up to 20,000; of more only the first of five is left out.
    """

    interactions: int | None = None
    by_class: bool = True
    polish: bool = True
    penalty: float | None = None
    parts: int | None = None


# ---- the search in rounds: columns, pairs, then offsets ------------------------------------------
# Terms and weights in rounds: columns, pairs beyond what columns predict, then cell offsets.
Values = NDArray[np.float32]

MAX_ROUNDS = 8
GROWTH_FACTOR = 2  # times as many terms: the γ of weights that classes share is chosen again
MAX_PAIRS = 100  # of a round
MIN_FILLED_SHARE = 0.25  # of those that find a place: fewer mean that there are few more
MAX_PAIRED_COLUMNS = 400  # columns among which pairs are looked for
MAX_ROWS_OF_TRIPLES = 20_000  # up to which three columns are tried together
MAX_ROWS = 25_000  # that weights are learned on
MAX_VALUES = 100_000_000  # of terms, rows and classes
MAX_DEVIATIONS = 4_000


@dataclass(eq=False)
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

    columns: list[ColumnCells]
    tables: InitVar[list[ColumnTable]]
    rows: LearningRows
    p: Array
    options: FitOptions
    among: Iterable[tuple[str, ...]] | None = None
    weight: InitVar[Array | None] = None

    def __post_init__(self, tables: list[ColumnTable], weight: Array | None) -> None:
        d, rows, n_classes = len(self.columns), self.rows, self.rows.n_classes
        self.by_class: bool = self.options.by_class and n_classes * (d + 1) <= MAX_DEVIATIONS
        self.most: int = max(4, min(d, MAX_PAIRS))
        terms = d + MAX_ROUNDS * self.most
        room = MAX_VALUES // (terms * (1 if n_classes == 2 else n_classes))
        index, stands = sampled(rows.y, rows.weight, n_classes, max(1, min(MAX_ROWS, room)))
        self.index: Index = index
        self.counted: LearningRows = rows.take(index)
        self.sample: LearningRows = replace(self.counted, weight=stands)
        null = [table.choice == NULL_TERM for table in tables]
        self.is_null: NDArray[np.bool_] = np.array(null, dtype=bool)
        outside = np.full(rows.n, True)
        outside[index] = False
        small = 2 * len(index) < rows.n  # a copy of most rows would take memory
        self.others: Index = np.arange(rows.n) if small else np.flatnonzero(outside)
        """The rows that are scored from tables: those outside the sample, or all, if it is
        small."""
        others = rows if small else rows.take(self.others)

        def outside_sample(weight: Array) -> LearningRows:
            return replace(others, weight=np.where(outside, weight, 0.0)[self.others])

        self.rest: RowScores = RowScores(outside_sample(rows.weight), self.p, tables)
        self._room = terms
        self._terms: Terms | None = None
        self.rounds: list[Weights] = []
        self._sample_proba: list[Values] = []  # when each round of pairs was taken
        self._validated = 0
        self.weights: Weights = self.learn_weights(None)
        self._pairs: Pairs | None = None
        self.of_all: list[PairTerm] = []
        """The pairs, counted on all rows, including those left out here."""
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
        """Rounds of pairs and of weights, then of three columns of which two are a pair.

        Parameters
        ----------
        all_that_gain : bool
            Whether a pair is worth its place where it gains at all; else it has to gain more than
            one of so many pairs would by chance, as three columns always have to.
        """
        if self._pairs is None:
            self._pairs = Pairs(
                self.columns, self.sample, self.p, self.top_columns_by_effect(MAX_PAIRED_COLUMNS)
            )
            if self.among is not None:
                self._pairs.only(self.among)
        self._take_rounds(all_that_gain=all_that_gain)
        if self.rows.n <= MAX_ROWS_OF_TRIPLES:
            with self._pairs.triples([pair.term for pair in self.rest.pairs], self.is_null):
                self._take_rounds()

    def _take_rounds(self, *, all_that_gain: bool = False) -> None:
        assert self._pairs is not None
        with steps("rounds of pairs", MAX_ROUNDS) as tick:
            for _ in range(MAX_ROUNDS):
                places = min(self.most, self._places)
                if places <= 0:
                    return
                of_sample = shares_of(self.sample_scores()).T
                proba = np.ascontiguousarray(of_sample, dtype=np.float32)
                found = self._pairs.best(proba, places, all_that_gain=all_that_gain)
                if not found:
                    return
                others = self.rest.proba(self.weights)
                for choice in found:
                    self._take(choice, proba, others)
                self._sample_proba.append(proba)
                self.rounds.append(self.weights)
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
        self.of_all.append(counted.term)

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
        )
        return learned, np.ascontiguousarray(self.scores().T)

    def codes(self, t: int, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cell of rows in a term; −1 for none."""
        d = len(self.columns)
        return cells[t] if t < d else self.rest.pairs[t - d].term.codes(cells)

    def numbered(self, cells: CorrectedCells, index: NDArray[np.intp]) -> NDArray[np.int32]:
        """The corrected cells of some rows, (n_some, n_maps); −1 for none."""
        return cells.numbered(self.codes, self.rows.cells, index)
