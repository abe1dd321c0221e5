"""Leave-one-out counts, for each of some documents that were counted.

Everything that a model fitted on the other documents would count differently is changed: the sums
of the document's own class, terms that no other document holds, and with them the number of terms,
and the inverse document frequencies, unless these are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.documents.term_values import (
    Transforms,
    inverse_document_frequency,
    length_normalized,
)
from tallybayes.tally import TermCounts
from tallybayes.tally.terms import SLACK
from tallybayes.tokens.counting import Documents

__all__ = ["LeftOut", "left_out_blocks", "prior_without"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RESIDUE = 1e-11
MAX_INTERMEDIATE = 1 << 21  # pairs of an entry and a class


def prior_without(documents: Array, own: NDArray[np.int32], weight: Array) -> Array:
    """log P(c) of each document without itself, float64 (n_documents, n_classes), in nats; of a
    document that is the only one every class alike.

    Parameters
    ----------
    documents : float64 array (n_classes,)
        N_k.
    own : int32 array (n_documents,)
    weight : float64 array (n_documents,)
    """
    rest = _without(documents, own, weight)
    total = rest.sum(axis=1, keepdims=True)
    rest = np.where(total > 0.0, rest, 1.0)
    with np.errstate(divide="ignore"):  # the only document of a class
        found: Array = np.log(rest) - np.log(rest.sum(axis=1, keepdims=True))
    return found


def left_out_blocks(
    tally: TermCounts,
    documents: Documents,
    own: NDArray[np.int32],
    weight: Array,
    transforms: Transforms | None,
    fixed: Array | None,
) -> Iterator[tuple[slice, LeftOut]]:
    """Counted documents some at a time, with the counts without each.

    Parameters
    ----------
    tally : TermCounts
    documents : Documents
        With its terms.
    own : int32 array (n_documents,)
        The class of each.
    weight : float64 array (n_documents,)
        What each was counted with.
    transforms : Transforms, optional
        None where documents are counted, and not values.
    fixed : float64 array (n_terms,), optional
        The idf, where it is fixed.
    """
    common = _Common.of(tally, transforms, fixed)
    width = np.append(0, np.cumsum(np.diff(tally.start)[documents.terms]))[documents.indptr]
    begin, n = 0, len(documents)
    while begin < n:
        end = max(
            begin + 1,
            int(np.searchsorted(width, width[begin] + MAX_INTERMEDIATE, side="right")) - 1,
        )
        rows = slice(begin, min(end, n))
        some = documents.take(np.arange(rows.start, rows.stop))
        yield rows, LeftOut(common, some, own[rows], weight[rows])
        begin = rows.stop


@dataclass(frozen=True, eq=False)
class _Common:
    """Quantities that all documents share.

    Parameters
    ----------
    tally : TermCounts
    transforms : Transforms, optional
    fixed : float64 array (n_terms,), optional
    frequency : float64 array (n_terms,)
    total : float
        The weight of all documents.
    of_classes : float64 array (n_classes,)
        The sums of the classes.
    of_logs : float64 array (n_classes,)
        Σ_t V_tk log N_t, where idf is read from the counts.
    """

    tally: TermCounts
    transforms: Transforms | None
    fixed: Array | None
    frequency: Array
    total: float
    of_classes: Array
    of_logs: Array

    @classmethod
    def of(cls, tally: TermCounts, transforms: Transforms | None, fixed: Array | None) -> _Common:
        frequency = tally.frequency
        pair = tally.counts if transforms is None else tally.sums
        assert pair is not None
        held = np.log(np.where(frequency > 0.0, frequency, 1.0))
        of_logs = tally.by_class(pair * held[tally.pair_terms])
        total = float(tally.documents.sum())
        sums = tally.by_class(pair)
        return cls(tally, transforms, fixed, frequency, total, sums, of_logs)

    @property
    def reads_idf(self) -> bool:
        """Whether idf is read from the counts."""
        return self.transforms is not None and self.transforms.idf and self.fixed is None


class LeftOut:
    """Some documents, and the counts without each of them.

    Parameters
    ----------
    common : _Common
    documents : Documents
    own : int32 array (n_documents,)
    weight : float64 array (n_documents,)

    Attributes
    ----------
    document : int array (n_entries,)
        The document of each entry.
    x : float64 array (n_entries,)
        The value of a term in the document; 0 where no other document holds it.
    entry, classes : int arrays (n_pairs,)
        The pairs of an entry and a class that holds its term.
    pair : float64 array (n_pairs,)
        What is left of S_tk.
    documents : float64 array (n_documents, n_classes)
        N_k without the document.
    n_terms : float64 array (n_documents,)
        The terms that other documents hold.
    """

    common: _Common
    own: NDArray[np.int32]
    weight: Array
    n: int
    n_classes: int
    x: Array

    def __init__(
        self, common: _Common, documents: Documents, own: NDArray[np.int32], weight: Array
    ) -> None:
        tally, terms = common.tally, documents.terms
        self.common, self.own, self.weight = common, own, weight
        self.n, self.n_classes = len(documents), tally.n_classes
        self.document: NDArray[np.intp] = np.repeat(np.arange(self.n), np.diff(documents.indptr))
        self.documents: Array = _without(tally.documents, own, weight)
        before = common.frequency[terms]
        rest = before - weight[self.document]
        self.gone: NDArray[np.bool_] = rest <= SLACK * before
        self._held = np.where(self.gone, 1.0, rest)  # N_t without the document
        self.n_terms: Array = tally.n_terms - self.of_documents(self.gone.astype(np.float64))
        counted, self.x = self._values(documents)
        self._expand(terms, counted)

    def _values(self, documents: Documents) -> tuple[Array, Array]:
        """What the document was counted with, and what is read of it now, by entry."""
        common = self.common
        if common.transforms is None:
            return np.ones(len(self.gone)), np.where(self.gone, 0.0, 1.0)
        counted = common.transforms.values(documents, common.fixed)
        x = np.where(self.gone, 0.0, counted)
        if common.transforms.length_normalize:
            x = length_normalized(documents.indptr, x)
        if common.reads_idf:
            x *= self._idf
        return counted, x

    @cached_property
    def _idf(self) -> Array:
        """log((n − w) / (N_t − w)) of each entry."""
        left = (self.common.total - self.weight)[self.document]
        return np.where(self.gone, 0.0, inverse_document_frequency(self._held, left))

    def _expand(self, terms: NDArray[np.int32], counted: Array) -> None:
        tally, common = self.common.tally, self.common
        size = np.diff(tally.start)[terms]
        self.entry: NDArray[np.intp] = np.repeat(np.arange(len(terms)), size)
        first = np.cumsum(size) - size
        self._pair = np.arange(len(self.entry)) - first[self.entry] + tally.start[terms][self.entry]
        self.classes: NDArray[np.int32] = tally.classes[self._pair]
        held = tally.counts if common.transforms is None else tally.sums
        assert held is not None
        was = held[self._pair]
        row = self.document[self.entry]
        self.is_own: NDArray[np.bool_] = self.classes == self.own[row]
        taken = np.where(self.is_own, (self.weight[self.document] * counted)[self.entry], 0.0)
        self._was = was
        left = was - taken
        self.pair: Array = np.where((left <= SLACK * was) | self.gone[self.entry], 0.0, left)
        self._plain = self.pair
        if common.reads_idf:
            self.pair = self.pair * self._idf[self.entry]

    # ---- sums ------------------------------------------------------------------------------------
    def of_documents(self, of_entries: Array) -> Array:
        """The sum of each document, float64 (n_documents,)."""
        return np.bincount(self.document, of_entries, self.n).astype(np.float64)

    def of_entries(self, of_pairs: Array) -> Array:
        """The sum of each entry, float64 (n_entries,)."""
        return np.bincount(self.entry, of_pairs, len(self.document)).astype(np.float64)

    def by_class(self, of_pairs: Array) -> Array:
        """The sum of each document in each class, float64 (n_documents, n_classes)."""
        cell = self.document[self.entry] * self.n_classes + self.classes
        found = np.bincount(cell, of_pairs, self.n * self.n_classes)
        return found.reshape(self.n, self.n_classes).astype(np.float64)

    @property
    def length(self) -> Array:
        """Σ_t x, float64 (n_documents,)."""
        return self.of_documents(self.x)

    @property
    def of_classes(self) -> Array:
        """What is left of Σ_t S_tk, float64 (n_documents, n_classes)."""
        common = self.common
        rest = common.of_classes - self.by_class(self._was - self._plain)
        if common.reads_idf:
            logs = np.log(common.frequency)[self._terms_of_pairs]
            change = self._plain * np.log(self._held)[self.entry] - self._was * logs
            left = np.maximum(common.total - self.weight, 0.0)
            factor = np.log(np.where(left > 0.0, left, 1.0))
            rest = factor[:, None] * rest - (common.of_logs + self.by_class(change))
        found: Array = np.maximum(rest, 0.0)
        return found

    @property
    def nothing(self) -> Array:
        """What rounding may leave of the sums of a class that holds nothing, float64
        (n_classes,)."""
        return RESIDUE * self.common.of_classes

    @property
    def _terms_of_pairs(self) -> Index:
        found: Index = self.common.tally.pair_terms[self._pair]
        return found

    # ---- for events that are there or not --------------------------------------------------------
    @cached_property
    def pairs_held(self) -> Array:
        """The pairs of each class, float64 (n_classes,)."""
        tally = self.common.tally
        return np.bincount(tally.classes, minlength=tally.n_classes).astype(np.float64)

    def of_all_pairs(self, alpha: float) -> Array:
        """Σ_t log(N_k − N_tk + α) over the pairs of each class, without the document, float64
        (n_documents, n_classes)."""
        tally = self.common.tally
        of_class = tally.documents[tally.classes]
        whole = tally.by_class(np.log(np.maximum(of_class - tally.counts, 0.0) + alpha))
        found = np.tile(whole, (self.n, 1))
        kinds, which = np.unique(np.stack([self.own, self.weight]), axis=1, return_inverse=True)
        which = which.ravel()
        sums = np.empty(kinds.shape[1])
        for k in np.unique(kinds[0]).astype(int):
            mine = kinds[0] == k
            left = tally.documents[k] - kinds[1, mine]
            sums[mine] = _log_rests(tally.counts[tally.classes == k], left, alpha)
        found[np.arange(self.n), self.own] = sums[which]
        # the document's own terms, of which it took one document away as well
        mine = self.is_own
        row = self.document[self.entry[mine]]
        of_own = tally.documents[self.own[row]] - self._was[mine]
        change = np.log(np.maximum(of_own, 0.0) + alpha)
        change -= np.log(np.maximum(of_own - self.weight[row], 0.0) + alpha)
        found[np.arange(self.n), self.own] += np.bincount(row, change, self.n)
        return found


def _log_rests(counts: Array, documents: Array, alpha: float) -> Array:
    """Σ_t log(n − N_t + α) for each number n of documents, float64 (n_documents,).

    Where weights differ, so do the N_t of all terms. If there are many, those that are small beside
    n are summed by the series log(1 − x) = −Σ_m x^m / m, x = N_t / (n + α): ten powers leave less
    than 1e-15 x.
    """
    held, times = np.unique(counts, return_counts=True)
    of_all = np.zeros(len(documents))
    if len(held) * len(documents) > MAX_INTERMEDIATE:
        least = max(float(documents.min()), 0.0)
        unit = least + alpha
        rare = held <= min(unit / 32.0, least)
        x, n, a = held[rare] / unit, times[rare], np.maximum(documents, 0.0) + alpha
        of_all += n.sum() * np.log(a)
        for m in range(1, 11):
            of_all -= (n @ x**m) / m * (unit / a) ** m
        held, times = held[~rare], times[~rare]
    for i, left in enumerate(documents):
        of_all[i] += times @ np.log(np.maximum(left - held, 0.0) + alpha)
    return of_all


def _without(documents: Array, own: NDArray[np.int32], weight: Array) -> Array:
    """N_k of each document without itself, float64 (n_documents, n_classes)."""
    rest = np.tile(documents, (len(own), 1))
    before = documents[own]
    left = before - weight
    rest[np.arange(len(own)), own] = np.where(left <= SLACK * before, 0.0, left)
    return rest
