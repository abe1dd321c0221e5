"""Documents of each class that hold each term: N_tk = Σ_i w_i [t in document i, y_i = k], sparse.

Unlike the other kinds of tally, this one carries its own names: terms and classes are joined by
name when tallies are added, so that vocabularies grow. It holds a count for each pair of a term and
a class that was seen, and nothing for the others; terms, classes and pairs that fall to zero go.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.labels import joined_labels, places_among
from tallybayes.tally.base import is_nothing, is_residue
from tallybayes.tally.term_arrays import places_of_terms, term_array, union_of_terms

__all__ = ["TermCounts"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TermCounts:
    """Document frequencies of terms by class.

    Parameters
    ----------
    terms : array (n_terms,)
        Distinct and sorted: strings, or int64.
    labels : array (n_classes,)
        Distinct and sorted.
    documents : float64 array (n_classes,)
        Documents, or weight, of each class.
    start : int64 array (n_terms + 1,)
        Term t has the pairs ``start[t] … start[t+1] − 1``, by class.
    classes : int32 array (n_pairs,)
        Places in `labels`.
    counts : float64 array (n_pairs,)
        N_tk; not 0.
    """

    terms: NDArray[Any]
    labels: NDArray[Any]
    documents: Array
    start: NDArray[np.int64]
    classes: NDArray[np.int32]
    counts: Array

    additive: ClassVar[tuple[str, ...]] = ("documents", "counts")
    squares: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def counted(
        cls,
        terms: NDArray[Any],
        labels: NDArray[Any],
        indptr: NDArray[np.int64],
        places: NDArray[np.int32],
        codes: NDArray[np.int32],
        weights: Array | None = None,
    ) -> TermCounts:
        """The tally of some documents.

        Parameters
        ----------
        terms : array (n_terms,)
            Distinct and sorted.
        labels : array (n_classes,)
            Distinct and sorted.
        indptr : int64 array (n_documents + 1,)
            Document i holds the terms ``places[indptr[i]:indptr[i+1]]``, each once.
        places : int32 array (n_entries,)
        codes : int32 array (n_documents,)
            The class of each document.
        weights : float64 array (n_documents,), optional
            1 by default.
        """
        start, classes, counts = _kernels.count_terms(
            indptr, places, codes, weights, len(terms), len(labels)
        )
        documents = np.bincount(codes, weights, len(labels)).astype(np.float64)
        return cls(term_array(terms), labels, documents, start, classes, counts)._held()

    @property
    def n_terms(self) -> int:
        return len(self.terms)

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def pair_terms(self) -> Index:
        """The term of each pair."""
        return np.repeat(np.arange(self.n_terms), np.diff(self.start))

    @classmethod
    def _of_pairs(
        cls,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Array,
        cells: NDArray[np.int64],
        counts: Array,
    ) -> Self:
        """Of pairs by ascending cells, term · n_classes + class; zeros are dropped."""
        term, k = np.divmod(cells, max(len(labels), 1))
        start = np.searchsorted(term, np.arange(len(terms) + 1)).astype(np.int64)
        return cls(terms, labels, documents, start, k.astype(np.int32), counts)._held()

    def _cells(self, terms: Index, labels: Index, n_classes: int) -> NDArray[np.int64]:
        """The cells of the pairs, where terms and classes have moved to these places."""
        return terms[self.pair_terms].astype(np.int64) * n_classes + labels[self.classes]

    def _held(self) -> Self:
        """Without what holds nothing."""
        kept = self.counts != 0.0
        of_term = np.add.reduceat(np.append(kept, False), self.start[:-1], dtype=np.int64)
        of_term = np.where(np.diff(self.start) > 0, of_term, 0)
        terms = of_term > 0
        labels = (self.documents != 0.0) | (
            np.bincount(self.classes[kept], minlength=self.n_classes) > 0
        )
        if kept.all() and terms.all() and labels.all():
            return self
        place = (np.cumsum(labels) - 1).astype(np.int32)
        return type(self)(
            self.terms[terms],
            self.labels[labels],
            self.documents[labels],
            np.concatenate([[0], np.cumsum(of_term[terms])]).astype(np.int64),
            place[self.classes[kept]],
            self.counts[kept],
        )

    # ---- the group -------------------------------------------------------------------------------
    def _joined_terms(self, other: Self) -> NDArray[Any]:
        if self.terms.dtype != other.terms.dtype and len(self.terms) and len(other.terms):
            raise IncompatibleTallies(
                "one tally counts terms by name and the other by hash bucket, which do not add: "
                "count both with the same n_features"
            )
        if not len(other.terms) or self.terms is other.terms:
            return self.terms
        return union_of_terms(self.terms, other.terms) if len(self.terms) else other.terms

    def _plus(self, other: Self, factor: float) -> Self:
        """Σ over both, `other` times a factor; what rounding has left of a difference is 0."""
        if type(self) is not type(other):
            raise IncompatibleTallies(
                f"{type(self).__name__} and {type(other).__name__} do not add"
            )
        terms, labels = self._joined_terms(other), joined_labels(self.labels, other.labels)
        both = [
            tally._cells(
                places_of_terms(terms, tally.terms),
                places_among(tally.labels, labels),
                max(len(labels), 1),
            )
            for tally in (self, other)
        ]
        cells = np.union1d(*both)
        before, counts = np.zeros(len(cells)), np.zeros(len(cells))
        before[np.searchsorted(cells, both[0])] = self.counts
        counts[np.searchsorted(cells, both[1])] = factor * other.counts
        counts += before
        documents_before = np.zeros(len(labels))
        documents_before[places_among(self.labels, labels)] = self.documents
        documents = documents_before.copy()
        documents[places_among(other.labels, labels)] += factor * other.documents
        for rest, was in ((counts, before), (documents, documents_before)):
            rest[is_residue(rest, was) | is_nothing(rest, was)] = 0.0
        return self._of_pairs(terms, labels, documents, cells, counts)

    def __add__(self, other: Self) -> Self:
        return self._plus(other, 1.0)

    def __sub__(self, other: Self) -> Self:
        return self._plus(other, -1.0)

    def __mul__(self, weight: float) -> Self:
        return type(self)(
            self.terms,
            self.labels,
            weight * self.documents,
            self.start,
            self.classes,
            weight * self.counts,
        )._held()

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        """The weight of the documents of class k multiplied by ``by_class[k]``."""
        return type(self)(
            self.terms,
            self.labels,
            self.documents * by_class,
            self.start,
            self.classes,
            self.counts * by_class[self.classes],
        )._held()

    def __neg__(self) -> Self:
        return self * -1.0

    def zero(self) -> Self:
        """Nothing counted."""
        return self * 0.0

    def copy(self) -> Self:
        """The same counts in arrays of their own."""
        return type(self)(**{name: array.copy() for name, array in self.arrays().items()})

    def __eq__(self, other: object) -> bool:
        """Equal terms, classes and bit-equal counts."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return all(_same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # it is compared by value

    # ---- reading ---------------------------------------------------------------------------------
    def places(self, terms: NDArray[Any]) -> Index:
        """The place of each of some terms, (n,), −1 for those that hold nothing."""
        return places_of_terms(self.terms, terms)

    def need_non_negative(self, action: str) -> None:
        """Raises NegativeTally where more was taken away than was counted.

        Parameters
        ----------
        action : str
            What was done, for the message.
        """
        below = np.flatnonzero(self.documents < 0.0)
        if below.size:
            label = self.labels.tolist()[below[0]]
            raise NegativeTally(
                f"{action} takes away more documents of class {label!r} than were counted: "
                f"{self.documents[below[0]]:g} are left. Take away only documents that were "
                "learned, with the labels that they had",
                label=str(label),
            )
        pairs = np.flatnonzero(self.counts < 0.0)
        if pairs.size:
            term = self.terms[np.searchsorted(self.start, pairs[0], side="right") - 1]
            label = self.labels.tolist()[self.classes[pairs[0]]]
            raise NegativeTally(
                f"{action} takes away more documents of class {label!r} with the term {term!r} "
                "than were counted. Take away only documents that were learned, with the labels "
                "that they had",
                label=str(label),
            )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return (
            f"TermCounts({self.n_terms} terms, {self.n_classes} classes, {len(self.counts)} pairs)"
        )


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal entries; of nothing, types do not matter."""
    return a.shape == b.shape and (a.size == 0 or bool(np.all(a == b)))
