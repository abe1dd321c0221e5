"""The weighted model of documents: a tally of terms, learned weights and a ridge; and what plain
models share with it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import fsum
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.errors import IncompatibleTallies
from tallybayes.families.text import GroupCounts, TermTable
from tallybayes.models.documents import PlainDocuments, PlainLearner
from tallybayes.schema import places_among
from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import LiveTermCounts, RidgeTerms
from tallybayes.threads import get_num_threads, new_lock
from tallybayes.tokens.counting import Documents, TextDocuments
from tallybayes.weighted.document_learning import (
    DocumentScorer,
    LearnedDocuments,
    Ridge,
    learn_documents,
)
from tallybayes.weighted.documents import BinWeights
from tallybayes.weighted.ridge import DocumentFigures, Features, HeldOutPredictions
from tallybayes.weighted.unlabelled import WEIGHTS, PartLabelled, Unlabelled, choose_weight

__all__ = [
    "DocumentModel",
    "LiveDocuments",
    "Spelling",
    "TextLearner",
    "TextModel",
    "WeightedLearner",
    "softly_counted",
    "spelling_of",
    "with_unlabelled_of",
]


# ---- the model, and what learns it ---------------------------------------------------------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]
Spelling = Literal["words", "characters", "buckets"]


def spelling_of(analyzer: Any, n_features: int | None) -> Spelling:
    """What the order of an n-gram is read from, by the analyzer and the number of buckets."""
    if n_features is not None:
        return "buckets"
    return "characters" if analyzer in ("char", "char_wb") else "words"


def _size_of_counts(documents: Array, n_terms: int) -> str:
    """How large counts are, which is compared before each of them is: the weight of all documents,
    in any order of the classes, and the number of terms."""
    return f"{fsum(documents)!r} {n_terms} "


class _CountsAlone:
    """Counts documents; weights do not change how."""

    def counted(
        self,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Documents,
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> TermCounts:
        """The tally of some documents."""
        rows = documents.indptr, documents.terms, codes, weights
        return TermCounts.counted(terms, labels, *rows, threads=get_num_threads())


@dataclass(frozen=True, eq=False)
class DocumentModel(_CountsAlone):
    """A tally of terms, and what was learned on documents; learning makes another model.

    Parameters
    ----------
    tally : TermCounts
    spelling : {"words", "characters", "buckets"}
        What the order of an n-gram is read from: spaces or characters; all buckets have one order.
    learned : LearnedDocuments
        With the places of terms and classes in `tally`.
    stale : bool
        Whether the counts have changed since.
    unlabelled : Unlabelled, optional
        What became of unlabelled documents; None where there were none, or they are not counted.
    learned_with : str, optional
        Once it is stale, the size and a digest of the counts that it was learned with: with the
        same counts it is as good as new.
    """

    tally: TermCounts
    spelling: Spelling
    learned: LearnedDocuments
    stale: bool = False
    unlabelled: Unlabelled | None = None
    learned_with: str | None = None

    @classmethod
    def fitted(
        cls,
        tally: TermCounts,
        spelling: Spelling,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None = None,
        groups: Index | None = None,
        *,
        ridge: bool,
    ) -> DocumentModel:
        """Learns on documents that are counted in the tally.

        Parameters
        ----------
        tally : TermCounts
        spelling : {"words", "characters", "buckets"}
        documents : Documents
            With the terms of the tally.
        y : int32 array (n_documents,)
            The classes, by their places in the tally.
        weights : float64 array (n_documents,), optional
            What each was counted with; 1 by default.
        groups : index array (n_documents,), optional
            Documents of a group are left out together.
        ridge : bool
        """
        table = term_table(tally, spelling)
        learned, _ = learn_documents(table, documents, y, weights, groups, ridge=ridge)
        return cls(tally, spelling, learned)._with_table(table)

    def _with_table(self, table: TermTable) -> Self:
        """Itself, which need not make the table of its counts again."""
        vars(self)["table"] = table
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def figures(self) -> DocumentFigures:
        """How well documents were predicted that were left out."""
        return self.learned.figures

    @property
    def penalty(self) -> float | None:
        """The penalty of the ridge; None where there is none."""
        return None if self.learned.ridge is None else self.learned.ridge.penalty

    @property
    def needs_reweighting(self) -> bool:
        """Whether the ridge is of other counts."""
        return self.stale and self.learned.ridge is not None

    @cached_property
    def table(self) -> TermTable:
        """The counts as ratios are read from them."""
        return term_table(self.tally, self.spelling)

    @cached_property
    def scorer(self) -> DocumentScorer:
        """The score of documents, compiled."""
        return DocumentScorer(self.table, self.learned)

    def with_tally(self, tally: TermCounts) -> DocumentModel:
        """The same weights with other counts; a class that came since has the intercept 0, and a
        term that came since no coefficient."""
        held = self.learned
        at = places_among(self.tally.labels, tally.labels)
        known = np.isin(self.tally.labels, tally.labels)
        intercept = np.zeros(tally.n_classes)
        intercept[at[known]] = held.weights.intercept[known]
        ridge = held.ridge
        if ridge is not None and len(known) == tally.n_classes and known.all():
            place = self.tally.places(tally.terms)
            column = np.where(place >= 0, ridge.features.column[place], -1).astype(np.int32)
            idf = np.where(place >= 0, ridge.features.idf[place], 0.0)
            ridge = replace(ridge, features=Features(column, idf))
        else:  # coefficients of other classes cannot be compared
            ridge = None
        return self._recounted(tally, intercept, ridge)

    def _recounted(self, tally: TermCounts, intercept: Array, ridge: Ridge | None) -> DocumentModel:
        """The same weights of bins with other counts; bins that came since have the weight 0."""
        table, held = term_table(tally, self.spelling), self.learned.weights.weights
        weights = np.zeros(max(table.n_bins, len(held)))
        weights[: len(held)] = held
        learned = replace(self.learned, weights=BinWeights(weights, intercept), ridge=ridge)
        made = self.learned_with if self.stale else self._digest()
        found = DocumentModel(tally, self.spelling, learned, True, self.unlabelled, made)
        if made is not None and found._digest().endswith(made):  # earlier versions kept no size
            found = replace(found, stale=False, learned_with=None)
        return found._with_table(table)

    def _digest(self) -> str:
        """The size of the counts, and a digest of them and of what is held for each class and each
        term."""
        ridge = self.learned.ridge
        of_terms = () if ridge is None else (ridge.features.column, ridge.features.idf)
        digest = self.tally.digest(self.learned.weights.intercept, *of_terms)
        return _size_of_counts(self.tally.documents, self.tally.n_terms) + digest

    def begin(self, live: LiveTermCounts) -> None:
        """Gives an empty live tally the counts, and tells it how they are read."""
        learned, ridge = self.learned, self.learned.ridge
        live.read_weighted(*learned.reading, learned.weights.weights, learned.weights.intercept)
        if ridge is None:
            live.load(self.tally)
            return
        n = self.tally.n_terms
        column, idf = np.full(n, -1, dtype=np.int32), np.zeros(n)
        known = len(ridge.features.column)
        column[:known], idf[:known] = ridge.features.column, ridge.features.idf
        live.load(self.tally, RidgeTerms(column, idf, ridge.coefficients))

    def without_counts(self) -> DocumentModel:
        """How counts are read; for :meth:`of_live` alone."""
        made = self.learned_with if self.stale else self._digest()
        return replace(self, tally=self.tally.zero(), stale=True, learned_with=made)

    def of_live(self, live: LiveTermCounts) -> DocumentModel:
        """The same weights with the counts of a live tally."""
        tally, intercept, terms = live.tally()
        ridge = self.learned.ridge
        if ridge is not None and terms is not None:
            ridge = replace(ridge, features=Features(terms.column, terms.idf))
        return self._recounted(tally, intercept, ridge)

    def reweighted(
        self,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None,
        groups: Index | None = None,
        *,
        ridge: bool,
    ) -> DocumentModel:
        """The same counts, with weights that are learned again.

        Raises
        ------
        ValueError
            If unlabelled documents are counted.
        """
        if self.unlabelled is not None:
            raise ValueError(
                "reweight learns on documents that are left out of the counts, and the unlabelled "
                "documents that are counted here have seen their labels: fit again, with the "
                "unlabelled documents"
            )
        rows = documents, y, weights, groups
        return DocumentModel.fitted(self.tally, self.spelling, *rows, ridge=ridge)

    def held_out(
        self,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None,
        groups: Index | None = None,
        *,
        ridge: bool,
    ) -> tuple[HeldOutPredictions, DocumentFigures]:
        """Predictions of counted documents by weights and a ridge that are learned again without
        them, and the figures of these predictions; see :meth:`reweighted`."""
        rows = documents, y, weights, groups
        learned, held_out = learn_documents(self.table, *rows, ridge=ridge)
        return held_out, learned.figures

    def need_alike(self, other: Any) -> None:
        """Raises IncompatibleTallies unless another model is of this kind."""
        if type(other) is not DocumentModel:
            raise IncompatibleTallies(
                "one model is weighted and the other is not: fit both with the same model"
            )

    def left_out(
        self,
        documents: Documents,
        y: NDArray[np.int32],
        weight: Array | None = None,
        groups: Index | None = None,
    ) -> Array:
        """log P(c | document) of counted documents, each without its own counts, or those of its
        group, by the weights below the ridge, (n_documents, n_classes).

        The class shares, the weights and τ are those of all documents.

        Parameters
        ----------
        documents : Documents
        y : int32 array (n_documents,)
        weight : float64 array (n_documents,), optional
            What each was counted with; 1 by default.
        groups : index array (n_documents,), optional
            The number of each one's group.
        """
        reading, without = self.learned.reading, None
        if groups is not None:
            counted = np.ones(len(y)) if weight is None else weight
            n_classes = self.tally.n_classes
            without = GroupCounts.counted(documents, y, counted, groups, n_classes)
        sums = reading.left_out(self.table, documents, documents.tf, y, weight, groups=without)
        held = self.learned.weights  # of bins that have no terms any more as well
        held = held._replace(weights=held.weights[: sums.shape[2]])
        found: Array = log_softmax(held.scores(sums), axis=1)
        return found

    def of_one_occurrence(self, k: int) -> Array:
        """What one occurrence of each term adds to the score of a class, above the mean of all, in
        nats, without the ridge, float64 (n_terms,)."""
        tally, scorer = self.tally, self.scorer
        found: Array = scorer.expected[scorer.row, k].copy()
        terms, own = tally.pair_terms, tally.classes == k
        found[terms[own]] += scorer.pair[own]
        found -= np.bincount(terms, scorer.pair, tally.n_terms) / tally.n_classes
        found *= np.log(2.0)
        return found

    def equals(self, other: Any) -> bool:
        """Whether another model holds the same counts and gives bit-equal scores."""
        if type(other) is not DocumentModel:
            return False
        mine, theirs = self.scorer, other.scorer
        return self.tally == other.tally and all(
            np.array_equal(getattr(mine, name), getattr(theirs, name))
            for name in ("pair", "expected", "row", "column", "idf", "u", "intercept")
        )


@dataclass(frozen=True)
class WeightedLearner(_CountsAlone):
    """How documents are counted, and weights learned.

    Parameters
    ----------
    spelling : {"words", "characters", "buckets"}
    ridge : bool
    """

    spelling: Spelling
    ridge: bool

    def fitted(
        self,
        tally: TermCounts,
        documents: Documents,
        y: NDArray[np.int32],
        weights: Array | None,
        groups: Index | None = None,
    ) -> DocumentModel:
        """A model of the tally, learned on its documents."""
        rows = documents, y, weights, groups
        return DocumentModel.fitted(tally, self.spelling, *rows, ridge=self.ridge)


TextLearner = PlainLearner | WeightedLearner
TextModel = PlainDocuments | DocumentModel
"""A tally of terms, and how it is read."""


def term_table(tally: TermCounts, spelling: Spelling) -> TermTable:
    """The counts of a tally with the n-gram order of each term."""
    return TermTable(
        tally.start,
        tally.classes,
        tally.counts,
        tally.documents,
        orders_of(tally.terms, spelling),
    )


def orders_of(terms: NDArray[Any], spelling: Spelling) -> NDArray[np.int8]:
    """The order of each n-gram, 0 for one word or character, int8 (n_terms,)."""
    if spelling == "buckets" or not len(terms):
        return np.zeros(len(terms), dtype=np.int8)
    if spelling == "words":
        order = np.strings.count(terms, " ")
    else:  # str_len leaves out a NUL at the end
        order = np.strings.str_len(np.strings.add(terms, ".")) - 2
    return np.minimum(np.maximum(order, 0), 11).astype(np.int8)


# ---- documents of which some have no label -------------------------------------------------------
def softly_counted(
    names: tuple[NDArray[Any], NDArray[Any]],
    learner: WeightedLearner,
    labelled: Documents,
    y: NDArray[np.int32],
    unlabelled: Documents,
    *,
    weight: float | None,
) -> DocumentModel | None:
    """A model that counts unlabelled documents softly; None where that is not known to help.

    Parameters
    ----------
    names : array (n_terms,), array (n_classes,)
        Terms and labels, distinct and sorted; each label has a document.
    learner : WeightedLearner
    labelled : Documents
    y : int32 array (n_labelled,)
        Places in `labels`.
    unlabelled : Documents
    weight : float or None
        λ; None chooses it, 0 among them.
    """
    (terms, labels), spelling = names, learner.spelling
    part = PartLabelled(labelled, y, unlabelled, orders_of(terms, spelling), len(labels))
    chosen = choose_weight(
        part,
        WEIGHTS if weight is None else (weight,),
        orders=2 if spelling == "characters" else 1,
        forced=weight is not None,
    )
    if chosen is None:
        return None
    rows = chosen.counted
    tally = TermCounts.counted(terms, labels, rows.indptr, rows.terms, rows.classes, rows.weights)
    kept = np.bincount(rows.terms, minlength=len(terms)) > 0
    table = term_table(tally, spelling)
    learned = chosen.learned(table, kept, ridge=learner.ridge)
    return DocumentModel(tally, spelling, learned, unlabelled=chosen.unlabelled)


def with_unlabelled_of(model: TextModel, other: TextModel) -> TextModel:
    """The model, which counts unlabelled documents if another one does that was merged with it."""
    if model.unlabelled is not None or other.unlabelled is None:
        return model
    assert isinstance(model, DocumentModel)
    return replace(model, unlabelled=other.unlabelled)


# ---- a model that learns, forgets and answers one document at a time, in place -------------------
class LiveDocuments:
    """A model of documents whose counts change in place.

    What was chosen on documents stays as it was. The model itself, with the names of its terms in
    order, is made when somebody asks for it.

    Parameters
    ----------
    model : TextModel
        What it begins with.
    counts : LiveTermCounts
        Of the classes of the model, and else empty.
    """

    lock: AbstractContextManager[bool]

    def __init__(self, model: TextModel, counts: LiveTermCounts) -> None:
        self.lock = new_lock(self, "lock", in_place=True)
        model.begin(counts)
        self._counts = counts
        self._reading = model.without_counts()
        self._model: TextModel | None = None
        self._names: list[Any] | None = None

    def model(self) -> TextModel:
        """The model of what is counted now."""
        with self.lock:
            if self._model is None:
                self._model = self._reading.of_live(self._counts)
            return self._model

    @property
    def is_whole(self) -> bool:
        """Whether the model has been made since the counts changed."""
        return self._model is not None

    @property
    def n_terms(self) -> int:
        """Terms that some document holds."""
        return self._counts.n_terms

    @property
    def half_life(self) -> float | None:
        """The documents after which a weight is half of what it was; None where nothing fades."""
        return self._counts.half_life

    @property
    def labels(self) -> NDArray[Any]:
        """Of the classes that have documents, sorted."""
        with self.lock:
            return self._counts.labels

    @property
    def needs_reweighting(self) -> bool:
        """Whether something was learned that depends on counts, which have changed. They are
        compared one by one only if as many documents and terms as before are left."""
        if not self._counts.has_ridge:
            return False
        with self.lock:
            learned_with = self._reading.learned_with or ""
            if self._model is None and not learned_with.startswith(self._size()):
                return True
            return self.model().needs_reweighting

    def _size(self) -> str:
        return _size_of_counts(self._counts.documents(), self._counts.n_terms)

    def learn_one(self, document: Any, label: Any, weight: float) -> bool:
        """Counts a document; False where its class is not known, so that nothing was counted."""
        with self.lock:
            self._model = None
            return self._counts.learn_one(document, label, weight)

    def remember(self, label: Any, labels: NDArray[Any]) -> None:
        """Learns the class of a label, the only one in an array, for :meth:`learn_one`."""
        with self.lock:
            self._counts.remember(label, labels)

    def learn(
        self,
        documents: TextDocuments,
        items: Any,
        labels: NDArray[Any],
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> bool:
        """Counts documents, all or none; False where a class is new and ends what was learned."""
        with self.lock:
            if self._counts.has_ridge and not self._counts.knows(labels):
                return False
            self._model = self._names = None
            self._counts.learn(documents, items, labels, codes, weights)
            return True

    def pass_one(self) -> None:
        """Lets everything fade as if a document had come."""
        with self.lock:
            self._model = None
            self._counts.pass_one()

    def forget(
        self,
        documents: TextDocuments,
        items: Any,
        labels: NDArray[Any],
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> bool:
        """Takes documents away; False where nothing was, because more would be taken than was
        counted, or because a class goes and ends what was learned."""
        with self.lock:
            counts = self._counts
            if counts.has_ridge and (
                not counts.knows(labels) or counts.would_empty(labels, codes, weights)
            ):
                return False
            before, self._model, self._names = self._model, None, None
            done = counts.forget(documents, items, labels, codes, weights)
            if not done:
                self._model = before
            return done

    def best(self, documents: TextDocuments, items: Any) -> Any:
        """The most probable label of one document."""
        with self.lock:
            if self._names is None:
                self._names = self._counts.labels.tolist()
            return self._names[int(self._counts.joint(documents, items)[0].argmax())]

    def joint(self, documents: TextDocuments, items: Any) -> tuple[NDArray[Any], Array]:
        """The classes, and the score of each, in nats, float64 (n_documents, n_classes)."""
        with self.lock:
            return self._counts.labels, self._counts.joint(documents, items)

    def posterior(
        self, documents: TextDocuments, items: Any, *, log: bool = False
    ) -> tuple[NDArray[Any], Array]:
        """The classes, and P(c | document), or its logarithm in nats, float64 (n_documents,
        n_classes)."""
        with self.lock:
            return self._counts.labels, self._counts.posterior(documents, items, log=log)
