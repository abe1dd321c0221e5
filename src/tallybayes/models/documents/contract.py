"""The contract of a model of documents."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.ridge import DocumentFigures
from tallybayes.weighted.unlabelled import Unlabelled

__all__ = ["TextLearner", "TextModel", "TextScorer"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Index = NDArray[np.intp]


class TextScorer(Protocol):
    """The score of documents."""

    @property
    def intercept(self) -> Array:
        """The score of a document without terms, float64 (n_classes,)."""

    def joint(self, documents: Documents) -> Array:
        """The score of each class, in nats, float64 (n_documents, n_classes)."""

    def posterior(self, documents: Documents, *, log: bool = False) -> Array:
        """P(c | document), or its logarithm in nats, float64 (n_documents, n_classes)."""

    def contributions(self, documents: Documents) -> Array:
        """What each term adds to the score of each class, float64 (n_entries, n_classes)."""


class TextModel(Protocol):
    """A tally of terms, and how it is read; learning makes another model."""

    @property
    def tally(self) -> TermCounts:
        """Everything that was counted."""

    @property
    def scorer(self) -> TextScorer:
        """The score of documents."""

    @property
    def figures(self) -> DocumentFigures:
        """How well documents were predicted that were left out."""

    @property
    def penalty(self) -> float | None:
        """The penalty of the ridge; None where there is none."""

    @property
    def unlabelled(self) -> Unlabelled | None:
        """How unlabelled documents were counted; None if there are none."""

    @property
    def needs_reweighting(self) -> bool:
        """Whether the counts have changed since something was learned that depends on them."""

    def counted(
        self,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Documents,
        codes: Codes,
        weights: Array | None,
    ) -> TermCounts:
        """The tally of more documents."""

    def with_tally(self, tally: TermCounts) -> Self:
        """The same reading of other counts."""

    def reweighted(
        self,
        documents: Documents,
        y: Codes,
        weights: Array | None,
        groups: Index | None = None,
        *,
        ridge: bool,
    ) -> Self:
        """The same counts, with weights that are learned again; documents of a group are left out
        together."""

    def need_alike(self, other: Any) -> None:
        """Raises IncompatibleTallies unless the tally of another model can be added."""

    def left_out(
        self,
        documents: Documents,
        y: Codes,
        weight: Array | None = None,
        groups: Index | None = None,
    ) -> Array:
        """log P(c | document) of counted documents, each without itself or its group, float64
        (n_documents, n_classes)."""

    def equals(self, other: Any) -> bool:
        """Whether another model holds the same counts, and reads them in the same way."""

    def begin(self, live: LiveTermCounts) -> None:
        """Gives an empty live tally the counts, and tells it how they are read."""

    def without_counts(self) -> Self:
        """How counts are read; for :meth:`of_live` alone."""

    def of_live(self, live: LiveTermCounts) -> Self:
        """The same reading of the counts of a live tally."""

    def of_one_occurrence(self, k: int) -> Array:
        """What one occurrence of each term adds to the score of class k, above the mean of all
        classes, in nats, float64 (n_terms,)."""


class TextLearner(Protocol):
    """How documents are counted, and a model made of them."""

    def counted(
        self,
        terms: NDArray[Any],
        labels: NDArray[Any],
        documents: Documents,
        codes: Codes,
        weights: Array | None,
    ) -> TermCounts:
        """The tally of the first documents."""

    def fitted(
        self,
        tally: TermCounts,
        documents: Documents,
        y: Codes,
        weights: Array | None,
        groups: Index | None = None,
    ) -> TextModel:
        """A model of the tally, learned on its documents; those of a group are left out
        together."""
