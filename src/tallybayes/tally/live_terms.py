"""The tally of documents that come and go one by one, changed in place.

It holds what :class:`~tallybayes.tally.terms.TermCounts` holds, in a hash table of the kernels, and
scores documents from it, each at the cost of its own terms. Terms are sorted when the tally is
asked for. Formulas are stated in ``models/documents`` and ``families/text``;
``src/kernels/documents/live.hpp`` evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import joined_labels, places_among
from tallybayes.tally.terms import SLACK, TermCounts
from tallybayes.tokens.counting import SortedTerms, encoded_stop_words, refuse

__all__ = ["MAX_ORDERS", "MIN_HALF_LIFE", "LiveTermCounts", "RidgeTerms"]

Array = NDArray[np.float64]
EVENTS = ("multinomial", "complement", "bernoulli")  # by their numbers in the kernel
MAX_ORDERS = 12  # of n-grams that have bins of their own
MIN_HALF_LIFE = 0.5  # of counts that fade in place, 256 documents at a time
MAX_LOG_COUNT = 1 << 12  # counts of a term in a document whose logarithms are kept


class RidgeTerms(NamedTuple):
    """The terms that a ridge has coefficients of.

    Parameters
    ----------
    column : int32 array (n_terms,)
        The row of coefficients of each term; −1 for none.
    idf : float64 array (n_terms,)
    coefficients : float32 array (n_columns, 1 or n_classes)
    """

    column: NDArray[np.int32]
    idf: Array
    coefficients: NDArray[np.float32]


class LiveTermCounts:
    """Documents of each class that hold each term, changed in place.

    Before anything else, :meth:`read_plain` or :meth:`read_weighted` sets how it is read, and
    :meth:`load` takes what was counted before. It has no lock.

    Parameters
    ----------
    rules : TextRules
        What makes terms of a document.
    stop_words : iterable of str
        Tokens that are left out.
    n_features : int, optional
        The number of hash buckets, where terms have no names.
    labels : array (n_classes,)
        Distinct and sorted.
    keeps_classes : bool
        Whether classes without documents have scores as well, so that the classes stay the same.
    half_life : float, optional
        The documents after which a weight is half of what it was, from :data:`MIN_HALF_LIFE` on.
    """

    def __init__(
        self,
        rules: _kernels.TextRules,
        stop_words: Iterable[str],
        n_features: int | None,
        labels: NDArray[Any],
        *,
        keeps_classes: bool = False,
        half_life: float | None = None,
    ) -> None:
        self._kernel = _kernels.LiveDocuments(
            rules, encoded_stop_words(stop_words), n_features or 0
        )
        if half_life is not None:
            self._kernel.fade_by(half_life)
        self.half_life = half_life
        self._keeps_classes = keeps_classes
        self._all_labels = labels  # those of classes that have gone as well
        self._numbers = np.array([self._kernel.add_class() for _ in labels], dtype=np.int32)
        self._codes: dict[tuple[type, Any], int] = {}
        self._held: frozenset[int] = frozenset()  # none while it is not known which
        self._uniform = np.zeros(0)
        self._labels = labels
        self.has_ridge = False

    # ---- reading what was counted before ---------------------------------------------------------
    def fix_idf(self, terms: NDArray[Any], idf: Array, other: float) -> None:
        """Documents are counted with this idf of each term; before :meth:`read_plain`."""
        self._kernel.fix_idf(*self._named(terms), np.ascontiguousarray(idf), other)

    def read_plain(
        self,
        event: str,
        alpha: float,
        *,
        sums: bool,
        log_tf: bool,
        idf: bool,
        length_normalize: bool,
    ) -> None:
        """Scores are those of an event model."""
        number = EVENTS.index(event)
        self._kernel.read_plain(number, alpha, sums, log_tf, idf, length_normalize)

    def read_weighted(
        self,
        tau: float,
        share: str,
        power: float,
        mean_length: float,
        weights: Array,
        intercept: Array,
        *,
        min_length: float = 0.0,
    ) -> None:
        """Scores are those of weights of bins; shorter documents count as of `min_length`."""
        mass = share == "mass"
        logs = _log_counts()
        numbers = tau, mass, power, mean_length, min_length
        self._kernel.read_weighted(*numbers, weights, intercept, logs)

    def load(self, tally: TermCounts, ridge: RidgeTerms | None = None) -> None:
        """Takes what was counted before, and the ridge that was learned on it."""
        self._kernel.load(
            *self._named(tally.terms),
            tally.start,
            tally.classes,
            tally.counts,
            tally.sums,
            tally.documents,
            tally.pruned,
        )
        self._show()
        if ridge is not None:
            self._kernel.read_ridge(*ridge)
            self.has_ridge = True

    def _named(self, terms: NDArray[Any]) -> tuple[NDArray[np.uint8] | None, NDArray[np.int64]]:
        if terms.dtype.kind == "i":
            return None, terms
        named = SortedTerms.of_array(terms)
        return named.text, named.end

    @property
    def n_terms(self) -> int:
        """Terms that some document holds."""
        return self._kernel.n_terms

    # ---- classes ---------------------------------------------------------------------------------
    def _show(self) -> None:
        """Brings the classes that have documents up to date."""
        held = self._kernel.documents()[self._numbers] != 0.0
        if self._keeps_classes:
            held[:] = True
        order, labels = self._numbers[held], self._all_labels[held]
        numbers = frozenset(order.tolist())
        uniform = np.full(len(labels), -np.log(max(len(labels), 1)))
        # one step: Python looks for signals after a call, and this has one, at the end
        self._held, self._labels, self._uniform = numbers, labels, uniform
        self._kernel.show(order)

    @property
    def labels(self) -> NDArray[Any]:
        """Of the classes that have documents, sorted."""
        if not self._held:  # learning or forgetting was interrupted
            self._show()
        return self._labels

    def _joined(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """The kernel's numbers of some sorted labels, of which some may be new."""
        joined = joined_labels(self._all_labels, labels)
        if joined is not self._all_labels:
            numbers = np.full(len(joined), -1, dtype=np.int32)
            numbers[places_among(self._all_labels, joined)] = self._numbers
            for at in np.flatnonzero(numbers < 0):
                numbers[at] = self._kernel.add_class()
            self._all_labels, self._numbers = joined, numbers
        return self._numbers[places_among(labels, self._all_labels)]

    def knows(self, labels: NDArray[Any]) -> bool:
        """Whether each of some sorted labels has documents."""
        try:
            return len(joined_labels(self.labels, labels)) == len(self.labels) > 0
        except IncompatibleTallies:
            return False

    def would_empty(
        self, labels: NDArray[Any], codes: NDArray[np.int32], weights: Array | None
    ) -> bool:
        """Whether a class goes with some of its documents; see :meth:`learn`."""
        taken = np.bincount(codes, weights, len(labels))
        held = self.documents()[places_among(labels, self.labels)]
        return bool((taken >= held * (1.0 - SLACK)).any())

    def documents(self) -> Array:
        """The documents of each class, by weight, float64 (n_classes,)."""
        of_all = self._kernel.documents()[self._numbers]
        found: Array = of_all[of_all != 0.0]
        return found

    def remember(self, label: Any, labels: NDArray[Any]) -> None:
        """Learns the class of a label, the only one in an array, for :meth:`learn_one`."""
        self._codes[type(label), label] = int(self._joined(labels)[0])

    # ---- learning --------------------------------------------------------------------------------
    def learn_one(self, document: Any, label: Any, weight: float) -> bool:
        """Counts a document; False where its class is not known, so that nothing was counted.

        Raises
        ------
        TypeError
            For a label that cannot be a key.
        InvalidDocument, UnicodeDecodeError
            If the document is not text.
        """
        number = self._codes.get((type(label), label), -1)
        if number not in self._held:
            return False
        read = _kernels.TextDocuments([document])
        if read.refused >= 0 or self._kernel.learn_one(read, number, weight) >= 0:
            refuse(document, 0)
        return True

    def learn(
        self,
        documents: _kernels.TextDocuments,
        items: Any,
        labels: NDArray[Any],
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> None:
        """Counts documents, all or none.

        Parameters
        ----------
        documents : TextDocuments
        items : sequence
            What they were read from.
        labels : array (n_classes,)
            Distinct and sorted.
        codes : int32 array (n_documents,)
            The class of each document.
        weights : float64 array (n_documents,), optional
            Above 0; 1 by default.
        """
        fault = -1 if self.knows(labels) else self._kernel.fault(documents)
        if fault < 0:
            numbers = self._joined(labels)
            if not self._held.issuperset(numbers.tolist()):
                self._held = frozenset()
            fault = self._kernel.learn(documents, numbers[codes], _weights(weights, len(codes)))
        if fault >= 0:
            refuse(items[fault], fault)
        if not self._held:
            self._show()

    def forget(
        self,
        documents: _kernels.TextDocuments,
        items: Any,
        labels: NDArray[Any],
        codes: NDArray[np.int32],
        weights: Array | None,
    ) -> bool:
        """Takes documents away; False where more would be taken than was counted, so that nothing
        has changed. See :meth:`learn`."""
        if not self.knows(labels):
            return False
        numbers = self._joined(labels)
        held, self._held = self._held, frozenset()
        done, fault = self._kernel.forget(documents, numbers[codes], _weights(weights, len(codes)))
        if done and any(self._kernel.documents_of(k) == 0.0 for k in numbers.tolist()):
            self._show()
        else:
            self._held = held
        if fault >= 0:
            refuse(items[fault], fault)
        return done

    def pass_one(self) -> None:
        """Lets everything fade as if a document had come."""
        self._kernel.pass_one()

    # ---- one document, of a class by its place ---------------------------------------------------
    def change(self, document: str, place: int, weight: float) -> bool:
        """Counts a document of one of the first classes, or takes it away where the weight is below
        0; False where it cannot be, so that nothing was changed."""
        read = _kernels.TextDocuments([document])
        if read.refused >= 0:
            return False
        number = self._numbers[place : place + 1]
        if weight < 0.0:
            return self._kernel.forget(read, number, np.array([-weight]))[0]
        return self._kernel.learn(read, number, np.array([weight])) < 0

    def scores_of(self, document: str) -> Array | None:
        """The score of each class, float64 (n_classes,); None of what is not text."""
        read = _kernels.TextDocuments([document])
        return None if read.refused >= 0 else self.joint(read, [document])[0]

    # ---- answering -------------------------------------------------------------------------------
    def joint(self, documents: _kernels.TextDocuments, items: Any) -> Array:
        """The score of each class, in nats, float64 (n_documents, n_classes)."""
        found = np.empty((len(documents), len(self.labels)))
        fault = self._kernel.joint(documents, found)
        if fault >= 0:
            refuse(items[fault], fault)
        return found

    def posterior(
        self, documents: _kernels.TextDocuments, items: Any, *, log: bool = False
    ) -> Array:
        """P(c | document), or its logarithm in nats, float64 (n_documents, n_classes)."""
        scores = self.joint(documents, items)
        _kernels.normalise(scores, self._uniform, not log, None, 1)
        return scores

    def tally(self) -> tuple[TermCounts, Array, RidgeTerms | None]:
        """Everything that is counted, with terms in order; the intercepts of the classes; and the
        terms of the ridge, without its coefficients."""
        labels = self.labels
        text, names, start, classes, counts, sums, column, idf = self._kernel.tally()
        terms = names if text is None else SortedTerms(text, names).array()
        tally = TermCounts(
            terms, labels, self.documents(), start, classes, counts, sums, self._kernel.pruned
        )
        intercept = self._kernel.intercept()[self._numbers]
        held = self._kernel.documents()[self._numbers] != 0.0
        none = np.zeros((0, 0), dtype=np.float32)
        ridge = RidgeTerms(column, idf, none) if self.has_ridge else None
        return tally, intercept[held], ridge


def _weights(weights: Array | None, n: int) -> Array:
    return np.ones(n) if weights is None else weights


@cache
def _log_counts() -> NDArray[np.float32]:
    """log(1 + n) of whole numbers, as NumPy rounds it."""
    return np.log1p(np.arange(MAX_LOG_COUNT, dtype=np.int32), dtype=np.float32)
