"""One class against the rest: reliability, precision and recall, ROC, lift, thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.measures.figures import Predictions
from tallybayes.reporting.measures.intervals import wilson

__all__ = ["Ranking", "Reliability", "ranking", "reliability"]

Array = NDArray[np.float64]

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
