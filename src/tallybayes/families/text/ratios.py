"""The log-ratio of a term for each class: the logarithm of seen over expected documents.

    T_tk = log (N_tk + τ) / (N_t s_k + τ)

N_tk is the number of training documents of class k that hold term t, N_t their sum over the
classes, s the shares of the classes. A term that was never seen adds 0. Without one document of
class y that holds t, N_t and N_ty are lower by one, and the shares stay:

    T'_tk = log (N_tk − [k = y] + τ) / ((N_t − 1) s_k + τ)

Few classes hold a term, so the table is sparse: log(1 + N_tk/τ) for the pairs that were seen, and a
row of −log(N_t s_k + τ) that all terms of one frequency share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tally.terms import SLACK
from tallybayes.tokens.counting import Documents

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["BINS", "GroupCounts", "TermTable", "length_factor"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BINS = 10  # of the frequencies of terms of one n-gram order
MAX_INTERMEDIATE = 1 << 21  # numbers of terms and classes that are held at a time


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """What groups of documents were counted with, to be left out together.

    Parameters
    ----------
    keys : int64 array (n_held,)
        Ascending: the number of a group times the number of terms, plus a term that it holds.
    counts : sparse array (n_held, n_classes)
        The weight of the documents of the group that hold the term.
    of : index array (n_documents,)
        The group of each document whose sums are asked for.
    """

    keys: NDArray[np.int64]
    counts: sp.csr_array
    of: Index

    @classmethod
    def counted(
        cls,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array,
        groups: Index,
        n_classes: int,
    ) -> GroupCounts:
        """Of whole groups of documents.

        Parameters
        ----------
        documents : Documents
        y : int32 array (n_documents,)
        weights : float64 array (n_documents,)
            What each was counted with.
        groups : index array (n_documents,)
            The number of each one's group.
        n_classes : int
        """
        import scipy.sparse as sp  # slow to import, and few models have groups

        size = np.diff(documents.indptr)
        each = np.repeat(groups, size) * documents.n_terms + documents.terms
        keys, place = np.unique(each, return_inverse=True)
        entries = np.repeat(weights, size), (place, np.repeat(y, size))
        counts = sp.coo_array(entries, shape=(len(keys), n_classes)).tocsr()
        return cls(keys, counts, groups)

    def take(self, rows: Index) -> GroupCounts:
        """The same counts, for some of the documents."""
        return replace(self, of=self.of[rows])

    def places(self, row: Index, terms: NDArray[np.int32], n_terms: int) -> Index:
        """The place of entries among `keys`; `row` is the document of each entry."""
        return np.searchsorted(self.keys, self.of[row] * n_terms + terms)


@dataclass(frozen=True, eq=False)
class TermTable:
    """The counts of terms in the classes that have documents.

    Parameters
    ----------
    start : int64 array (n_terms + 1,)
        Term t has the pairs ``start[t] … start[t+1] − 1``, by class.
    classes : int32 array (n_pairs,)
    counts : float64 array (n_pairs,)
        N_tk, above 0.
    documents : float64 array (n_classes,)
        Weight of the documents of each class.
    order : int8 array (n_terms,)
        Of the n-gram: 0 for the shortest.
    whole : TermTable, optional
        The table of all terms, where this one has some of them: bins and shares are of that.
    """

    start: NDArray[np.int64]
    classes: NDArray[np.int32]
    counts: Array
    documents: Array
    order: NDArray[np.int8]
    whole: TermTable | None = None

    @property
    def n_terms(self) -> int:
        return len(self.start) - 1

    @property
    def n_classes(self) -> int:
        return len(self.documents)

    @property
    def n_bins(self) -> int:
        """Bins of terms, by order and frequency."""
        if self.whole is not None:
            return self.whole.n_bins
        return BINS * (int(self.order.max(initial=0)) + 1)

    @cached_property
    def frequency(self) -> Array:
        """N_t, float64 (n_terms,)."""
        held = np.append(self.counts, 0.0)
        found = np.add.reduceat(held, self.start[:-1]) if self.n_terms else np.zeros(0)
        return np.where(np.diff(self.start) > 0, found, 0.0)

    @cached_property
    def _frequencies(self) -> tuple[Array, NDArray[np.int32]]:
        """The distinct frequencies, and that of each term among them."""
        distinct, row = np.unique(self.frequency, return_inverse=True)
        return distinct, row.astype(np.int32)

    @property
    def row(self) -> NDArray[np.int32]:
        """The place of each term's frequency among the distinct ones, int32 (n_terms,)."""
        return self._frequencies[1]

    def share(self, kind: str) -> Array:
        """s, float64 (n_classes,): of the documents ("docs") or of all counts ("mass")."""
        if self.whole is not None:
            return self.whole.share(kind)
        sums: Array = self.documents
        if kind == "mass" and len(self.counts):
            sums = np.bincount(self.classes, self.counts, self.n_classes).astype(np.float64)
        found: Array = sums / sums.sum()
        return found

    def of_several(self, documents: Documents) -> tuple[TermTable, Documents]:
        """The table and documents, which it counts, without the terms of a single document.

        Where documents are left out of the counts, those terms add nothing. The other terms come by
        falling frequency, so that those which most documents hold lie side by side; those of a
        document keep their order.
        """
        ids = np.flatnonzero(self.frequency - 1.0 > 0.0)
        ids = ids[np.argsort(-self.frequency[ids], kind="stable")]
        size = np.diff(self.start)[ids]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        pairs = np.repeat(self.start[ids] - start[:-1], size) + np.arange(start[-1])
        few = TermTable(
            start,
            self.classes[pairs],
            self.counts[pairs],
            self.documents,
            self.order[ids],
            self,
        )
        place = np.full(self.n_terms, -1, dtype=np.int32)
        place[ids] = np.arange(len(ids), dtype=np.int32)
        return few, documents.among(place, len(ids))

    def expected(self, tau: float, share: Array, less: float = 0.0) -> Array:
        """log((N − less) s_k + τ) for each distinct frequency N, (n_frequencies, n_classes)."""
        n = np.maximum(self._frequencies[0] - less, 0.0)
        return np.log(n[:, None] * share + tau)

    def pair_ratios(self, tau: float, less: float = 0.0) -> Array:
        """log(1 + (N_tk − less)/τ) of each pair, float64 (n_pairs,)."""
        if self._whole is None:
            return np.log1p(np.maximum(self.counts - less, 0.0) / tau)
        most = int(self._whole.max(initial=0))
        found: Array = np.log1p(np.maximum(np.arange(most + 1.0) - less, 0.0) / tau)[self._whole]
        return found

    @cached_property
    def _whole(self) -> NDArray[np.int32] | None:
        """The counts as whole numbers, of which few are different; None where they are not."""
        if len(self.counts) and not self.counts.max() < len(self.counts):
            return None
        whole = self.counts.astype(np.int32)
        return whole if np.array_equal(whole, self.counts) else None

    def bins(self, less: float = 0.0) -> NDArray[np.int8]:
        """The bin of each term at frequency N_t − less, int8 (n_terms,); −1 where that is 0."""
        n = self.frequency - less
        size = np.minimum(np.log2(np.maximum(n, 1.0)), BINS - 1).astype(np.int8)
        return np.where(n > 0.0, size + BINS * self.order, -1).astype(np.int8)

    def sums(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        y: NDArray[np.int32] | None = None,
        counted: Array | None = None,
        *,
        groups: GroupCounts | None = None,
        binned: bool = True,
        threads: int = 1,
    ) -> Array:
        """Σ tf·T over the terms of each document in each bin, less its mean over the classes,
        float64 (n_documents, n_classes, n_bins).

        Parameters
        ----------
        documents : Documents
        tf : float32 array (n_entries,)
        tau : float
        share : float64 array (n_classes,)
        y : int32 array (n_documents,), optional
            The classes of documents that are counted: each is left out of its own sum.
        counted : float64 array (n_documents,), optional
            What each was counted with; 1 by default.
        groups : GroupCounts, optional
            Of the documents' groups: each is left out with its whole group.
        binned : bool
            Whether terms have bins; else all are in one.
        threads : int
            How many; the result does not depend on it.
        """
        if groups is not None:
            return self._sums_without_groups(documents, tf, tau, share, groups)
        if y is not None and counted is not None:
            return self._sums_without(documents, tf, tau, share, y, counted, threads)
        less = 0.0 if y is None else 1.0
        bins = self.bins(less) if binned else np.zeros(self.n_terms, dtype=np.int8)
        n_bins = self.n_bins if binned else 1
        found = np.empty((len(documents), self.n_classes, n_bins))
        _kernels.document_sums(
            documents.indptr,
            documents.terms,
            tf,
            y,
            self.start,
            self.classes,
            self.pair_ratios(tau),
            None if y is None else self.pair_ratios(tau, 1.0),
            self.expected(tau, share, less),
            self.row,
            bins,
            found,
            threads,
        )
        return found

    def _sums_without(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        y: NDArray[np.int32],
        counted: Array,
        threads: int,
    ) -> Array:
        """As :meth:`sums`, of documents that were counted with any weights."""
        found = np.empty((len(documents), self.n_classes, self.n_bins))
        _kernels.document_sums_without(
            documents.indptr,
            documents.terms,
            tf,
            y,
            counted,
            self.start,
            self.classes,
            self.counts,
            self.frequency,
            (BINS * self.order).astype(np.int8),
            share,
            tau,
            BINS,
            found,
            threads,
        )
        return found

    def length_without(
        self, documents: Documents, tf: NDArray[np.float32], groups: GroupCounts
    ) -> Array:
        """The length of each document in the terms that others than its group hold, which are those
        that a model without the group knows, float64 (n_documents,); 1 without any."""
        row = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        before = self.frequency[documents.terms]
        of_group = groups.counts.sum(axis=1)[groups.places(row, documents.terms, self.n_terms)]
        known = np.where(before - of_group > SLACK * before, tf, 0.0)
        found = np.bincount(row, known, len(documents))
        return np.where(found > 0.0, found, 1.0)

    def _sums_without_groups(
        self,
        documents: Documents,
        tf: NDArray[np.float32],
        tau: float,
        share: Array,
        groups: GroupCounts,
    ) -> Array:
        """As :meth:`sums`, each document without its whole group."""
        import scipy.sparse as sp

        n_bins, shape = self.n_bins, (self.n_terms, self.n_classes)
        table = sp.csr_array((self.counts, self.classes, self.start), shape=shape)
        found = np.zeros((len(documents), self.n_classes, n_bins))
        for rows, entries in _blocks(documents.indptr, MAX_INTERMEDIATE // self.n_classes):
            size = np.diff(documents.indptr[rows.start : rows.stop + 1])
            row = np.repeat(np.arange(len(size)), size)
            each = groups.places(row + rows.start, documents.terms[entries], self.n_terms)
            places, entry = np.unique(each, return_inverse=True)
            terms = groups.keys[places] % self.n_terms
            before = table[terms].toarray()
            left = before - groups.counts[places].toarray()
            left[left <= SLACK * before] = 0.0
            frequency = left.sum(axis=1)
            ratio = np.log(left + tau) - np.log(frequency[:, None] * share + tau)
            ratio -= ratio.mean(axis=1, keepdims=True)
            ratio[frequency == 0.0] = 0.0
            octave = np.minimum(np.log2(np.maximum(frequency, 1.0)), BINS - 1).astype(np.intp)
            cell = row * n_bins + (octave + BINS * self.order[terms].astype(np.intp))[entry]
            for k in range(self.n_classes):
                sums = np.bincount(cell, tf[entries] * ratio[entry, k], len(size) * n_bins)
                found[rows, k] = sums.reshape(-1, n_bins)
        return found


def _blocks(indptr: NDArray[np.int64], most: int) -> Iterator[tuple[slice, slice]]:
    """Rows of about so many entries at a time, and their entries."""
    begin, n = 0, len(indptr) - 1
    while begin < n:
        end = int(np.searchsorted(indptr, indptr[begin] + most, side="right")) - 1
        end = min(max(end, begin + 1), n)
        yield slice(begin, end), slice(int(indptr[begin]), int(indptr[end]))
        begin = end


def length_factor(length: Array, mean_length: float, power: float) -> Array:
    """What the sums of a document are multiplied by: (length / mean)^−power."""
    factor: Array = (length / mean_length) ** -power
    return factor
