"""The documents of a column of text: of each class, how many there are and how many hold each term.

It is a :class:`TermCounts` among the groups of a table. Terms carry their own names and are joined
when tallies are added; a class is its place among those of the schema.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.base import ALL, Rows, Tally
from tallybayes.tally.term_arrays import term_array
from tallybayes.tally.terms import TermCounts

__all__ = ["TextCounts"]

Array = NDArray[np.float64]


class TextCounts(Tally):
    """Document frequencies of the terms of a column.

    Parameters
    ----------
    n_classes : int
    held : TermCounts
        Its labels are places of classes, those that have documents.
    """

    additive: ClassVar[tuple[str, ...]] = ("documents",)
    fixed_width = False

    def __init__(self, n_classes: int, held: TermCounts) -> None:
        self._n_classes = n_classes
        self.held: TermCounts = held

    @classmethod
    def zeros(cls, n_classes: int) -> TextCounts:
        """Nothing counted."""
        none = np.zeros(0)
        places = np.zeros(0, dtype=np.int64)
        start = np.zeros(1, dtype=np.int64)
        nothing = TermCounts(term_array([]), places, none, start, places.astype(np.int32), none)
        return cls(n_classes, nothing)

    @classmethod
    def counted(
        cls,
        terms: NDArray[Any],
        indptr: NDArray[np.int64],
        places: NDArray[np.int32],
        codes: NDArray[np.int32],
        n_classes: int,
        weights: Array | None = None,
    ) -> TextCounts:
        """The tally of some documents; parameters are those of :meth:`TermCounts.counted`."""
        labels = np.arange(n_classes)
        return cls(n_classes, TermCounts.counted(terms, labels, indptr, places, codes, weights))

    @property
    def n_classes(self) -> int:
        return self._n_classes

    @property
    def documents(self) -> Array:
        """Documents, or weight, of each class, float64 (n_classes,)."""
        found = np.zeros(self.n_classes)
        found[self.held.labels] = self.held.documents
        return found

    def of_all_classes(self) -> TermCounts:
        """The counts by the places of all classes; some may have no documents."""
        held = self.held
        classes = held.labels.astype(np.int32)[held.classes]
        places = np.arange(self.n_classes)
        return TermCounts(held.terms, places, self.documents, held.start, classes, held.counts)

    def _of(self, held: TermCounts) -> Self:
        return type(self)(self.n_classes, held)

    def _moved(self, places: NDArray[np.intp]) -> TermCounts:
        """What is held, with class i at places[i] of others, which may be in any order."""
        labels = places[self.held.labels]
        order = np.argsort(labels, kind="stable")
        if np.array_equal(order, np.arange(len(order))):
            return self._relabelled(labels)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        held = self.held
        classes = rank[held.classes]
        by_term = np.lexsort((classes, held.pair_terms))
        return TermCounts(
            held.terms,
            labels[order],
            held.documents[order],
            held.start,
            classes[by_term],
            held.counts[by_term],
        )

    def _relabelled(self, labels: NDArray[np.intp]) -> TermCounts:
        held = self.held
        return TermCounts(held.terms, labels, held.documents, held.start, held.classes, held.counts)

    # ---- the group -------------------------------------------------------------------------------
    def copy(self) -> Self:
        return self._of(self.held.copy())

    def zero(self) -> Self:
        return self._of(self.held.zero())

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        more = other._moved(np.arange(self.n_classes)[rows])
        self.held = self.held + (more if factor == 1.0 else more * factor)

    def __mul__(self, weight: float) -> Self:
        return self._of(self.held * weight)

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        return self._of(self.held.weighted(by_class[self.held.labels]))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.n_classes == other.n_classes and self.held == other.held

    __hash__: ClassVar[None] = None

    # ---- reading and placing ---------------------------------------------------------------------
    def place(self, rows: NDArray[np.intp], n_classes: int) -> Self:
        return type(self)(n_classes, self._moved(rows))

    def take(self, rows: Rows) -> Self:
        kept = np.arange(self.n_classes)[rows]
        place = np.full(self.n_classes, -1)
        place[kept] = np.arange(len(kept))
        factor = (place >= 0).astype(np.float64)
        some = self.weighted(factor)
        return type(self)(len(kept), some._moved(place))

    def put(self, rows: Rows, other: Self) -> None:
        kept = np.ones(self.n_classes)
        kept[rows] = 0.0
        self.held = self.weighted(kept).held
        self.accumulate(other, 1.0, rows)

    def settle(self, before: Self) -> None:
        """Nothing: the subtraction itself has left no rounding."""

    def deficit(self) -> tuple[int, int, str] | None:
        """The first class that more was taken from than it held, and of which term."""
        held = self.held
        for k in np.flatnonzero(held.documents < 0.0).tolist():
            return int(held.labels[k]), 0, f"{held.documents[k]:.17g} documents"
        for pair in np.flatnonzero(held.counts < 0.0).tolist():
            term = held.terms[held.pair_terms[pair]]
            place = int(held.labels[held.classes[pair]])
            return place, 0, f"{held.counts[pair]:.17g} documents that hold the term {term!r}"
        return None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name, the documents of all classes."""
        held = self.held
        return {
            "terms": held.terms,
            "documents": self.documents,
            "start": held.start,
            "classes": held.labels.astype(np.int32)[held.classes],
            "counts": held.counts,
        }

    def __repr__(self) -> str:
        return f"TextCounts({self.held.n_terms} terms, {self.n_classes} classes)"
