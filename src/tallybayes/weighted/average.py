"""Several fits, each without another part of the rows, and their mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import InitVar, dataclass, replace
from functools import cache, reduce
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from threadpoolctl import ThreadpoolController

from tallybayes.persistence import MAX_WEIGHT, Distinct, Shape, Weight, Within
from tallybayes.progress import steps, ticking
from tallybayes.threads import in_threads, on_one_thread
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.documents import BinWeights, learn_bin_weights
from tallybayes.weighted.learned import Averaged
from tallybayes.weighted.rows import LearningRows, canonical, distinct, thinned
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.search import FitOptions
from tallybayes.weighted.smooth import CHANCE_GAIN, Smooth, smooth_functions
from tallybayes.weighted.ways import (
    ALL_PAIRS_GAIN,
    STRICTER,
    Judge,
    Part,
    PartFit,
    PartTables,
    Way,
    least_loss,
    shrunk,
    too_many_columns,
    with_all_pairs,
)

__all__ = [
    "PARTS",
    "TextWeights",
    "averaged",
    "learn",
    "learn_text_weights",
]


# ---- fits without a part of the rows, judged on it and averaged ----------------------------------
# A model averaged over several fits, each without a part of the rows, that these rows judge.
#
# All is learned once without each part of the rows, and once with all. The rows left out took part
# in no choice, so they can decide for all fits together: how much a column has to gain to be used,
# where columns are many; whether every pair that gains at all is taken; the ridge of the
# corrections, from strong to weak; whether columns that gain little by themselves are used; and a
# shrinkage factor (a temperature). Half of the model is the mean of the fits without a part, half
# the one of all rows.
#
# What the rows left out show of the single fits is also how good the model is, but for what the
# mean gains. The mean of log-probabilities, normalised, gives the label of a row
#
#     −log Σ_k exp(Σ_m s_m log p_mk)  ≥ 0
#
# nats more than its members do on average, whichever label it is (A. Krogh and J. Vedelsby, Neural
# network ensembles, cross validation, and active learning, NIPS 7, 1995, for squares).
#
# The fit of all rows has more rows than a part. By the delete-a-group jackknife its variance is g
# − 1 times the mean squared deviation of the g parts from their mean; that of a part, which has (g
# − 1) / g of the rows, is g times that. In nats this deviation is the ambiguity of the parts, so
# the fit of all rows gains that much more a row than a part does.
Array = NDArray[np.float64]
Index = NDArray[np.intp]

ALL = -1  # in place of the number of a part: all rows
PARTS = 5
MANY_ROWS, PARTS_OF_MANY = 4_000, 3  # rows above which fewer parts lose next to nothing
SALT = 4  # of the parts
MIN_CLASS_ROWS = 2  # that each part keeps of a class; with one, leave-one-out has none
MIN_SCORE = 1e-300  # −log p of a class that is all but sure
SHARE_OF_ALL_ROWS = 0.5  # of the model: the fit of all rows
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
    """What is learned on rows, averaged; or, with one part, by the fit of all rows alone.

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
        Unless given, 5 up to 4,000 rows, 3 up to 20,000, and beyond only the first of 5 is left
        out. With 1, the same parts are left out, and only judge.
    """
    search = _Search(columns, rows, p, options, n_parts)
    found = search.best()
    if search.beside and options.polish:
        found = _without_noise(search, found)
    whole, smooth = search.of_all(found), None
    if search.few and options.polish:
        rare, pairs = np.unique(rows.y[search.spared]).tolist(), options.interactions is None
        smooth = smooth_functions(found, whole, columns, rows, p, search.noise, rare, pairs=pairs)
    judge = found.judge
    by_smooth = (found.verdict,) if smooth is None else (smooth.verdict, CHANCE_GAIN)
    trust = judge.trust(*by_smooth)
    if trust == 0.0:
        return Averaged.of_shares(columns, p, np.append(judge.tested, search.spared))
    return _mean(columns, rows, found, whole, smooth, search.spared, p, trust, alone=n_parts == 1)


@dataclass(eq=False)
class _Search:
    """The ways to learn that are tried, on the same parts of the rows.

    Parameters are those of :func:`averaged`.
    """

    columns: list[ColumnCells]
    rows: LearningRows
    p: Array
    options: FitOptions
    n_parts: InitVar[int | None]

    def __post_init__(self, n_parts: int | None) -> None:
        rows, options = self.rows, self.options
        self.few = rows.n <= MAX_ROWS
        asked = None if n_parts == 1 else n_parts
        usual = PARTS_OF_MANY if MANY_ROWS < rows.n <= MAX_ROWS else PARTS
        n_folds = min(asked or usual, rows.n)
        fold, n = rows.folds(n_folds, SALT), 1 if asked is None and not self.few else n_folds
        rare = _rare(rows, fold)
        self.kept = [rare | (fold != f) for f in range(n)]
        self.spared = np.flatnonzero(rare & (fold < n))
        """The rows that would be left out were their classes not so rare."""
        self.everything = np.full(rows.n, True)
        self.tables: dict[int, PartTables] = {}
        """Of each part; the ways to learn differ in what they do with them."""
        self.among: list[tuple[str, ...]] | None = None
        self.whole: PartFit | None = None
        self.stricter = 0.0
        self.noise: frozenset[int] = frozenset()
        """Columns that are left out, as they look like noise."""
        if (
            options.interactions
        ):  # the parts have the pairs of all rows, so that no more are averaged
            self.whole = self._part(ALL).fit()
            names = [column.name for column in self.whole.learned.columns]
            pairs = self.whole.learned.pairs
            self.among = [tuple(names[j] for j in pair.columns) for pair in pairs]
        self.wide = self.few and too_many_columns(len(self.columns), float(rows.weight.sum()))
        self.beside = self.few and not self.wide and self.whole is None
        """Whether the fit of all rows is made beside the parts; else several of them at a time may
        be too many."""

    def _part(self, i: int, stricter: float = 0.0, without: frozenset[int] = frozenset()) -> Part:
        """All rows, or all but those of part i."""
        some = self.everything if i == ALL else self.kept[i]
        more = stricter, self.among, without, self.tables.get(i)
        part = Part(self.columns, self.rows, some, self.p, self.options, *more)
        self.tables[i] = part.tables
        return part

    def best(self, without: Iterable[int] = ()) -> Way:
        """The best way, without some columns."""
        out, options, few = frozenset(without), self.options, self.few

        def way(stricter: float) -> Way:
            each = [*([ALL] if self.beside else []), *range(len(self.kept))]
            with steps("fits", len(each)) as tick:

                def fit(i: int) -> PartFit:
                    return self._part(i, stricter, out).fit()

                fits = in_threads(ticking(fit, tick), each)
            of_all = fits.pop(0) if self.beside else None
            judge = Judge(self.rows, [fit.part.tested for fit in fits], self.p)
            return Way(fits, judge, of_all)

        first, self.stricter = least_loss(way, STRICTER if self.wide else STRICTER[:1])
        if options.polish:
            first.correct(thoroughly=few)
        if few and self.among is None and options.interactions != 0 and first.loss > ALL_PAIRS_GAIN:
            other = with_all_pairs(first)
            if other and options.polish:
                other.correct(thoroughly=few)
            if other and other.loss < first.loss:
                return other
        return first

    def of_all(self, found: Way) -> PartFit:
        """The fit of all rows, learned in that way."""
        if found.whole:
            return found.whole
        if self.whole is None:
            part = self._part(ALL, self.stricter)
            self.whole = part.fit()
            if found.all_that_gain:
                self.whole = part.fit(all_that_gain=True)
        return found.corrected_alike(self.whole)


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
        error = found.judge.error(found.log_proba, other.log_proba)
        gain = found.verdict.loss - other.verdict.loss
        if gain <= max(ALL_PAIRS_GAIN, NOISE_STANDARD_ERRORS * error):
            return found
        found, search.noise = other, frozenset(noise)
    return found


def _mean(
    columns: list[ColumnCells],
    rows: LearningRows,
    found: Way,
    whole: PartFit,
    smooth: Smooth | None,
    spared: Index,
    p: Array,
    trust: float,
    *,
    alone: bool,
) -> Averaged:
    """The mean of the parts and of the fit to all rows, or this fit alone, and of their smooth
    functions, shrunken toward the class shares.

    Rows that no part could leave out are predicted by the fit of all rows without corrections,
    which have seen them; each is taken out of the counts.
    """
    judge, fits = found.judge, [*found.fits, whole]
    n_parts, of_all_rows = len(found.fits), 1.0 if alone else SHARE_OF_ALL_ROWS
    of_parts = 1.0 - of_all_rows
    shares = np.append(np.full(n_parts, of_parts / n_parts), of_all_rows)
    log_proba = judge.tempered(found.log_proba if smooth is None else smooth.log_proba, trust)
    own = log_proba[np.arange(len(log_proba)), judge.y]

    def log_proba_of(m: int) -> Array:
        scores = fits[m].scores_of(judge.tested)
        if smooth is not None:
            scores = smooth.mixed(m, scores, judge.tested)
        return judge.tempered(log_normalised(scores), trust)

    *members, of_all = in_threads(log_proba_of, range(len(fits)))
    mean: Array = reduce(np.add, members) / n_parts
    part = np.repeat(np.arange(n_parts), [len(fit.part.tested) for fit in found.fits])
    log_own = _log_own(judge.y, [*members, of_all], part, of_all_rows)
    gained = _ambiguity(of_parts * mean + of_all_rows * of_all)
    gained += of_all_rows * _ambiguity(mean)
    scores = whole.scores[spared]
    if smooth is not None:  # whose functions were fitted without these rows
        scores = smooth.mixed(len(fits) - 1, scores, spared)
    of_spared = judge.tempered(log_normalised(scores), trust)
    return Averaged(
        columns=columns,
        parts=in_threads(lambda fit: shrunk(fit.result(), p, trust), fits[-1:] if alone else fits),
        shares=(1.0 if smooth is None else 1.0 - smooth.share) * shares[shares > 0.0],
        smooth=None if smooth is None else smooth.tables(shares, trust),
        tested=np.append(judge.tested, spared),
        log_proba=np.concatenate([log_proba, of_spared]),
        gained=np.append(np.minimum(gained, -own), np.zeros(len(spared))),
        log_own=np.append(log_own, of_spared[np.arange(len(spared)), rows.y[spared]]),
    )


def _log_own(y: NDArray[np.int32], fits: Sequence[Array], part: Index, of_all_rows: float) -> Array:
    """The log-probability of each row's own class by the mean of all fits, had none learned the
    row, (n,).

    The score s = −log p of the part that left the row out becomes that of the mean in two steps.
    Parts that are averaged gain their ambiguity a: s·exp(−a / s) is s − a where a is small, and
    never 0, so that rows that are nearly sure keep their order. The fit of all rows is surer than a
    part; by how much in log-odds is seen where both have learned the row.

    Parameters
    ----------
    y : int32 array (n,)
    fits : sequence of float64 arrays (n, n_classes)
        Log-probabilities by the parts, then by the fit of all rows.
    part : index array (n,)
        Which part left the row out.
    of_all_rows : float
        The share of the fit of all rows in the mean.
    """
    n, n_parts = np.arange(len(y)), len(fits) - 1
    odds = np.array([_log_odds_against(fit, y) for fit in fits])
    score = np.maximum(np.logaddexp(0.0, odds[part, n]), MIN_SCORE)
    gained = np.clip(_ambiguity(reduce(np.add, fits[:-1]) / n_parts), 0.0, score)
    score = score * np.exp(-gained / score)
    if n_parts == 1:  # which has learned none of these rows
        return np.asarray(-score)
    others = (odds[:-1].sum(axis=0) - odds[part, n]) / (n_parts - 1)
    mean = score + np.log(-np.expm1(-score)) + of_all_rows * (odds[-1] - others)
    return np.asarray(-np.logaddexp(0.0, mean))


def _log_odds_against(log_proba: Array, y: NDArray[np.int32]) -> Array:
    """log((1 − p) / p) of each row's own class, by the probabilities of the other classes: log p
    itself is rounded to 0 where these are below 1e-16."""
    others, n = log_proba.copy(), np.arange(len(y))
    others[n, y] = -np.inf
    return np.asarray(np.logaddexp.reduce(others, axis=1) - log_proba[n, y])


def _ambiguity(mean: Array) -> Array:
    """How many nats more a mean of log-probabilities gives each row, normalised, than its members
    do on average."""
    ambiguity: Array = -np.log(np.exp(mean).sum(axis=1))
    return ambiguity


# ---- learning a weighted model: column screening, fitting and shrinkage --------------------------
DEFAULTS = FitOptions()
MAX_ONE_THREAD_WORK = 150_000
"""Columns times rows times classes up to which threads wait for the interpreter."""

MAX_VALUES = 40_000_000  # rows times classes that are looked at


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    options: FitOptions = DEFAULTS,
) -> Averaged:
    """Learns weights, pairs and corrections.

    Weights are learned on a sample of the rows, if there are many; pairs are chosen on it, and
    counted on all rows, or on as many as there is room for where classes are many.

    What is learned does not depend on the order of rows and columns, to the last bit: both are read
    in a canonical order (see `canonical`).

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows, in effective rows.
    rows : LearningRows
        All rows, or a fair sample; without keys in any order.
    classes : float64 array (n_classes,)
        Weight of each class, above 0, in any unit.
    options : FitOptions
    """
    p = classes / classes.sum()
    if rows.n_classes == 1 or not columns:
        return Averaged.of_shares(columns, p, np.arange(rows.n))
    if rows.keys is not None:
        return _of_any_columns(columns, rows, p, options)
    rows, was = canonical(rows, columns)
    learned = _of_any_columns(columns, rows, p, options)
    tested = was[learned.tested]
    order = np.argsort(tested)
    return replace(
        learned,
        tested=tested[order],
        log_proba=learned.log_proba[order],
        gained=learned.gained[order],
        log_own=None if learned.log_own is None else learned.log_own[order],
    )


def _of_any_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Averaged:
    """What is learned of canonical rows, of columns some of which may be equal."""
    some = thinned(rows.y, rows.n_classes, MAX_VALUES // rows.n_classes)
    thin = rows if len(some) == rows.n else rows.take(some)
    kept, duplicates = distinct(thin.cells, [column.name for column in columns])
    if kept != list(range(len(columns))):  # the keys are of these already
        thin = replace(thin, cells=np.ascontiguousarray(thin.cells[kept]))
    different = [columns[j] for j in kept]
    with _controller().limit(limits=1, user_api="blas"):  # for small products threads only wait
        small = len(kept) * thin.n * thin.n_classes < MAX_ONE_THREAD_WORK
        with on_one_thread() if small else nullcontext():
            found = averaged(different, thin, p, options, options.parts)
    smooth = found.smooth
    if smooth is not None:
        smooth = smooth.among([column.n_cells for column in columns], kept)
    return replace(
        found,
        columns=columns,
        smooth=smooth,
        parts=[part.among(columns, kept) for part in found.parts],
        tested=some[found.tested],
        duplicates=duplicates,
    )


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are loaded; looking for them takes some milliseconds."""
    return ThreadpoolController()


# ---- the weights of columns of text beside those of other columns --------------------------------
#     S_k = β·S⁰_k + Σ_j v_j T_jk + b_k,    β, v ≥ 0
#
# S⁰ is the score from the columns that are cells, of each row by a fit without it; T_j is what the
# text of column j adds, with the row taken out of its counts. The few weights are those of the
# least penalised log-loss (see `learn_bin_weights`), so that the words of a text, however many,
# have one weight between them. The rows are predicted by weights that were learned without their
# fold.
FOLDS = 5
MIN_LOG_PROBABILITY = -700.0  # of a log-probability


@dataclass(frozen=True, eq=False, kw_only=True)
class TextWeights:
    """Learned weights of columns of text.

    Parameters
    ----------
    names : list of str
    weights : float64 array (n_text_columns,)
        v.
    cells : float
        β, by which the weights of all other terms are multiplied.
    apart : float64 array (n_text_columns,)
        How far apart each text sets the classes, on average over the learning rows, in nats.
    """

    names: Distinct
    weights: Annotated[Array, Shape("n_texts"), Within(0.0, MAX_WEIGHT)]
    cells: Weight
    apart: Annotated[Array, Shape("n_texts"), Within(0.0, MAX_WEIGHT)]


def learn_text_weights(
    names: list[str], contributions: Array, log_proba: Array, y: NDArray[np.int32], weight: Array
) -> tuple[TextWeights, Array, Array]:
    """The weights; b, float64 (n_classes,); and the normalised log-probabilities of the rows, each
    by weights learned without its fold, float64 (n_rows, n_classes).

    Parameters
    ----------
    names : list of str
        Of the columns of text.
    contributions : float64 array (n_rows, n_classes, n_text_columns)
        T, less its mean over the classes.
    log_proba : float64 array (n_rows, n_classes)
        S⁰, normalised.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    """
    cells = np.maximum(log_proba, MIN_LOG_PROBABILITY)
    cells -= cells.mean(axis=1, keepdims=True)
    sums = np.concatenate([contributions, cells[:, :, None]], axis=2)
    start = BinWeights(np.ones(sums.shape[2]), np.zeros(sums.shape[1]))
    found, _ = learn_bin_weights(sums, y, weight, start)
    predicted = np.empty_like(log_proba)
    fold = np.arange(len(y)) % FOLDS
    for f in np.unique(fold).tolist():
        rest, test = fold != f, fold == f
        without = found
        if rest.any():
            without, _ = learn_bin_weights(sums[rest], y[rest], weight[rest], found)
        predicted[test] = log_softmax(without.scores(sums[test]), axis=1)
    *weights, beta = found.weights.tolist()
    spread = np.ptp(contributions, axis=1) * np.array(weights)
    apart: Array = weight @ spread / weight.sum()
    learned = TextWeights(names=names, weights=np.array(weights), cells=beta, apart=apart)
    return learned, found.intercept, predicted
