"""A model averaged over several fits, each without a part of the rows, that these rows judge.

All is learned once without each part of the rows, and once with all. The rows left out took part in
no choice, so they can decide for all fits together: how much a column has to gain to be used,
where columns are many; whether every pair that gains at all is taken; the ridge of the corrections,
from strong to weak, and how long cells are boosted after it; whether columns that gain little by
themselves are used; and a shrinkage factor (a temperature). Half of the model is the mean of the
fits without a part, half the one of all rows.

What the rows left out show of the single fits is also how good the model is, but for what the
mean gains. The mean of log-probabilities, normalised, gives the label of a row

    −log Σ_k exp(Σ_m s_m log p_mk)  ≥ 0

nats more than its members do on average, whichever label it is (A. Krogh and J. Vedelsby, Neural
network ensembles, cross validation, and active learning, NIPS 7, 1995, for squares).

The fit of all rows has more rows than a part. By the delete-a-group jackknife its variance is g − 1
times the mean squared deviation of the g parts from their mean; that of a part, which has
(g − 1) / g of the rows, is g times that. In nats this deviation is the ambiguity of the parts, so
the fit of all rows gains that much more a row than a part does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.threads import in_threads
from tallybayes.progress import steps, ticking
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.learned import Averaged, nothing_learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.parts import Part, PartFit
from tallybayes.weighted.fit.shrinkage import STRICTER, shrunk, too_many_columns
from tallybayes.weighted.fit.smooth import Smooth, smooth_functions
from tallybayes.weighted.fit.ways import (
    ALL_PAIRS_GAIN,
    Judge,
    Way,
    best_corrected,
    least_loss,
    loss_of,
    with_all_pairs,
)
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.term_scores import log_normalised

__all__ = ["PARTS", "averaged"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

PARTS = 5
MANY_ROWS, PARTS_OF_MANY = 4_000, 3  # rows above which fewer parts lose next to nothing
SALT = 4  # of the parts
MIN_CLASS_ROWS = 2  # that each part keeps of a class; with one, leave-one-out has none
SHARE_OF_ALL_ROWS = 0.5  # of the model: the fit of all rows
MAX_LOSS_CORRECTED_FIRST = 20.0  # nats in all: corrections are tried first, all pairs after them
MAX_ROWS = 20_000  # up to which all of this is tried; of more what is near the best is enough
MAX_WEAK_GAIN = 5.0  # nats that a column may gain by itself to be considered noise
MIN_HARM = 0.1  # nats that rows left out lose by the terms of a column,
MIN_HARM_SHARE = 2e-3  # and this share of what they lose in all, before all is learned again
MAX_LOSS_SHARE = 0.5  # times the loss of the class shares: what loses more hides what noise costs
NOISE_STANDARD_ERRORS = 2.0  # and `ALL_PAIRS_GAIN` nats: a fit without columns has to gain more


def averaged(
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    options: FitOptions,
    n_parts: int | None = None,
) -> Averaged:
    """What is learned on rows, averaged.

    Parameters
    ----------
    columns : list of ColumnCells
        Columns that are not copies of each other, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    n_parts : int, optional
        From 2 on. Unless given, 5 up to 4,000 rows, 3 up to 20,000, and beyond only the first of 5
        is left out.
    """
    search = _Search(columns, rows, p, options, n_parts)
    found = search.best()
    if search.beside and options.polish:
        found = _without_noise(search, found)
    if search.few and options.polish:
        found.boost()
    whole, smooth = search.of_all(found), None
    if search.few and options.polish:
        rare, pairs = np.unique(rows.y[search.spared]).tolist(), options.interactions is None
        smooth = smooth_functions(found, whole, columns, rows, p, search.noise, rare, pairs=pairs)
    judge = found.judge
    trust = judge.trust(found.verdict) if smooth is None else smooth.trust(judge)
    if trust == 0.0:
        tested = np.append(judge.tested, search.spared)
        return Averaged.of_one(replace(nothing_learned(columns, p, len(tested)), tested=tested))
    return _mean(columns, found, whole, smooth, search.spared, p, trust)


class _Search:
    """The ways to learn that are tried, on the same parts of the rows.

    Parameters are those of :func:`averaged`.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        p: Array,
        options: FitOptions,
        n_parts: int | None,
    ) -> None:
        self.columns, self.rows, self.p, self.options = columns, rows, p, options
        self.few = rows.n <= MAX_ROWS
        n_folds = _parts_of(rows.n) if n_parts is None else n_parts
        fold, n = rows.folds(n_folds, SALT), 1 if n_parts is None and not self.few else n_folds
        rare = _rare(rows, fold)
        self.kept = [rare | (fold != f) for f in range(n)]
        self.spared = np.flatnonzero(rare & (fold < n))
        """The rows that would be left out were their classes not so rare."""
        self.everything = np.full(rows.n, True)
        self.among: list[tuple[str, str]] | None = None
        self.whole: PartFit | None = None
        self.stricter = 0.0
        self.noise: frozenset[int] = frozenset()
        """Columns that are left out, as they look like noise."""
        if (
            options.interactions
        ):  # the mean of the parts has no more pairs than all of them may have
            self.whole = self._part(self.everything).fit()
            names = [column.name for column in self.whole.learned.columns]
            self.among = [(names[q.first], names[q.second]) for q in self.whole.learned.pairs]
        self.wide = self.few and too_many_columns(len(columns), float(rows.weight.sum()))
        self.beside = self.few and not self.wide and self.whole is None
        """Whether the fit of all rows is made beside the parts; else several of them at a time may
        be too many."""

    def _part(
        self,
        some: NDArray[np.bool_],
        stricter: float = 0.0,
        without: frozenset[int] = frozenset(),
    ) -> Part:
        more = stricter, self.among, without
        return Part(self.columns, self.rows, some, self.p, self.options, *more)

    def best(self, without: Iterable[int] = ()) -> Way:
        """The best way, without some columns."""
        out, options, few = frozenset(without), self.options, self.few

        def way(stricter: float) -> Way:
            each = [self.everything, *self.kept] if self.beside else self.kept
            with steps("fits", len(each)) as tick:

                def fit(some: NDArray[np.bool_]) -> PartFit:
                    return self._part(some, stricter, out).fit()

                fits = in_threads(ticking(fit, tick), each)
            of_all = fits.pop(0) if self.beside else None
            judge = Judge(self.rows, [fit.part.tested for fit in fits], self.p)
            return Way(fits, judge, of_all)

        first, self.stricter = least_loss(way, STRICTER if self.wide else STRICTER[:1])
        ways = [first]
        if options.polish and first.loss <= MAX_LOSS_CORRECTED_FIRST:
            first.correct(thoroughly=few)
        if few and self.among is None and options.interactions != 0 and first.loss > ALL_PAIRS_GAIN:
            ways += with_all_pairs(first)
        return best_corrected(ways, thoroughly=few) if options.polish else min(ways, key=loss_of)

    def of_all(self, found: Way) -> PartFit:
        """The fit of all rows, learned in that way."""
        if found.whole:
            return found.whole
        if self.whole is None:
            part = self._part(self.everything, self.stricter)
            self.whole = part.fit()
            if found.all_that_gain:
                self.whole = part.fit(all_that_gain=True)
        return found.corrected_alike(self.whole)


def _parts_of(n_rows: int) -> int:
    """In how many parts rows are cut; of more than `MAX_ROWS` only the first is left out."""
    return PARTS_OF_MANY if MANY_ROWS < n_rows <= MAX_ROWS else PARTS


def _rare(rows: LearningRows, part: Index) -> NDArray[np.bool_]:
    """The rows of classes of which some part would keep fewer than `MIN_CLASS_ROWS` rows.

    Whatever a part has learned from, its tables hold the counts of all rows in the end. Weights
    that were fitted to a class without rows do not suit a class that has one: it would be almost
    certain for all rows like it. So no part leaves a row of such a class out.
    """
    here, n_parts = rows.weight > 0.0, int(part.max()) + 1
    of_class = np.bincount(rows.y[here], minlength=rows.n_classes)
    at = rows.y[here] * np.intp(n_parts) + part[here]
    left_out = np.bincount(at, minlength=rows.n_classes * n_parts).reshape(-1, n_parts)
    rare: NDArray[np.bool_] = (of_class < left_out.max(axis=1) + MIN_CLASS_ROWS)[rows.y]
    return rare


def _without_noise(search: _Search, found: Way) -> Way:
    """The way that was found, or one without the columns that look like noise, where it is clearly
    better.

    Pairs with noise and the corrections of its cells overfit, which costs most where the label
    follows a rule. Columns are tried that gain little by themselves and without whose terms the
    rows left out lose less.
    """
    noise: set[int] = set()
    while found.loss < MAX_LOSS_SHARE * found.judge.loss_of_shares:
        least = found.loss - max(MIN_HARM, MIN_HARM_SHARE * found.loss)
        weak = found.weak_columns(MAX_WEAK_GAIN)
        losses = in_threads(found.loss_without, weak)
        more = {j for j, loss in zip(weak, losses, strict=True) if loss < least}
        noise |= more
        if not more or len(noise) == len(search.columns):
            return found
        other = search.best(noise)
        error = found.judge.error_of_sum(found.row_losses() - other.row_losses())
        if found.loss - other.loss <= max(ALL_PAIRS_GAIN, NOISE_STANDARD_ERRORS * error):
            return found
        found, search.noise = other, frozenset(noise)
    return found


def _mean(
    columns: list[ColumnCells],
    found: Way,
    whole: PartFit,
    smooth: Smooth | None,
    spared: Index,
    p: Array,
    trust: float,
) -> Averaged:
    """The mean of the parts and of the fit to all rows, and of their smooth functions, shrunken
    toward the class shares.

    Rows that no part could leave out are predicted by the fit of all rows without corrections,
    which have seen them; each is taken out of the counts.
    """
    judge, fits = found.judge, [*found.fits, whole]
    n_parts, of_parts = len(found.fits), 1.0 - SHARE_OF_ALL_ROWS
    shares = np.append(np.full(n_parts, of_parts / n_parts), SHARE_OF_ALL_ROWS)
    log_proba = judge.tempered(found.log_proba if smooth is None else smooth.log_proba, trust)
    own = log_proba[np.arange(len(log_proba)), judge.y]

    def log_proba_of(m: int) -> Array:
        scores = fits[m].scores_of(judge.tested)
        if smooth is not None:
            scores = smooth.mixed(m, scores, judge.tested)
        return judge.tempered(log_normalised(scores), trust)

    *members, of_all = in_threads(log_proba_of, range(len(fits)))
    mean: Array = reduce(np.add, members) / n_parts
    gained = _ambiguity(of_parts * mean + SHARE_OF_ALL_ROWS * of_all)
    gained += SHARE_OF_ALL_ROWS * _ambiguity(mean)
    scores = whole.scores[spared]
    if smooth is not None:  # whose functions were fitted without these rows
        scores = smooth.mixed(len(fits) - 1, scores, spared)
    of_spared = judge.tempered(log_normalised(scores), trust)
    return Averaged(
        columns=columns,
        parts=in_threads(lambda fit: shrunk(fit.result(), p, trust), fits),
        shares=shares if smooth is None else (1.0 - smooth.share) * shares,
        smooth=None if smooth is None else smooth.tables(shares, trust),
        tested=np.append(judge.tested, spared),
        log_proba=np.concatenate([log_proba, of_spared]),
        gained=np.append(np.minimum(gained, -own), np.zeros(len(spared))),
    )


def _ambiguity(mean: Array) -> Array:
    """How many nats more a mean of log-probabilities gives each row, normalised, than its members
    do on average."""
    ambiguity: Array = -np.log(np.exp(mean).sum(axis=1))
    return ambiguity
