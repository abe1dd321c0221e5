"""The score of documents that were not counted: weighted ratios and the ridge in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.families.text.ratios import TermTable
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.learning import LearnedDocuments

__all__ = ["DocumentScorer"]

Array = NDArray[np.float64]


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

    def contributions(self, documents: Documents) -> Array:
        """What each term adds to the score of each class, float64 (n_entries, n_classes): the sum
        over a document and the intercept are its score."""
        found = np.empty((len(documents.terms), self.n_classes))
        self.compiled.contributions(documents.indptr, documents.terms, documents.tf, found)
        return found
