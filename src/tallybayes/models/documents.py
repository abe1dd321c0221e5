"""Plain models of documents: events, transforms of counts, and documents left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import places_among
from tallybayes.score import TermSums
from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.tally.terms import SLACK, places_of_terms
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.documents import document_keys
from tallybayes.weighted.ridge import DocumentFigures
from tallybayes.weighted.rows import group_folds, group_keys, sampled

__all__ = [
    "EVENTS",
    "Bernoulli",
    "Coefficients",
    "Complement",
    "FixedIdf",
    "LeftOut",
    "Multinomial",
    "PlainDocuments",
    "PlainLearner",
    "Sums",
    "Transforms",
    "inverse_document_frequency",
    "length_normalized",
    "log_frequency",
]


Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- transforms of counts of terms before they are summed, from Rennie et al. (2003) -------------
# They are steps 1 to 3 of table 4, of sections 4.1 to 4.3. d_ij is the count of term i in document
# j, and δ_ij whether it is above 0:
#
#     d_ij ← log(d_ij + 1)                    (step 1, term frequency)
#     d_ij ← d_ij · log(Σ_k 1 / Σ_k δ_ik)     (step 2, inverse document frequency)
#     d_ij ← d_ij / √(Σ_k d_kj²)              (step 3, length)
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
    return values / np.where(length > 0.0, length, 1.0)[row]


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


# ---- event models of documents: the log-probabilities of a tally of terms in each class ----------
# All are linear in the values x of the terms of a document, with a number for each class, each
# term, and each pair of a term and a class that was seen:
#
#     score_ik = base_k + Σ_{t in i} x_it (each_k + read_k row_t + pair_tk)
#
# S_tk are the sums of a tally, N_tk its documents, and V the number of its terms:
#
#     multinomial  log (S_tk + α) / (S_k + αV)
#     complement  −log (Σ_{j≠k} S_tj + α) / (Σ_{j≠k} S_j + αV)
#     Bernoulli    log p_tk of a term that is there, log(1 − p_tk) of one that is not,
#                  p_tk = (N_tk + α) / (N_k + 2α)
#
# For the multinomial, a class without any term uses the counts of all classes together.
class Sums(NamedTuple):
    """The sums of a tally that an event model reads.

    Parameters
    ----------
    pair : float64 array (n_pairs,)
        S_tk, or N_tk, of the pairs of a term and a class.
    term : int array (n_pairs,)
        The term of each pair.
    classes : int32 array (n_pairs,)
        The class of each pair.
    documents : float64 array (n_classes,)
        N_k.
    n_terms : int
    """

    pair: Array
    term: NDArray[np.intp]
    classes: NDArray[np.int32]
    documents: Array
    n_terms: int

    @property
    def of_classes(self) -> Array:
        """Σ_t, float64 (n_classes,)."""
        return np.bincount(self.classes, self.pair, len(self.documents)).astype(np.float64)

    @property
    def of_terms(self) -> Array:
        """Σ_k, float64 (n_terms,)."""
        return np.bincount(self.term, self.pair, self.n_terms).astype(np.float64)


class Coefficients(NamedTuple):
    """The numbers of a score that is linear in the values of terms, in nats.

    Parameters
    ----------
    base, each : float64 arrays (n_classes,)
        Without the class prior.
    row : float64 array (n_terms,)
    read : float64 array (n_classes,)
        1 for the classes that `row` concerns, else 0.
    pair : float64 array (n_pairs,)
    """

    base: Array
    each: Array
    row: Array
    read: Array
    pair: Array


@dataclass(frozen=True)
class Multinomial:
    """Each occurrence of a term is drawn from the terms of the class.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = True
    """Whether values are summed; otherwise a term is there or not."""
    has_prior = True
    """Whether the class prior is part of the score."""

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, of_classes = self.alpha, sums.of_classes
        blank = of_classes == 0.0
        total = np.where(blank, of_classes.sum(), of_classes)
        each = np.log(alpha) - _log_total(total + alpha * sums.n_terms)
        row = np.log1p(sums.of_terms / alpha)
        pair = np.log1p(sums.pair / alpha)
        return Coefficients(np.zeros(len(each)), each, row, blank.astype(np.float64), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, of_classes = self.alpha, rest.of_classes
        blank = of_classes <= rest.nothing
        total = np.where(blank, of_classes.sum(axis=1, keepdims=True), of_classes)
        each = np.log(alpha) - _log_total(total + alpha * rest.n_terms[:, None])
        of_pairs = rest.by_class(rest.x[rest.entry] * np.log1p(rest.pair / alpha))
        row = rest.of_documents(rest.x * np.log1p(rest.of_entries(rest.pair) / alpha))
        found: Array = rest.length[:, None] * each + np.where(blank, row[:, None], of_pairs)
        return found


@dataclass(frozen=True)
class Complement:
    """As multinomial, but by the counts of the other classes: their terms count against the class.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = True
    has_prior = False

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, of_classes, of_terms = self.alpha, sums.of_classes, sums.of_terms
        each = _log_total(of_classes.sum() - of_classes + alpha * sums.n_terms)
        row = -np.log(of_terms + alpha)
        others = np.maximum(of_terms[sums.term] - sums.pair, 0.0)
        pair = -row[sums.term] - np.log(others + alpha)
        return Coefficients(np.zeros(len(each)), each, row, np.ones(len(each)), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, of_classes = self.alpha, rest.of_classes
        others = of_classes.sum(axis=1, keepdims=True) - of_classes
        each = _log_total(np.maximum(others, 0.0) + alpha * rest.n_terms[:, None])
        of_terms = rest.of_entries(rest.pair)
        of_all = np.log(of_terms + alpha)
        of_others = np.log(np.maximum(of_terms[rest.entry] - rest.pair, 0.0) + alpha)
        of_pairs = rest.x[rest.entry] * (of_all[rest.entry] - of_others)
        row = rest.of_documents(rest.x * of_all)
        return rest.length[:, None] * each - row[:, None] + rest.by_class(of_pairs)


@dataclass(frozen=True)
class Bernoulli:
    """A document holds each term or does not.

    Parameters
    ----------
    alpha : float
        Above 0.
    """

    alpha: float
    counts_values = False
    has_prior = True

    def coefficients(self, sums: Sums) -> Coefficients:
        """The numbers of the score."""
        alpha, documents = self.alpha, sums.documents
        none = np.log(documents + alpha)  # of documents without a term that no document holds
        without = np.log(_rest(documents[sums.classes], sums.pair) + alpha)
        base = sums.n_terms * (none - np.log(documents + 2.0 * alpha))
        base += np.bincount(sums.classes, without - none[sums.classes], len(documents))
        pair = np.log1p(sums.pair / alpha) - without + none[sums.classes]
        each, row = np.log(alpha) - none, np.zeros(sums.n_terms)
        return Coefficients(base, each, row, np.zeros(len(each)), pair)

    def left_out(self, rest: LeftOut) -> Array:
        """The score of documents that are left out."""
        alpha, documents = self.alpha, rest.documents
        none = np.log(documents + alpha)
        found: Array = rest.n_terms[:, None] * (none - np.log(documents + 2.0 * alpha))
        found += rest.of_all_pairs(alpha) - none * rest.pairs_held
        in_class = documents[rest.document[rest.entry], rest.classes]
        without = np.log(_rest(in_class, rest.pair) + alpha)
        of_pairs = np.log1p(rest.pair / alpha) - without + np.log(in_class + alpha)
        found += rest.by_class(rest.x[rest.entry] * of_pairs)
        found += rest.length[:, None] * (np.log(alpha) - none)
        return found


def _rest(documents: Array, holding: Array) -> Array:
    """Documents that do not hold a term; rounding of weights does not make them negative."""
    return np.maximum(documents - holding, 0.0)


def _log_total(total: Array) -> Array:
    """log, or 0 of nothing, which no value multiplies."""
    return np.log(np.where(total > 0.0, total, 1.0))


# ---- a plain model: a tally of terms, read by a formula without learned weights ------------------
EventName = Literal["multinomial", "complement", "bernoulli"]

Event = Multinomial | Complement | Bernoulli
EVENTS: dict[str, type[Event]] = {
    "multinomial": Multinomial,
    "complement": Complement,
    "bernoulli": Bernoulli,
}
MAX_TEST_DOCUMENTS, MAX_TEST_ENTRIES = 12_000, 2_500_000
"""Documents that are left out for figures, and their entries."""
FOLDS_OF_GROUPS = 10


class LinearScorer:
    """A score that is linear in the values of terms.

    Parameters
    ----------
    tally : TermCounts
        The pairs of terms and classes.
    numbers : Coefficients
    log_prior : float64 array (n_classes,)
        0 where the prior is not part of the score.
    transforms : Transforms, optional
        None for terms that are there or not.
    fixed, idf : float64 array (n_terms,), optional
        The idf that enters values, and the one that multiplies them.
    """

    numbers: Coefficients
    intercept: Array
    idf: Array | None

    def __init__(
        self,
        tally: TermCounts,
        numbers: Coefficients,
        log_prior: Array,
        transforms: Transforms | None,
        fixed: Array | None,
        idf: Array | None,
    ) -> None:
        self.numbers, self.intercept = numbers, numbers.base + log_prior
        self._transforms, self._fixed, self.idf = transforms, fixed, idf
        shape = tally.n_terms, tally.n_classes
        self._pairs = sp.csr_array((numbers.pair, tally.classes, tally.start), shape=shape)

    def values(self, documents: Documents) -> Array:
        """x, float64 (n_entries,)."""
        if self._transforms is None:
            return np.ones(len(documents.terms))
        found = self._transforms.values(documents, self._fixed)
        return found if self.idf is None else found * self.idf[documents.terms]

    def joint(self, documents: Documents) -> Array:
        """The score of each class, in nats, float64 (n_documents, n_classes)."""
        values, numbers = self.values(documents), self.numbers
        shape = len(documents), documents.n_terms
        x = sp.csr_array((values, documents.terms, documents.indptr), shape=shape)
        found: Array = (x @ self._pairs).toarray()
        row = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        found += np.bincount(row, values, len(documents))[:, None] * numbers.each
        of_rows = np.bincount(row, values * numbers.row[documents.terms], len(documents))
        return found + of_rows[:, None] * numbers.read + self.intercept

    def posterior(self, documents: Documents, *, log: bool = False) -> Array:
        """P(c | document), or its logarithm in nats, float64 (n_documents, n_classes)."""
        found: Array = log_softmax(self.joint(documents), axis=1)
        return found if log else np.exp(found)

    def sums(self) -> list[TermSums]:
        """The score without the intercept, as a formula has it."""
        numbers, pairs, transforms = self.numbers, self._pairs, self._transforms
        row, idf = numbers.row if numbers.read.any() else np.zeros(len(numbers.row)), self.idf
        by = np.ones(len(row)) if idf is None else idf
        cells, cell = np.unique(np.stack([row, by], axis=1), axis=0, return_inverse=True)
        common = (numbers.each + cells[:, :1] * numbers.read) * cells[:, 1:]
        common -= common.mean(axis=1, keepdims=True)  # large numbers of all classes would round
        return [
            TermSums(
                frequency="presence" if transforms is None else transforms.tf or "count",
                by=self._fixed,
                length="squares"
                if transforms is not None and transforms.length_normalize
                else None,
                cell=cell.ravel(),
                common=common,
                start=pairs.indptr.astype(np.int64),
                classes=pairs.indices,
                pair=pairs.data * np.repeat(by, np.diff(pairs.indptr)),
            )
        ]

    def contributions(self, documents: Documents) -> Array:
        """What each term adds to the score of each class, float64 (n_entries, n_classes)."""
        terms, numbers = documents.terms, self.numbers
        found: Array = self._pairs[terms].toarray() + numbers.each
        found += numbers.row[terms][:, None] * numbers.read
        return found * self.values(documents)[:, None]


@dataclass(frozen=True, eq=False)
class LeftOutDocuments:
    """Counted documents on which a model is judged when its figures are first read. This takes
    several times as long as counting them.

    Parameters
    ----------
    documents : Documents
    y : int32 array (n_documents,)
    weights : float64 array (n_documents,), optional
        What each was counted with; 1 by default.
    stands : float64 array (n_documents,), optional
        The weight of the documents that each stands for, where they are a sample, in its order.
    groups : index array (n_documents,), optional
        The number of each one's group, which are left out together: in folds, of all documents.
    """

    documents: Documents
    y: NDArray[np.int32]
    weights: Array | None
    stands: Array | None = None
    groups: Index | None = None

    def sampled(self, n_classes: int) -> LeftOutDocuments:
        """As many of them as figures need, in an order that is always the same."""
        documents, y, weights = self.documents, self.y, self.weights
        if self.groups is not None:
            return self
        order = np.argsort(document_keys(documents, y), kind="stable")
        weight = np.ones(len(y)) if weights is None else weights
        most = min(MAX_TEST_DOCUMENTS, len(y) * MAX_TEST_ENTRIES // (len(documents.terms) + 1))
        some, stands = sampled(y[order], weight[order], n_classes, max(1, most))
        rows = order[some]
        of_rows = None if weights is None else weights[rows]
        return LeftOutDocuments(documents.take(rows), y[rows], of_rows, stands)

    def judged(self, model: PlainDocuments) -> DocumentFigures:
        """The figures of a model in which they are counted."""
        if self.groups is not None:
            keys = group_keys(document_keys(self.documents, self.y), self.groups)
            fold = group_folds(keys, self.y, FOLDS_OF_GROUPS, 0)
            log_proba = model.left_out(self.documents, self.y, self.weights, fold)
            weight = np.ones(len(self.y)) if self.weights is None else self.weights
            return DocumentFigures.of(log_proba, self.y, weight, self.groups)
        few = self.sampled(model.tally.n_classes) if self.stands is None else self
        log_proba = model.left_out(few.documents, few.y, few.weights)
        return DocumentFigures.of(log_proba, few.y, None if few.weights is None else few.stands)


@dataclass(frozen=True)
class PlainLearner:
    """How documents are counted and read.

    Parameters
    ----------
    event : {"multinomial", "complement", "bernoulli"}
    alpha : float
        Smoothing, in occurrences or documents; above 0.
    transforms : Transforms
        Not for "bernoulli".
    """

    event: EventName
    alpha: float
    transforms: Transforms

    @property
    def read(self) -> Event:
        """The event model."""
        return EVENTS[self.event](self.alpha)

    @property
    def summed(self) -> Transforms | None:
        """The transforms; None where nothing is summed."""
        return self.transforms if self.read.counts_values else None

    def counted(
        self,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Documents,
        codes: NDArray[np.int32],
        weights: Array | None,
        fixed: FixedIdf | None = None,
    ) -> TermCounts:
        """The tally of some documents.

        Parameters
        ----------
        terms : array (n_terms,)
        labels : array (n_classes,)
        documents : Documents
        codes : int32 array (n_documents,)
        weights : float64 array (n_documents,), optional
        fixed : FixedIdf, optional
            By default that of these documents, where it is fixed.
        """
        rows = (terms, labels, documents.indptr, documents.terms, codes, weights)
        threads = get_num_threads()
        if self.summed is None:
            return TermCounts.counted(*rows, threads=threads)
        idf = None
        if self.transforms.fixes_idf:
            first = fixed or FixedIdf.of_tally(TermCounts.counted(*rows, threads=threads))
            idf = first.of(terms)
        values = self.transforms.summands(documents, idf)
        return TermCounts.counted(*rows, values, threads=threads)

    def fitted(
        self,
        tally: TermCounts,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None,
        groups: Index | None = None,
    ) -> PlainDocuments:
        """A model of a tally, to be judged on documents that are counted in it.

        Parameters
        ----------
        tally : TermCounts
        documents : Documents
            With its terms.
        y : int32 array (n_documents,)
        weights : float64 array (n_documents,), optional
        groups : index array (n_documents,), optional
            Documents of a group are left out together.
        """
        fixed = FixedIdf.of_tally(tally) if self.transforms.fixes_idf else None
        left_out = LeftOutDocuments(documents, y, weights, groups=groups)
        if len(y) > MAX_TEST_DOCUMENTS or len(documents.terms) > MAX_TEST_ENTRIES:
            left_out = left_out.sampled(tally.n_classes)
        return PlainDocuments(tally, self, fixed, left_out)


@dataclass(frozen=True, eq=False)
class PlainDocuments:
    """A tally of terms with how it is read; learning makes another model.

    Parameters
    ----------
    tally : TermCounts
    learner : PlainLearner
    fixed : FixedIdf, optional
        Where idf is part of what was counted.
    judgement : DocumentFigures or LeftOutDocuments
        The figures, or the documents of which they will be.
    """

    tally: TermCounts
    learner: PlainLearner
    fixed: FixedIdf | None
    judgement: DocumentFigures | LeftOutDocuments

    penalty = None
    unlabelled = None
    needs_reweighting = False
    learned_with = None

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: vars(self)[name] for name in ("tally", "learner", "fixed")}
        return kept | {"judgement": self.figures}

    @property
    def figures(self) -> DocumentFigures:
        """Of documents that were left out of the fitted model: computed when first read, or before
        the counts change; then the documents are freed."""
        if isinstance(self.judgement, LeftOutDocuments):
            object.__setattr__(self, "judgement", self.judgement.judged(self))
        assert isinstance(self.judgement, DocumentFigures)
        return self.judgement

    @cached_property
    def scorer(self) -> LinearScorer:
        """The score of documents."""
        tally, learner = self.tally, self.learner
        pair, idf = tally.counts if learner.summed is None else tally.sums, None
        assert pair is not None
        if learner.transforms.idf and self.fixed is None:
            idf = inverse_document_frequency(tally.frequency, float(tally.documents.sum()))
            pair = pair * idf[tally.pair_terms]
        sums = Sums(pair, tally.pair_terms, tally.classes, tally.documents, tally.n_terms)
        prior = np.zeros(tally.n_classes)
        if learner.read.has_prior:
            prior = np.log(tally.documents) - np.log(tally.documents.sum())
        numbers = learner.read.coefficients(sums)
        return LinearScorer(tally, numbers, prior, learner.summed, self._fixed_idf, idf)

    @property
    def _fixed_idf(self) -> Array | None:
        return None if self.fixed is None else self.fixed.of(self.tally.terms)

    def counted(
        self,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Documents,
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> TermCounts:
        """The tally of more documents."""
        return self.learner.counted(terms, labels, documents, codes, weights, self.fixed)

    def with_tally(self, tally: TermCounts) -> PlainDocuments:
        """The same reading of other counts."""
        return replace(self, tally=tally, judgement=self.figures)

    def begin(self, live: LiveTermCounts) -> None:
        """Gives an empty live tally the counts, and tells it how they are read."""
        learner, transforms = self.learner, self.learner.transforms
        if self.fixed is not None:
            live.fix_idf(self.fixed.terms, self.fixed.idf, self.fixed.other)
        live.read_plain(
            learner.event,
            learner.alpha,
            sums=learner.summed is not None,
            log_tf=transforms.tf == "log",
            idf=transforms.idf,
            length_normalize=transforms.length_normalize,
        )
        live.load(self.tally)

    def without_counts(self) -> PlainDocuments:
        """How counts are read; for :meth:`of_live` alone."""
        return self.with_tally(self.tally.zero())

    def of_live(self, live: LiveTermCounts) -> PlainDocuments:
        """The same reading of the counts of a live tally."""
        return self.with_tally(live.tally()[0])

    def reweighted(
        self,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None,
        groups: Index | None = None,
        *,
        ridge: bool,
    ) -> PlainDocuments:
        """Raises ValueError: there are no weights."""
        raise ValueError(
            f"model={self.learner.event!r} has no weights to learn: its counts are read by a "
            "formula, which no update makes stale. model='weighted' learns some"
        )

    def need_alike(self, other: Any) -> None:
        """Raises IncompatibleTallies unless another model counts as this one does."""
        if type(other) is not PlainDocuments or other.learner != self.learner:
            raise IncompatibleTallies(
                "the two are not the same kind of model: fit both with the same model, alpha, tf, "
                "idf and length_normalize"
            )
        if self.fixed is not None and not self.fixed.equals(other.fixed):
            raise IncompatibleTallies(
                "idf=True with length_normalize=True fixes the idf at the first fit, and the two "
                "models were fitted on other documents: count with one of the two options, or let "
                "one model partial_fit all documents"
            )

    def left_out(
        self,
        documents: Documents,
        y: NDArray[np.int32],
        weight: Array | None = None,
        groups: Index | None = None,
    ) -> Array:
        """log P(c | document) of counted documents, each as if it, or its group, was never counted,
        float64 (n_documents, n_classes); an idf that is fixed stays.

        Parameters
        ----------
        documents : Documents
        y : int32 array (n_documents,)
        weight : float64 array (n_documents,), optional
            What each was counted with; 1 by default.
        groups : index array (n_documents,), optional
            The number of each one's group.
        """
        weight = np.ones(len(y)) if weight is None else weight
        if groups is not None:
            return self._without_groups(documents, y, weight, groups)
        learner, tally = self.learner, self.tally
        found = np.zeros((len(documents), tally.n_classes))
        blocks = left_out_blocks(tally, documents, y, weight, learner.summed, self._fixed_idf)
        for rows, rest in blocks:
            found[rows] = learner.read.left_out(rest)
        if learner.read.has_prior:
            found += prior_without(tally.documents, y, weight)
        log_proba: Array = log_softmax(found, axis=1)
        return log_proba

    def _without_groups(
        self, documents: Documents, y: NDArray[np.int32], weight: Array, groups: Index
    ) -> Array:
        """As :meth:`left_out`, of one group of documents after the other."""
        tally = self.tally
        found = np.full((len(documents), tally.n_classes), -np.inf)
        for group in range(int(groups.max(initial=-1)) + 1):
            rows = np.flatnonzero(groups == group)
            if not len(rows):
                continue
            some = documents.take(rows)
            counted = self.counted(tally.terms, tally.labels, some, y[rows], weight[rows])
            rest = replace(self, tally=tally.less(counted, "leave_one_out"))
            if not rest.tally.n_classes:
                found[rows] = -np.log(tally.n_classes)
                continue
            kept = some.among(rest.tally.places(tally.terms), rest.tally.n_terms)
            classes = places_among(rest.tally.labels, tally.labels)
            found[np.ix_(rows, classes)] = rest.scorer.posterior(kept, log=True)
        return found

    def of_one_occurrence(self, k: int) -> Array:
        """What one occurrence of each term adds to the score of a class, above the mean of all, in
        nats, float64 (n_terms,)."""
        tally, scorer = self.tally, self.scorer
        numbers = scorer.numbers
        own = np.where(tally.classes == k, numbers.pair, 0.0)
        found = tally.by_term(own - numbers.pair / tally.n_classes)
        found += numbers.each[k] - numbers.each.mean()
        found += numbers.row * (numbers.read[k] - numbers.read.mean())
        if self.learner.summed is None:
            return found
        n = tally.n_terms
        one = Documents(
            np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n, dtype=np.int32), n
        )
        plain = self.learner.transforms._replace(length_normalize=False)
        values: Array = plain.values(one, self._fixed_idf)
        return found * (values if scorer.idf is None else values * scorer.idf)

    def equals(self, other: Any) -> bool:
        """Whether another model reads the same counts in the same way."""
        if type(other) is not PlainDocuments or self.learner != other.learner:
            return False
        if self.fixed is not None and not self.fixed.equals(other.fixed):
            return False
        return bool(self.tally == other.tally)


# ---- leave-one-out counts, for each of some documents that were counted --------------------------
# Everything that a model fitted on the other documents would count differently is changed: the
# sums of the document's own class, terms that no other document holds, and with them the number of
# terms, and the inverse document frequencies, unless these are fixed.
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
            logs = np.log(common.frequency)[common.tally.pair_terms[self._pair]]
            change = self._plain * np.log(self._held)[self.entry] - self._was * logs
            left = np.maximum(common.total - self.weight, 0.0)
            factor = np.log(np.where(left > 0.0, left, 1.0))
            rest = factor[:, None] * rest - (common.of_logs + self.by_class(change))
        return np.maximum(rest, 0.0)

    @property
    def nothing(self) -> Array:
        """What rounding may leave of the sums of a class that holds nothing, float64
        (n_classes,)."""
        return RESIDUE * self.common.of_classes

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
