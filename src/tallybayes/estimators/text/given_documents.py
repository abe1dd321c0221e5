"""Checks of documents and labels before anything is counted."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally
from tallybayes.tally.terms import FADED, SLACK
from tallybayes.tokens.counting import Documents
from tallybayes.tokens.documents import as_objects
from tallybayes.validation import read_groups, read_labels, read_weights

__all__ = [
    "CountedRows",
    "aged",
    "decoded",
    "groups_of",
    "labels_of",
    "need_counted",
    "need_documents",
    "need_several",
    "of_own_terms",
    "weights_of",
]


def labels_of(y: Any, n_documents: int, whose: str) -> NDArray[Any]:
    """y as an array with one label a document.

    Raises
    ------
    ValueError
        As :func:`~tallybayes.validation.read_labels` does.
    """
    return read_labels(y, _Shape(n_documents), whose)


def of_own_terms(terms: NDArray[Any], documents: Documents) -> tuple[NDArray[Any], Documents]:
    """Documents as rows of the terms that they have."""
    held, places = np.unique(documents.terms, return_inverse=True)
    rows = replace(documents, terms=places.astype(np.int32), n_terms=len(held))
    return terms[held], rows


class CountedRows(NamedTuple):
    """Documents with their classes and weights.

    Parameters
    ----------
    documents : Documents
    codes : int32 array (n_documents,)
    weights : float64 array (n_documents,), optional
        None for weight 1.
    groups : index array (n_documents,), optional
        The number of each one's group; None where each is alone.
    """

    documents: Documents
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    groups: NDArray[np.intp] | None = None

    @property
    def weighty(self) -> NDArray[np.intp]:
        """The places of those that weigh something."""
        if self.weights is None:
            return np.arange(len(self.codes))
        return np.flatnonzero(self.weights)

    def take(self, kept: NDArray[np.intp]) -> CountedRows:
        """Some of them, in this order."""
        if len(kept) == len(self.codes):
            return self
        return CountedRows(
            self.documents.take(kept),
            self.codes[kept],
            None if self.weights is None else self.weights[kept],
            None if self.groups is None else self.groups[kept],
        )


def groups_of(groups: Any, n_documents: int) -> NDArray[np.intp] | None:
    """The number of each document's group; None where there are none, or each is alone.

    Raises
    ------
    ValueError
        As :func:`~tallybayes.validation.read_groups` does.
    """
    found = read_groups(groups, _Shape(n_documents))
    return None if found is None or int(found.max(initial=0)) + 1 == n_documents else found


def weights_of(sample_weight: Any, n_documents: int) -> NDArray[np.float64] | None:
    """Weights of documents, float64 (n_documents,); None where all are 1.

    Raises
    ------
    ValueError
        If there is not one finite weight of at least 0 a document, or all are 0.
    """
    weights = read_weights(sample_weight, np.broadcast_to(0.0, (n_documents, 1)))
    if weights is None or (weights == 1.0).all():
        return None
    if weights.min() < 0.0:
        i = int(weights.argmin())
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]:g}, and a document weighs 0 or more: forget(X, y, "
            "sample_weight) takes documents away"
        )
    if not weights.any():
        raise ValueError("all sample_weight are 0, and there is no document to count")
    return weights


def aged(
    weights: NDArray[np.float64] | None, n_documents: int, half_life: float | None
) -> NDArray[np.float64] | None:
    """Weights of documents in the order in which they are learned, as they are when the last one
    has been."""
    if half_life is None:
        return weights
    age = np.arange(n_documents - 1, -1, -1) / half_life
    share = np.maximum(0.5**age, FADED * FADED)  # such as no count shows, but there
    return share if weights is None else weights * share


def need_counted(
    weights: NDArray[np.float64], codes: NDArray[np.int32], documents: NDArray[np.float64]
) -> None:
    """Raises NegativeTally for a document that weighs more than its class holds."""
    more = np.flatnonzero(weights > documents[codes] * (1.0 + SLACK))
    if more.size:
        i = int(more[0])
        raise NegativeTally(
            f"document {i} weighs {weights[i]:g}, more than the {documents[codes[i]]:g} that its "
            "class holds: leave_one_out takes documents that were learned, with their weights"
        )


def need_documents(documents: Any) -> None:
    """Raise unless X is a non-empty sequence of documents."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "X is a single string, and documents are several: give a list, such as [document]"
        )
    if isinstance(documents, Mapping | Set):
        raise TypeError(
            f"X must be a list, an array or a column of documents, got a "
            f"{type(documents).__name__}, whose order is not that of the labels: make a list of "
            "the documents"
        )
    if not hasattr(documents, "__len__"):
        raise TypeError(
            f"X must be a list, an array or a column of documents, got {type(documents).__name__}: "
            "make a list of it"
        )
    if len(getattr(documents, "shape", (0,))) != 1:
        raise ValueError(
            f"X must be one document a row, got the shape {documents.shape}: give one column, such "
            "as frame['body']"
        )
    if not len(documents):
        raise ValueError("X holds no documents (minimum of 1 is required): give at least one")


def need_several(documents: Any) -> None:
    """Raise where a single string is given for the documents of a vectorizer."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            "Iterable over raw text documents expected, string object received: put a single "
            "document into a list"
        )


def decoded(vectorizer: Any, documents: Any) -> Any:
    """Documents as the kernel reads them: files are read, and bytes of other encodings, as the
    parameters of a CountVectorizer say."""
    utf8 = vectorizer.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    if vectorizer.input != "content":
        return map(vectorizer.decode, as_objects(documents))
    if utf8 and vectorizer.decode_error == "strict":
        return documents
    return map(vectorizer.decode, as_objects(documents))


class _Shape:
    """The number of rows that labels are compared with."""

    def __init__(self, n: int) -> None:
        self.shape = (n,)
