"""Learning the weights of documents, and the score that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tallybayes import _kernels
from tallybayes.families.text import BINS, GroupCounts, TermTable
from tallybayes.score import TermSums
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.documents import (
    BinWeights,
    Reading,
    choose_reading,
    document_keys,
    documents_without_copies,
    learn_bin_weights,
)
from tallybayes.weighted.ridge import (
    FOLDS,
    DocumentFigures,
    Features,
    HeldOutPredictions,
    LearningDocuments,
    RidgeProblem,
    TfidfColumns,
    follow_path,
    solve_together,
    weights_only,
)
from tallybayes.weighted.rows import group_keys, label_correlation, sampled, warn_of_copies

__all__ = [
    "DocumentScorer",
    "LearnedDocuments",
    "Ridge",
    "finished",
    "learn_documents",
    "some_documents",
]


# ---- learning on documents beside counting them: a reading, weights of bins, a ridge -------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_CHOICE_DOCUMENTS, MAX_CHOICE_ENTRIES = 8_000, 1_600_000
"""Documents that the reading is chosen on, and their entries."""

MAX_CHOICE_SUMS, MAX_SUMS = 1 << 24, 1 << 25  # numbers in their sums, and in those of weights
MAX_MEAN_WEIGHT = 1e3  # mean weight: beyond it penalties are nothing, and Hessians ill-conditioned
MAX_PATH_DOCUMENTS = 24_000  # documents of the path of penalties
MAX_PATH_SCORES = 1 << 21  # and their scores
MAX_COEFFICIENTS = 1 << 26  # of the ridge


@dataclass(frozen=True, eq=False)
class Ridge:
    """Coefficients of length-normalised tf-idf.

    Parameters
    ----------
    penalty : float
    features : Features
    coefficients : float32 array (n_columns, n_classes)
        Of two classes a single one: how much the second is above the first.
    """

    penalty: float
    features: Features
    coefficients: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LearnedDocuments:
    """The result of learning on documents.

    Parameters
    ----------
    reading : Reading
    weights : BinWeights
    ridge : Ridge, optional
        None if none was requested, or none helps.
    figures : DocumentFigures
    """

    reading: Reading
    weights: BinWeights
    ridge: Ridge | None
    figures: DocumentFigures


def learn_documents(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    weights: Array | None = None,
    groups: Index | None = None,
    *,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """Learns on documents that are counted; and the predictions that its figures are of.

    The result does not depend on their order, to the last bit. Copies of documents are one that
    weighs as much as they do together. Documents of a group are left out together; m of them weigh
    m / (1 + ρ (m − 1)) in what is learned, ρ the correlation of labels within groups (see
    :mod:`tallybayes.weighted.rows`).

    Parameters
    ----------
    table : TermTable
        Their counts, of classes that all have documents.
    documents : Documents
    y : int32 array (n_documents,)
    weights : float64 array (n_documents,), optional
        What each was counted with, above 0; 1 by default.
    groups : index array (n_documents,), optional
        The number of each one's group.
    ridge : bool
    """
    copies = None if groups is not None else documents_without_copies(documents, y, weights)
    if copies is not None:
        warn_of_copies(len(y), len(copies.rows), "documents")
        learned, held_out = _in_order(
            table, documents.take(copies.rows), y[copies.rows], copies.weight, None, ridge
        )
        return learned, held_out.among(copies.rows)
    return _in_order(table, documents, y, weights, groups, ridge)


def _in_order(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    weights: Array | None,
    groups: Index | None,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """See :func:`learn_documents`; without copies."""
    keys = document_keys(documents, y)
    together = None
    if groups is not None:
        together = group_keys(keys, groups)
        weights = np.ones(len(y)) if weights is None else weights
        order = np.lexsort((weights, together, keys))
    elif weights is None:
        order = np.argsort(keys, kind="stable")
    else:
        order = np.lexsort((weights, keys))
    ordered = None if weights is None else weights[order]
    if groups is not None and together is not None:
        together = together[order]
        # numbered by their first documents, whatever they are called
        _, first, of = np.unique(groups[order], return_index=True, return_inverse=True)
        groups = np.argsort(np.argsort(first))[of]
    with threadpool_limits(1, user_api="blas"):  # more threads would add in another order
        learned, held_out = _learn(
            table, documents.take(order), y[order], keys[order], ordered, groups, together, ridge
        )
    return learned, held_out.among(order)


def some_documents(
    documents: Documents,
    y: NDArray[np.int32],
    n_classes: int,
    max_documents: int,
    weights: Array | None = None,
) -> tuple[Index, Array]:
    """About so many documents, and what each stands for."""
    held = (
        np.ones(len(y)) if weights is None else weights * min(1.0, MAX_MEAN_WEIGHT / weights.mean())
    )
    return sampled(y, held, n_classes, max(1, max_documents))


def _learn(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    keys: NDArray[np.uint64],
    counted: Array | None,
    groups: Index | None,
    together: NDArray[np.uint64] | None,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """Learns on documents in their order, with the numbers and the keys of their groups."""
    n, k = len(y), table.n_classes
    of_one = k * table.n_bins  # numbers in the sums of a document
    most = min(
        MAX_CHOICE_DOCUMENTS,
        MAX_CHOICE_SUMS // of_one,
        n * MAX_CHOICE_ENTRIES // (len(documents.terms) + 1),
    )
    without, to_learn = None, counted
    share: NDArray[np.floating] = np.ones(n)
    if counted is not None and groups is not None:
        without = GroupCounts.counted(documents, y, counted, groups, k)
        size, correlation = np.bincount(groups)[groups], label_correlation(y, counted, groups)
        share = 1.0 / (1.0 + correlation * (size - 1.0))
        to_learn = counted * share
    rows, weight = some_documents(documents, y, k, most, to_learn)
    own = None if counted is None else counted[rows]
    if without is None:
        length = documents.length(documents.tf)
    else:
        length = table.length_without(documents, documents.tf, without)
    few, reduced = (table, documents) if counted is not None else table.of_several(documents)
    of_groups = None if without is None else without.take(rows)
    reading, start = choose_reading(
        few, reduced.take(rows), y[rows], weight, own, length[rows], of_groups
    )
    rows, weight = some_documents(documents, y, k, MAX_SUMS // of_one, to_learn)
    if len(rows) < n:
        documents, reduced = documents.take(rows), reduced.take(rows)
        y, keys, length, share = y[rows], keys[rows], length[rows], share[rows]
        counted = None if counted is None else counted[rows]
        without = None if without is None else without.take(rows)
        together = None if together is None else together[rows]
    learning = LearningDocuments(
        documents,
        reading.left_out(few, reduced, reduced.tf, y, counted, length, without),
        y,
        weight,
        keys,
        given=None if counted is None else weight / share,
        groups=together,
    )
    weights, _ = learn_bin_weights(learning.sums, y, weight, start, shares=True)
    learned, held_out = finished(table, reading, learning, weights, ridge)
    return learned, held_out if len(rows) == n else held_out.among(rows)


def finished(
    table: TermTable,
    reading: Reading,
    learning: LearningDocuments,
    weights: BinWeights,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """Figures with the predictions that they are of, and a ridge where it predicts held-out
    documents better.

    Parameters
    ----------
    table : TermTable
        The counts of the model.
    reading : Reading
    learning : LearningDocuments
    weights : BinWeights
        Learned on them.
    ridge : bool
    """
    documents, y, k = learning.documents, learning.y, table.n_classes
    weights = weights.filled(learning.sums, BINS)
    if not ridge or len(y) < 2 * FOLDS or k < 2:
        figures, held_out = weights_only(learning, weights)
        return LearnedDocuments(reading, weights, None, figures), held_out
    total = float(table.documents.sum())
    features = Features.of(table.frequency, total, MAX_COEFFICIENTS // k)
    rows, _ = some_documents(documents, y, k, min(MAX_PATH_DOCUMENTS, MAX_PATH_SCORES // k))
    path = follow_path(learning.take(rows), features, weights, sample=len(rows) < len(y))
    penalty, scale, a, figures, held_out = path
    held_out = held_out.among(rows)
    if penalty is None:
        return LearnedDocuments(reading, weights, None, figures), held_out
    columns = TfidfColumns.of(documents, documents.tf, features)
    start = np.zeros((len(y), a.shape[1]), dtype=np.float32)
    start[rows] = a
    problem = RidgeProblem(columns, weights.scores(learning.sums), y, learning.weight, start)
    solve_together([problem], penalty)
    by, by_ridge = map(float, scale.weights)
    scaled = BinWeights(by * weights.weights, by * weights.intercept + scale.intercept)
    found = Ridge(penalty, features, np.float32(by_ridge) * columns.coefficients(problem.a))
    return LearnedDocuments(reading, scaled, found, figures), held_out


# ---- the score of documents that were not counted: weighted ratios and the ridge in one pass -----
class DocumentScorer:
    """The learned weights under the counts of a table.

    Terms beyond those that were there when the ridge was learned have no coefficient.

    Parameters
    ----------
    table : TermTable
    learned : LearnedDocuments
    """

    def __init__(self, table: TermTable, learned: LearnedDocuments) -> None:
        reading, weights, ridge = learned.reading, learned.weights, learned.ridge
        tau, n_classes = reading.tau, table.n_classes
        bins = table.bins()
        of_term = np.where(bins >= 0, weights.weights[bins], 0.0)
        # a row for each frequency and order, times the weight of its bin
        n_orders = int(table.order.max(initial=0)) + 1
        cell = table.row.astype(np.int64) * n_orders + table.order
        cells, first, row = np.unique(cell, return_index=True, return_inverse=True)
        log_expected = table.expected(tau, table.share(reading.share))
        self.expected: Array = -of_term[first][:, None] * log_expected[cells // n_orders]
        self.expected -= self.expected.mean(axis=1, keepdims=True)
        n_pairs = np.diff(table.start)
        self.pair: Array = table.pair_ratios(tau) * np.repeat(of_term, n_pairs)
        self.row: NDArray[np.int32] = row.astype(np.int32)
        self.column: NDArray[np.int32] = np.full(table.n_terms, -1, dtype=np.int32)
        self.idf: Array = np.zeros(table.n_terms)
        self.u: NDArray[np.float32] = np.zeros((0, n_classes), dtype=np.float32)
        if ridge is not None:
            known = len(ridge.features.column)
            self.column[:known], self.idf[:known] = ridge.features.column, ridge.features.idf
            self.u = ridge.coefficients
        self.intercept: Array = weights.intercept
        self.n_classes = n_classes
        self._table, self._reading = table, reading
        self._uniform = np.full(n_classes, -np.log(max(n_classes, 1)))  # where no class is possible
        self.compiled: _kernels.DocumentScorer = _kernels.DocumentScorer(
            table.start,
            table.classes,
            self.pair,
            self.expected,
            self.row,
            self.column,
            self.idf,
            self.u,
            self.intercept,
            reading.mean_length,
            reading.power,
        )

    def joint(self, documents: Documents) -> Array:
        """The score of each class, in nats up to a constant of the document, float64 (n_documents,
        n_classes)."""
        found = np.empty((len(documents), self.n_classes))
        self.compiled.joint(
            documents.indptr, documents.terms, documents.tf, found, get_num_threads()
        )
        return found

    def posterior(self, documents: Documents, *, log: bool = False) -> Array:
        """P(c | document), or its logarithm in nats, float64 (n_documents, n_classes)."""
        scores = self.joint(documents)
        _kernels.normalise(scores, self._uniform, not log, None, get_num_threads())
        return scores

    def sums(self) -> list[TermSums]:
        """The score without the intercept, up to a number of the document, as a formula has it."""
        ratios = TermSums(
            frequency="single",
            length="sum",
            mean_length=self._reading.mean_length,
            power=self._reading.power,
            cell=self.row,
            common=self.expected,
            start=self._table.start,
            classes=self._table.classes,
            pair=self.pair,
        )
        if not len(self.u):
            return [ratios]
        halves = np.array([[-0.5, 0.5]], dtype=np.float32)  # of two classes it has one column
        u = self.u if self.u.shape[1] == self.n_classes else self.u * halves
        ridge = TermSums(
            frequency="single", by=self.idf, length="squares", cell=self.column, common=u
        )
        return [ratios, ridge]

    def contributions(self, documents: Documents) -> Array:
        """What each term adds to the score of each class, float64 (n_entries, n_classes): the sum
        over a document and the intercept are its score."""
        found = np.empty((len(documents.terms), self.n_classes))
        self.compiled.contributions(documents.indptr, documents.terms, documents.tf, found)
        return found
