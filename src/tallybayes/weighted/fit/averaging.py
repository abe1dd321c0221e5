"""A model averaged over several fits, each without a part of the rows, that these rows judge.

All is learned once without each part of the rows, and once with all. The rows left out took part in
no choice, so they can decide for all fits together: how much a column has to gain to be used,
where columns are many; whether every pair that gains at all is taken; the ridge of the corrections,
from strong to weak; and a shrinkage factor (a temperature). Half of the model is the mean
of the fits without a part, half the one of all rows.

What the rows left out show of the single fits is also how good the model is, but for what the
mean gains. The mean of log-probabilities, normalised, says of each row

    −log Σ_k exp(Σ_m s_m log p_mk)  ≥ 0

nats more than its members do on average, whatever the label (A. Krogh and J. Vedelsby, Neural
network ensembles, cross validation, and active learning, NIPS 7, 1995, for squares).

The fit of all rows has more rows than a part. By the delete-a-group jackknife its variance is g − 1
times the mean squared deviation of the g parts from their mean; that of a part, which has
(g − 1) / g of the rows, is g times that. In nats this deviation is the ambiguity of the parts, so
the fit of all rows gains that much more a row than a part does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.threads import in_threads
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.cell_offsets import CorrectionPath
from tallybayes.weighted.fit.learned import Averaged, nothing_learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.parts import Part, PartFit
from tallybayes.weighted.fit.shrinkage import STRICTER, shrunk, too_many_columns
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.term_scores import log_normalised

__all__ = ["PARTS", "averaged"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

PARTS = 5
SALT = 4  # of the parts
OF_ALL = 0.5  # of the model: the fit of all rows
RIDGES = (30.0, 3.0, 0.3, 0.03)
HOPELESS = 1.02  # times the least loss of rows left out: a lower ridge is not tried
TRUSTS = np.sort(np.append(np.exp(np.arange(-1.2, 0.41, 0.1)), 1.0))
BELOW, ABOVE = np.flatnonzero(np.isclose(TRUSTS, 1.0)).tolist()  # 1, and 1 with rounding
PENALTY = 10.0  # nats times log² of the temperature: few rows say little about it
CHANCE, SURE = 2.0, 5.0  # nats over the class shares, between which belief grows from 0 to 1
ALL_PAIRS = 4.0  # nats that a model with all pairs that gain has to be better by
NEAR = 20.0  # nats left of all: corrections are tried first, and all pairs only after them
LITTLE = 0.5  # nats left of all: no further ridge is tried
CLEARLY, BEHIND = 1.1, 4.0  # times the best loss, and nats: what loses more is not corrected
HOPELESSLY = 1.3  # the same of two parts: all pairs that gain are tried no more
FEW = 20_000  # rows up to which all of this is tried; of more rows what is near the best is enough
STANDARD_ERRORS = 1.0  # of what corrections gain; the gain has to be more
WORTH = 1.0  # nats that another ridge has to gain where rows are many


@dataclass(frozen=True)
class _Verdict:
    """What rows left out say: their loss and that with the price of the temperature, in nats, and
    the inverse temperature."""

    plain: float
    loss: float
    trust: float


class _Judge:
    """The rows left out.

    Parameters
    ----------
    rows : LearningRows
        All rows.
    tested : list of index arrays
        The rows that each part leaves out, or some of them.
    p : float64 array (n_classes,)
    """

    def __init__(self, rows: LearningRows, tested: list[Index], p: Array) -> None:
        self.tested = np.concatenate(tested)
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

    def row_losses(self, log_proba: Array) -> Array:
        """What each row loses, in nats times its weight."""
        losses: Array = -self.weight * log_proba[np.arange(len(self.y)), self.y]
        return losses

    def tempered(self, log_proba: Array, trust: float) -> Array:
        return log_normalised(self.log_p + trust * (log_proba - self.log_p))

    def verdict(self, log_proba: Array) -> _Verdict:
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
        return _Verdict(self.loss(log_proba), loss(at), float(TRUSTS[at]))

    def trust(self, verdict: _Verdict) -> float:
        """The inverse temperature, times a share that grows from 0 to 1 with what is gained over
        the class shares."""
        gain = self.loss(np.tile(self.log_p, (len(self.tested), 1))) - verdict.loss
        return verdict.trust * float(np.clip((gain - CHANCE) / (SURE - CHANCE), 0.0, 1.0))


class _Way:
    """One way to learn: a fit of each part, and what the rows left out say of them.

    Parameters
    ----------
    fits : list of PartFit
        Without corrections.
    judge : _Judge
    whole : PartFit, optional
        The same of all rows, where it was fitted beside the parts.
    all_that_gain : bool
        Whether every pair was taken that gains at all.
    """

    def __init__(
        self,
        fits: list[PartFit],
        judge: _Judge,
        whole: PartFit | None = None,
        *,
        all_that_gain: bool = False,
    ) -> None:
        self.fits, self.judge, self.whole = fits, judge, whole
        self.all_that_gain = all_that_gain
        self.log_proba = judge.log_proba(fits)
        self.verdict = judge.verdict(self.log_proba)
        self.ridges: tuple[float, ...] = ()
        self.tried = False

    @property
    def loss(self) -> float:
        return self.verdict.loss + (ALL_PAIRS if self.all_that_gain else 0.0)

    def correct(self, *, thoroughly: bool) -> None:
        """Corrects the fits under the ridge that the rows left out like best, tried from strong to
        weak; not at all where the gain is within its standard error. Once."""
        if self.tried or self.verdict.loss <= LITTLE:
            return
        self.tried = True
        each = self.fits if self.whole is None else [*self.fits, self.whole]
        n, paths = len(self.fits), in_threads(PartFit.path, each)
        if None in paths[:n]:
            return
        lowest, least = min(self.verdict.plain, self.verdict.loss), self.verdict.loss
        without = self.judge.row_losses(self.log_proba)
        for tried, ridge in enumerate(RIDGES, 1):
            scores = in_threads(partial(CorrectionPath.follow, ridge=ridge), filter(None, paths))
            log_proba = self.judge.normalised(scores[:n])
            verdict = self.judge.verdict(log_proba)
            now = min(verdict.plain, verdict.loss)
            difference = self.judge.row_losses(log_proba) - without
            error = float(difference.std()) * len(difference) ** 0.5
            gained = least - verdict.loss - STANDARD_ERRORS * error
            if gained > 0.0:
                least -= gained
                self.ridges, self.verdict, self.log_proba = RIDGES[:tried], verdict, log_proba
                both = zip(each, paths, strict=True)
                fits = [fit.corrected(path) if path else fit for fit, path in both]
                self.fits, self.whole = fits[:n], fits[n] if self.whole else None
            lowest = min(lowest, now)
            stops_early = now > HOPELESS * lowest or not (thoroughly or gained > WORTH)
            if stops_early or self.verdict.loss <= LITTLE:
                return

    def corrected_alike(self, fit: PartFit) -> PartFit:
        """Another fit, corrected under the same ridge."""
        path = fit.path() if self.ridges else None
        if path is None:
            return fit
        for ridge in self.ridges:
            path.follow(ridge)
        return fit.corrected(path)


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
        From 2 on. Unless given, 5, and of more than 20,000 rows only the first of them is left out.
    """
    few = rows.n <= FEW
    n_folds = PARTS if n_parts is None else n_parts
    fold = rows.folds(n_folds, SALT)
    kept = [fold != f for f in range(1 if n_parts is None and not few else n_folds)]
    everything, among, whole = np.full(rows.n, True), None, None
    if options.interactions:  # the mean of the parts has no more pairs than all of them may have
        whole = Part(columns, rows, everything, p, options).fit()
        names = [column.name for column in whole.learned.columns]
        among = [(names[pair.first], names[pair.second]) for pair in whole.learned.pairs]

    def part(some: NDArray[np.bool_], stricter: float) -> Part:
        return Part(columns, rows, some, p, options, stricter, among)

    wide = few and too_many_columns(len(columns), float(rows.weight.sum()))
    beside = few and not wide and whole is None  # else several parts at a time may be too many

    def way(stricter: float) -> _Way:
        each = [everything, *kept] if beside else kept
        fits = in_threads(lambda some: part(some, stricter).fit(), each)
        of_all = fits.pop(0) if beside else None
        return _Way(fits, _Judge(rows, [fit.part.tested for fit in fits], p), of_all)

    best, stricter = _least_loss(way, STRICTER if wide else STRICTER[:1])
    ways = [best]
    if options.polish and best.loss <= NEAR:
        best.correct(thoroughly=few)
    if few and among is None and options.interactions != 0 and best.loss > ALL_PAIRS:
        ways += _with_all_pairs(best)
    for one in [*best.fits, *([best.whole] if best.whole else [])]:
        one.part.finish()
    found = _corrected(ways, thoroughly=few) if options.polish else min(ways, key=_loss)
    trust = found.judge.trust(found.verdict)
    if trust == 0.0:
        tested = found.judge.tested
        return Averaged.of_one(replace(nothing_learned(columns, p, len(tested)), tested=tested))
    if found.whole:
        return _mean(columns, found, found.whole, p, trust)
    if whole is None:
        all_rows = part(everything, stricter)
        whole = all_rows.fit()
        if found.all_that_gain:
            whole = all_rows.fit(all_that_gain=True)
    return _mean(columns, found, found.corrected_alike(whole), p, trust)


def _loss(way: _Way) -> float:
    return way.loss


def _least_loss(way: Callable[[float], _Way], tried: Sequence[float]) -> tuple[_Way, float]:
    """The best way, by how much a column has to gain beyond the least to be selected, and that."""
    best, at = way(tried[0]), tried[0]
    for stricter in tried[1:]:
        other = way(stricter)
        if other.loss < best.loss:
            best, at = other, stricter
    return best, at


def _with_all_pairs(before: _Way) -> list[_Way]:
    """The same with every pair that gains at all, or nothing where the first two parts are clearly
    worse with them."""
    judge, parts = before.judge, [fit.part for fit in before.fits]
    refit = partial(Part.fit, all_that_gain=True)
    fits = in_threads(refit, parts[:2])
    log_proba = judge.log_proba(fits)
    without = judge.verdict(before.log_proba[: len(log_proba)])
    if judge.verdict(log_proba).loss > HOPELESSLY * without.loss + BEHIND:
        return []
    left = [*parts[2:], *([before.whole.part] if before.whole else [])]
    fits += in_threads(refit, left)
    whole = fits.pop() if before.whole else None
    return [_Way(fits, judge, whole, all_that_gain=True)]


def _corrected(ways: list[_Way], *, thoroughly: bool) -> _Way:
    """The best way once corrected. A way that is clearly worse is not corrected."""
    best = None
    for way in sorted(ways, key=_loss):
        if best is None or way.loss <= CLEARLY * best.loss + BEHIND:
            way.correct(thoroughly=thoroughly)
            if best is None or way.loss < best.loss:
                best = way
    assert best is not None
    return best


def _mean(
    columns: list[ColumnCells], found: _Way, whole: PartFit, p: Array, trust: float
) -> Averaged:
    """The mean of the parts and of the fit to all rows, shrunken toward the class shares."""
    judge, fits = found.judge, [*found.fits, whole]
    shares = np.append(np.full(len(found.fits), (1.0 - OF_ALL) / len(found.fits)), OF_ALL)
    log_proba = judge.tempered(found.log_proba, trust)
    own = log_proba[np.arange(len(log_proba)), judge.y]

    def said(fit: PartFit) -> Array:
        return judge.tempered(log_normalised(fit.scores_of(judge.tested)), trust)

    *members, of_all = in_threads(said, fits)
    of_parts: Array = reduce(np.add, members) / len(members)
    gained = _ambiguity((1.0 - OF_ALL) * of_parts + OF_ALL * of_all)
    gained += OF_ALL * _ambiguity(of_parts)
    return Averaged(
        columns=columns,
        parts=in_threads(lambda fit: shrunk(fit.result(), p, trust), fits),
        shares=shares,
        tested=judge.tested,
        log_proba=log_proba,
        gained=np.minimum(gained, -own),
    )


def _ambiguity(mean: Array) -> Array:
    """How many nats more a mean of log-probabilities gives each row, normalised, than its members
    do on average."""
    ambiguity: Array = -np.log(np.exp(mean).sum(axis=1))
    return ambiguity
