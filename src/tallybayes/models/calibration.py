"""Calibration: corrections of probabilities, and how they are fitted.

Naive Bayes counts features that depend on each other twice, and its probabilities are then too
extreme. Leave-one-out predictions of the training rows correct this without held-out data.

    temperature:  log p'(c) ∝ β·log p(c),  β > 0 of the least penalised log-loss
    isotonic:     p'(c) = s·p_f(c) + (1 − s)·p_β(c),  p_f(c) ∝ f_c(log-odds of c), f_c rising,
                  piecewise linear, of least squares; p_β by temperature; s = n / (n + EVEN_ROWS)

Log-odds are used because overconfident probabilities differ by less than a float near 1 can show.

Guo et al. (2017), section 4.2; Zadrozny and Elkan (2002).

Both methods shrink toward no calibration by the number n of effective rows: if all leave-one-out
predictions of a few well separated rows are right, this does not show that there are no errors.
log β has a normal prior below β = 1. Above, an exponential prior keeps β at 1 until 16 nats
contradict it. Families and smoothing were chosen on the same rows, so leave-one-out is
optimistically biased, and naive Bayes is overconfident far more often than underconfident.
Measured in docs/decisions/0008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tallybayes.persistence import Ascending, NonNegative, Shape, Within
from tallybayes.score import Correction
from tallybayes.tally import effective_row_weight

__all__ = ["Calibration", "Isotonic", "Method", "Temperature", "fitted_calibration", "log_odds"]

Array = NDArray[np.float64]
Rising = Annotated[Array, Shape(None), Ascending(strictly=False)]
Index = NDArray[np.intp]
Method = Literal["temperature", "isotonic"]

MIN_LOG_PROBABILITY = -1e5  # of log-probabilities, in nats
MIN_SHARE = 1e-200  # times the most probable class: what is less may have lost digits

LOG_TEMPERATURES = (-4.0, 3.0)  # of log β
PENALTY_BELOW, PENALTY_ABOVE = 1.0, 16.0  # in nats of effective rows
EVEN_ROWS = 2000.0  # effective rows with which isotonic regression and temperature weigh the same
MAX_STEPS = 60


@dataclass(frozen=True)
class Temperature:
    """log p' = β·log p, normalised.

    Parameters
    ----------
    beta : float
        Below 1 if the probabilities were too extreme.
    """

    beta: NonNegative

    def correction(self) -> Correction:
        """The same for a formula."""
        return Correction(beta=self.beta)

    def apply(self, log_proba: Array) -> Array:
        """Calibrated log-probabilities, like log_proba (n_rows, n_classes), in nats."""
        with np.errstate(invalid="ignore"):
            scaled = self.beta * log_proba
        return np.asarray(scaled - logsumexp(scaled, axis=1, keepdims=True))


def log_odds(log_proba: Array) -> Array:
    """log p(c) − log Σ of the others, within ±1e4, (n_rows, n_classes), in nats."""
    s = np.maximum(log_proba, MIN_LOG_PROBABILITY)
    if s.shape[1] == 2:
        rest = s[:, ::-1]
    else:
        best = s.argmax(axis=1)
        at = np.arange(len(s)), best
        top = s[at]
        each = np.exp(s - top[:, None])
        each[at] = 0.0
        total = each.sum(axis=1)
        rest = top[:, None] + np.log((1.0 + total)[:, None] - each)
        far = total < MIN_SHARE
        rest[at] = top + np.log(np.where(far, 1.0, total))
        if far.any():
            others = s[far]
            others[np.arange(len(others)), best[far]] = -np.inf
            rest[far, best[far]] = logsumexp(others, axis=1)
    return np.asarray(np.clip(s - rest, -1e4, 1e4))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A rising function of each class's log-odds, normalised, mixed with a temperature.

    Parameters
    ----------
    knots, values : tuples of float64 arrays
        Log-odds in nats and probabilities, of each class; of two classes, of the second only.
    share : float
        The share of the rising functions in the mixture.
    beta : float
        The inverse temperature.
    """

    knots: tuple[Rising, ...]
    values: tuple[Annotated[Rising, Within(above=0.0, below=1.0)], ...]
    share: Annotated[float, Within(0.0, 1.0)] = 1.0
    beta: NonNegative = 1.0

    def correction(self) -> Correction:
        """The same for a formula."""
        return Correction(beta=self.beta, knots=self.knots, values=self.values, share=self.share)

    def apply(self, log_proba: Array) -> Array:
        """Calibrated log-probabilities, like log_proba (n_rows, n_classes), in nats."""
        regressed = self._regressed(log_proba)
        if self.share == 1.0:
            return regressed
        sharp = Temperature(self.beta).apply(log_proba)
        return np.asarray(
            np.logaddexp(np.log(self.share) + regressed, np.log1p(-self.share) + sharp)
        )

    def _regressed(self, log_proba: Array) -> Array:
        """log p_f, of the rising functions alone."""
        odds = log_odds(log_proba)
        if len(self.knots) == 1 and log_proba.shape[1] == 2:
            second = np.interp(odds[:, 1], self.knots[0], self.values[0])
            return np.log(np.stack([1.0 - second, second], axis=1))
        steps = zip(odds.T, self.knots, self.values, strict=True)
        shares = np.stack([np.interp(*of_class) for of_class in steps], axis=1)
        return np.asarray(np.log(shares) - np.log(shares.sum(axis=1, keepdims=True)))


Calibration = Temperature | Isotonic


# ---- calibrations, fitted to rows left out -------------------------------------------------------
def _temperature(log_proba: Array, own: Index, weight: Array) -> Temperature:
    """β by Newton's method for log β, kept within a bracket:

        Σ w·(log Σ_c exp(β·s_c) − β·s_own) + ½ PENALTY_BELOW (log β)²     where β < 1
                                           + PENALTY_ABOVE log β          where β > 1

    The log-loss alone is convex in β: the sign of its slope at β = 1 gives the side of the best β.
    """
    s = np.ascontiguousarray(log_proba.T)  # sums over a few classes are fast row after row
    s = np.maximum(s - s.max(axis=0), -1e4)
    mine = float((weight * s[own, np.arange(len(own))]).sum())
    share = np.empty_like(s)

    def slope_and_bend(power: float) -> tuple[float, float]:
        """The first and second derivative of the log-loss in log β."""
        beta = np.exp(power)
        np.exp(np.multiply(s, beta, out=share), out=share)
        total = share.sum(axis=0)
        np.multiply(share, s, out=share)
        mean = share.sum(axis=0) / total
        square = np.multiply(share, s, out=share).sum(axis=0) / total
        slope = beta * (float((weight * mean).sum()) - mine)
        return slope, slope + beta**2 * float((weight * (square - mean**2)).sum())

    slope, bend = slope_and_bend(0.0)
    if -PENALTY_ABOVE <= slope <= 0.0:
        return Temperature(1.0)
    low, high = (0.0, LOG_TEMPERATURES[1]) if slope < 0.0 else (LOG_TEMPERATURES[0], 0.0)
    push, ridge = (PENALTY_ABOVE, 0.0) if slope < 0.0 else (0.0, PENALTY_BELOW)
    power = 0.0
    for _ in range(MAX_STEPS):
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
    odds = log_odds(log_proba)
    classes = [1] if odds.shape[1] == 2 else range(odds.shape[1])
    steps = [_rising(odds[:, c], own == c, weight) for c in classes]
    n = float(weight.sum())
    beta = _temperature(log_proba, own, weight).beta
    knots, values = zip(*steps, strict=True)
    return Isotonic(knots, values, n / (n + EVEN_ROWS), beta)


def _rising(x: Array, right: NDArray[np.bool_], weight: Array) -> tuple[Array, Array]:
    """The ends of the steps of the rising function of x that is nearest to 0 and 1 by weighted
    squares, and its values there."""
    from scipy.optimize import isotonic_regression  # slow to import, and few models need it

    order = np.argsort(x)
    order = order[weight[order] > 0.0]
    x, heavy = x[order], weight[order]
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    total = np.add.reduceat(heavy, starts)
    mean = np.add.reduceat(np.where(right[order], heavy, 0.0), starts) / total
    edge = 1.0 / (weight.sum() + 2.0)
    steps = np.clip(isotonic_regression(mean, weights=total).x, edge, 1.0 - edge)
    ends = np.full(len(steps), True)
    ends[1:-1] = (steps[1:-1] != steps[:-2]) | (steps[1:-1] != steps[2:])
    return x[starts][ends], steps[ends]


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
    one = effective_row_weight(weight.sum(keepdims=True), (weight * weight).sum(keepdims=True))
    return fit(log_proba, own, weight / one)
