"""Ways to learn: a fit of each part of the rows, corrected, and which way the rows left out
prefer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.threads import in_threads
from tallybayes.progress import steps, ticking
from tallybayes.weighted.fit.boosting import CYCLES, boosted
from tallybayes.weighted.fit.cell_offsets import CorrectionPath
from tallybayes.weighted.fit.parts import Part, PartFit
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.term_scores import log_normalised

__all__ = [
    "Judge",
    "Way",
    "best_corrected",
    "least_loss",
    "loss_of",
    "with_all_pairs",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

TRUSTS = np.sort(np.append(np.exp(np.arange(-1.2, 0.41, 0.1)), 1.0))
BELOW, ABOVE = np.flatnonzero(np.isclose(TRUSTS, 1.0)).tolist()  # 1, and 1 with rounding
PENALTY = 10.0  # nats times log² of the temperature: few rows determine it poorly
CHANCE_GAIN, TRUSTED_GAIN = 2.0, 5.0  # nats over the class shares: from no trust to all of it
RIDGES = (30.0, 3.0, 0.3, 0.03)
STOP_RATIO = 1.02  # times the least loss of rows left out: a lower ridge is not tried
ALL_PAIRS_GAIN = 4.0  # nats that a model with all pairs that gain has to be better by
MIN_LOSS = 0.5  # nats left of all: no further ridge is tried
MAX_LOSS_RATIO, MAX_LOSS_EXCESS = 1.1, 4.0  # times the best loss, and nats, to be corrected
MAX_ALL_PAIRS_RATIO = 1.3  # the same of two parts: all pairs that gain are tried no more
STANDARD_ERRORS = 1.0  # of what corrections gain; the gain has to be more
MIN_GAIN = 1.0  # nats that another ridge has to gain where rows are many, and further cycles
MAX_BOOSTED_SHARE = 0.5  # of the loss left by the weakest ridge: then cells are boosted
MIN_BOOSTED_LOSS = 4.0  # nats left of all, at least, for it
BOOST_STANDARD_ERRORS = 2.0  # standard errors: what further boosting gains has to be more
FIRST_BOOST_STANDARD_ERRORS = 3.0  # the first may begin after each number of cycles


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

    def row_losses(self, log_proba: Array) -> Array:
        """What each row loses, in nats times its weight."""
        losses: Array = -self.weight * log_proba[np.arange(len(self.y)), self.y]
        return losses

    @staticmethod
    def error_of_sum(values: Array) -> float:
        """The standard error of the sum of values, one a row."""
        return float(values.std()) * float(len(values) ** 0.5)

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
    whole: PartFit | None

    def __init__(
        self,
        fits: list[PartFit],
        judge: Judge,
        whole: PartFit | None = None,
        *,
        all_that_gain: bool = False,
    ) -> None:
        self.fits, self.judge, self.whole = fits, judge, whole
        self.all_that_gain = all_that_gain
        self.log_proba: Array = judge.log_proba(fits)
        self.verdict: Verdict = judge.verdict(self.log_proba)
        self.uncorrected: float = self.verdict.loss
        self.ridges: tuple[float, ...] = ()
        self.cycles: int = 0
        self.tried: bool = False

    @property
    def loss(self) -> float:
        return self.verdict.loss + (ALL_PAIRS_GAIN if self.all_that_gain else 0.0)

    def correct(self, *, thoroughly: bool) -> None:
        """Corrects the fits under the ridge that the rows left out like best, tried from strong to
        weak; not at all where the gain is within its standard error. Once."""
        if self.tried or self.verdict.loss <= MIN_LOSS:
            return
        self.tried = True
        each = self.all_fits
        n, paths = len(self.fits), in_threads(PartFit.path, each)
        if None in paths[:n]:
            return
        lowest, least = min(self.verdict.plain, self.verdict.loss), self.verdict.loss
        without = self.judge.row_losses(self.log_proba)
        with steps("corrections", len(RIDGES)) as tick:
            for tried, ridge in enumerate(RIDGES, 1):
                follow = partial(CorrectionPath.follow, ridge=ridge)
                scores = in_threads(follow, filter(None, paths))
                tick()
                log_proba = self.judge.normalised(scores[:n])
                verdict = self.judge.verdict(log_proba)
                now = min(verdict.plain, verdict.loss)
                error = self.judge.error_of_sum(self.judge.row_losses(log_proba) - without)
                gained = least - verdict.loss - STANDARD_ERRORS * error
                if gained > 0.0:
                    least -= gained
                    self.ridges = RIDGES[:tried]
                    self._become(each, paths, log_proba, verdict)
                lowest = min(lowest, now)
                stops_early = now > STOP_RATIO * lowest or not (thoroughly or gained > MIN_GAIN)
                if stops_early or self.verdict.loss <= MIN_LOSS:
                    return

    def boost(self) -> None:
        """Boosts the cells, from the corrections on, for as many cycles as the rows left out like
        best; where corrections under the weakest ridge have halved the loss. Labels that follow a
        rule are so, and no ridge is weak enough for them."""
        most = MAX_BOOSTED_SHARE * self.uncorrected
        if self.ridges != RIDGES or not MIN_BOOSTED_LOSS < self.verdict.loss < most:
            return
        each = self.all_fits
        n, some = len(self.fits), in_threads(PartFit.path_from_corrections, each)
        paths = [path for path in some if path is not None]
        if len(paths) < len(each):
            return
        least = before = self.verdict.loss
        without, done = self.row_losses(), 0
        with steps("rounds of boosting", len(CYCLES)) as tick:
            for cycles in CYCLES:
                more = partial(boosted, cycles=cycles - done)
                log_proba, done = self.judge.normalised(in_threads(more, paths)[:n]), cycles
                tick()
                verdict = self.judge.verdict(log_proba)
                error = self.judge.error_of_sum(self.judge.row_losses(log_proba) - without)
                errors = BOOST_STANDARD_ERRORS if self.cycles else FIRST_BOOST_STANDARD_ERRORS
                gained = least - verdict.loss - errors * error
                if gained > 0.0:
                    least -= gained
                    self.cycles = cycles
                    self._become(each, paths, log_proba, verdict)
                if verdict.loss > before - MIN_GAIN or verdict.loss <= MIN_LOSS:
                    return
                before = verdict.loss

    def _become(
        self,
        each: list[PartFit],
        paths: Sequence[CorrectionPath | None],
        log_proba: Array,
        verdict: Verdict,
    ) -> None:
        """The same with the corrections that paths have reached."""
        n, self.log_proba, self.verdict = len(self.fits), log_proba, verdict
        both = zip(each, paths, strict=True)
        fits = [fit.corrected(path) if path else fit for fit, path in both]
        self.fits, self.whole = fits[:n], fits[n] if self.whole else None

    @property
    def all_fits(self) -> list[PartFit]:
        """The fits of the parts, and the one of all rows, if there is one, last."""
        return self.fits if self.whole is None else [*self.fits, self.whole]

    def row_losses(self) -> Array:
        """What each row left out loses, in nats times its weight."""
        return self.judge.row_losses(self.log_proba)

    def weak_columns(self, most: float) -> list[int]:
        """The columns that gain at most so many nats by themselves in every part."""
        gains = np.stack([fit.column_gains() for fit in self.fits])
        weak: list[int] = np.flatnonzero((gains <= most).all(axis=0)).tolist()
        return weak

    def loss_without(self, column: int) -> float:
        """The loss without the terms of a column, all else as it is."""
        scores = [fit.scores_without(column) for fit in self.fits]
        verdict = self.judge.verdict(self.judge.normalised(scores))
        return verdict.loss + self.loss - self.verdict.loss

    def corrected_alike(self, fit: PartFit) -> PartFit:
        """Another fit, corrected under the same ridge and boosted as often."""
        path = fit.path() if self.ridges else None
        if path is None:
            return fit
        for ridge in self.ridges:
            path.follow(ridge)
        if self.cycles:
            boosted(path, self.cycles)
        return fit.corrected(path)


def loss_of(way: Way) -> float:
    """What the rows left out lose, and the price of the way, in nats."""
    return way.loss


def least_loss(way: Callable[[float], Way], tried: Sequence[float]) -> tuple[Way, float]:
    """The best way, by how much a column has to gain beyond the least to be selected, and that."""
    best, at = way(tried[0]), tried[0]
    for stricter in tried[1:]:
        other = way(stricter)
        if other.loss < best.loss:
            best, at = other, stricter
    return best, at


def with_all_pairs(before: Way) -> list[Way]:
    """The same with every pair that gains at all, or nothing where the first two parts are clearly
    worse with them."""
    judge, parts = before.judge, [fit.part for fit in before.fits]
    with steps("fits with more pairs", len(before.all_fits)) as tick:
        refit = ticking(partial(Part.fit, all_that_gain=True), tick)
        fits = in_threads(refit, parts[:2])
        log_proba = judge.log_proba(fits)
        without = judge.verdict(before.log_proba[: len(log_proba)])
        if judge.verdict(log_proba).loss > MAX_ALL_PAIRS_RATIO * without.loss + MAX_LOSS_EXCESS:
            return []
        left = [*parts[2:], *([before.whole.part] if before.whole else [])]
        fits += in_threads(refit, left)
    whole = fits.pop() if before.whole else None
    return [Way(fits, judge, whole, all_that_gain=True)]


def best_corrected(ways: list[Way], *, thoroughly: bool) -> Way:
    """The best way once corrected. A way that is clearly worse is not corrected."""
    best = None
    for way in sorted(ways, key=loss_of):
        if best is None or way.loss <= MAX_LOSS_RATIO * best.loss + MAX_LOSS_EXCESS:
            way.correct(thoroughly=thoroughly)
            if best is None or way.loss < best.loss:
                best = way
    assert best is not None
    return best
