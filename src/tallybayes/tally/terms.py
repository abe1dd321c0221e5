"""Documents of each class that hold each term: N_tk = Σ_i w_i [t in document i, y_i = k], sparse.

If a model needs them, sums of values are kept beside the counts: V_tk = Σ_i w_i v_it [y_i = k].

Unlike the other kinds of tally, this one carries its own names: terms and classes are joined by
name when tallies are added, and vocabularies grow. It holds a count for each pair of a term and a
class that was seen, and nothing for the others; terms, classes and pairs that fall to zero are
removed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.persistence import Ascending, Shape, Within, digest_of
from tallybayes.schema import joined_labels, places_among
from tallybayes.tally.base import ALL, RESIDUE, Rows, Tally, is_nothing, is_residue

__all__ = [
    "FADED",
    "SLACK",
    "TermCounts",
    "TextCounts",
    "places_of_terms",
    "term_array",
    "terms_ascend",
    "union_of_terms",
]


# ---- arrays of terms -----------------------------------------------------------------------------
# Arrays of terms: strings as NumPy's variable-width strings, or the numbers of hash buckets.
#
# Strings are joined and looked up by the kernels. NumPy's ``searchsorted`` reads beyond the memory
# of variable-width strings of more than 15 bytes (numpy/numpy#31533, mended in 2.5), and its
# comparison of them ends at a NUL (numpy/numpy#31662).
Index = NDArray[np.intp]

MIN_TERM_WEIGHT, MAX_TERM_WEIGHT = 1e-30, 1e30
"""Of counted terms: bins are of the binary logarithm in a byte."""

MIN_RATIO_FOR_SEARCH = 64
"""Terms held for each term that is looked up, from which Python's search of the array beats reading
all of it."""


def term_array(terms: Any) -> NDArray[Any]:
    """Terms as the tally holds them: strings as NumPy's variable-width strings, numbers of hash
    buckets as int64."""
    found = np.asarray(terms)
    if found.dtype.kind in "iu":
        return found.astype(np.int64)
    return np.asarray(terms, dtype=np.dtypes.StringDType())


def union_of_terms(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The terms of both, distinct and sorted, of arrays that are so.

    Parameters
    ----------
    a, b : array
    """
    if a.dtype.kind == "i":
        return np.union1d(a, b)
    place, known = _kernels.term_places(*_kernels.read_terms(a), *_kernels.read_terms(b))
    new = np.flatnonzero(known == 0)
    if not new.size:
        return a
    at = place[new] + np.arange(len(new))
    joined = np.empty(len(a) + len(new), dtype=np.dtypes.StringDType())
    ours = np.ones(len(joined), dtype=bool)
    ours[at] = False
    joined[ours], joined[at] = a, b[new]
    return joined


def places_of_terms(held: NDArray[Any], terms: NDArray[Any]) -> Index:
    """The place of each of some terms among those held, (n_terms,), −1 for one that is not.

    Parameters
    ----------
    held : array
        Distinct and sorted.
    terms : array (n_terms,)
    """
    if not len(held) or not len(terms):
        return np.full(len(terms), -1)
    if held.dtype.kind == "i":
        at = np.minimum(np.searchsorted(held, terms), len(held) - 1)
        return np.where(held[at] == terms, at, -1)
    if len(terms) * MIN_RATIO_FOR_SEARCH < len(held):
        return np.array([_place(held, term) for term in terms.tolist()], dtype=np.intp)
    if not terms_ascend(terms):  # in no order, or some of them twice
        distinct = sorted(set(names := terms.tolist()))
        places = dict(zip(distinct, places_of_terms(held, term_array(distinct)), strict=True))
        return np.array([places[name] for name in names], dtype=np.intp)
    place, known = _kernels.term_places(*_kernels.read_terms(held), *_kernels.read_terms(terms))
    return np.where(known, place, -1)


def terms_ascend(terms: NDArray[Any]) -> bool:
    """Whether terms are distinct and sorted."""
    if terms.dtype.kind == "i":
        return bool((terms[1:] > terms[:-1]).all())
    return _kernels.terms_ascend(*_kernels.read_terms(terms))


def _place(held: NDArray[Any], term: str) -> int:
    at = bisect_left(range(len(held)), term, key=held.__getitem__)
    return at if at < len(held) and held[at] == term else -1


# ---- counts of terms by class --------------------------------------------------------------------
Array = NDArray[np.float64]

SLACK = 2.0**-30
"""The share of a sum of weights that its rounding may be."""
FADED = 2.0**-99
"""What weights of documents fade to at the least: a term stays in the vocabulary, and a file can
hold it."""
FADED_VALUE = 2.0**-10
"""What is left of the values of a term below this is nothing, where documents have faded and its
count is nothing: of documents of less than 2^-30, a million occurrences."""


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
        N_tk; not 0, unless the sum is not.
    sums : float64 array (n_pairs,), optional
        V_tk, of values above 0.
    pruned : float
        The most documents, by weight, that a term can have had beside those that are counted here:
        0 unless terms were pruned. Tallies that are added, or subtracted, add their bounds.
    """

    terms: NDArray[Any]
    labels: NDArray[Any]
    documents: Annotated[Array, Shape("n_classes"), Within(0.0, MAX_TERM_WEIGHT)]
    start: Annotated[NDArray[np.int64], Shape("n_starts"), Within(0), Ascending()]
    classes: Annotated[NDArray[np.int32], Shape("n_pairs")]
    counts: Annotated[Array, Shape("n_pairs"), Within(MIN_TERM_WEIGHT, MAX_TERM_WEIGHT)]
    sums: Annotated[Array, Shape("n_pairs"), Within(0.0, MAX_TERM_WEIGHT)] | None = None
    pruned: Annotated[float, Within(0.0, MAX_TERM_WEIGHT)] = 0.0

    additive: ClassVar[tuple[str, ...]] = ("documents", "counts")
    squares: ClassVar[tuple[str, ...]] = ()

    def digest(self, *learned: NDArray[Any]) -> str:
        """Tells this tally, and what was learned beside it, from others: equal where the terms, the
        labels and, bit for bit, all numbers are."""
        held: list[NDArray[Any]] = [self.documents, self.start, self.classes, self.counts]
        if self.sums is not None:
            held.append(self.sums)
        if self.terms.dtype.kind == "i":
            held.append(self.terms)
        else:
            held += _kernels.read_terms(self.terms)
        return digest_of([*held, *learned], repr((self.labels.tolist(), self.pruned)))

    @classmethod
    def counted(
        cls,
        terms: NDArray[Any],
        labels: NDArray[Any],
        indptr: NDArray[np.int64],
        places: NDArray[np.int32],
        codes: NDArray[np.int32],
        weights: Array | None = None,
        values: Array | NDArray[np.int32] | None = None,
        *,
        threads: int = 1,
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
        values : float64 or int32 array (n_entries,), optional
            What is summed beside the counts.
        threads : int
            How many; the result does not depend on it.
        """
        start, classes, counts, sums = _kernels.count_terms(
            indptr, places, codes, weights, values, len(terms), len(labels), threads
        )
        documents = np.bincount(codes, weights, len(labels)).astype(np.float64)
        return cls(term_array(terms), labels, documents, start, classes, counts, sums)._held()

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
        sums: Array | None,
        pruned: float,
    ) -> Self:
        """Of pairs by ascending cells, term · n_classes + class; zeros are dropped."""
        term, k = np.divmod(cells, max(len(labels), 1))
        start = np.searchsorted(term, np.arange(len(terms) + 1)).astype(np.int64)
        of_pair = k.astype(np.int32)
        return cls(terms, labels, documents, start, of_pair, counts, sums, pruned)._held()

    def _cells(self, terms: Index, labels: Index, n_classes: int) -> NDArray[np.int64]:
        """The cells of the pairs, where terms and classes have moved to these places."""
        return terms[self.pair_terms].astype(np.int64) * n_classes + labels[self.classes]

    def _held(self) -> Self:
        """Without what holds nothing."""
        kept = self.counts != 0.0
        if kept.all() and (self.start[1:] > self.start[:-1]).all() and self.documents.all():
            return self
        if self.sums is not None:
            kept |= self.sums != 0.0
        of_term = np.add.reduceat(np.append(kept, False), self.start[:-1], dtype=np.int64)
        of_term = np.where(np.diff(self.start) > 0, of_term, 0)
        terms = of_term > 0
        labels = (self.documents != 0.0) | (
            np.bincount(self.classes[kept], minlength=self.n_classes) > 0
        )
        if kept.all() and terms.all() and labels.all():
            return self
        return self._some(kept, of_term, labels)

    def _some(self, kept: NDArray[np.bool_], of_term: Index, labels: NDArray[np.bool_]) -> Self:
        """Some pairs, of each term so many, and some classes."""
        terms = of_term > 0
        place = (np.cumsum(labels) - 1).astype(np.int32)
        return type(self)(
            self.terms[terms],
            self.labels[labels],
            self.documents[labels],
            np.concatenate([[0], np.cumsum(of_term[terms])]).astype(np.int64),
            place[self.classes[kept]],
            self.counts[kept],
            None if self.sums is None else self.sums[kept],
            self.pruned,
        )

    # ---- the group -------------------------------------------------------------------------------
    def _joined_terms(self, other: Self) -> NDArray[Any]:
        if self.terms.dtype != other.terms.dtype and len(self.terms) and len(other.terms):
            raise IncompatibleTallies(
                "one tally counts terms by name and the other by hash bucket, which do not add: "
                "count both with the same n_features"
            )
        if (self.sums is None) != (other.sums is None):
            raise IncompatibleTallies(
                "one tally holds sums of values beside its counts and the other does not: count "
                "both for the same kind of model"
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
        cells = np.concatenate(both)
        cells.sort(kind="stable")  # two runs; NumPy's union would hash them
        cells = cells[np.append(True, cells[1:] != cells[:-1])[: len(cells)]]
        at = [np.searchsorted(cells, own) for own in both]
        counts = _total(self.counts, other.counts, factor, at, len(cells))
        sums = None
        if self.sums is not None:
            assert other.sums is not None
            sums = _total(self.sums, other.sums, factor, at, len(cells))
        of_labels = [places_among(tally.labels, labels) for tally in (self, other)]
        documents = _total(self.documents, other.documents, factor, of_labels, len(labels))
        pruned = self.pruned + other.pruned
        return self._of_pairs(terms, labels, documents, cells, counts, sums, pruned)

    def __add__(self, other: Self) -> Self:
        return self._plus(other, 1.0)

    def __sub__(self, other: Self) -> Self:
        return self._plus(other, -1.0)

    def __mul__(self, weight: float) -> Self:
        return replace(
            self,
            documents=weight * self.documents,
            counts=weight * self.counts,
            sums=None if self.sums is None else weight * self.sums,
            pruned=abs(weight) * self.pruned,
        )._held()

    __rmul__ = __mul__

    def followed_by(self, later: Self, factor: float) -> Self:
        """The tally when later documents have come, and those of this one have faded by a factor.

        No weight of a class, or of a term in it, fades to less than :data:`FADED`: terms and
        classes stay until they are pruned or forgotten, and how many there are does not depend on
        the batches in which documents came.

        Parameters
        ----------
        later : TermCounts
        factor : float
            From 0 to 1.
        """
        return (self * max(factor, FADED * FADED) + later).at_least(FADED)

    def at_least(self, weight: float) -> Self:
        """The same with no weight of a class, or of a term in it, below one."""
        documents, counts = np.maximum(self.documents, weight), np.maximum(self.counts, weight)
        return replace(self, documents=documents, counts=counts)

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

    def mixed(self, weights: Any, labels: NDArray[Any]) -> Self:
        """The counts of classes that are sums of these ones, each times its weight.

        Parameters
        ----------
        weights : sparse array (n_labels, n_classes)
            From 0 on, in CSR format.
        labels : array (n_labels,)
            Those of the new classes, distinct and sorted.
        """
        from scipy.sparse import csc_array  # slow to import, for models of many labels

        shape = self.n_classes, self.n_terms
        held = [
            (weights @ csc_array((of_pairs, self.classes, self.start), shape=shape)).tocsc()
            for of_pairs in (self.counts, self.sums)
            if of_pairs is not None
        ]
        for of_pairs in held:
            of_pairs.sort_indices()
        start, classes = held[0].indptr.astype(np.int64), held[0].indices.astype(np.int32)
        documents, pairs = weights @ self.documents, [of_pairs.data for of_pairs in held]
        return type(self)(self.terms, labels, documents, start, classes, *pairs)._held()

    def __neg__(self) -> Self:
        return self * -1.0

    def zero(self) -> Self:
        """Nothing counted."""
        return self * 0.0

    def copy(self) -> Self:
        """The same counts in arrays of their own."""
        arrays: dict[str, Any] = {name: held.copy() for name, held in self.arrays().items()}
        return replace(self, **arrays)

    def __eq__(self, other: object) -> bool:
        """Equal terms, classes and bit-equal counts."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        if self.pruned != other.pruned or mine.keys() != theirs.keys():
            return False
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it is compared by value

    # ---- subtracting -----------------------------------------------------------------------------
    def prune(self, min_df: float) -> Self:
        """Without the terms that fewer than `min_df` documents hold, by weight.

        The bound :attr:`pruned` grows by the largest count that is dropped, so that the true
        document frequency of a term, N_t where it is held and else 0, is at most N_t + pruned: as
        in lossy counting (Manku and Motwani, 2002, section 4.2).

        Parameters
        ----------
        min_df : float
        """
        frequency = self.frequency
        dropped = frequency < min_df
        if not dropped.any():
            return self
        kept = np.repeat(~dropped, np.diff(self.start))
        rest = self._some(kept, np.where(dropped, 0, np.diff(self.start)), self.documents != 0.0)
        return replace(rest, pruned=self.pruned + float(frequency[dropped].max()))

    def less(self, other: Self, action: str, *, faded: bool = False) -> Self:
        """What is left where documents are removed that were counted.

        What may have been pruned before is not asked back: a count that falls below 0, by no more
        than the bound, is 0.

        Parameters
        ----------
        other : TermCounts
            The counts of the documents.
        action : str
            What is done, for messages.
        faded : bool
            Whether older documents may have faded, so that what is left is nothing, or rounded,
            beside what was removed.

        Raises
        ------
        NegativeTally
            If more is removed than was counted.
        """
        rest = self - other
        if rest.pruned > 0.0:
            counts, sums = rest.counts, rest.sums
            missed = (counts <= 0.0) & (counts >= -rest.pruned * (1.0 + SLACK))
            if sums is not None:
                sums = np.where(missed, 0.0, np.maximum(sums, 0.0))
            rest = replace(rest, counts=np.where(missed, 0.0, counts), sums=sums)._held()
        if faded:
            rest = rest._settled(self)
        rest.need_non_negative(action)
        return rest

    def _settled(self, before: Self) -> Self:
        """What is left of a tally `before` in which older documents had faded.

        A class goes with the terms of documents that were nothing beside those it lost, and a term
        with what these had of its values. Where the documents of a class are rounded to fewer than
        hold one of its terms, there are as many as do.
        """
        had = dict(zip(before.labels.tolist(), before.documents.tolist(), strict=True))
        of_class = np.array([had.get(label, 0.0) for label in self.labels.tolist()])
        gone = (self.documents == 0.0)[self.classes] & (self.counts > 0.0)
        gone &= is_nothing(self.counts, of_class[self.classes])
        counts, sums = np.where(gone, 0.0, self.counts), self.sums
        if sums is not None:
            sums = np.where((counts == 0.0) & (np.abs(sums) < FADED_VALUE), 0.0, sums)
        largest = np.zeros(self.n_classes)
        np.maximum.at(largest, self.classes, counts)
        rounded = (largest > self.documents) & (self.documents > 0.0)
        rounded &= largest <= self.documents + RESIDUE * of_class
        documents = np.where(rounded, largest, self.documents)
        return replace(self, documents=documents, counts=counts, sums=sums)._held()

    # ---- reading ---------------------------------------------------------------------------------
    @property
    def frequency(self) -> Array:
        """N_t, the documents that hold each term, float64 (n_terms,)."""
        return self.by_term(self.counts)

    def by_term(self, of_pairs: Array) -> Array:
        """The sum over the classes of each term, float64 (n_terms,), of numbers (n_pairs,)."""
        return np.bincount(self.pair_terms, of_pairs, self.n_terms).astype(np.float64)

    def by_class(self, of_pairs: Array) -> Array:
        """The sum over the terms of each class, float64 (n_classes,), of numbers (n_pairs,)."""
        return np.bincount(self.classes, of_pairs, self.n_classes).astype(np.float64)

    def places(self, terms: NDArray[Any]) -> Index:
        """The place of each of some terms, (n,), −1 for those that hold nothing."""
        return places_of_terms(self.terms, terms)

    def need_non_negative(self, action: str) -> None:
        """Raises NegativeTally where more was removed than was counted.

        Parameters
        ----------
        action : str
            What was done, for the message.
        """
        below = np.flatnonzero(self.documents < 0.0)
        if below.size:
            label = self.labels.tolist()[below[0]]
            raise NegativeTally(
                f"{action} removes more documents of class {label!r} than were counted: "
                f"{self.documents[below[0]]:g} are left. Remove only documents that were "
                "learned, with the labels that they had",
                label=str(label),
            )
        of = f"{action} removes more documents of class {{}}"
        self._need_pairs(self.counts < 0.0, of + " with the term {}")
        if self.sums is not None:
            wrong = (self.sums < 0.0) | (self.counts == 0.0)
            self._need_pairs(
                wrong, f"{action} removes other numbers, in class {{}}, of the term {{}}"
            )
        most = self.documents[self.classes] * (1.0 + SLACK)
        self._need_pairs(self.counts > most, of + " without the term {}")

    def _need_pairs(self, wrong: NDArray[np.bool_], what: str) -> None:
        """Raises NegativeTally for the first wrong pair of a term and a class."""
        if not wrong.any():
            return
        pair = int(np.flatnonzero(wrong)[0])
        (term,) = self.terms[[np.searchsorted(self.start, pair, side="right") - 1]].tolist()
        label = self.labels.tolist()[self.classes[pair]]
        raise NegativeTally(
            f"{what.format(repr(label), repr(term))} than were counted. Remove only documents "
            "that were learned, with the labels that they had",
            label=str(label),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in held.items() if isinstance(value, np.ndarray)}

    def __repr__(self) -> str:
        return (
            f"TermCounts({self.n_terms} terms, {self.n_classes} classes, {len(self.counts)} pairs)"
        )


def _total(a: Array, b: Array, factor: float, at: list[Index], n: int) -> Array:
    """a + factor·b, each at its places of n; what rounding has left of a difference is 0."""
    was = np.zeros(n)
    was[at[0]] = a
    found = was.copy()
    found[at[1]] += factor * b
    found[is_residue(found, was) | is_nothing(found, was)] = 0.0
    return found


# ---- the terms of a column of text ---------------------------------------------------------------
# The documents of a column of text: of each class, how many there are and how many hold each term.
#
# It is a :class:`TermCounts` among the groups of a table. Terms carry their own names and are
# joined when tallies are added; a class is its place among those of the schema.
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
        order, held = np.argsort(labels, kind="stable"), self.held
        if np.array_equal(order, np.arange(len(order))):
            terms, documents = held.terms, held.documents
            return TermCounts(terms, labels, documents, held.start, held.classes, held.counts)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
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

    def mixed(self, weights: Any) -> Self:
        n = int(weights.shape[0])
        return type(self)(n, self.held.mixed(weights[:, self.held.labels], np.arange(n)))

    def put(self, rows: Rows, other: Self) -> None:
        kept = np.ones(self.n_classes)
        kept[rows] = 0.0
        self.held = self.weighted(kept).held
        self.accumulate(other, 1.0, rows)

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """Nothing: the subtraction itself has left no rounding."""

    def deficit(self) -> tuple[int, int, str] | None:
        """The first class that more was taken from than it held, and of which term."""
        held = self.held
        for k in np.flatnonzero(held.documents < 0.0).tolist():
            return int(held.labels[k]), 0, f"{held.documents[k]:.17g} documents"
        for pair in np.flatnonzero(held.counts < 0.0).tolist():
            (term,) = held.terms[[held.pair_terms[pair]]].tolist()
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
