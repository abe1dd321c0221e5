"""A generalized additive model beside the fits: smooth functions of columns, and of pairs of
columns where that is clearly better.

A table estimates each cell by itself and ignores its neighbours. Functions that are linear in the
rank of a number, or between a few knots, borrow from neighbours, and a ridge penalty
fits all of them together, from the class shares on. They are two fifths of the model, or three, and
the fits of tables the rest. Both are sums of tables, and so is their mean.

The rows left out decide the ridge, the share, whether pairs have functions, too, and how fine.
There are no functions where these rows lose clearly more with them than without.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.progress import steps
from tallybayes.threads import in_threads
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.objective import CellFunctions, CorrectedRows, added
from tallybayes.weighted.pairs import JointColumns, SmoothPair
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.search import CorrectedCells, RidgePath
from tallybayes.weighted.splines import (
    KNOTS,
    SmoothTables,
    column_functions,
    pair_functions,
    stacked,
)
from tallybayes.weighted.ways import Judge, Part, PartFit, Verdict, Way

__all__ = ["Smooth", "SmoothDesign", "SmoothTerms", "smooth_functions"]


# ---- an additive model of cells, fitted under one ridge after the other --------------------------
# An additive model of cells: its terms, the same for all parts of the rows, and its coefficients,
# fitted to a part under one ridge after the other.
Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]


class SmoothTerms:
    """The terms of an additive model, the same for all parts.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    n_classes : int
    without : collection of int
        Columns that have no functions.
    rare : collection of int
        Classes that have no functions, as too few of their rows could be left out to tell.
    knots : int
        Of the finest functions that each two of the other columns have; 0 if they have none.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        n_classes: int,
        without: Collection[int] = (),
        rare: Collection[int] = (),
        *,
        knots: int,
    ) -> None:
        self.rare: Index = np.array(sorted(rare), dtype=np.intp)
        self.sizes: list[int] = [column.n_cells for column in columns]
        self.used: list[int] = [j for j in range(len(columns)) if j not in without]
        self.pairs: list[JointColumns] = []
        functions = [column_functions(columns[j]) for j in self.used]
        if knots:
            found = pair_functions(columns, self.used, knots)
            self.pairs = [pair for pair, _ in found]
            functions += [of_pair for _, of_pair in found]
        self.functions = functions
        maps = [(t, np.arange(f.n_cells, dtype=np.int32)) for t, f in enumerate(functions)]
        self.cells: CorrectedCells = CorrectedCells(maps, n_classes)

    @cached_property
    def values(self) -> Any:
        """Each function in each cell, a sparse matrix (n_cells, n_functions)."""
        return stacked(self.functions)

    @property
    def feasible(self) -> bool:
        """Whether there is a function, and not too many cells."""
        return self.cells.feasible

    def code(self, t: int, cells: Cells) -> Cells:
        """The cell of rows in a term."""
        n = len(self.used)
        return cells[self.used[t]] if t < n else self.pairs[t - n].codes(cells)

    def smooth_tables(self, tables: Array, offset: Array, share: float) -> SmoothTables:
        """Tables (n_cells, n_classes) by term, centred over classes."""
        tables = tables - tables.mean(axis=1, keepdims=True)
        each, n = np.split(tables, self.cells.starts[1:-1]), len(self.used)
        columns = [np.zeros((size, tables.shape[1])) for size in self.sizes]
        for j, table in zip(self.used, each[:n], strict=True):
            columns[j] = table
        pairs = [
            SmoothPair(pair.columns, pair.maps, pair.sizes, table)
            for pair, table in zip(self.pairs, each[n:], strict=True)
        ]
        return SmoothTables(share, offset, columns, pairs)


class SmoothDesign:
    """The functions in the cells that rows are in, for all parts together. Most cells of the pairs
    of few rows have none.

    Parameters
    ----------
    terms : SmoothTerms
    rows : LearningRows
        All rows.
    log_p : float64 array (n_classes,)
        Log shares of the classes.
    """

    functions: CellFunctions

    def __init__(self, terms: SmoothTerms, rows: LearningRows, log_p: Array) -> None:
        cells = terms.cells
        self.terms, self.log_p = terms, log_p
        codes = cells.numbered(terms.code, rows.cells, np.arange(rows.n))
        is_held = np.zeros(cells.n + 1, dtype=bool)
        is_held[codes] = True
        is_held[-1] = False  # −1, of a row without a cell
        self.n_cells: int = int(is_held.sum())
        number = np.where(is_held, np.cumsum(is_held) - 1, -1).astype(np.int32)
        self.codes: Cells = number[codes]
        """The cell of each row in each term, among those that hold rows; −1 for none."""
        self.values: Any = terms.values[is_held[:-1]]
        """Each function in each of those cells, (n_cells, n_functions)."""
        start, function = (a.astype(np.int64) for a in (self.values.indptr, self.values.indices))
        self.functions = CellFunctions(start, function, self.values.data)

    def scores(self, coefficients: Array, index: Index) -> Array:
        """S of some rows by functions with these coefficients (n_functions, n_classes), float64
        (n_some, n_classes)."""
        return self.log_p + added(self.values @ coefficients, self.codes[index])

    def curvature(self, of_cells: Array) -> Array:
        """About the diagonal of the Hessian in the coefficients, by that in the cells: without what
        functions of one term share. It is infinite for rare classes, which have no functions.

        Parameters
        ----------
        of_cells : float64 array (n_cells, n_classes)
        """
        found: Array = self.values.power(2).T @ of_cells
        found[:, self.terms.rare] = np.inf
        return found

    def path(self, part: Part) -> RidgePath:
        """The functions fitted to a part of the rows, under one ridge after the other."""
        rows, terms = part.rounds.rows, self.terms
        index, stands = terms.cells.learning_rows(rows)
        stands = np.where(np.isin(rows.y[index], terms.rare), 0.0, stands)
        scores = np.tile(self.log_p, (len(index), 1))
        some = CorrectedRows(self.codes[index], scores, rows.y[index], stands, self.n_cells)
        curvature = self.curvature(some.curvature())
        return RidgePath(
            terms.cells, some, curvature, lambda q: self.scores(q, part.tested), self.functions
        )


# ---- smooth functions of columns and pairs, judged beside the fits of tables ---------------------
SHARE = 0.4  # of the model; the fits of tables have the rest
LARGER_SHARE, SHARE_GAIN = 0.6, 4.0  # the share where the rows left out gain so many nats by it,
SHARE_STANDARD_ERRORS = 2.0  # and so many standard errors
RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
WEAK_RIDGE, MIN_GAIN = 0.3, 4.0  # each ridge below it has to gain so many nats: few rows overfit
STOP_RATIO = 1.01  # times the least loss of rows left out: a lower ridge is not tried
MAX_PAIRS = 150
KNOTS_OF_PAIRS = (KNOTS, 2 * KNOTS, 4 * KNOTS)  # of the finest functions of a pair
ROWS_PER_PRODUCT = 4  # of functions of more knots than the fewest
PAIRS_GAIN = 2.0  # nats that functions of pairs have to be better by
MAX_LOSS = 4.0  # nats, and standard errors of the difference, that rows left out may lose by them:
STANDARD_ERRORS = 1.0  # a mean of two models is trusted unless they lose clearly more
CHANCE_GAIN = 2.0  # nats that the best of several ridges, with pairs or without, gains by chance
MIN_LOSS = 1.0  # nats that the rows left out lose: with fewer, nothing is tried


@dataclass(frozen=True, eq=False)
class Smooth:
    """Smooth functions beside the fits of a way.

    Parameters
    ----------
    design : SmoothDesign
    coefficients : list of float64 arrays (n_functions, n_classes)
        Of each fit, of the parts and last of all rows, under the ridge that the rows left out like
        best.
    log_proba : float64 array (n_tested, n_classes)
        Log-probabilities of the rows left out by the mean of fit and functions.
    verdict : Verdict
    loss : float
        What these rows lose, and the price of functions of pairs, in nats.
    share : float
        Of the model.
    """

    design: SmoothDesign
    coefficients: list[Array]
    log_proba: Array
    verdict: Verdict
    loss: float
    share: float = SHARE

    def mixed(self, fit: int, scores: Array, index: Index) -> Array:
        """Scores of some rows by the mean of a fit, which gives them these scores, and its
        functions."""
        smooth = self.design.scores(self.coefficients[fit], index)
        return _mixed(scores, smooth, self.share)

    def best_share(self, found: Way, own: list[Array]) -> Smooth:
        """The same with a larger share of the model, where that is clearly better.

        Parameters
        ----------
        found : Way
        own : list of float64 arrays (n_left_out, n_classes)
            Scores that the fit of each part gives the rows that it leaves out.
        """
        larger, judge = replace(self, share=LARGER_SHARE), found.judge
        mixed = [larger.mixed(m, own[m], fit.part.tested) for m, fit in enumerate(found.fits)]
        log_proba = judge.normalised(mixed)
        verdict = judge.verdict(log_proba)
        error = SHARE_STANDARD_ERRORS * judge.error(log_proba, self.log_proba)
        if self.verdict.loss - verdict.loss <= max(SHARE_GAIN, error):
            return self
        return replace(larger, log_proba=log_proba, verdict=verdict)

    def tables(self, shares: Array, factor: float) -> SmoothTables:
        """The mean of the functions of all fits.

        Parameters
        ----------
        shares : float64 array (n_fits,)
            They sum to 1.
        factor : float
            How far they are shrunk toward the class shares, from 0, the shares, to 1.
        """
        mean = sum(s * q for s, q in zip(shares, self.coefficients, strict=True))
        terms, offset = self.design.terms, self.share * self.design.log_p
        tables = np.asarray(terms.values @ (self.share * factor * np.asarray(mean)))
        return terms.smooth_tables(tables, offset, self.share)


def _mixed(scores: Array, smooth: Array, share: float = SHARE) -> Array:
    return (1.0 - share) * scores + share * smooth


def smooth_functions(
    found: Way,
    whole: PartFit,
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    without: Collection[int] = (),
    rare: Collection[int] = (),
    *,
    pairs: bool,
) -> Smooth | None:
    """The smooth functions that the rows left out like best; None where they lose more with them,
    by more than a standard error or 4 nats.

    Parameters
    ----------
    found : Way
        The best way to fit tables.
    whole : PartFit
        The fit of all rows.
    columns : list of ColumnCells
        With the counts of all rows.
    rows : LearningRows
        All rows.
    p : float64 array (n_classes,)
        Shares of the classes.
    without, rare : collections of int
        Columns and classes that have no functions; see :class:`SmoothTerms`.
    pairs : bool
        Whether pairs may have functions.
    """
    if found.verdict.loss <= MIN_LOSS:
        return None
    n = len(columns) - len(without)
    few = n * (n - 1) // 2 <= MAX_PAIRS
    own = [fit.scores_of(fit.part.tested) for fit in found.fits]
    best: Smooth | None = None
    for knots in [0, *KNOTS_OF_PAIRS] if pairs and few else [0]:
        if knots > KNOTS and rows.n < ROWS_PER_PRODUCT * knots**2:
            break
        terms = SmoothTerms(columns, rows.n_classes, without, rare, knots=knots)
        if not terms.feasible or bool(terms.pairs) is not (knots > 0):
            break  # finer functions have more cells, of the same pairs
        before = best
        best = _best_ridge(SmoothDesign(terms, rows, np.log(p)), found, whole, own, best)
        if knots and best is before:
            break
    if best is None:
        return None
    judge, best = found.judge, best.best_share(found, own)
    error = judge.error(best.log_proba, found.log_proba)
    worse = best.verdict.loss - found.verdict.loss
    return best if worse <= min(STANDARD_ERRORS * error, MAX_LOSS) else None


def _best_ridge(
    design: SmoothDesign,
    found: Way,
    whole: PartFit,
    own: list[Array],
    best: Smooth | None,
) -> Smooth | None:
    """The functions under the best ridge, or those that are better."""
    judge: Judge = found.judge
    parts = [*(fit.part for fit in found.fits), whole.part]
    paths = in_threads(design.path, parts)
    price, least = PAIRS_GAIN if design.terms.pairs else 0.0, np.inf
    latest = True
    with steps("smooth functions", len(RIDGES)) as tick:
        for ridge in RIDGES:
            if ridge < WEAK_RIDGE and not latest:
                break
            scores = in_threads(partial(RidgePath.follow, ridge=ridge), paths)
            tick()
            mixed = [_mixed(*both) for both in zip(own, scores[: len(own)], strict=True)]
            log_proba = judge.normalised(mixed)
            verdict = judge.verdict(log_proba)
            needed = price + (MIN_GAIN if ridge < WEAK_RIDGE else 0.0)
            latest = best is None or verdict.loss + needed < best.loss
            if latest:
                coefficients, loss = [path.q for path in paths], verdict.loss + price
                best = Smooth(design, coefficients, log_proba, verdict, loss)
            least = min(least, verdict.loss)
            if verdict.loss > STOP_RATIO * least:
                break
    return best
