"""Documents as rows of terms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Documents"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Documents:
    """The terms of documents, with tf = log(1 + count).

    Parameters
    ----------
    indptr : int64 array (n_documents + 1,)
    terms : int32 array (n_entries,)
        Ascending within a document. Equal numbers mean equal terms, however documents are ordered.
    counts : int32 or float32 array (n_entries,)
        How often the document has the term.
    n_terms : int
    """

    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    counts: NDArray[np.generic]
    n_terms: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def tf(self) -> NDArray[np.float32]:
        """log(1 + count) of each entry, float32 (n_entries,)."""
        found: NDArray[np.float32] = np.log1p(self.counts, dtype=np.float32)
        return found

    def length(self, tf: NDArray[np.float32]) -> Array:
        """The sum of tf of each document, float64 (n_documents,); 1 for an empty one."""
        found = np.add.reduceat(np.append(tf, np.float32(0.0)), self.indptr[:-1], dtype=np.float64)
        return np.where(np.diff(self.indptr) > 0, found, 1.0)

    def take(self, rows: Index) -> Documents:
        """Some documents, in this order."""
        size = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        entries = np.repeat(self.indptr[rows] - indptr[:-1], size) + np.arange(indptr[-1])
        return replace(self, indptr=indptr, terms=self.terms[entries], counts=self.counts[entries])

    def among(self, place: NDArray[np.integer], n_terms: int) -> Documents:
        """The same documents as rows of other terms: `place` of each term, −1 for one that is not
        among them. Those of a document keep their order."""
        terms = place[self.terms].astype(np.int32)
        kept = terms >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr].astype(np.int64)
        return Documents(indptr, terms[kept], self.counts[kept], n_terms)
