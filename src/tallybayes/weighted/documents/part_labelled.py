"""Partly labelled documents, and their counts with soft labels for the others.

    N_tk = Σ_{i labelled} [t in i, y_i = k] + λ Σ_{i unlabelled} [t in i] R_ik

R_ik is the posterior of class k to the nearest 32nd; a single 32nd is left out, so a document with
an uncertain label counts little. Sums of 32nds are exact: the counts do not depend on the order of
documents, and add and subtract like whole numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.families.text.ratios import TermTable
from tallybayes.tokens.rows import Documents

__all__ = ["Expanded", "PartLabelled", "SoftLabels", "rounded"]

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
