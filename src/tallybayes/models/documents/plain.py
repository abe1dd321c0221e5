"""A plain model of documents: a tally of terms, read by a formula without learned weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.errors import IncompatibleTallies
from tallybayes.labels import places_among
from tallybayes.models.documents.events import (
    Bernoulli,
    Coefficients,
    Complement,
    Event,
    Multinomial,
    Sums,
)
from tallybayes.models.documents.left_out import left_out_blocks, prior_without
from tallybayes.models.documents.term_values import FixedIdf, Transforms, inverse_document_frequency
from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.threads import get_num_threads
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.documents import document_keys
from tallybayes.weighted.ridge import DocumentFigures
from tallybayes.weighted.rows import group_folds, group_keys, sampled

__all__ = ["EVENTS", "LinearScorer", "PlainDocuments", "PlainLearner"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
EventName = Literal["multinomial", "complement", "bernoulli"]

EVENTS: dict[str, type[Multinomial] | type[Complement] | type[Bernoulli]] = {
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
