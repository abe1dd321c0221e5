"""Probabilities that keep their word: calibration fitted on leave-one-out predictions.

Naive Bayes counts features that depend on each other twice; its probabilities are then too sure.
Leave-one-out predictions of the training rows are honest, so that the cure needs no held-out data.

    temperature:  log p'(c) ∝ β·log p(c),  β > 0 of the least log-loss
    isotonic:     p'(c) ∝ f_c(log-odds of c),  f_c rising, piecewise linear, of least squares

Log-odds, because probabilities that are too sure differ only beyond what a float near 1 can show.

Guo et al. (2017), section 4.2; Zadrozny and Elkan (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.isotonic import IsotonicRegression

from tallybayes.tally import effective_row_weight

__all__ = ["Calibration", "Isotonic", "Method", "Temperature", "fitted_calibration"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Method = Literal["temperature", "isotonic"]

RANGE = (-4.0, 3.0)  # of log β
STEPS = 60


@dataclass(frozen=True)
class Temperature:
    """log p' = β·log p, normalised.

    Parameters
    ----------
    beta : float
        Below 1 where the probabilities were too sure.
    """

    beta: float

    def apply(self, log_proba: Array) -> Array:
        """Calibrated log-probabilities, like log_proba (n_rows, n_classes), in nats."""
        with np.errstate(invalid="ignore"):
            scaled = self.beta * log_proba
        return np.asarray(scaled - logsumexp(scaled, axis=1, keepdims=True))


def _log_odds(log_proba: Array, c: int) -> Array:
    """log p(c) − log Σ of the others, within ±1e4, (n_rows,)."""
    others = np.delete(log_proba, c, axis=1)
    top = others.max(axis=1, initial=-1e5)
    rest = top + np.log(np.maximum(np.exp(others - top[:, None]).sum(axis=1), 1e-300))
    return np.asarray(np.clip(np.maximum(log_proba[:, c], -1e5) - rest, -1e4, 1e4))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A rising function of each class's log-odds, normalised.

    Parameters
    ----------
    knots, values : tuples of float64 arrays
        Log-odds in nats and probabilities, of each class; of two classes, of the second only.
    """

    knots: tuple[Array, ...]
    values: tuple[Array, ...]

    def apply(self, log_proba: Array) -> Array:
        """Calibrated log-probabilities, like log_proba (n_rows, n_classes), in nats."""
        if len(self.knots) == 1 and log_proba.shape[1] == 2:
            second = np.interp(_log_odds(log_proba, 1), self.knots[0], self.values[0])
            return np.log(np.stack([1.0 - second, second], axis=1))
        each = [
            np.interp(_log_odds(log_proba, c), x, y)
            for c, (x, y) in enumerate(zip(self.knots, self.values, strict=True))
        ]
        shares = np.stack(each, axis=1)
        return np.asarray(np.log(shares) - np.log(shares.sum(axis=1, keepdims=True)))


Calibration = Temperature | Isotonic


def _temperature(log_proba: Array, own: Index, weight: Array) -> Temperature:
    """β by Newton's method: the log-loss Σ w·(log Σ_c exp(β·s_c) − β·s_own) is convex in β."""
    s = np.maximum(log_proba - log_proba.max(axis=1, keepdims=True), -1e4)
    mine = s[np.arange(len(own)), own]
    low, high, beta = *np.exp(RANGE), 1.0
    for _ in range(STEPS):
        share = np.exp(beta * s)
        share /= share.sum(axis=1, keepdims=True)
        mean = (share * s).sum(axis=1)
        slope = float((weight * (mean - mine)).sum())
        if slope == 0.0:
            break
        bend = float((weight * ((share * s**2).sum(axis=1) - mean**2)).sum())
        low, high = (beta, high) if slope < 0.0 else (low, beta)
        step = beta - slope / bend if bend > 0.0 else beta
        before, beta = beta, step if low < step < high else np.sqrt(low * high)
        if abs(beta - before) <= 1e-9 * beta:
            break
    return Temperature(float(beta))


def _isotonic(log_proba: Array, own: Index, weight: Array) -> Isotonic:
    """A step that no row contradicts keeps a distance of one row in its total from 0 and 1."""
    k = log_proba.shape[1]
    knots, values = [], []
    edge = 1.0 / (weight.sum() + 2.0)
    for c in [1] if k == 2 else range(k):
        fit = IsotonicRegression(out_of_bounds="clip", y_min=edge, y_max=1.0 - edge)
        fit.fit(_log_odds(log_proba, c), (own == c).astype(np.float64), sample_weight=weight)
        knots.append(np.asarray(fit.X_thresholds_, dtype=np.float64))
        values.append(np.asarray(fit.y_thresholds_, dtype=np.float64))
    return Isotonic(tuple(knots), tuple(values))


def fitted_calibration(method: Method, log_proba: Array, own: Index, weight: Array) -> Calibration:
    """The calibration of leave-one-out predictions.

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
