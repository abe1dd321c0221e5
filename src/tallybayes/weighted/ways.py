"""Ways to learn: a fit of each part of the rows, corrected, and which way the rows left out
prefer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.progress import steps, ticking
from tallybayes.threads import in_threads
from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.objective import CorrectedRows, added
from tallybayes.weighted.rows import LearningRows, counted_in, thinned
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.search import (
    CorrectedCells,
    FitOptions,
    RidgePath,
    Rounds,
)
from tallybayes.weighted.tables import NULL_TERM, ColumnTable, column_tables, screened

__all__ = [
    "Judge",
    "Part",
    "PartFit",
    "Way",
    "least_loss",
    "min_column_gain",
    "mixed",
    "prior_share",
    "shrunk",
    "too_many_columns",
    "with_all_pairs",
]


# ---- the minimum gain of a column, and shrinkage toward the class shares -------------------------
# Where columns are many for the rows, a column that gains a little does so by chance, and leave-
# one-out is optimistically biased: a column selected because it separates these rows still
# separates them with any one row taken out. A column then has to gain more than a minimum, which
# the rows left out may raise.
#
# No class gets probability 0: the class prior has a small share in every prediction.
#
#     P'(k | x) = (1 − ε)·P(k | x) + ε·p_k,    ε = ½ / (n + ½)
#
# n rows cannot show that a class is impossible; half a future row keeps P' away from 0 and 1.
Array = NDArray[np.float64]
Index = NDArray[np.intp]

COLUMNS_PER_ROW_FACTOR = 30  # a column that gains less than log(30·columns / rows) is not used
MIN_ROWS_PER_COLUMN = 2
"""With fewer rows a column, columns that gain less than the minimum are in no pair, either."""

STRICTER = (0.0, 2.0, 4.0, 6.0)  # nats that a column has to gain beyond the minimum
PRIOR_ROWS = 0.5  # rows
MAX_PROBABILITY = float(np.nextafter(1.0, 0.0))  # 1 − ε·(1 − p) may round to 1


def min_column_gain(n_columns: int, n_rows: float) -> float:
    """The minimum leave-one-out gain of a column to be used, in nats; −inf where columns are few.

    With many columns for the rows, some gain a little by chance.
    """
    gain = float(np.log(max(COLUMNS_PER_ROW_FACTOR * n_columns / max(n_rows, 1.0), 1e-9)))
    return gain if gain > 0.0 else -np.inf


def too_many_columns(n_columns: int, n_rows: float) -> bool:
    """Whether there are too many columns for the rows to rely on leave-one-out alone."""
    return n_rows < MIN_ROWS_PER_COLUMN * n_columns


def shrunk(learned: Learned, p: Array, factor: float) -> Learned:
    """A fit shrunk toward the class shares: the shares at factor 0, the whole fit at 1."""
    if factor == 1.0:
        return learned
    log_p, corrections = np.log(p), learned.corrections
    return replace(
        learned,
        weights=learned.weights.times(factor),
        corrections=None if corrections is None else [factor * more for more in corrections],
        offset=log_p + factor * (learned.offset - log_p),
    )


def prior_share(n_rows: float) -> float:
    """ε, of so many effective rows."""
    return PRIOR_ROWS / (n_rows + PRIOR_ROWS)


def mixed(proba: Array, prior: Array, share: float) -> Array:
    """P', float64 (n_rows, n_classes), instead of P; below 1, and above 0 where the prior is.

    Parameters
    ----------
    proba : float64 array (n_rows, n_classes)
        P.
    prior : float64 array (n_classes,) or (n_rows, n_classes)
        p.
    share : float
        ε.
    """
    proba *= 1.0 - share
    proba += share * prior
    return np.minimum(proba, MAX_PROBABILITY, out=proba)


# ---- A model fitted to a part of the rows: its terms, and the corrections of their cells ---------
N_CORRECTED_CELLS = (4, 16)  # of a number, beside its own cells where these are many more
MAX_TESTED = 50_000  # rows left out that judge


class PartTables(NamedTuple):
    """The columns with the counts of some of the rows, and the table of each."""

    columns: list[ColumnCells]
    tables: list[ColumnTable]

    @classmethod
    def of(
        cls, columns: list[ColumnCells], rows: LearningRows, kept: NDArray[np.bool_], p: Array
    ) -> PartTables:
        """Of the rows that are kept; parameters are those of :class:`Part`."""
        if kept.all():
            return cls(columns, column_tables(columns, p, rows))
        own = rows.take(np.flatnonzero(kept))
        counted = counted_in(columns, own)
        return cls(counted, column_tables(counted, p, own))


class Part:
    """Some of the rows, to fit a model to. The rows left out weigh nothing: they are in no count,
    and are scored as new rows are.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    rows : LearningRows
        All rows, in canonical order.
    kept : bool array (n_rows,)
        The rows that are learned from.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    stricter : float
        Nats that a column has to gain beyond the least, to be selected.
    among : iterable of (str, str), optional
        The pairs of columns that may be taken, by name; any unless given.
    without : collection of int
        Columns that are not selected.
    tables : PartTables, optional
        Those of these rows, where they were made already.
    """

    p: Array
    options: FitOptions
    selected: list[int]

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        kept: NDArray[np.bool_],
        p: Array,
        options: FitOptions,
        stricter: float = 0.0,
        among: Iterable[tuple[str, ...]] | None = None,
        without: Collection[int] = (),
        tables: PartTables | None = None,
    ) -> None:
        self.p, self.options = p, options
        left_out = np.flatnonzero(~kept)
        self.tested: Index = left_out[thinned(rows.y[left_out], rows.n_classes, MAX_TESTED)]
        self.all_columns = columns
        weighted = replace(rows, weight=np.where(kept, rows.weight, 0.0))
        self.tables: PartTables = tables or PartTables.of(columns, rows, kept, p)
        counted, found = self.tables
        d = len(columns)
        min_gain = min_column_gain(d, float(rows.weight[kept].sum())) + stricter
        if too_many_columns(d, float(rows.weight.sum())):
            self.selected = [j for j, table in enumerate(found) if table.gain >= min_gain]
        else:  # a column that adds nothing by itself may be in a pair
            self.selected = list(range(d))
            found = screened(counted, found, p, min_gain)
        self.selected = [j for j in self.selected if j not in without]
        self.rounds: Rounds = Rounds(
            [counted[j] for j in self.selected],
            [found[j] for j in self.selected],
            weighted.among(self.selected),
            p,
            self.options,
            among,
            rows.weight if len(left_out) else None,
        )

    def fit(self, *, all_that_gain: bool = False) -> PartFit:
        """The terms and weights with pairs that gain more than they would by chance, or, after
        that, with all that gain at all."""
        if self.options.interactions != 0 and len(self.selected) > 1:
            self.rounds.add_pairs(all_that_gain=all_that_gain)
        fitted = PartFit(self, *self.rounds.fitted())
        self.rounds.give_up_values()
        return fitted


@dataclass(frozen=True, eq=False)
class PartFit:
    """What was fitted to a part.

    Parameters
    ----------
    part : Part
    learned : Learned
        Of the selected columns, without corrections.
    scores : float64 array (n_rows, n_classes)
        S without corrections, of the rows that were fitted, each taken out of every count, and of
        the others.
    cells : CorrectedCells, optional
    corrections : float64 array (n_cells, n_classes), optional
        Of `cells`, in nats.
    """

    part: Part
    learned: Learned
    scores: Array
    cells: CorrectedCells | None = None
    corrections: Array | None = None

    def path(self) -> RidgePath | None:
        """Corrections of every cell of the terms that are not null; None if there are none, or too
        many."""
        part, learned = self.part, self.learned
        rounds, rows, maps = part.rounds, part.rounds.rows, []
        for t, size in enumerate(learned.sizes):
            if t < len(learned.columns):
                if learned.choices[t] == NULL_TERM:
                    continue
                column = learned.columns[t]
                few = [n for n in N_CORRECTED_CELLS if 2 * n < column.n_numbers]
                maps += [(t, coarse(column, n)) for n in few]
            maps.append((t, np.arange(size, dtype=np.int32)))
        cells = CorrectedCells(maps, rows.n_classes)
        if not cells.feasible:
            return None
        index, stands = cells.learning_rows(rows)
        numbered = rounds.numbered(cells, index)
        some = CorrectedRows(numbered, self.scores[index], rows.y[index], stands, cells.n)
        scores, left_out = self.scores[part.tested], rounds.numbered(cells, part.tested)
        return RidgePath(cells, some, some.curvature(), lambda q: scores + added(q, left_out))

    def corrected(self, path: RidgePath) -> PartFit:
        """The same with the corrections that a path has reached."""
        return replace(self, cells=path.cells, corrections=path.q)

    def scores_of(self, index: Index) -> Array:
        """S of some rows, corrected, float64 (n_some, n_classes)."""
        if self.cells is None or self.corrections is None:
            return self.scores[index]
        numbered = self.part.rounds.numbered(self.cells, index)
        return self.scores[index] + added(self.corrections, numbered)

    def column_gains(self) -> Array:
        """What each column gains by itself, in nats, float64 (n_columns,); −inf where it gains too
        little to be used."""
        gains = np.full(len(self.part.all_columns), -np.inf)
        for j, table in zip(self.part.selected, self.part.rounds.rest.tables, strict=True):
            if table.choice != NULL_TERM:
                gains[j] = table.gain
        return gains

    def scores_without(self, column: int) -> Array:
        """S of the rows left out, corrected, without a column and its pairs."""
        part, learned = self.part, self.learned
        if column not in part.selected:
            return self._scores_left_out
        j, d = part.selected.index(column), len(learned.columns)
        pairs = [t for t, pair in enumerate(learned.pairs, d) if j in pair.columns]
        terms = [j, *pairs]
        at = np.searchsorted(part.rounds.others, part.tested)
        removed = part.rounds.rest.contributions(learned.weights, terms)[at]
        if self.cells is not None and self.corrections is not None:
            cells, corrections = self.cells.among(terms, self.corrections)
            removed += added(corrections, part.rounds.numbered(cells, part.tested))
        return self._scores_left_out - removed

    @cached_property
    def _scores_left_out(self) -> Array:
        """S of the rows left out, corrected."""
        return self.scores_of(self.part.tested)

    def result(self) -> Learned:
        """What was learned, of all columns, corrected, with the counts of all rows."""
        part, learned, corrections = self.part, self.learned, None
        if self.cells is not None and self.corrections is not None:
            corrections = self.cells.of_terms(self.corrections, learned.sizes)
        learned = replace(
            learned,
            columns=[part.all_columns[j] for j in part.selected],
            pairs=part.rounds.of_all[: len(learned.pairs)],
            corrections=corrections,
        )
        return learned.among(part.all_columns, part.selected)


# ---- ways to fit, tried on the rows left out -----------------------------------------------------
TRUSTS = np.sort(np.append(np.exp(np.arange(-1.2, 0.41, 0.1)), 1.0))
BELOW, ABOVE = np.flatnonzero(np.isclose(TRUSTS, 1.0)).tolist()  # 1, and 1 with rounding
PENALTY = 10.0  # nats times log² of the temperature: few rows determine it poorly
CHANCE_GAIN, TRUSTED_GAIN = 2.0, 5.0  # nats over the class shares: from no trust to all of it
RIDGES = (30.0, 3.0, 0.3, 0.03, 0.003, 0.0003)
STOP_RATIO = 1.02  # times the least loss of rows left out: a lower ridge is not tried
ALL_PAIRS_GAIN = 4.0  # nats that a model with all pairs that gain has to be better by
MIN_LOSS = 0.5  # nats left of all: no further ridge is tried
STANDARD_ERRORS = 1.0  # of what corrections gain; the gain has to be more
MIN_GAIN = 1.0  # nats that another ridge has to gain where rows are many


@dataclass(frozen=True)
class Verdict:
    """The judgement of the rows left out: their loss, that with the penalty of the temperature, in
    nats, and the inverse temperature."""

    plain: float
    loss: float
    trust: float


class Judge:
    """The rows left out.

    Parameters
    ----------
    rows : LearningRows
        All rows.
    tested : list of index arrays
        The rows that each part leaves out, or some of them.
    p : float64 array (n_classes,)
    """

    y: NDArray[np.int32]
    weight: Array
    log_p: Array

    def __init__(self, rows: LearningRows, tested: list[Index], p: Array) -> None:
        self.tested: Index = np.concatenate(tested)
        self.y, self.weight, self.log_p = rows.y[self.tested], rows.weight[self.tested], np.log(p)

    def log_proba(self, fits: list[PartFit]) -> Array:
        """Log-probabilities of the rows that these parts leave out."""
        return self.normalised([fit.scores[fit.part.tested] for fit in fits])

    def normalised(self, scores: Sequence[Array]) -> Array:
        """Log-probabilities, of the scores that each part gives the rows it leaves out."""
        return log_normalised(np.concatenate(scores))

    def loss(self, log_proba: Array) -> float:
        """Of the first rows."""
        n = len(log_proba)
        return -float(self.weight[:n] @ log_proba[np.arange(n), self.y[:n]])

    @property
    def loss_of_shares(self) -> float:
        """Of the class shares alone."""
        return self.loss(np.tile(self.log_p, (len(self.tested), 1)))

    def error(self, log_proba: Array, other: Array) -> float:
        """The standard error of how much more the rows lose, in all, by one prediction than by
        another, in nats."""
        own = np.arange(len(self.y)), self.y
        more = self.weight * other[own] - self.weight * log_proba[own]
        return float(more.std()) * float(len(more) ** 0.5)

    def tempered(self, log_proba: Array, trust: float) -> Array:
        return log_normalised(self.log_p + trust * (log_proba - self.log_p))

    def verdict(self, log_proba: Array) -> Verdict:
        """At the best temperature. Loss and price are convex in the inverse temperature, so the
        search goes down from 1 on both sides and ends where they rise."""

        @cache
        def loss(at: int) -> float:
            price = PENALTY * float(np.log(TRUSTS[at]) ** 2)
            return self.loss(self.tempered(log_proba, TRUSTS[at])) + price

        low, high = BELOW, ABOVE
        while low > 0 and loss(low - 1) <= loss(low):
            low -= 1
        while high + 1 < len(TRUSTS) and loss(high + 1) < loss(high):
            high += 1
        at = min(range(low, high + 1), key=loss)
        return Verdict(self.loss(log_proba), loss(at), float(TRUSTS[at]))

    def trust(self, verdict: Verdict, by_choice: float = 0.0) -> float:
        """The inverse temperature, times a share that grows from 0 to 1 with what is gained over
        the class shares, but for what the best of further choices gains by chance, in nats."""
        gain = self.loss_of_shares - verdict.loss - by_choice
        share = (gain - CHANCE_GAIN) / (TRUSTED_GAIN - CHANCE_GAIN)
        return verdict.trust * float(np.clip(share, 0.0, 1.0))


@dataclass(eq=False)
class Way:
    """One way to learn: a fit of each part, judged by the rows left out.

    Parameters
    ----------
    fits : list of PartFit
        Without corrections.
    judge : Judge
    whole : PartFit, optional
        The same of all rows, where it was fitted beside the parts.
    all_that_gain : bool
        Whether every pair was taken that gains at all.
    """

    fits: list[PartFit]
    judge: Judge
    whole: PartFit | None = None
    _: KW_ONLY
    all_that_gain: bool = False

    def __post_init__(self) -> None:
        self.log_proba: Array = self.judge.log_proba(self.fits)
        self.verdict: Verdict = self.judge.verdict(self.log_proba)
        self.ridges: tuple[float, ...] = ()

    @property
    def loss(self) -> float:
        return self.verdict.loss + (ALL_PAIRS_GAIN if self.all_that_gain else 0.0)

    def correct(self, *, thoroughly: bool) -> None:
        """Corrects the fits under the ridge that the rows left out like best, tried from strong to
        weak; not at all where the gain is within its standard error."""
        if self.verdict.loss <= MIN_LOSS:
            return
        each = self.all_fits
        n, paths = len(self.fits), in_threads(PartFit.path, each)
        if None in paths[:n]:
            return
        lowest, least = min(self.verdict.plain, self.verdict.loss), self.verdict.loss
        without = self.log_proba
        with steps("corrections", len(RIDGES)) as tick:
            for tried, ridge in enumerate(RIDGES, 1):
                follow = partial(RidgePath.follow, ridge=ridge)
                scores = in_threads(follow, filter(None, paths))
                tick()
                log_proba = self.judge.normalised(scores[:n])
                verdict = self.judge.verdict(log_proba)
                now = min(verdict.plain, verdict.loss)
                error = self.judge.error(log_proba, without)
                gained = least - verdict.loss - STANDARD_ERRORS * error
                if gained > 0.0:
                    least -= gained
                    self.ridges = RIDGES[:tried]
                    self.log_proba, self.verdict = log_proba, verdict
                    both = zip(each, paths, strict=True)
                    fits = [fit.corrected(path) if path else fit for fit, path in both]
                    self.fits, self.whole = fits[:n], fits[n] if self.whole else None
                lowest = min(lowest, now)
                stops_early = now > STOP_RATIO * lowest or not (thoroughly or gained > MIN_GAIN)
                if stops_early or self.verdict.loss <= MIN_LOSS:
                    return

    @property
    def all_fits(self) -> list[PartFit]:
        """The fits of the parts, and the one of all rows, if there is one, last."""
        return self.fits if self.whole is None else [*self.fits, self.whole]

    def weak_columns(self, most: float) -> list[int]:
        """The columns that gain at most so many nats by themselves in every part."""
        gains = np.stack([fit.column_gains() for fit in self.fits])
        return np.flatnonzero((gains <= most).all(axis=0)).tolist()

    def loss_without(self, column: int) -> float:
        """The loss without the terms of a column, all else as it is."""
        scores = [fit.scores_without(column) for fit in self.fits]
        verdict = self.judge.verdict(self.judge.normalised(scores))
        return verdict.loss + self.loss - self.verdict.loss

    def corrected_alike(self, fit: PartFit) -> PartFit:
        """Another fit, corrected under the same ridge."""
        path = fit.path() if self.ridges else None
        if path is None:
            return fit
        for ridge in self.ridges:
            path.follow(ridge)
        return fit.corrected(path)


def least_loss(way: Callable[[float], Way], tried: Sequence[float]) -> tuple[Way, float]:
    """The best way, by how much a column has to gain beyond the least to be selected, and that."""
    best, at = way(tried[0]), tried[0]
    for stricter in tried[1:]:
        other = way(stricter)
        if other.loss < best.loss:
            best, at = other, stricter
    return best, at


def with_all_pairs(before: Way) -> Way | None:
    """The same with every pair that gains at all; None where the first two parts are no better
    with them."""
    judge, parts = before.judge, [fit.part for fit in before.fits]
    without = judge.verdict(judge.log_proba(before.fits[:2]))
    with steps("fits with more pairs", len(before.all_fits)) as tick:
        refit = ticking(partial(Part.fit, all_that_gain=True), tick)
        fits = in_threads(refit, parts[:2])
        if judge.verdict(judge.log_proba(fits)).loss >= without.loss:
            return None
        left = [*parts[2:], *([before.whole.part] if before.whole else [])]
        fits += in_threads(refit, left)
    whole = fits.pop() if before.whole else None
    return Way(fits, judge, whole, all_that_gain=True)
