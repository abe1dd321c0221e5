"""Unbiased predictions of the rows that a model has learned, from its tally."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from tallybayes.errors import StaleWarning, TallyWarning
from tallybayes.validation import as_rows, labels_given, read_groups, rows_of, warn_of_other_order
from tallybayes.weighted.rows import fold_of, group_folds

__all__ = ["cross_validate", "held_out_predictions", "leave_one_out", "usual_folds"]


Array = NDArray[np.float64]

MAX_ROWS_ONE_FOLD_EACH = 20  # up to here every row is a fold
FOLDS = ((2_000, 10), (20_000, 5))  # up to so many rows, so many folds
FOLDS_OF_MANY_ROWS = 5


def usual_folds(labels: NDArray[Any], groups: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """The fold of each row where none are requested, with about as many rows of each class, and all
    rows of a group in one."""
    n = len(labels) if groups is None else len(np.unique(groups))
    if n < MAX_ROWS_ONE_FOLD_EACH:
        return np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_folds = next((k for most, k in FOLDS if len(labels) <= most), FOLDS_OF_MANY_ROWS)
    if groups is not None:
        own = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        _, first, place = np.unique(groups, return_index=True, return_inverse=True)
        in_order = np.argsort(np.argsort(first))[place]  # whatever the groups are called
        return group_folds(in_order.astype(np.uint64), own, n_folds, 0)
    return fold_of(labels, n_folds, seed=0)


def _need_classifier(model: Any, action: str) -> Any:
    if getattr(model, "_reads", None) not in ("arrays", "tables"):
        why = "others keep no counts to take rows out of"
        if hasattr(model, "leave_one_out"):
            why = "its fit leaves documents out itself, and log_loss_ is of these"
        raise TypeError(
            f"{action} takes a classifier of tallybayes that reads tables or arrays, got a "
            f"{type(model).__name__}: {why}"
        )
    return model


def leave_one_out(
    model: Any,
    X: Any,
    y: ArrayLike | str,
    sample_weight: ArrayLike | str | None = None,
    groups: ArrayLike | None = None,
) -> Array:
    """log P(c | x) of each row that a model has learned, by the counts of all other rows.

    Exact in the counts: it is what fitting without the row would predict, with everything that was
    chosen held fixed: classes, levels, families, bins, transforms, smoothing, calibration, weights.
    Those choices have seen the row. Where much is chosen from few rows, the result is optimistic,
    and :func:`cross_validate` gives the unbiased figure. One pass over the rows; nothing is fitted.

    Parameters
    ----------
    model : fitted classifier of tallybayes
        A fitted model; one of documents answers as its own method of this name does.
    X : rows (n_rows, n_features), or source of rows
        Rows that were learned, not necessarily all. A source is read once more, part by part.
    y : array-like (n_rows,) or str
        Their labels, or the column of X that has them.
    sample_weight : array-like (n_rows,) or str, optional
        The weights that they were learned with, or the column of X that has them.
    groups : array-like (n_rows,), optional
        Rows that belong together, such as those of one customer, have one value. Each row is then
        predicted after the counts of its whole group are subtracted, which takes a pass for each
        group; X holds all rows of each.

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
    if hasattr(model, "leave_one_out"):  # documents
        of_documents: Array = model.leave_one_out(X, y, sample_weight, groups)
        return of_documents
    classifier = _need_classifier(model, "leave_one_out")
    if groups is None:
        without: Array = classifier._log_proba_without(X, y, sample_weight)
        return without
    if isinstance(y, str):
        raise ValueError(
            "groups are left out of rows in memory: give the rows as a table and the labels as an "
            "array"
        )
    warn_of_other_order(X, y, sample_weight, groups)
    X, labels = as_rows(X), labels_given(y)
    check_consistent_length(X, labels, sample_weight)
    fold = read_groups(groups, len(labels))
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    found = np.empty((len(labels), len(model.classes_)))
    parts = held_out_predictions(classifier, X, labels, fold, weights, choose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)  # what was chosen is held fixed
        for rows, log_proba in parts:
            found[rows] = log_proba
    return found


def _fold_of(folds: Any, y: NDArray[Any], groups: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """The number of each row's fold."""
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold  # slow to import

        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        folds = kind(int(folds), shuffle=True, random_state=0)
    if hasattr(folds, "split"):
        fold = np.full(len(y), -1, dtype=np.intp)
        for i, (_, test) in enumerate(folds.split(np.zeros((len(y), 1)), y, groups)):
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
    groups: ArrayLike | None = None,
) -> Array:
    """log P(c | x) of each row, by a model that has not seen the rows of its fold.

    Each fold is counted once and subtracted from what the model has learned; the classes stay
    known. Everything else is chosen again without the fold: what is chosen when a tally is read
    (families, bins), and what is chosen on rows (smoothing, calibration, and the weights, pairs and
    corrections of a weighted model), on the rows of X in the other folds.

    Parameters
    ----------
    model : classifier of tallybayes
        It has learned X, and is not changed. Of one that is not fitted, a clone learns X first.
    X : rows (n_rows, n_features)
        Rows to learn and predict.
    y : array-like (n_rows,)
        Their labels.
    folds : int, splitter, or array-like (n_rows,)
        How many stratified folds (shuffled, in the same way each time), a splitter of scikit-learn
        whose test sets hold each row once, or the fold of each row.
    sample_weight : array-like (n_rows,), optional
        The weights that the rows were learned with.
    groups : array-like (n_rows,), optional
        Rows of a group are in one fold, and left out together wherever something is chosen on
        rows.

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
    warn_of_other_order(X, y, sample_weight, groups)
    X, labels = as_rows(X), labels_given(y)
    check_consistent_length(X, labels, sample_weight)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    together = None if groups is None else read_groups(groups, len(labels))
    fold = _fold_of(folds, labels, together)
    if together is not None and (split := _split_group(fold, together)) is not None:
        raise ValueError(
            f"folds puts the rows of one group, such as those of row {split}, into several folds: "
            "give a number of folds, or folds of whole groups"
        )
    if not model.__sklearn_is_fitted__():  # what is chosen on rows is chosen in each fold
        model = clone(model).fit(X, labels, sample_weight=weights)
    found = np.empty((len(labels), len(model.classes_)))
    parts = held_out_predictions(model, X, labels, fold, weights, together)
    for rows, log_proba in parts:
        found[rows] = log_proba
    return found


def _split_group(fold: NDArray[np.intp], groups: NDArray[np.intp]) -> int | None:
    """A row whose group is in several folds."""
    last = np.zeros(int(groups.max(initial=0)) + 1, dtype=np.intp)
    last[groups] = fold
    apart = np.flatnonzero(last[groups] != fold)
    return int(apart[0]) if len(apart) else None


def held_out_predictions(
    model: Any,
    X: Any,
    y: NDArray[Any],
    fold: NDArray[np.intp],
    weights: Array | None = None,
    groups: NDArray[np.intp] | None = None,
    *,
    choose: bool = True,
) -> Iterator[tuple[NDArray[np.intp], Array]]:
    """The rows of each fold from 0 on and log P(c | x) of them, (n_in_fold, n_classes), by a model
    that has not seen them; see :func:`cross_validate`. A row of fold −1 is in no test set.

    X may be a sample of the rows that the model has counted: the counts of all other rows stay.
    Without `choose`, what was chosen on rows stays as it is.
    """
    declared = hasattr(model, "classes")
    warned = set(model._fitted().warned)  # folds do not repeat each other's warnings
    for i in range(int(fold.max(initial=-1)) + 1):
        test, others = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
        part = rows_of(X, test)
        apart = copy.copy(model)
        apart._fitted().warned = warned
        if declared:  # a class that no other row has stays known
            apart.classes = model.classes_
        apart.forget(part, y[test], None if weights is None else weights[test])
        apart._expect_values_of(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TallyWarning)  # the model itself has warned
            if choose:
                of_others = None if weights is None else weights[others]
                together = () if groups is None else (groups[others],)
                apart = apart._choose_without(rows_of(X, others), y[others], of_others, *together)
        yield test, _for_classes(model.classes_, apart, apart.predict_log_proba(part))


def _for_classes(classes: NDArray[Any], model: Any, log_proba: Array) -> Array:
    """Log-probabilities with a column for each of `classes`, −inf for one the model lacks."""
    if len(model.classes_) == len(classes):
        return log_proba
    wide = np.full((len(log_proba), len(classes)), -np.inf)
    wide[:, np.searchsorted(classes, model.classes_)] = log_proba
    return wide
