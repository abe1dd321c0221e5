"""Figures of predictions of rows left out: accuracy, log-loss, calibration error, confusions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.measures.intervals import Z

__all__ = ["Estimate", "Predictions", "calibration_error", "confusions"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over rows with its 95 % interval.

    Parameters
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float

    @classmethod
    def of_mean(cls, values: Array, weight: Array) -> Estimate:
        """The weighted mean of values (n_rows,), by the normal approximation."""
        total = max(float(weight.sum()), 1e-300)
        mean = float(weight @ values) / total
        if not np.isfinite(mean):
            return cls(mean, mean, mean)
        error = float(np.sqrt(weight**2 @ (values - mean) ** 2)) / total
        return cls.around(mean, error)

    @classmethod
    def around(cls, value: float, standard_error: float | None) -> Estimate:
        """By a standard error."""
        error = Z * (standard_error or 0.0)
        return cls(value, value - error, value + error)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows with their classes and predicted probabilities.

    Parameters
    ----------
    log_proba : float64 array (n_rows, n_classes)
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    """

    log_proba: Array
    own: NDArray[np.intp]
    weight: Array

    @property
    def n_classes(self) -> int:
        return int(self.log_proba.shape[1])

    @property
    def best(self) -> NDArray[np.intp]:
        """The predicted class of each row."""
        return np.asarray(self.log_proba.argmax(axis=1))

    @property
    def of_own(self) -> Array:
        """log P of the row's own class, (n_rows,)."""
        return np.asarray(self.log_proba[np.arange(len(self.own)), self.own])

    @property
    def shares(self) -> Array:
        """The share of each class, (n_classes,)."""
        count = np.bincount(self.own, self.weight, self.n_classes)
        return np.asarray(count / max(float(count.sum()), 1e-300))

    def accuracy(self) -> Estimate:
        """The share of the rows whose class is the most probable one; held within 0 and 1."""
        found = Estimate.of_mean((self.best == self.own).astype(np.float64), self.weight)
        return Estimate(found.value, max(found.low, 0.0), min(found.high, 1.0))

    def log_loss(self) -> Estimate:
        """The mean −log P of the own class, in nats; its interval begins at 0 or above."""
        found = Estimate.of_mean(-self.of_own, self.weight)
        return Estimate(found.value, max(found.low, 0.0), found.high)

    def baseline(self) -> tuple[float, float]:
        """Accuracy of always the largest class, and log-loss of the class shares."""
        shares = self.shares
        there = shares[shares > 0.0]
        return float(shares.max(initial=0.0)), float(-(there @ np.log(there)))


def calibration_error(predictions: Predictions, n_bins: int = 15) -> float:
    """The mean difference between confidence and accuracy over equal-width bins of the confidence;
    Guo et al. (2017), equation (3)."""
    confidence = np.exp(predictions.log_proba.max(axis=1, initial=-np.inf))
    right = predictions.best == predictions.own
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    weight = predictions.weight
    difference = np.abs(
        np.bincount(bins, weight * right, n_bins) - np.bincount(bins, weight * confidence, n_bins)
    )
    return float(difference.sum() / max(float(weight.sum()), 1e-300))


def confusions(predictions: Predictions) -> Array:
    """Weight of rows by own class and predicted class, float64 (n_classes, n_classes)."""
    n = predictions.n_classes
    at = predictions.own * n + predictions.best
    return np.asarray(np.bincount(at, predictions.weight, n * n).reshape(n, n))
