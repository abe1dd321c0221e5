"""How good predictions are: figures with intervals, curves of one class, and the learning curve."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.validation import rows_of

__all__ = [
    "Estimate",
    "LearningCurve",
    "Predictions",
    "Ranking",
    "Reliability",
    "Z",
    "calibration_error",
    "confusions",
    "learning_curve",
    "ranking",
    "reliability",
]
Array = NDArray[np.float64]


# ---- intervals of shares and means ---------------------------------------------------------------
Z = 1.959964
"""Standard errors on either side of a 95 % interval."""


def wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share of n rows; E. B. Wilson, JASA 22 (1927), 209-212."""
    n = np.maximum(n, 1e-300)
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


# ---- figures of predictions: accuracy, log-loss, calibration error, confusions -------------------
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


def calibration_error(predictions: Predictions) -> float:
    """The mean difference between confidence and accuracy over equal-width bins of the confidence;
    Guo et al. (2017), equation (3)."""
    confidence = np.exp(predictions.log_proba.max(axis=1, initial=-np.inf))
    right = predictions.best == predictions.own
    n_bins = 15
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


# ---- one class against the rest: reliability, precision and recall, ROC, lift, thresholds --------
N_POINTS = 120  # of a curve
THRESHOLD_STEPS = 200  # steps of the threshold slider, at each of which the curve is exact


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted and observed shares in bins of about equal weight.

    Parameters
    ----------
    predicted, observed, low, high, weight : float64 arrays (n_bins,)
        Mean probability, share of the class, its 95 % interval, and weight of the rows.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    weight: Array


def reliability(predictions: Predictions, k: int, n_bins: int = 12) -> Reliability:
    """How often class k occurs where it has a given probability."""
    p = np.exp(predictions.log_proba[:, k])
    order = np.argsort(p, kind="stable")
    weight, p, hit = predictions.weight[order], p[order], (predictions.own == k)[order]
    share = (np.cumsum(weight) - 0.5 * weight) / max(float(weight.sum()), 1e-300)
    bins = np.minimum((share * n_bins).astype(np.intp), n_bins - 1)
    first = np.searchsorted(p, p, side="left")  # equal probabilities share a bin
    bins = bins[first]
    total = np.bincount(bins, weight, n_bins).astype(np.float64)
    kept = total > 0.0
    total = total[kept]
    predicted = np.bincount(bins, weight * p, n_bins)[kept] / total
    observed = np.bincount(bins, weight * hit, n_bins)[kept] / total
    effective = total**2 / np.bincount(bins, weight**2, n_bins)[kept]
    return Reliability(predicted, observed, *wilson(observed, effective), total)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Results of a threshold on the probability of one class, at falling thresholds.

    Parameters
    ----------
    threshold : float64 array (n,)
        A row is taken where its probability is at least this.
    hits, alarms : float64 arrays (n,)
        Weight of the rows taken that are, and are not, of the class.
    positives, negatives : float
        Weight of all rows of the class, and of the others.
    auc : float
        Area under the ROC curve.
    average_precision : float
        Σ (recall_n − recall_{n−1}) · precision_n.
    """

    threshold: Array
    hits: Array
    alarms: Array
    positives: float
    negatives: float
    auc: float
    average_precision: float


def ranking(predictions: Predictions, k: int) -> Ranking:
    """The rows ranked by the probability of class k; equal probabilities are one step."""
    p, hit = np.exp(predictions.log_proba[:, k]), predictions.own == k
    order = np.argsort(-p, kind="stable")
    p, hit, weight = p[order], hit[order], predictions.weight[order]
    last = np.flatnonzero(np.append(p[1:] != p[:-1], True)) if len(p) else np.zeros(0, np.intp)
    hits, alarms = np.cumsum(weight * hit)[last], np.cumsum(weight * ~hit)[last]
    positives, negatives = (float(a[-1]) if len(a) else 0.0 for a in (hits, alarms))
    recall = hits / max(positives, 1e-300)
    fall_out = alarms / max(negatives, 1e-300)
    area = float(np.trapezoid(np.append(0.0, recall), np.append(0.0, fall_out)))
    precision = hits / np.maximum(hits + alarms, 1e-300)
    average = float(np.diff(np.append(0.0, recall)) @ precision)
    some = np.union1d(_spread(recall, fall_out), _at_round_thresholds(p[last]))
    if not positives or not negatives:
        area = average = float("nan")
    found = p[last][some], hits[some], alarms[some]
    return Ranking(*found, positives, negatives, area, average)


def _at_round_thresholds(falling: Array) -> NDArray[np.intp]:
    """The last points whose threshold is at least 0, 1/200, …, 1."""
    found = np.searchsorted(-falling, -np.linspace(0.0, 1.0, THRESHOLD_STEPS + 1), side="right") - 1
    return np.unique(found[found >= 0])


def _spread(recall: Array, fall_out: Array) -> NDArray[np.intp]:
    """Points of a curve, at most about N_POINTS, evenly along its length."""
    if len(recall) <= N_POINTS:
        return np.arange(len(recall))
    along = recall + fall_out
    wanted = np.linspace(along[0], along[-1], N_POINTS)
    return np.unique(np.append(np.searchsorted(along, wanted).clip(0, len(along) - 1), [0]))


# ---- how good a model gets with more rows: each part is predicted by what came before it ---------
# A model that counts learns each part after it is predicted, in one pass. One that learns weights
# from all rows is fitted again on each prefix.
N_PREFIXES, N_REFITS = 12, 6


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
    ends = np.geomspace(least, n, (N_REFITS if refit else N_PREFIXES) + 1).astype(np.intp)
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
