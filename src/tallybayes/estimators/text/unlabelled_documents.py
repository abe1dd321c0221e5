"""Which documents have no label: None, a missing value or −1 among labels."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.text.given_documents import labels_of
from tallybayes.tokens.documents import as_objects

__all__ = ["need_labels", "split_labels"]


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ == "NAType":
        return True
    return isinstance(label, float) and label != label


def _is_minus_one(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool) and label == -1


def _marks(y: Any) -> tuple[NDArray[np.bool_], bool]:
    """Which labels mark a document without one, and whether −1 does."""
    if y is None or isinstance(y, str) or getattr(y, "ndim", 1) != 1:
        return np.zeros(0, dtype=bool), False  # which is refused as labels are
    values = list(as_objects(y))
    minus = np.array([_is_minus_one(label) for label in values], dtype=bool)
    return minus | np.array([_is_missing(label) for label in values], dtype=bool), bool(minus.any())


def split_labels(y: Any, n_documents: int, whose: str) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which documents have a label, bool (n_documents,), and the labels of those.

    Raises
    ------
    ValueError
        If no document has a label, if −1 stands beside a single other label, or as for labels.
    """
    marks, minus = _marks(y)
    if not marks.any():
        return np.ones(n_documents, dtype=bool), labels_of(y, n_documents, whose)
    if len(marks) != n_documents:
        raise ValueError(
            f"X has {n_documents} documents and y {len(marks)} labels: give one label a document, "
            "None or -1 where there is none"
        )
    if marks.all():
        raise ValueError(
            "no document has a label: None and -1 mark documents without one. Label some of each "
            "class"
        )
    kept = ~marks
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        some: Any = y[kept]
    else:
        some = [label for label, held in zip(as_objects(y), kept, strict=True) if held]
    labels = labels_of(some, int(kept.sum()), whose)
    if minus and len(set(labels.tolist())) == 1:
        raise ValueError(
            f"y holds -1 and one other label, {labels.tolist()[0]!r}, and -1 marks documents "
            "without a label. If -1 is a class, give it another name, and mark documents without a "
            "label by None"
        )
    return kept, labels


def need_labels(y: Any, action: str) -> None:
    """Raises ValueError for documents without a label, which only a fit counts.

    Parameters
    ----------
    y : array-like
    action : str
        What would be done, for the message.
    """
    marks, _ = _marks(y)
    if marks.any():
        raise ValueError(
            f"{action} needs a label for every document, and row {int(marks.argmax())} has none "
            "(None or -1): unlabelled documents are counted by fit"
        )
