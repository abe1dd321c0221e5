"""Predictions of held-out rows, and how good and how well calibrated they are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.folds import LEAST, SEED

__all__ = ["HeldOut", "calibration_error", "held_out"]

Array = NDArray[np.float64]
BINS = 15


@dataclass
class HeldOut:
    """What a model said of rows that it had not learned.

    Parameters
    ----------
    proba : float64 array (n_rows, n_classes)
    own : index array (n_rows,)
        The class of each row.
    fold : index array (n_rows,)
    fit, predict : list of float
        Seconds of each fold: learning and reading the model, up to its first prediction; and
        predicting the fold.
    """

    proba: Array
    own: NDArray[np.intp]
    fold: NDArray[np.intp]
    fit: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)

    @property
    def losses(self) -> Array:
        """Nats of each row."""
        return np.asarray(-np.log(self.proba[np.arange(len(self.own)), self.own]))

    @property
    def log_loss(self) -> float:
        return float(self.losses.mean())

    @property
    def accuracy(self) -> float:
        return float((self.proba.argmax(axis=1) == self.own).mean())

    @property
    def error(self) -> float:
        return calibration_error(self.proba, self.own)

    def seconds(self, what: str = "fit") -> float:
        return float(np.sum(getattr(self, what)))


def calibration_error(proba: Array, own: NDArray[np.intp]) -> float:
    """Expected calibration error: |share of rows that are right − mean confidence| in bins of equal
    width of the confidence, the probability of the most probable class, weighted by rows. Guo et
    al. (2017), equation (3)."""
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == own
    bins = np.clip(np.ceil(sure * BINS).astype(np.intp) - 1, 0, BINS - 1)
    apart = np.bincount(bins, right, BINS) - np.bincount(bins, sure, BINS)
    return float(np.abs(apart).sum() / len(own))


def held_out(
    models: Mapping[str, Any], X: Any, y: Any, n_folds: int, rounds: int, *, seed: int = SEED
) -> dict[str, HeldOut]:
    """Every model on the same stratified folds, timed in turn.

    Parameters
    ----------
    models : mapping of str to estimator
    X : pandas.DataFrame (n_rows, n_columns)
    y : array of str (n_rows,)
    n_folds : int
    rounds : int
        Fits of each fold; the least time counts.
    seed : int
        Of the folds.
    """
    classes, own = np.unique(y, return_inverse=True)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    fold = np.zeros(len(y), dtype=np.intp)
    found = {
        name: HeldOut(np.empty((len(y), len(classes))), own.astype(np.intp), fold)
        for name in models
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes, identifiers, rows ruled out
        for i, (train, test) in enumerate(folds.split(X, y)):
            fold[test] = i
            x, labels, rest = X.iloc[train], y[train], X.iloc[test]
            least = dict.fromkeys(models, np.inf)
            fitted = {}
            for _ in range(rounds):
                for name, model in models.items():
                    start = time.perf_counter()
                    fitted[name] = clone(model).fit(x, labels)
                    fitted[name].predict(rest[:1])
                    least[name] = min(least[name], time.perf_counter() - start)
            for name, model in fitted.items():
                start = time.perf_counter()
                proba = np.clip(model.predict_proba(rest), LEAST, None)
                found[name].predict.append(time.perf_counter() - start)
                found[name].fit.append(least[name])
                found[name].proba[test] = proba / proba.sum(axis=1, keepdims=True)
    return found
