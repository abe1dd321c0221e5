"""Which rows a report shows, and why each got its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.measures import Predictions
from tallybayes.reporting.subjects import Subject
from tallybayes.validation import rows_of

__all__ = ["Chosen", "ShownRow", "Step", "chosen_rows", "shown_rows", "steps_of"]

Array = NDArray[np.float64]

ROWS_OF_EACH_KIND = 6
"""Rows of each kind."""
TYPICAL_CLASSES = 6
MAX_TERMS = 14
"""Terms that a waterfall shows by themselves."""


@dataclass(frozen=True)
class Chosen:
    """A row to show.

    Parameters
    ----------
    kind : {"mistake", "uncertain", "typical"}
    row : int
    """

    kind: str
    row: int


@dataclass(frozen=True)
class Step:
    """The contribution of a term to the log-odds of one class against another, in nats."""

    name: str
    value: str
    nats: float


@dataclass(frozen=True)
class ShownRow:
    """A row with its prediction taken apart.

    Parameters
    ----------
    kind : str
    number : int
        The row's place in X.
    own, predicted, against : int
        Classes: its own, the predicted one, and the one that the steps compare it with.
    probability, of_own : float
        Honest probabilities of the predicted and of its own class.
    values : mapping of str to str
    base : float
        Log-odds of a row without values, in nats.
    steps : list of Step
        The largest first.
    rest : float
        What the other terms add together.
    n_rest : int
    """

    kind: str
    number: int
    own: int
    predicted: int
    against: int
    probability: float
    of_own: float
    values: Mapping[str, Any]
    base: float
    steps: list[Step]
    rest: float
    n_rest: int


def chosen_rows(predictions: Predictions) -> list[Chosen]:
    """The most confident mistakes, the most uncertain rows, and the most typical of each class."""
    log_proba, own, best = predictions.log_proba, predictions.own, predictions.best
    there = np.flatnonzero(predictions.weight > 0.0)
    wrong = there[best[there] != own[there]]
    worst = wrong[np.argsort(predictions.of_own[wrong], kind="stable")][:ROWS_OF_EACH_KIND]
    found = [Chosen("mistake", row) for row in worst.tolist()]
    if log_proba.shape[1] > 1:
        two = np.sort(log_proba, axis=1)[:, -2:]
        margin = two[there, 1] - two[there, 0]
        close = there[np.argsort(margin, kind="stable")]
        close = close[~np.isin(close, worst)][:ROWS_OF_EACH_KIND]
        found += [Chosen("uncertain", row) for row in close.tolist()]
    largest = np.argsort(-predictions.shares, kind="stable")[:TYPICAL_CLASSES]
    for k in largest.tolist():
        rows = there[(own[there] == k) & (best[there] == k)]
        typical = rows[np.argsort(-predictions.of_own[rows], kind="stable")]
        n = 2 if len(largest) < 4 else 1
        found += [Chosen("typical", row) for row in typical[:n].tolist()]
    return found


def shown_rows(
    subject: Subject, X: Any, numbers: NDArray[np.intp], predictions: Predictions
) -> list[ShownRow]:
    """The chosen rows with their steps; `numbers` are the places of X's rows in the data."""
    chosen = chosen_rows(predictions)
    if not chosen:
        return []
    at = np.array([c.row for c in chosen], dtype=np.intp)
    some = rows_of(X, at)
    base, of_terms, names = subject.contributions(some)
    found = []
    parts = zip(chosen, subject.values(some), of_terms, names, strict=True)
    for c, values, contributions, words in parts:
        own = int(predictions.own[c.row])
        proba = np.exp(predictions.log_proba[c.row])
        predicted, against = _compared(proba, own)
        with np.errstate(invalid="ignore"):
            nats = np.nan_to_num(contributions[:, predicted] - contributions[:, against], nan=0.0)
        steps, rest, n_rest = steps_of(nats, words)
        found.append(
            ShownRow(
                c.kind,
                int(numbers[c.row]),
                own,
                predicted,
                against,
                float(proba[predicted]),
                float(proba[own]),
                values,
                float(base[predicted] - base[against]),
                steps,
                rest,
                n_rest,
            )
        )
    return found


def _compared(proba: Array, own: int) -> tuple[int, int]:
    """The predicted class, and the one it is compared with: the row's own where the prediction is
    wrong, else the next."""
    order = np.argsort(-proba, kind="stable").tolist()
    if own != order[0]:
        return order[0], own
    return order[0], order[min(1, len(order) - 1)]


def steps_of(
    contributions: Array, words: list[tuple[str, str]], max_terms: int = MAX_TERMS
) -> tuple[list[Step], float, int]:
    """The terms that add most, the largest first, what the others add together, and how many these
    are; terms that add nothing are in neither.

    Parameters
    ----------
    contributions : float64 array (n_terms,)
        What each term adds, in nats; NaN, where it rules out both classes, is 0.
    words : list of (str, str)
        The terms and their values.
    max_terms : int
        How many terms stand by themselves.
    """
    contributions = np.where(np.isnan(contributions), 0.0, contributions)
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[contributions[order] != 0.0]
    steps = [
        Step(words[t][0], words[t][1], float(contributions[t])) for t in order[:max_terms].tolist()
    ]
    rest = order[max_terms:]
    return steps, float(contributions[rest].sum()), len(rest)
