"""Honest predictions of the rows that a model has learned, from its tally."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from tallybayes.errors import StaleWarning
from tallybayes.estimators.base import TallyClassifier

__all__ = ["cross_validate", "leave_one_out"]

Array = NDArray[np.float64]


def _need_classifier(model: Any, action: str) -> TallyClassifier:
    if not isinstance(model, TallyClassifier):
        raise TypeError(
            f"{action} takes a classifier of tallybayes, got a {type(model).__name__}: others keep "
            "no counts to take rows out of"
        )
    return model


def leave_one_out(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Array:
    """log P(c | x) of each row that a model has learned, by the counts of all other rows.

    It is what fitting without the row would predict, the fitted schema held fixed: classes, levels,
    families, bins, transforms and chosen smoothing. One pass over the rows; nothing is fitted.

    Parameters
    ----------
    model : fitted classifier of tallybayes
    X : rows (n_rows, n_features)
        Rows that were learned, not necessarily all.
    y : array-like (n_rows,)
        Their labels.
    sample_weight : array-like (n_rows,), optional
        The weights that they were learned with.

    Returns
    -------
    float64 array (n_rows, n_classes)
        Normalised log-probabilities, in nats, classes in the order of ``classes_``. A row that
        every class rules out gets the class prior.

    Raises
    ------
    NegativeTally
        A ValueError: a row weighs more than its class holds, so that it cannot have been learned.
    ValueError
        For bad data.
    """
    return _need_classifier(model, "leave_one_out")._log_proba_without(X, y, sample_weight)


def _fold_of(folds: Any, X: Any, y: NDArray[Any]) -> NDArray[np.intp]:
    """The number of each row's fold."""
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        folds = StratifiedKFold(int(folds), shuffle=True, random_state=0)
    if hasattr(folds, "split"):
        fold = np.full(len(y), -1, dtype=np.intp)
        for i, (_, test) in enumerate(folds.split(np.zeros((len(y), 1)), y)):
            fold[test] = i
        if (fold < 0).any():
            raise ValueError("the splitter leaves rows in no test set: each row is predicted once")
        return fold
    fold = np.asarray(folds)
    if fold.shape != (len(y),):
        raise ValueError(
            f"folds is a number of folds, a splitter, or one fold a row ({len(y)}); got an array "
            f"of shape {fold.shape}"
        )
    return np.unique(fold, return_inverse=True)[1].astype(np.intp)


def cross_validate(
    model: Any,
    X: Any,
    y: ArrayLike,
    folds: Any = 10,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """log P(c | x) of each row, by the counts of the rows in other folds.

    Each fold is counted once and subtracted from what the model has learned; its levels and classes
    stay known. What is chosen when a tally is read is chosen again for each fold; a calibration,
    and smoothing chosen on rows, stay as they are.

    Parameters
    ----------
    model : fitted classifier of tallybayes
        It has learned X, and is not changed.
    X : rows (n_rows, n_features)
    y : array-like (n_rows,)
    folds : int, splitter, or array-like (n_rows,)
        How many stratified folds (shuffled, in the same way each time), a splitter of scikit-learn
        whose test sets hold each row once, or the fold of each row.
    sample_weight : array-like (n_rows,), optional
        The weights that the rows were learned with.

    Returns
    -------
    float64 array (n_rows, n_classes)
        Normalised log-probabilities, in nats.

    Raises
    ------
    NegativeTally
        A ValueError: the model has not learned these rows.
    ValueError
        For bad data or folds.
    """
    model = _need_classifier(model, "cross_validate")
    labels = np.asarray(y)
    check_consistent_length(X, labels, sample_weight)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    fold = _fold_of(folds, X, labels)
    found = np.empty((len(labels), len(model.classes_)))
    warned = set(model._fitted().warned)  # folds do not repeat each other's warnings
    for i in range(int(fold.max(initial=-1)) + 1):
        rows = np.flatnonzero(fold == i)
        part = _safe_indexing(X, rows)
        others = copy.copy(model)
        others._fitted().warned = warned
        others.forget(part, labels[rows], None if weights is None else weights[rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleWarning)
            found[rows] = others.predict_log_proba(part)
    return found
