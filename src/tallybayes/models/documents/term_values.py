"""Transforms of counts of terms before they are summed, from Rennie et al. (2003).

They are steps 1 to 3 of table 4, of sections 4.1 to 4.3. d_ij is the count of term i in document j,
and δ_ij whether it is above 0:

    d_ij ← log(d_ij + 1)                    (step 1, term frequency)
    d_ij ← d_ij · log(Σ_k 1 / Σ_k δ_ik)     (step 2, inverse document frequency)
    d_ij ← d_ij / √(Σ_k d_kj²)              (step 3, length)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import TermCounts
from tallybayes.tally.terms import places_of_terms
from tallybayes.tokens.counting import Documents

__all__ = [
    "FixedIdf",
    "Transforms",
    "inverse_document_frequency",
    "length_normalized",
    "log_frequency",
]

Array = NDArray[np.float64]


def log_frequency(counts: NDArray[Any]) -> Array:
    """Step 1, log(d + 1), float64."""
    found: Array = np.log1p(counts, dtype=np.float64)
    return found


def inverse_document_frequency(frequency: Array, documents: float | Array) -> Array:
    """The factor of step 2, log(n / N), float64; 0 for a term that no document holds.

    Parameters
    ----------
    frequency : float64 array (n_terms,)
        N, the documents that hold each term.
    documents : float or float64 array (n_terms,)
        n, all documents.
    """
    held = frequency > 0.0
    ratio = np.where(held, documents, 1.0) / np.where(held, frequency, 1.0)
    return np.log(np.maximum(ratio, 1.0))


def length_normalized(indptr: NDArray[np.integer], values: Array) -> Array:
    """Step 3: values of documents with the sum of squares 1, float64; nothing stays nothing.

    Parameters
    ----------
    indptr : int array (n_documents + 1,)
        Document i has the values ``indptr[i] … indptr[i+1] − 1``.
    values : float64 array (n_entries,)
    """
    size = np.diff(indptr)
    row = np.repeat(np.arange(len(size)), size)
    length = np.sqrt(np.bincount(row, values * values, len(size)))
    found: Array = values / np.where(length > 0.0, length, 1.0)[row]
    return found


class Transforms(NamedTuple):
    """Which steps are taken.

    Parameters
    ----------
    tf : {"log"} or None
        Step 1.
    idf : bool
        Step 2. Without step 3 it multiplies the sums of a tally as it multiplies the values of
        documents, and is taken when the tally is read. With step 3 it is fixed before documents
        are counted.
    length_normalize : bool
        Step 3.
    """

    tf: Literal["log"] | None = None
    idf: bool = False
    length_normalize: bool = False

    @property
    def fixes_idf(self) -> bool:
        """Whether values are normalised after idf, so that it cannot change later."""
        return self.idf and self.length_normalize

    def values(self, documents: Documents, fixed: Array | None) -> Array:
        """What documents are counted with, float64 (n_entries,); an idf that is not fixed is not
        among it.

        Parameters
        ----------
        documents : Documents
        fixed : float64 array (n_terms,), optional
            The idf of each term, where it is fixed.
        """
        counts = documents.counts
        found = log_frequency(counts) if self.tf == "log" else counts.astype(np.float64)
        if fixed is not None:
            found *= fixed[documents.terms]
        return length_normalized(documents.indptr, found) if self.length_normalize else found

    def summands(self, documents: Documents, fixed: Array | None) -> Array | NDArray[np.int32]:
        """:meth:`values` to be summed: without a copy if they are the counts themselves."""
        counts = documents.counts
        as_counted = self.tf is None and not self.length_normalize and fixed is None
        if as_counted and counts.dtype == np.int32:
            return counts.astype(np.int32, copy=False)
        return self.values(documents, fixed)


@dataclass(frozen=True, eq=False)
class FixedIdf:
    """Inverse document frequencies of the documents that were counted first.

    Parameters
    ----------
    terms : array (n_terms,)
        Distinct and sorted.
    idf : float64 array (n_terms,)
    other : float
        Of terms that come later: as if one of the first documents held them.
    """

    terms: NDArray[Any]
    idf: Array
    other: float

    @classmethod
    def of_tally(cls, tally: TermCounts) -> FixedIdf:
        """Those of the documents of a tally."""
        n = float(tally.documents.sum())
        idf = inverse_document_frequency(tally.frequency, n)
        return cls(tally.terms, idf, float(np.log(max(n, 1.0))))

    def of(self, terms: NDArray[Any]) -> Array:
        """The idf of some terms, float64 (n,)."""
        places = places_of_terms(self.terms, terms)
        if not len(self.terms):
            return np.full(len(terms), self.other)
        return np.where(places >= 0, self.idf[places], self.other)

    def equals(self, other: FixedIdf | None) -> bool:
        """Whether another gives the same to every term."""
        return (
            other is not None
            and self.other == other.other
            and np.array_equal(self.idf, other.idf)
            and self.terms.tolist() == other.terms.tolist()
        )
