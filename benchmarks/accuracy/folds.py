"""Stratified cross-validation: the same folds for every model, scored fold by fold."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.models import Model

__all__ = ["Scores", "cross_validate", "standard_error"]

LEAST = 1e-15  # probabilities are not scored below this
SEED = 0


def standard_error(values: Any) -> float:
    """Of the mean of `values`, one a fold."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


@dataclass
class Scores:
    """How one model did on one data set, a value a fold.

    Parameters
    ----------
    model : str
    log_loss : list of float
        Nats a row.
    accuracy : list of float
    fit, predict : list of float
        Seconds.
    undefined : int
        Rows whose probabilities were not finite; the class prior of the fold was scored instead.
    failed : str, optional
        Why the model gave nothing.
    """

    model: str
    log_loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    fit: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)
    undefined: int = 0
    failed: str | None = None

    def mean(self, metric: str) -> float:
        return float(np.mean(getattr(self, metric)))

    def error(self, metric: str) -> float:
        return standard_error(getattr(self, metric))


def probabilities(
    answer: Any, columns: Any, classes: Any, prior: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """P(c | x) in the order of `classes`, at least LEAST, and how many rows were undefined.

    Parameters
    ----------
    answer : array (n_rows, n_known)
        What the model says.
    columns : array (n_known,)
        Its classes, maybe not all.
    classes : sorted array (n_classes,)
    prior : float64 array (n_classes,)
        What an undefined row gets.
    """
    scored = np.zeros((len(answer), len(classes)))
    scored[:, np.searchsorted(classes, columns)] = answer
    undefined = ~np.isfinite(scored).all(axis=1)
    scored[undefined] = prior
    scored = np.clip(scored, LEAST, None)
    return scored / scored.sum(axis=1, keepdims=True), int(undefined.sum())


def cross_validate(model: Model, X: Any, y: Any, n_folds: int) -> Scores:
    """Fits and scores a model on every fold; a failure is recorded, not raised.

    Parameters
    ----------
    model : Model
    X : pandas.DataFrame (n_rows, n_columns)
    y : object array (n_rows,)
    n_folds : int
    """
    scores = Scores(model.name)
    classes, labels = np.unique(y, return_inverse=True)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        # rare classes, empty bins, products that underflow: their outcome is in the scores
        warnings.simplefilter("ignore")
        for train, test in folds.split(X, y):
            try:
                start = time.perf_counter()
                fitted = model.make().fit(X.iloc[train], y[train])
                middle = time.perf_counter()
                answer = fitted.predict_proba(X.iloc[test])
                end = time.perf_counter()
            except Exception as why:
                scores.failed = f"{type(why).__name__}: {why}"
                return scores
            prior = np.bincount(labels[train], minlength=len(classes)) / len(train)
            scored, undefined = probabilities(answer, fitted.classes_, classes, prior)
            right = labels[test]
            loss = -np.log(scored[np.arange(len(test)), right])
            scores.log_loss.append(float(loss.mean()))
            scores.accuracy.append(float((scored.argmax(axis=1) == right).mean()))
            scores.fit.append(middle - start)
            scores.predict.append(end - middle)
            scores.undefined += undefined
    return scores
