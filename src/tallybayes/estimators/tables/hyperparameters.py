"""Hyperparameters tuned on rows by their leave-one-out predictions: smoothing and calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.engines.leave_one_out import cells_without
from tallybayes.engines.lookup_parts import LookupPart
from tallybayes.errors import NegativeTally
from tallybayes.leaving_out import posterior_without
from tallybayes.models.calibration import Calibration, Method, fitted_calibration
from tallybayes.models.table import TableModel
from tallybayes.scoring import posterior
from tallybayes.tables import Table

__all__ = ["WithoutGroups", "alpha_on_rows", "calibration_on_rows", "weights_to_choose_on"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MIN_LOG_ALPHA, MAX_LOG_ALPHA = -4.0, 2.0  # of log10 alpha
MAX_ROWS_FOR_ALPHA = 2048
MAX_ROWS_FOR_CALIBRATION = 1 << 17
MIN_GAIN = 0.5  # nats of effective rows that a tenfold change of alpha has to gain


def some_rows(n: int, max_rows: int) -> Index:
    """At most so many row numbers, spread over all."""
    if n <= max_rows:
        return np.arange(n, dtype=np.intp)
    return np.sort(np.random.default_rng(0).permutation(n)[:max_rows]).astype(np.intp)


def weights_to_choose_on(what: str, model: TableModel, own: Index, weight: Array | None) -> Array:
    """The weights of rows that something is chosen on, 1 unless given; `what` is for messages.

    Raises
    ------
    ValueError
        For a negative weight.
    NegativeTally
        A ValueError: rows weigh more than their class holds, so that not all were learned.
    """
    weight = np.ones(len(own)) if weight is None else weight
    if weight.min(initial=0.0) < 0.0:
        raise ValueError(
            f"{what} on rows of weights from 0 on, got {weight.min().item()!r}: leave out rows "
            "that only take others away"
        )
    held = model.tally.classes.count
    given = np.bincount(own, weight, len(held))
    if (given > held * (1.0 + 1e-9)).any():
        k = int(np.argmax(given - held))
        raise NegativeTally(
            f"the rows of class {model.schema.classes.tolist()[k]!r} weigh {given[k]:g}, more than "
            f"the {held[k]:g} that the model holds of it: choose on rows that were learned, with "
            "the weights that they have by now"
        )
    return weight


def alpha_on_rows(model: TableModel, x: Table, own: Index, weight: Array) -> float:
    """The smoothing of the least leave-one-out log-loss, as a multiple of the one that the model
    is read with, one effective row.

    One alpha for all columns that follow the model's, others as they are. A row's prediction is
    joint over columns and so accounts for columns that repeat each other. A tenfold change has to
    gain half a nat of effective rows, so that a few rows do not move alpha far. A row is left out
    whole, whatever its weight.

    Parameters
    ----------
    model : TableModel
    x : Table
        Rows that were counted.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)

    """
    rows = some_rows(x.n_rows, MAX_ROWS_FOR_ALPHA)
    x, own, weight = x.take(rows), own[rows], weight[rows]
    unit = model.tally.classes.pooled_row_weight
    fixed = model.log_prior_without(own, weight).matrix(own)
    moving: list[LookupPart] = []
    for part in model.score.parts:
        if part.follows and part.lookup is not None:
            moving.append(part.lookup)
        else:
            fixed += part.without(x, own, weight)
    if not moving:
        return 1.0
    cells = _SideBySide(moving, x, own, weight, fixed)

    def score(power: float) -> float:
        joint = fixed + cells.scores(10.0**power)
        log_proba = log_softmax(joint, axis=1)[np.arange(len(own)), own]
        gained = float((weight * np.maximum(log_proba, -700.0)).sum()) / unit
        return gained - MIN_GAIN * power**2

    with np.errstate(invalid="ignore"):
        return float(10.0 ** _summit(score))


class WithoutGroups:
    """A model without some of its rows at a time, whole groups of them, and those rows.

    Parameters
    ----------
    x : Table
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    models : list of (index array, TableModel)
        The rows of each fold, and the model without them.
    """

    def __init__(
        self, x: Table, own: Index, weight: Array, models: list[tuple[Index, TableModel]]
    ) -> None:
        self.own, self.weight, self.models = own, weight, models
        self.parts = [x.take(rows) for rows, _ in models]

    def log_proba(self, alpha: float | None) -> Array:
        """log P(c | x) of the rows by models without their groups, (n_rows, n_classes)."""
        found = np.empty((len(self.own), len(self.models[0][1].log_prior)))
        for (rows, model), x in zip(self.models, self.parts, strict=True):
            if alpha is not None:
                model.rescale(alpha / model.reading.scale)
            found[rows] = posterior(model.score, x, model.log_prior, log=True)
        return found

    def best_alpha(self, unit: float) -> float:
        """The smoothing that predicts the rows best; see :func:`alpha_on_rows`."""

        def score(power: float) -> float:
            own = self.log_proba(10.0**power)[np.arange(len(self.own)), self.own]
            return float(self.weight @ np.maximum(own, -700.0)) / unit - MIN_GAIN * power**2

        return float(10.0 ** _summit(score))


class _SideBySide:
    """Columns of cells whose prior is scaled together, each row taken out of its counts."""

    def __init__(
        self, parts: list[LookupPart], x: Table, own: Index, weight: Array, fixed: Array
    ) -> None:
        self.law = parts[0].law.joined([part.law for part in parts])
        self.own, self.weight, self.n_classes = own, weight, fixed.shape[1]
        width = [part.law.log_prob().shape[1] for part in parts]
        start = np.cumsum([0, *width])
        self.nothing = int(start[-1])  # a cell after all others, which adds nothing
        self.cells = np.empty((x.n_rows, len(parts)), dtype=np.intp)
        for j, part in enumerate(parts):
            column: Any = x.columns[part.name]
            entries = part.entries(column).astype(np.intp)
            if part.kinds is not None:
                fixed += part.kinds.without(x, own, weight)
            cells = entries if part.has_missing else entries - 1
            there = (cells >= 0) & (cells < width[j])
            self.cells[:, j] = np.where(there, cells + start[j], self.nothing)

    def scores(self, factor: float) -> Array:
        """log p(x | c), (n_rows, n_classes)."""
        law = self.law.scaled(factor)
        if (self.weight == self.weight[0]).all():
            weight = float(self.weight[0])
            other = np.pad(law.other_without(weight), ((0, 0), (0, 1)))
            mine = np.pad(law.own_without(weight), ((0, 0), (0, 1)))
            joint = np.stack([table[self.cells].sum(axis=1) for table in other], axis=1)
            joint[np.arange(len(self.own)), self.own] = mine[self.own[:, None], self.cells].sum(1)
            return joint
        scores: Array = np.zeros((len(self.own), self.n_classes))
        for column in self.cells.T:
            there = np.flatnonzero(column < self.nothing)
            scores[there] += cells_without(law, column[there], self.own[there], self.weight[there])
        return scores


def _summit(score: Callable[[float], float]) -> float:
    """Where a score of log10 alpha is largest: uphill from 0 in steps of one, then of a half, then
    to the vertex of a parabola."""
    known: dict[float, float] = {}

    def at(power: float) -> float:
        if not MIN_LOG_ALPHA <= power <= MAX_LOG_ALPHA:
            return -np.inf
        if power not in known:
            known[power] = score(power)
        return known[power]

    top = 0.0
    for step in (1.0, 0.5):
        while True:
            best = max((top, top - step, top + step), key=at)
            if best == top:
                break
            top = best
    left, middle, right = at(top - 0.5), at(top), at(top + 0.5)
    bend = left - 2.0 * middle + right
    if not (np.isfinite(bend) and bend < 0.0):
        return top
    return top + 0.5 * float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))


def calibration_on_rows(
    method: Method, model: TableModel, x: Table, own: Index, weight: Array
) -> Calibration:
    """A calibration of the leave-one-out predictions of these rows; see :func:`alpha_on_rows`.

    A row is left out whole, whatever its weight.
    """
    rows = some_rows(x.n_rows, MAX_ROWS_FOR_CALIBRATION)
    x, own, weight = x.take(rows), own[rows], weight[rows]
    prior = model.log_prior_without(own, weight)
    log_proba = posterior_without(model.likelihood_without(x, own, weight), own, prior)
    return fitted_calibration(method, log_proba, own, weight)
