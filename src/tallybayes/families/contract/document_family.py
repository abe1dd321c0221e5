"""The contract of the family of a column of text, and of its likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.column_family import ColumnFamily, Context
from tallybayes.parameters import Description
from tallybayes.tally import TextCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.tokens.analyzer import Analyzer
from tallybayes.tokens.counting import Documents

__all__ = ["DocumentFamily", "DocumentLikelihood"]

Array = NDArray[np.float64]


class DocumentLikelihood(ABC):
    """The likelihood of the documents of a column.

    Attributes
    ----------
    counts : TextCounts
        What was counted, with the terms that documents are made rows of.
    """

    counts: TextCounts

    @property
    @abstractmethod
    def in_schema(self) -> str:
        """The family, for the schema."""

    @abstractmethod
    def scores(self, documents: Documents, threads: int = 1) -> Array:
        """What each document adds, float64 (n_documents, n_classes), in nats, less its mean over
        the classes; 0 for one without terms.

        Parameters
        ----------
        documents : Documents
            As rows of the counted terms.
        threads : int
            How many; the result does not depend on it.
        """

    @abstractmethod
    def contributions(self, documents: Documents) -> Array:
        """What each term of each document adds, float64 (n_entries, n_classes)."""

    @abstractmethod
    def without(self, documents: Documents, own: NDArray[np.intp], weight: Array) -> Array:
        """:meth:`scores` of counted documents, each after it is taken out; `own` is its class,
        `weight` its weight."""

    @abstractmethod
    def at_class_means(self, row_weight: Array) -> Array:
        """The mean contribution of the documents of each class, each without its own counts,
        float64 (n_classes, n_classes); `row_weight` is the weight of a row of each class."""

    @abstractmethod
    def most_informative(self, max_terms: int) -> NDArray[np.intp]:
        """The places of at most `max_terms` most informative terms, in descending order."""

    def following(self, analyzer: Analyzer) -> LiveTermCounts | None:
        """The counts as ones that change in place, with :meth:`scores` up to a number of the
        document; None, by default, where rows that are learned one by one need a new reading."""
        return None

    @abstractmethod
    def described(self) -> Description:
        """The label of the contributions of the most informative terms."""


class DocumentFamily(ColumnFamily, ABC):
    """A family of columns of text."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "documents"

    @property
    @abstractmethod
    def terms(self) -> Analyzer:
        """How documents become terms."""

    @abstractmethod
    def likelihood(self, counts: TextCounts, context: Context) -> DocumentLikelihood:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counts : TextCounts
            Document frequencies of the column's terms.
        context : Context
            Smoothing, estimate and weights of rows.
        """
