"""Questions of a Display to an estimator: its distributions and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import ClassConditional, Joint
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.tables.lazy import LazyNaiveBayes
from tallybayes.estimators.text.document_classifier import DocumentClassifier
from tallybayes.plots.data.rows import Rows, class_codes, read_rows

__all__ = [
    "class_conditional_of",
    "column_named",
    "columns_named",
    "joint_of",
    "need_classifier",
    "need_fitted",
    "rows_and_codes",
    "two_classes",
]


def need_fitted(estimator: Any) -> Any:
    """The estimator, if it is one that can be drawn.

    Raises
    ------
    TypeError
        If it is not a classifier of this package.
    NotFittedError
        If it is not fitted.
    """
    if not isinstance(estimator, TallyClassifier):
        raise TypeError(
            "a Display draws a fitted classifier of tallybayes, such as GaussianNB or NaiveBayes, "
            f"got {type(estimator).__name__}"
        )
    estimator._fitted()
    return estimator


def need_classifier(estimator: Any) -> Any:
    """The estimator, if it is a fitted classifier of this package, one of documents or a lazy one
    among them; errors are those of :func:`need_fitted`."""
    if isinstance(estimator, LazyNaiveBayes):
        return estimator
    if isinstance(estimator, DocumentClassifier):
        estimator._fitted()
        return estimator
    return need_fitted(estimator)


def two_classes(
    classes: NDArray[Any], order: Sequence[int], label: Any = None, against: Any = None
) -> tuple[int, int]:
    """The places of a class and of the one that it is compared with.

    Parameters
    ----------
    classes : array (n_classes,)
    order : sequence of int
        The classes that are taken where none is named, the first ones first.
    label, against : label, optional

    Raises
    ------
    ValueError
        For a label that is not a class, twice the same, or a model of a single class.
    """
    if len(classes) < 2:
        raise ValueError(
            f"the model has one class, {classes.tolist()}: a comparison needs two; train it on "
            "rows of two classes"
        )
    at = {name: k for k, name in enumerate(classes.tolist())}
    for wanted in (label, against):
        if wanted is not None and wanted not in at:
            raise ValueError(
                f"{wanted!r} is not a class of the model: name one of {classes.tolist()}"
            )
    if label is not None and label == against:
        raise ValueError(f"label and against are both {label!r}: name two classes")
    other = None if against is None else at[against]
    first = at[label] if label is not None else next(k for k in order if k != other)
    return first, next(k for k in order if k != first) if other is None else other


def joint_of(estimator: Any) -> Joint:
    """p(x, y) of a fitted estimator.

    Raises
    ------
    TypeError
        If it does not model p(x | y).
    """
    if not hasattr(need_fitted(estimator), "joint_"):
        raise TypeError(
            f"{type(estimator).__name__} does not model p(x | class): there is no density to "
            "draw. Draw its decision regions, with every other column held"
        )
    return estimator.joint_  # type: ignore[no-any-return]


def class_conditional_of(estimator: Any) -> ClassConditional:
    """p(x | y) of a fitted estimator; see :func:`joint_of`."""
    return joint_of(estimator).conditional


def column_named(features: Sequence[Any], wanted: Any) -> Any:
    """One of the columns, by its name or, where that is not a name, by its number.

    Raises
    ------
    ValueError
        If there is none.
    """
    known = {str(name): name for name in features}
    if str(wanted) in known:
        return known[str(wanted)]
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(features):
        return features[wanted]
    listed = ", ".join(map(repr, list(features)[:20])) + (", …" if len(features) > 20 else "")
    raise ValueError(f"there is no column {wanted!r} to draw; those that count are {listed}")


def columns_named(features: Sequence[Any], wanted: Any, max_columns: int) -> list[Any]:
    """Different columns, by name or number; without `wanted` all of them, if these are not too
    many.

    Raises
    ------
    ValueError
        For a column that is not there, one named twice, or none, or more than `max_columns`.
    """
    if wanted is None:
        found = list(features)
    else:
        each = [wanted] if isinstance(wanted, str) or not hasattr(wanted, "__iter__") else wanted
        found = [column_named(features, name) for name in each]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"name columns, each once, got {wanted!r}")
    if len(found) > max_columns:
        raise ValueError(
            f"{len(found)} columns are too many for one picture: name {max_columns} at most with "
            "columns="
        )
    return found


def _columns_trained(estimator: Any, features: Sequence[Any]) -> list[Any]:
    """The columns of X as the estimator was trained with them; not all need count."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return list(names)
    n = estimator.n_features_in_
    return list(features) if len(features) == n else [str(j) for j in range(n)]


def rows_and_codes(
    estimator: Any, X: Any, y: Any, features: Sequence[Any], named: Sequence[Any]
) -> tuple[Rows | None, NDArray[np.intp] | None]:
    """Rows to draw and the index of each one's class; None without rows.

    Parameters
    ----------
    estimator : fitted classifier
    X : table or array (n_rows, n_columns), or None
    y : array-like (n_rows,) or None
        Their classes; those that the estimator predicts by default.
    features : sequence
        The columns that count.
    named : sequence
        Those that are drawn.

    Raises
    ------
    ValueError
        If X and y do not fit together, or to the estimator.
    """
    if X is None:
        if y is not None:
            raise ValueError("y is of the rows of X: give X, too")
        return None, None
    rows = read_rows(X, _columns_trained(estimator, features), named)
    labels = estimator.predict(X) if y is None else y
    _, codes = class_codes(labels, rows.n_rows, estimator.classes_)
    return rows, codes
