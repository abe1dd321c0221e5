"""Learning on partly labelled documents: λ is chosen by held-out labelled documents.

λ = 0, which counts no unlabelled document, stays unless another λ predicts labelled documents
better by more than two standard errors of the difference. The choice for the documents of a fold is
made on the other folds, with soft labels from neither of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

from tallybayes import _kernels
from tallybayes.families.text import BINS, TermTable
from tallybayes.persistence import NonNegative, Shape, Within
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.document_learning import LearnedDocuments, finished, some_documents
from tallybayes.weighted.documents import (
    BinWeights,
    Reading,
    choose_reading,
    document_keys,
    learn_bin_weights,
)
from tallybayes.weighted.ridge import FOLDS, LearningDocuments
from tallybayes.weighted.rows import twin_folds

__all__ = [
    "PENALTY",
    "WEIGHTS",
    "DenseRatios",
    "Matrices",
    "PartLabelled",
    "Step",
    "Unlabelled",
    "choose_weight",
    "expectation_maximisation",
    "rounded",
]


# ---- partly labelled documents, and their counts with soft labels for the others -----------------
#     N_tk = Σ_{i labelled} [t in i, y_i = k] + λ Σ_{i unlabelled} [t in i] R_ik
#
# R_ik is the posterior of class k to the nearest 32nd; a single 32nd is left out, so a document
# with an uncertain label counts little. Sums of 32nds are exact: the counts do not depend on the
# order of documents, and add and subtract like whole numbers.
Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
SoftLabels = Any  # csr_array (n_documents, n_classes)

POSTERIOR_STEPS, MIN_POSTERIOR_STEPS = 32.0, 2.0  # of posteriors: 21 classes of a document at most


class Expanded(NamedTuple):
    """Documents as they are counted: an unlabelled one occurs once for each class that it may have.

    Parameters
    ----------
    indptr : int64 array (n + 1,)
    terms : int32 array (n_entries,)
    classes : int32 array (n,)
    weights : float64 array (n,)
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    classes: NDArray[np.int32]
    weights: Array


class PartLabelled(NamedTuple):
    """Documents with labels, and documents without, as rows of the same terms.

    Parameters
    ----------
    labelled : Documents
    y : int32 array (n_labelled,)
    unlabelled : Documents
    order : int8 array (n_terms,)
        Of the n-grams: 0 for the shortest.
    n_classes : int
    """

    labelled: Documents
    y: NDArray[np.int32]
    unlabelled: Documents
    order: NDArray[np.int8]
    n_classes: int

    def with_terms(self, kept: Mask) -> PartLabelled:
        """The same documents with some of the terms, (n_terms,), which move up."""
        if kept.all():
            return self
        place = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        parts = [_with_places(part, place, kept.sum()) for part in (self.labelled, self.unlabelled)]
        return PartLabelled(parts[0], self.y, parts[1], self.order[kept], self.n_classes)

    def expanded(self, counted: Mask, soft: SoftLabels | None, weight: float) -> Expanded:
        """What is counted, of the labelled documents those in a mask.

        Parameters
        ----------
        counted : bool array (n_labelled,)
        soft : csr_array (n_unlabelled, n_classes) or None
            R; None for none.
        weight : float
            λ.
        """
        rows = np.flatnonzero(counted)
        hard = self.labelled.take(rows)
        if soft is None or not weight:
            return Expanded(hard.indptr, hard.terms, self.y[rows], np.ones(len(rows)))
        more = self.unlabelled.take(np.repeat(np.arange(soft.shape[0]), np.diff(soft.indptr)))
        return Expanded(
            np.concatenate([hard.indptr, hard.indptr[-1] + more.indptr[1:]]),
            np.concatenate([hard.terms, more.terms]),
            np.concatenate([self.y[rows], soft.indices.astype(np.int32)]),
            np.concatenate([np.ones(len(rows)), weight * soft.data]),
        )

    def table(self, counted: Mask, soft: SoftLabels | None, weight: float) -> TermTable:
        """The counts of what :meth:`expanded` gives."""
        rows = self.expanded(counted, soft, weight)
        sizes = len(self.order), self.n_classes
        start, classes, counts, _ = _kernels.count_terms(
            rows.indptr, rows.terms, rows.classes, rows.weights, None, *sizes, get_num_threads()
        )
        documents = np.bincount(rows.classes, rows.weights, self.n_classes).astype(np.float64)
        return TermTable(start, classes, counts, documents, self.order)

    def share(self, kind: str, counted: Mask, soft: SoftLabels | None, weight: float) -> Array:
        """The shares of the classes, as those of the table, without counting terms."""
        of_documents = kind == "docs"
        size = np.ones(len(self.labelled)) if of_documents else np.diff(self.labelled.indptr)
        sums = np.bincount(self.y, size * counted, self.n_classes).astype(np.float64)
        if soft is not None and weight:
            n = soft.shape[0]
            size = np.ones(n) if of_documents else np.diff(self.unlabelled.indptr)
            sums += weight * (soft.T @ size.astype(np.float64))
        if not sums.sum():  # of documents without terms
            return self.share("docs", counted, soft, weight)
        found: Array = sums / sums.sum()
        return found


def _with_places(documents: Documents, place: NDArray[np.int32], n_terms: int) -> Documents:
    places = place[documents.terms]
    held = places >= 0
    ends = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum(held, out=ends[1:])
    return replace(
        documents,
        indptr=ends[documents.indptr],
        terms=places[held],
        counts=documents.counts[held],
        n_terms=int(n_terms),
    )


def rounded(proba: NDArray[np.floating]) -> SoftLabels:
    """R: posteriors (n_documents, n_classes) in 32nds, csr_array, without single ones."""
    steps = np.round(POSTERIOR_STEPS * proba)
    return csr_array(
        np.where(steps >= MIN_POSTERIOR_STEPS, steps / POSTERIOR_STEPS, 0.0).astype(np.float64)
    )


# ---- ratios of few terms as a dense matrix: soft labels are computed by products of matrices -----
#     T_tk = log (N_tk + τ) / (N_t s_k + τ)
#
# If soft labels give most terms a count in most classes, a row of T is read faster than pairs of a
# class and a count.
MAX_POSTERIORS = 1 << 22  # posteriors that are dense


def matrix_of(documents: Documents, values: NDArray[np.floating]) -> csr_array:
    """A value for each entry of some documents, csr_array (n_documents, n_terms)."""
    shape = len(documents), documents.n_terms
    return csr_array((values, documents.terms, documents.indptr), shape=shape)


class Matrices(NamedTuple):
    """Documents of which some have labels, as matrices (n_documents, n_terms).

    Parameters
    ----------
    part : PartLabelled
    held, held_unlabelled : csr_array
        Whether the document has the term.
    tf : csr_array
        tf of the unlabelled ones, times the factor for their length.
    """

    part: PartLabelled
    held: csr_array
    held_unlabelled: csr_array
    tf: csr_array

    @classmethod
    def of(cls, part: PartLabelled, reading: Reading) -> Matrices:
        ones = [np.ones(len(rows.terms)) for rows in (part.labelled, part.unlabelled)]
        tf = part.unlabelled.tf
        factor = reading.factor(part.unlabelled, tf).astype(np.float32)
        scaled = tf * np.repeat(factor, np.diff(part.unlabelled.indptr))
        return cls(
            part,
            matrix_of(part.labelled, ones[0]),
            matrix_of(part.unlabelled, ones[1]),
            matrix_of(part.unlabelled, scaled),
        )

    def counts(self, counted: Mask, soft: SoftLabels | None, weight: float) -> tuple[Array, Array]:
        """N, float64 (n_terms, n_classes), and the documents of each class, (n_classes,)."""
        part = self.part
        hard = np.zeros((len(part.y), part.n_classes))
        hard[np.flatnonzero(counted), part.y[counted]] = 1.0
        counts, documents = self.held.T @ hard, hard.sum(axis=0)
        if soft is not None:
            dense = soft.toarray()
            counts += weight * (self.held_unlabelled.T @ dense)
            documents += weight * dense.sum(axis=0)
        return counts, documents


class DenseRatios:
    """T of all terms.

    Parameters
    ----------
    counts : float64 array (n_terms, n_classes)
    documents : float64 array (n_classes,)
    reading : Reading
    """

    def __init__(self, counts: Array, documents: Array, reading: Reading) -> None:
        frequency = counts.sum(axis=1)
        sums = counts.sum(axis=0) if reading.share == "mass" and counts.any() else documents
        share = (sums / sums.sum()).astype(np.float32)
        tau = np.float32(reading.tau)
        self.ratios: NDArray[np.float32] = np.log(counts.astype(np.float32) + tau)
        self.ratios -= np.log(frequency.astype(np.float32)[:, None] * share + tau)
        self.ratios -= self.ratios.mean(axis=1, keepdims=True)
        size = np.log2(np.maximum(frequency, 1.0)).astype(np.int8)
        self.bins: NDArray[np.int8] = np.minimum(size, BINS - 1)
        self.ratios[frequency == 0.0] = 0.0

    def sums(self, documents: Documents) -> Array:
        """Σ tf·T in each bin, float64 (n_documents, n_classes, n_bins)."""
        n = len(documents)
        row = np.repeat(np.arange(n) * BINS, np.diff(documents.indptr))
        cell = row + self.bins[documents.terms]
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(n * BINS + 1))
        by_bin = csr_array(
            (documents.tf[order], documents.terms[order], ends),
            shape=(n * BINS, documents.n_terms),
        )
        found = (by_bin @ self.ratios).reshape(n, BINS, -1)
        return np.ascontiguousarray(found.transpose(0, 2, 1), dtype=np.float64)

    def soft_labels(self, tf: csr_array, weights: BinWeights) -> SoftLabels:
        """R of documents, csr_array (n_documents, n_classes)."""
        values = self.ratios * weights.weights[self.bins].astype(np.float32)[:, None]
        n, k = tf.shape[0], values.shape[1]
        step = max(1, MAX_POSTERIORS // k)
        parts = [
            rounded(softmax(tf[begin : begin + step] @ values + weights.intercept, axis=1))
            for begin in range(0, n, step)
        ]
        return parts[0] if len(parts) == 1 else _stacked(parts, k)


def _stacked(parts: list[SoftLabels], n_classes: int) -> SoftLabels:
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    return csr_array((data, indices, indptr), shape=(len(counts), n_classes))


# ---- soft labels by expectation maximisation, cross-fitted ---------------------------------------
# The labelled documents are divided into folds. A separate run for each fold, and one for all,
# starts from the counts of the labelled documents without the fold, labels the unlabelled
# documents softly, adds them with the weight λ, and repeats. In every iteration the weights of the
# bins are learned on the documents of each fold, scored by the run without them. This calibrates
# the posteriors of the runs, which plain naive Bayes would make overconfident. The label of a
# document influences the soft labels that judge it only through these ten weights.
PENALTY = 5.0  # of the weights of bins, which few labelled documents have to carry
MAX_ITERATIONS = 5
TOLERANCE = 0.05  # of the posteriors of a document, summed over the classes: below it, it stops
STOP_RATIO = 1.1  # times the least log-loss so far: it stops above


class Step(NamedTuple):
    """One iteration.

    Parameters
    ----------
    weight : float
        λ.
    iterations : int
    soft : list of csr_array, optional
        R that is counted: of the run without each fold, and of the run with all. None where
        nothing is.
    loss : float64 array (n_rows,)
        −log P of each held-out document, by weights that were learned on the other folds.
    """

    weight: float
    iterations: int
    soft: list[SoftLabels] | None
    loss: Array


class CrossFit(NamedTuple):
    """Labelled documents in folds.

    Parameters
    ----------
    part : PartLabelled
    fold : index array (n_labelled,)
        −1 for documents that are in all runs.
    reading : Reading
    rows : index array (n_rows,)
        The documents that are judged: each is in a fold.
    weight : float64 array (n_rows,)
        What each stands for.
    """

    part: PartLabelled
    fold: Index
    reading: Reading
    rows: Index
    weight: Array

    @property
    def y(self) -> NDArray[np.int32]:
        """The classes of the documents that are judged."""
        return self.part.y[self.rows]

    def held_out(self, run: int) -> Index:
        """The places among `rows` of the documents of a fold."""
        return np.flatnonzero(self.fold[self.rows] == run)

    def of_fold(self, run: int) -> Documents:
        """The documents that are judged of a fold."""
        return self.part.labelled.take(self.rows[self.held_out(run)])

    def factor(self) -> Array:
        """What the sums of the judged documents are multiplied by for their length, (n_rows, 1,
        1)."""
        documents = self.part.labelled.take(self.rows)
        return self.reading.factor(documents, documents.tf)[:, None, None]

    def log_proba(self, sums: Array, start: BinWeights) -> Array:
        """log P of each judged document, by weights of the other folds, float64 (n_rows,
        n_classes)."""
        found, y = np.empty(sums.shape[:2]), self.y
        for run in range(FOLDS):
            out = self.fold[self.rows] == run
            if out.any():
                weights = start
                if not out.all():
                    rest = ~out
                    weights, _ = learn_bin_weights(
                        sums[rest], y[rest], self.weight[rest], start, penalty=PENALTY, shares=True
                    )
                found[out] = log_softmax(weights.scores(sums[out]), axis=1)
        return found


class _Runs(NamedTuple):
    """The runs after a count: the ratios of each, and how well documents are scored by them."""

    step: Step
    ratios: list[DenseRatios]
    weights: BinWeights
    full: BinWeights  # for bins that no judged document has as well

    def soft_labels(self, matrices: Matrices) -> list[SoftLabels]:
        return [ratios.soft_labels(matrices.tf, self.full) for ratios in self.ratios]


def _counted(fit: CrossFit, matrices: Matrices, step: Step, start: BinWeights) -> _Runs:
    sums = np.zeros((len(fit.rows), fit.part.n_classes, BINS))
    ratios = []
    for run in range(FOLDS + 1):
        soft = None if step.soft is None else step.soft[run]
        counts = matrices.counts(fit.fold != run, soft, step.weight)
        ratios.append(DenseRatios(*counts, fit.reading))
        at = fit.held_out(run)
        if len(at):
            sums[at] = ratios[-1].sums(fit.of_fold(run))
    sums *= fit.factor()
    weights, _ = learn_bin_weights(sums, fit.y, fit.weight, start, penalty=PENALTY, shares=True)
    log_proba = fit.log_proba(sums, weights)
    loss = -log_proba[np.arange(len(fit.y)), fit.y]
    return _Runs(step._replace(loss=loss), ratios, weights, weights.filled(sums, BINS))


def expectation_maximisation(fit: CrossFit, weights: tuple[float, ...]) -> list[Step]:
    """The iterations for each λ; the first step counts no unlabelled document.

    Parameters
    ----------
    fit : CrossFit
        With few terms, all of one order: soft labels need no others.
    weights : tuple of float
        λ, each above 0.
    """
    matrices = Matrices.of(fit.part, fit.reading)
    start = BinWeights.start(BINS, fit.part.n_classes)
    zero = _counted(fit, matrices, Step(0.0, 0, None, np.zeros(0)), start)
    steps, first = [zero.step], zero.soft_labels(matrices)
    for weight in weights:
        at, soft = zero, first
        losses = [float(fit.weight @ zero.step.loss)]
        for iteration in range(1, MAX_ITERATIONS + 1):
            at = _counted(fit, matrices, Step(weight, iteration, soft, np.zeros(0)), at.weights)
            steps.append(at.step)
            losses.append(float(fit.weight @ at.step.loss))
            if iteration == MAX_ITERATIONS or losses[-1] > STOP_RATIO * min(losses):
                break
            before, soft = soft, at.soft_labels(matrices)
            if abs(soft[-1] - before[-1]).sum() < TOLERANCE * len(fit.part.unlabelled):
                break
    return steps


# ---- unlabelled documents: the weight at which they serve ----------------------------------------
WEIGHTS = (1.0, 0.125)  # λ that are tried
SALT = 11  # of the folds: those that weights are learned in
MAX_TEST_DOCUMENTS, MAX_TEST_ENTRIES = 12_000, 2_500_000  # labelled documents, and their entries
MIN_STANDARD_ERRORS = 2.0  # standard errors by which a gain exceeds chance, of the best of some ten
MIN_DOCUMENTS = 2  # documents that have a term by which soft labels are found
MAX_RATIOS = 1 << 24


class Unlabelled(NamedTuple):
    """How unlabelled documents were used.

    Parameters
    ----------
    weight : float
        λ; 0 where they are not counted.
    iterations : int
    path : float64 array (n_steps, 3)
        λ, iteration and held-out log-loss of all that was tried.
    """

    weight: NonNegative
    iterations: Annotated[int, Within(1, 2**31)]
    path: Annotated[Array, Shape(None, 3)]


class SoftlyCounted(NamedTuple):
    """A λ, and the soft labels for it.

    Parameters
    ----------
    part : PartLabelled
        With all terms, in canonical order.
    fit : CrossFit
        Without those that soft labels do not need.
    step : Step
        The chosen one.
    of_fold : list of Step
        The one that the other folds choose for each.
    unlabelled : Unlabelled
    """

    part: PartLabelled
    fit: CrossFit
    step: Step
    of_fold: list[Step]
    unlabelled: Unlabelled

    @property
    def counted(self) -> Expanded:
        """What the tally counts."""
        soft = None if self.step.soft is None else self.step.soft[-1]
        return self.part.expanded(np.ones(len(self.part.y), bool), soft, self.step.weight)

    def learned(
        self, table: TermTable, kept: NDArray[np.bool_], *, ridge: bool
    ) -> LearnedDocuments:
        """Weights, and a ridge, of the counts with soft labels, learned on held-out documents.

        Parameters
        ----------
        table : TermTable
            The counts of `counted`.
        kept : bool array (n_terms,)
            The terms of the part that the table has.
        ridge : bool
        """
        with threadpool_limits(1, user_api="blas"):
            part = self.part.with_terms(kept)
            fit = self.fit._replace(part=part)
            sums = self._sums(fit, table.n_bins)
            start = BinWeights.start(table.n_bins, part.n_classes)
            weights, _ = learn_bin_weights(
                sums, fit.y, fit.weight, start, penalty=PENALTY, shares=True
            )
            documents = part.labelled.take(fit.rows)
            keys = document_keys(documents, fit.y)
            learning = LearningDocuments(documents, sums, fit.y, fit.weight, keys, PENALTY)
            return finished(table, fit.reading, learning, weights, ridge)[0]

    def _sums(self, fit: CrossFit, n_bins: int) -> Array:
        """The sums of held-out documents, by the counts without their fold; those of terms that no
        document of the fold has are not made."""
        part = fit.part
        sums = np.zeros((len(fit.rows), part.n_classes, n_bins))
        for run, step in enumerate(self.of_fold):
            at = fit.held_out(run)
            if not len(at):
                continue
            soft = None if step.soft is None else step.soft[run]
            counted = fit.fold != run
            here = np.zeros(len(part.order), dtype=bool)
            here[part.labelled.take(fit.rows[at]).terms] = True
            few = part.with_terms(here)
            table = few.table(counted, soft, step.weight)
            share = part.share(fit.reading.share, counted, soft, step.weight)
            documents = few.labelled.take(fit.rows[at])
            threads = get_num_threads()
            sums[at, :, : table.n_bins] = table.sums(
                documents, documents.tf, fit.reading.tau, share, threads=threads
            )
        sums *= fit.factor()
        return sums


def _in_canonical_order(part: PartLabelled) -> PartLabelled:
    order = np.argsort(document_keys(part.labelled, part.y), kind="stable")
    none = np.zeros(len(part.unlabelled), dtype=np.int32)
    others = np.argsort(document_keys(part.unlabelled, none), kind="stable")
    return part._replace(
        labelled=part.labelled.take(order),
        y=part.y[order],
        unlabelled=part.unlabelled.take(others),
    )


def _for_soft_labels(part: PartLabelled, orders: int) -> PartLabelled:
    """With the shortest n-grams, of so many orders, that more than one document has; the rarest of
    them not, where there are too many."""
    found = np.zeros(len(part.order), dtype=np.int64)
    for documents in (part.labelled, part.unlabelled):
        found += np.bincount(documents.terms, minlength=len(part.order))
    found[part.order >= part.order.min(initial=11) + orders] = 0
    least = MIN_DOCUMENTS
    while (found >= least).sum() * part.n_classes > MAX_RATIOS:
        least += 1
    return part.with_terms(found >= least)


def choose_weight(
    part: PartLabelled,
    weights: tuple[float, ...] = WEIGHTS,
    *,
    orders: int = 1,
    forced: bool = False,
) -> SoftlyCounted | None:
    """The λ that predicts held-out labelled documents best; None for λ = 0.

    Parameters
    ----------
    part : PartLabelled
    weights : tuple of float
        λ that are tried.
    orders : int
        Of the n-grams by which soft labels are found: the shortest.
    forced : bool
        Whether λ = 0 is none of them.
    """
    y, n_classes = part.y, part.n_classes
    several = np.bincount(y, minlength=n_classes)[y] > 1
    if n_classes < 2 or not several.any() or not len(part.unlabelled):
        return None
    with threadpool_limits(1, user_api="blas"):
        part = _in_canonical_order(part)
        fit = _cross_fit(part, orders)
        steps = expectation_maximisation(fit, weights)
        every = np.ones(len(fit.rows), dtype=bool)
        chosen = _chosen(steps, fit.weight, every, forced)
        if not chosen.iterations:
            return None
        fold = fit.fold[fit.rows]
        of_fold = [_chosen(steps, fit.weight, fold != run, forced) for run in range(FOLDS)]
        path = [(s.weight, s.iterations, fit.weight @ s.loss / fit.weight.sum()) for s in steps]
        documents = part.labelled
        mean_length = float(documents.length(documents.tf).mean())
        whole = fit._replace(reading=fit.reading._replace(mean_length=mean_length))
        done = Unlabelled(chosen.weight, chosen.iterations, np.array(path))
        return SoftlyCounted(part, whole, chosen, of_fold, done)


def _cross_fit(part: PartLabelled, orders: int) -> CrossFit:
    few = _for_soft_labels(part, orders)
    y, k, n = part.y, part.n_classes, len(part.y)
    every = np.ones(n, dtype=bool)
    most = min(MAX_TEST_DOCUMENTS, n * MAX_TEST_ENTRIES // (len(few.labelled.terms) + 1))
    rows, weight = some_documents(few.labelled, y, k, most)
    table = few.table(every, None, 0.0)
    reading, _ = choose_reading(table, few.labelled.take(rows), y[rows], weight)
    fold = twin_folds(document_keys(part.labelled, y), y, k, FOLDS, SALT)
    fold[np.bincount(y, minlength=k)[y] < 2] = -1
    judged = fold[rows] >= 0
    return CrossFit(few, fold, reading, rows[judged], weight[judged])


def _chosen(steps: list[Step], weight: Array, of: NDArray[np.bool_], forced: bool) -> Step:
    """The step of the least log-loss on some documents; the first where it does not gain more than
    two standard errors."""
    if not of.any():
        of = np.ones_like(of)
    w = weight[of] / weight[of].sum()
    if forced:
        return min(steps[1:], key=lambda step: float(w @ step.loss[of]))
    best = min(steps, key=lambda step: float(w @ step.loss[of]))
    gain = steps[0].loss[of] - best.loss[of]
    mean = float(w @ gain)
    error = float((w**2 @ (gain - mean) ** 2) ** 0.5)
    return best if mean > MIN_STANDARD_ERRORS * error else steps[0]
