"""Calibration fitted on leave-one-out predictions; ``models.calibration`` has the equations.

Both methods shrink toward no calibration by the number n of effective rows: leave-one-out
predictions that are all right, as those of a few well separated rows are, are not evidence that
there is no error at all. log β has a normal prior below β = 1. Above, it has an exponential one,
which keeps β at 1 until 16 nats contradict it: families and smoothing were chosen on the same
rows, so that leave-one-out shows them better than they are, and naive Bayes is too sure far more
often than too modest. Measured in docs/decisions/0008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression

from tallybayes.models.calibration import Calibration, Isotonic, Method, Temperature, log_odds
from tallybayes.tally import effective_row_weight

__all__ = ["fitted_calibration"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RANGE = (-4.0, 3.0)  # of log β
BELOW, ABOVE = 1.0, 16.0  # in nats of effective rows
ROWS = 2000.0  # effective rows with which isotonic regression and temperature weigh the same
STEPS = 60


def _temperature(log_proba: Array, own: Index, weight: Array) -> Temperature:
    """β by Newton's method for log β, kept within a bracket:

        Σ w·(log Σ_c exp(β·s_c) − β·s_own) + ½ BELOW (log β)²     where β < 1
                                           + ABOVE log β          where β > 1

    The log-loss alone is convex in β, and its slope at β = 1 says on which side the best β lies.
    """
    s = np.maximum(log_proba - log_proba.max(axis=1, keepdims=True), -1e4)
    mine = s[np.arange(len(own)), own]

    def slope_and_bend(power: float) -> tuple[float, float]:
        """Of the log-loss in log β."""
        beta = np.exp(power)
        share = softmax(beta * s, axis=1)
        mean = (share * s).sum(axis=1)
        slope = beta * float((weight * (mean - mine)).sum())
        spread = float((weight * ((share * s**2).sum(axis=1) - mean**2)).sum())
        return slope, slope + beta**2 * spread

    slope, bend = slope_and_bend(0.0)
    if -ABOVE <= slope <= 0.0:
        return Temperature(1.0)
    low, high = (0.0, RANGE[1]) if slope < 0.0 else (RANGE[0], 0.0)
    push, ridge = (ABOVE, 0.0) if slope < 0.0 else (0.0, BELOW)
    power = 0.0
    for _ in range(STEPS):
        slope, bend = slope + push + ridge * power, bend + ridge
        low, high = (power, high) if slope < 0.0 else (low, power)
        step = power - slope / bend if bend > 0.0 else high
        before, power = power, step if low < step < high else 0.5 * (low + high)
        if abs(power - before) <= 1e-9:
            break
        slope, bend = slope_and_bend(power)
    return Temperature(float(np.exp(power)))


def _isotonic(log_proba: Array, own: Index, weight: Array) -> Isotonic:
    """A step that no row contradicts keeps a distance of one row in its total from 0 and 1."""
    k = log_proba.shape[1]
    knots, values = [], []
    edge = 1.0 / (weight.sum() + 2.0)
    for c in [1] if k == 2 else range(k):
        fit = IsotonicRegression(out_of_bounds="clip", y_min=edge, y_max=1.0 - edge)
        fit.fit(log_odds(log_proba, c), (own == c).astype(np.float64), sample_weight=weight)
        knots.append(np.asarray(fit.X_thresholds_, dtype=np.float64))
        values.append(np.asarray(fit.y_thresholds_, dtype=np.float64))
    n = float(weight.sum())
    beta = _temperature(log_proba, own, weight).beta
    return Isotonic(tuple(knots), tuple(values), n / (n + ROWS), beta)


def fitted_calibration(method: Method, log_proba: Array, own: Index, weight: Array) -> Calibration:
    """The calibration of leave-one-out predictions, shrunk toward none where rows are few.

    A common factor on all weights does not change it.

    Parameters
    ----------
    method : {"temperature", "isotonic"}
    log_proba : float64 array (n_rows, n_classes)
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    """
    fit = _temperature if method == "temperature" else _isotonic
    one = effective_row_weight(weight.sum(keepdims=True), (weight @ weight)[None])
    return fit(log_proba, own, weight / one)
