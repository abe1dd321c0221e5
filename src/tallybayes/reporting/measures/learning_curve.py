"""How good a model gets with more rows: in one pass, each part is predicted, then learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.rows import rows_of

__all__ = ["LearningCurve", "learning_curve"]

Array = NDArray[np.float64]

PARTS = 12


@dataclass(frozen=True)
class LearningCurve:
    """Figures of the rows that follow a prefix, by what was learned from the prefix.

    Parameters
    ----------
    rows : list of int
        Rows learned.
    log_loss, accuracy : list of float
    """

    rows: list[int]
    log_loss: list[float]
    accuracy: list[float]


def learning_curve(model: Any, X: Any, y: Array, seed: int = 0) -> LearningCurve | None:
    """The curve of an unfitted classifier that learns by ``partial_fit``; None where the rows are
    too few.

    Parameters
    ----------
    model : classifier
    X, y : rows and labels
    seed : int
        Of the order of the rows.
    """
    n = len(y)
    if n < 40:
        return None
    order = np.random.default_rng(seed).permutation(n)
    ends = np.unique(np.geomspace(max(10, n // 256), n, PARTS + 1).astype(np.intp))
    classes, own = np.unique(y, return_inverse=True)
    rows, losses, rates = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = order[: ends[0]]
        model.partial_fit(rows_of(X, first), y[first], classes=classes)
        for start, end in pairwise(ends.tolist()):
            some = order[start:end]
            part = rows_of(X, some)
            log_proba = np.asarray(model.predict_log_proba(part))
            found = log_proba[np.arange(len(some)), own[some]]
            rows.append(int(start))
            losses.append(float(-found.mean()))
            rates.append(float((log_proba.argmax(axis=1) == own[some]).mean()))
            model.partial_fit(part, y[some])
    return LearningCurve(rows, losses, rates)
