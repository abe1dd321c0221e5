"""The contract of a classifier in a report."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.columns import ColumnFacts
from tallybayes.reporting.form.form import Form
from tallybayes.reporting.form.of_documents import TextForm
from tallybayes.reporting.measures.figures import Predictions
from tallybayes.validation import LeftOut, unfitted

__all__ = ["Contributions", "Subject", "Text"]

Array = NDArray[np.float64]


class Contributions(NamedTuple):
    """Contributions to the scores of rows, in nats.

    Parameters
    ----------
    base : float64 array (n_classes,)
    of_terms : list of float64 arrays (n_terms, n_classes)
        Of each row.
    names : list of list of (str, str)
        Of each row: the terms and their values.
    """

    base: Array
    of_terms: list[Array]
    names: list[list[tuple[str, str]]]


@dataclass(frozen=True, eq=False)
class Text:
    """A classifier of documents for a page.

    Parameters
    ----------
    form : TextForm, optional
    why_not : str
        Why there is no form; empty where there is one.
    terms : int
        How many terms the form has, of all that the model has.
    documents : int
        The page's and the model's predictions were compared on so many.
    same : float
        The share of them that get the same class.
    mean_difference, largest_difference : float
        Of the probability of the class that the model predicts.
    """

    form: TextForm | None
    why_not: str = ""
    terms: int = 0
    documents: int = 0
    same: float = 1.0
    mean_difference: float = 0.0
    largest_difference: float = 0.0


class Subject(ABC):
    """A fitted classifier as a report reads it.

    Parameters
    ----------
    model : classifier
    """

    unit = "row"

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def classes(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.model.classes_)

    @property
    @abstractmethod
    def class_rows(self) -> Array:
        """The weight of the rows of each class that the model has counted."""

    @property
    def form(self) -> Form | None:
        """The model as a page evaluates it; None where it cannot."""
        return None

    def text(self, X: Any) -> Text | None:
        """A classifier of documents as a page evaluates it, compared with the model on some of the
        documents X; None for classifiers of rows."""
        return None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of columns that have a table."""
        return []

    @property
    def pair_importances(self) -> list[float]:
        """How far each pair separates the classes, in nats, as the importance of a column."""
        return []

    @property
    def stale(self) -> bool:
        """Whether what was learned on rows is older than the counts."""
        return False

    @abstractmethod
    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        """The columns; X are rows of the classes `own`, for models that hold no values."""

    samples_first = True
    """Whether of many rows a sample is enough to be predicted; else all are, and then sampled."""

    @abstractmethod
    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """Predictions of learned rows by what is learned without them, and without their groups."""

    @abstractmethod
    def contributions(self, X: Any) -> Contributions:
        """What adds to the scores of rows."""

    @abstractmethod
    def values(self, X: Any) -> list[Mapping[str, Any]]:
        """The values of rows by column; None for a missing value."""

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        """By term, how much the log-loss of rows rises without it, in nats; None where that is not
        known. Of learned rows each is taken out of the counts, and of the predictions only the
        classes and weights are read: nothing is learned again without the term."""
        return None

    learns_in_parts = True
    """Whether what is learned of parts, one after the other, is what is learned of all rows."""

    def unlearned(self) -> Any:
        """The classifier before it has learned."""
        return unfitted(self.model)

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        """Whether the model counts at least these rows; it may have learned them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                copy.copy(self.model).forget(X, y, sample_weight=weight)
            except ValueError:
                return False
        return True
