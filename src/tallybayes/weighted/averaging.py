"""A model averaged over several learnings, each without a part of the rows, that these rows judge.

All is learned once without each part of the rows, and once with all. The rows left out took part in
no choice, so they can decide for all learnings together: how much a column has to gain to be heard,
where columns are many; whether every pair that gains at all is taken; the ridge of the corrections,
from strong to weak; and how much of all is believed (a temperature). Half of the model is the mean
of the learnings without a part, half the one of all rows.

What the rows left out say of the single learnings is also how good the model is, but for what the
mean gains. The mean of log-probabilities, normalised, says of each row

    −log Σ_k exp(Σ_m s_m log p_mk)  ≥ 0

nats more than its members do on average, whatever the label (A. Krogh and J. Vedelsby, Neural
network ensembles, cross validation, and active learning, NIPS 7, 1995, for squares).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.threads import in_threads
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.correction_path import CorrectionPath
from tallybayes.weighted.doubt import STRICTER, believed, many
from tallybayes.weighted.learned import Averaged, Learned, nothing_learned
from tallybayes.weighted.parts import Part, Taught
from tallybayes.weighted.rounds import Asked
from tallybayes.weighted.row_scores import log_normalised
from tallybayes.weighted.rows import LearningRows

__all__ = ["PARTS", "averaged"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

PARTS = 5
SALT = 4  # of the parts
OF_ALL = 0.5  # of the model: the learning of all rows
RIDGES = (30.0, 3.0, 0.3, 0.03)
HOPELESS = 1.02  # times the least loss of rows left out: a lower ridge is not tried
TRUSTS = np.sort(np.append(np.exp(np.arange(-1.2, 0.41, 0.1)), 1.0))
PENALTY = 10.0  # nats times log² of the temperature: few rows say little about it
CHANCE, SURE = 2.0, 5.0  # nats over the class shares, between which belief grows from 0 to 1
ALL_PAIRS = 4.0  # nats that a model with all pairs that gain has to be better by
CLEARLY, BEHIND = 1.1, 4.0  # times the best loss, and nats: what loses more is not corrected
HOPELESSLY = 1.3  # the same of two parts: all pairs that gain are tried no more
FEW = 20_000  # rows up to which all of this is tried; of more rows what is near the best is enough
WORTH = 1.0  # nats that another ridge has to gain where rows are many


@dataclass(frozen=True)
class _Verdict:
    """What rows left out say: their loss and that with the price of the temperature, in nats, and
    the temperature (its inverse, how much is believed)."""

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
        self.y, self.weight = rows.y[self.tested], rows.weight[self.tested]
        self.log_p, self.n_classes = np.log(p), rows.n_classes

    def log_proba(self, said: Sequence[Array]) -> Array:
        """Log-probabilities of the rows, of the scores that each part gives those it left out."""
        return log_normalised(np.concatenate(said))

    def loss(self, log_proba: Array) -> float:
        """Of the first rows."""
        n = len(log_proba)
        return -float(self.weight[:n] @ log_proba[np.arange(n), self.y[:n]])

    def tempered(self, log_proba: Array, trust: float) -> Array:
        return log_normalised(self.log_p + trust * (log_proba - self.log_p))

    def verdict(self, log_proba: Array) -> _Verdict:
        found = np.array([self.loss(self.tempered(log_proba, t)) for t in TRUSTS])
        found += PENALTY * np.log(TRUSTS) ** 2
        at = int(np.argmin(found))
        return _Verdict(self.loss(log_proba), float(found[at]), float(TRUSTS[at]))


class _Walked:
    """One way to learn, corrected under the ridge that the rows left out like best.

    Parameters
    ----------
    parts : list of Part
    taught : list of Taught
    judge : _Judge
    log_proba : float64 array (n_tested, n_classes)
        Of the rows left out, without corrections.
    price : float
        In nats.
    """

    def __init__(
        self,
        parts: list[Part],
        taught: list[Taught],
        judge: _Judge,
        log_proba: Array,
        price: float = 0.0,
    ) -> None:
        self.parts, self.taught, self.judge, self.price = parts, taught, judge, price
        self.log_proba, self.verdict = log_proba, judge.verdict(log_proba)
        self.ridge: float | None = None
        self.paths: list[CorrectionPath | None] = [None] * len(parts)
        self.q: list[Array | None] = [None] * len(parts)

    @property
    def loss(self) -> float:
        return self.verdict.loss + self.price

    def walk(self, *, thoroughly: bool) -> None:
        """Tries one ridge after the other."""
        both = list(zip(self.parts, self.taught, strict=True))
        made = in_threads(lambda one: one[0].corrections(one[1]), both)
        paths = [path for path in made if path is not None]
        if len(paths) < len(made):
            return
        lowest = min(self.verdict.plain, self.verdict.loss)
        for ridge in RIDGES:
            said = in_threads(partial(CorrectionPath.follow, ridge=ridge), paths)
            log_proba = self.judge.log_proba(said)
            verdict = self.judge.verdict(log_proba)
            now = min(verdict.plain, verdict.loss)
            gained = self.verdict.loss - verdict.loss
            if gained > 0.0:
                self.ridge, self.verdict, self.log_proba = ridge, verdict, log_proba
                self.paths, self.q = made, [path.q for path in paths]
            lowest = min(lowest, now)
            if now > HOPELESS * lowest or not (thoroughly or gained > WORTH):
                return


def averaged(
    columns: list[ColumnCells],
    rows: LearningRows,
    p: Array,
    asked: Asked,
    n_parts: int | None = None,
) -> Averaged:
    """What is learned on rows, averaged.

    Parameters
    ----------
    columns : list of ColumnCells
        Columns that tell different things, with the counts of all rows.
    rows : LearningRows
        In canonical order.
    p : float64 array (n_classes,)
        Shares of the classes.
    asked : Asked
    n_parts : int, optional
        From 2 on. Unless given, 5, and of more than 20,000 rows only the first of them is left out.
    """
    few = rows.n <= FEW
    folds = PARTS if n_parts is None else n_parts
    fold = rows.folds(folds, SALT)
    kept = [fold != f for f in range(1 if n_parts is None and not few else folds)]
    everything, among, whole = np.full(rows.n, True), None, None
    if asked.interactions:  # the mean of the parts has no more pairs than all of them may have
        whole = Part(columns, rows, everything, p, asked)
        of_all = whole.teach()
        names = [column.name for column in columns]
        heard = [names[j] for j in whole.heard]
        among = [(heard[q.first], heard[q.second]) for q in of_all.learned.pairs]

    def part(some: NDArray[np.bool_], stricter: float) -> Part:
        return Part(columns, rows, some, p, asked, stricter, among)

    best, stricter = None, 0.0
    wide = few and many(len(columns), float(rows.weight.sum()))
    for more in STRICTER if wide else (0.0,):
        parts = in_threads(partial(part, stricter=more), kept)
        taught = in_threads(lambda one: one.teach(), parts)
        judge = _Judge(rows, [one.tested for one in parts], p)
        walked = _Walked(parts, taught, judge, _said(judge, parts, taught))
        if best is None or walked.loss < best.loss:
            best, stricter = walked, more
    assert best is not None
    all_that_gain = False
    ways = [best]
    if few and among is None and asked.interactions != 0:
        ways += _with_all_pairs(best, judge)
    for one in best.parts:
        one.finish()
    found = None
    for way in sorted(ways, key=lambda way: way.loss):
        if found is None or way.loss <= CLEARLY * found.loss + BEHIND:
            if asked.polish:
                way.walk(thoroughly=few)
            if found is None or way.loss < found.loss:
                found, all_that_gain = way, way is not best
    assert found is not None
    if whole is None:
        whole = part(everything, stricter)
        of_all = whole.teach()
    if all_that_gain:
        of_all = whole.teach(all_that_gain=True)
    return _mean(columns, found, whole, of_all, p)


def _said(judge: _Judge, parts: list[Part], taught: list[Taught]) -> Array:
    said = [one.scores[part.tested] for part, one in zip(parts, taught, strict=True)]
    return judge.log_proba(said)


def _with_all_pairs(before: _Walked, judge: _Judge) -> list[_Walked]:
    """The same with every pair that gains at all, or nothing where the first two parts are clearly
    worse with them."""
    parts, first = before.parts, before.parts[:2]
    taught = in_threads(lambda one: one.teach(all_that_gain=True), first)
    log_proba = _said(judge, first, taught)
    without = judge.verdict(before.log_proba[: len(log_proba)])
    if judge.verdict(log_proba).loss > HOPELESSLY * without.loss + BEHIND:
        return []
    taught += in_threads(lambda one: one.teach(all_that_gain=True), parts[2:])
    return [_Walked(parts, taught, judge, _said(judge, parts, taught), ALL_PAIRS)]


def _mean(
    columns: list[ColumnCells], found: _Walked, whole: Part, of_all: Taught, p: Array
) -> Averaged:
    """The mean of the parts and of what is learned of all rows, as far as it is believed."""
    judge, parts, taught = found.judge, found.parts, found.taught
    gain = judge.loss(np.tile(judge.log_p, (len(judge.tested), 1))) - found.verdict.loss
    belief = float(np.clip((gain - CHANCE) / (SURE - CHANCE), 0.0, 1.0))
    trust = found.verdict.trust * belief
    if trust == 0.0:
        silent = nothing_learned(columns, p, len(judge.tested))
        return Averaged.of_one(replace(silent, tested=judge.tested))
    paths, q = [*found.paths, None], [*found.q, None]
    if found.ridge is not None and (path := whole.corrections(of_all)) is not None:
        for ridge in RIDGES[: RIDGES.index(found.ridge) + 1]:
            path.follow(ridge)
        paths[-1], q[-1] = path, path.q

    def result(place: int) -> Learned:
        part, one, path, now = members[place], lessons[place], paths[place], q[place]
        corrections = None
        if path is not None and now is not None:
            corrections = path.cells.of_terms(now, [table.shape for table in one.learned.tables])
        return believed(part.result(one, corrections), p, trust)

    members, lessons = [*parts, whole], [*taught, of_all]
    learned = in_threads(result, range(len(members)))
    shares = np.append(np.full(len(parts), (1.0 - OF_ALL) / len(parts)), OF_ALL)
    log_proba = judge.tempered(found.log_proba, trust)
    own = log_proba[np.arange(len(log_proba)), judge.y]
    told = np.zeros(log_proba.shape)
    for part, one, path, now, share in zip(members, lessons, paths, q, shares, strict=True):
        scores = log_normalised(part.scores(one, path, now, judge.tested))
        told += share * judge.tempered(scores, trust)
    return Averaged(
        columns=columns,
        parts=learned,
        shares=shares,
        tested=judge.tested,
        log_proba=log_proba,
        gained=np.minimum(-np.log(np.exp(told).sum(axis=1)), -own),
    )
