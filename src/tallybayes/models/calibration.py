"""Calibration: corrections of probabilities, which :mod:`calibration_fit` fits.

Naive Bayes counts features that depend on each other twice; its probabilities are then too sure.
Leave-one-out predictions of the training rows are honest, so that the cure needs no held-out data.

    temperature:  log p'(c) ∝ β·log p(c),  β > 0 of the least penalised log-loss
    isotonic:     p'(c) = s·p_f(c) + (1 − s)·p_β(c),  p_f(c) ∝ f_c(log-odds of c), f_c rising,
                  piecewise linear, of least squares; p_β by temperature; s = n / (n + ROWS)

Log-odds, because probabilities that are too sure differ only beyond what a float near 1 can show.

Guo et al. (2017), section 4.2; Zadrozny and Elkan (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tallybayes.parameters.formula import Correction

__all__ = ["Calibration", "Isotonic", "Method", "Temperature", "log_odds"]

Array = NDArray[np.float64]
Method = Literal["temperature", "isotonic"]

FLOOR = -1e5  # of log-probabilities, in nats
TINY = 1e-200  # times the most probable class: what is less may have lost digits


@dataclass(frozen=True)
class Temperature:
    """log p' = β·log p, normalised.

    Parameters
    ----------
    beta : float
        Below 1 where the probabilities were too sure.
    """

    beta: float

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
    s = np.maximum(log_proba, FLOOR)
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
        far = total < TINY
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
        Of the rising functions in the mixture.
    beta : float
        Of the temperature.
    """

    knots: tuple[Array, ...]
    values: tuple[Array, ...]
    share: float = 1.0
    beta: float = 1.0

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
