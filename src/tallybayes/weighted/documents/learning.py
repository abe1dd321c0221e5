"""Learning on documents beside counting them: a reading, weights of bins, a ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tallybayes.families.text.ratios import BINS, TermTable
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights
from tallybayes.weighted.documents.choice import Reading, choose_reading
from tallybayes.weighted.documents.held_out import (
    FOLDS,
    DocumentFigures,
    HeldOutPredictions,
    LearningDocuments,
    follow_path,
    weights_only,
)
from tallybayes.weighted.documents.ridge import (
    Features,
    RidgeProblem,
    TfidfColumns,
    solve_together,
)
from tallybayes.weighted.documents.rows import document_keys, documents_without_copies
from tallybayes.weighted.repeated import warn_of_copies
from tallybayes.weighted.rows import sampled

__all__ = ["LearnedDocuments", "Ridge", "finished", "learn_documents", "some_documents"]

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
    *,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """Learns on documents that are counted; and the predictions that its figures are of.

    The result does not depend on their order, to the last bit. Copies of documents are one that
    weighs as much as they do together.

    Parameters
    ----------
    table : TermTable
        Their counts, of classes that all have documents.
    documents : Documents
    y : int32 array (n_documents,)
    weights : float64 array (n_documents,), optional
        What each was counted with, above 0; 1 by default.
    ridge : bool
    """
    copies = documents_without_copies(documents, y, weights)
    if copies is not None:
        warn_of_copies(len(y), len(copies.rows), "documents")
        learned, held_out = _in_order(
            table, documents.take(copies.rows), y[copies.rows], copies.weight, ridge
        )
        return learned, held_out.among(copies.rows)
    return _in_order(table, documents, y, weights, ridge)


def _in_order(
    table: TermTable,
    documents: Documents,
    y: NDArray[np.int32],
    weights: Array | None,
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    """See :func:`learn_documents`; without copies."""
    keys = document_keys(documents, y)
    order = np.argsort(keys, kind="stable") if weights is None else np.lexsort((weights, keys))
    ordered = None if weights is None else weights[order]
    with threadpool_limits(1, user_api="blas"):  # more threads would add in another order
        learned, held_out = _learn(
            table, documents.take(order), y[order], keys[order], ordered, ridge
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
    ridge: bool,
) -> tuple[LearnedDocuments, HeldOutPredictions]:
    n, k = len(y), table.n_classes
    of_one = k * table.n_bins  # numbers in the sums of a document
    most = min(
        MAX_CHOICE_DOCUMENTS,
        MAX_CHOICE_SUMS // of_one,
        n * MAX_CHOICE_ENTRIES // (len(documents.terms) + 1),
    )
    rows, weight = some_documents(documents, y, k, most, counted)
    own = None if counted is None else counted[rows]
    length = documents.length(documents.tf)
    few, reduced = (table, documents) if counted is not None else table.of_several(documents)
    reading, start = choose_reading(few, reduced.take(rows), y[rows], weight, own, length[rows])
    rows, weight = some_documents(documents, y, k, MAX_SUMS // of_one, counted)
    if len(rows) < n:
        documents, reduced = documents.take(rows), reduced.take(rows)
        y, keys, length = y[rows], keys[rows], length[rows]
        counted = None if counted is None else counted[rows]
    learning = LearningDocuments(
        documents,
        reading.left_out(few, reduced, reduced.tf, y, counted, length),
        y,
        weight,
        keys,
        weighted=counted is not None,
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
    problem = RidgeProblem(columns, weights.scores(learning.sums), y, learning.weight)
    begin = np.zeros_like(problem.a)
    begin[rows] = a
    problem.start_at(begin)
    solve_together([problem], penalty)
    by, by_ridge = map(float, scale.weights)
    scaled = BinWeights(by * weights.weights, by * weights.intercept + scale.intercept)
    found = Ridge(penalty, features, np.float32(by_ridge) * problem.coefficients())
    return LearnedDocuments(reading, scaled, found, figures), held_out
