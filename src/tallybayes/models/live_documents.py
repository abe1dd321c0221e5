"""A model of documents that learns, forgets and answers one document at a time, in place."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.weighted_documents import TextModel, size_of_counts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.threads import new_lock
from tallybayes.tokens.counting import TextDocuments

__all__ = ["LiveDocuments"]


Array = NDArray[np.float64]


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
        return size_of_counts(self._counts.documents(), self._counts.n_terms)

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
