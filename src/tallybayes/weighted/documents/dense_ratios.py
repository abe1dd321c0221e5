"""Ratios of few terms as a dense matrix: soft labels are computed by products of matrices.

    T_tk = log (N_tk + τ) / (N_t s_k + τ)

If soft labels give most terms a count in most classes, a row of T is read faster than pairs of a
class and a count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax

from tallybayes.families.text.ratios import BINS
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.documents.bin_weights import BinWeights
from tallybayes.weighted.documents.choice import Reading
from tallybayes.weighted.documents.part_labelled import PartLabelled, SoftLabels, rounded

__all__ = ["DenseRatios", "Matrices", "matrix_of"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

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
