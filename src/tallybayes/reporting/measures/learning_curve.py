"""How good a model gets with more rows: each part is predicted by what came before it.

A model that counts learns each part after it is predicted, in one pass. One that learns weights
from all rows is fitted again on each prefix.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.validation import rows_of

__all__ = ["LearningCurve", "learning_curve"]

Array = NDArray[np.float64]

N_POINTS, N_REFITS = 12, 6


@dataclass(frozen=True)
class LearningCurve:
    """Figures of the rows after each prefix, predicted by a model of the prefix.

    Parameters
    ----------
    rows : list of int
        Rows learned.
    log_loss, accuracy : list of float
    refitted : bool
        Whether the model was fitted again on each prefix.
    """

    rows: list[int]
    log_loss: list[float]
    accuracy: list[float]
    refitted: bool = False


def learning_curve(
    model: Any,
    X: Any,
    y: Array,
    seed: int = 0,
    *,
    groups: NDArray[np.intp] | None = None,
    refit: bool = False,
) -> LearningCurve | None:
    """The curve of an unfitted classifier; None where the rows are too few.

    Parameters
    ----------
    model : classifier
        With ``partial_fit``, unless it is fitted again.
    X, y : rows and labels
    seed : int
        Of the order of the rows.
    groups : index array (n_rows,), optional
        Rows of a group are in one part: none is predicted by others of its group.
    refit : bool
        Whether it is fitted again on each prefix.
    """
    classes, own = np.unique(y, return_inverse=True)
    n = len(y)
    if n < 40 or (refit and n < 4 * len(classes)):
        return None
    order = np.random.default_rng(seed).permutation(n)
    together = np.arange(n) if groups is None else groups[order]
    _, place, group = np.unique(together, return_index=True, return_inverse=True)
    least = max(10, n // 256)
    if refit:  # each prefix has a row of each class
        firsts = np.unique(own[order], return_index=True)[1]
        place[group[firsts]] -= n
        least = max(2 * len(classes), 20, n // 64)
    by_group = np.argsort(place[group], kind="stable")
    order, group = order[by_group], group[by_group]
    ends = np.geomspace(least, n, (N_REFITS if refit else N_POINTS) + 1).astype(np.intp)
    whole = np.flatnonzero(np.append(np.diff(group) != 0, True)) + 1  # groups end here
    ends = np.unique(whole[np.searchsorted(whole, ends)])
    if len(ends) < 2:
        return None
    given = model, X, y, order, ends.tolist()
    predictions = _refitted(*given, groups) if refit else _in_one_pass(*given)
    rows, losses, rates = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start, some, log_proba in predictions:
            found = log_proba[np.arange(len(some)), own[some]]
            rows.append(int(start))
            losses.append(float(-found.mean()))
            rates.append(float((log_proba.argmax(axis=1) == own[some]).mean()))
    return LearningCurve(rows, losses, rates, refit)


Part = tuple[int, NDArray[np.intp], Array]


def _in_one_pass(
    model: Any, X: Any, y: Array, order: NDArray[np.intp], ends: list[int]
) -> Iterator[Part]:
    """How many rows were learned, the rows that follow, and log P(c | x) of these."""
    first = order[: ends[0]]
    model.partial_fit(rows_of(X, first), y[first], classes=np.unique(y))
    for start, end in pairwise(ends):
        some = order[start:end]
        part = rows_of(X, some)
        yield start, some, np.asarray(model.predict_log_proba(part))
        model.partial_fit(part, y[some])


def _refitted(
    model: Any,
    X: Any,
    y: Array,
    order: NDArray[np.intp],
    ends: list[int],
    groups: NDArray[np.intp] | None,
) -> Iterator[Part]:
    """The same of a model that is fitted on each prefix."""
    for start, end in pairwise(ends):
        known, some = order[:start], order[start:end]
        model.fit(rows_of(X, known), y[known], groups=None if groups is None else groups[known])
        yield start, some, np.asarray(model.predict_log_proba(rows_of(X, some)))
