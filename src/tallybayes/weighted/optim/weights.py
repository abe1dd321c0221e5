"""Weights of terms, by the least penalised leave-one-out log-loss: convex, few parameters.

γ is chosen by cross-validation over the leave-one-out rows, from 1,000 rows on, where it matters.

Weights that all classes share are found by Newton's method under w ≥ 0: D. Bertsekas, Projected
Newton methods for optimization problems with simple constraints, SIAM J. Control and Optimization
20 (1982). Weights at 0 that would fall stay, the others take a Newton step, which ends at 0 where
it would cross it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.optim.class_weights import Curvature, class_weights
from tallybayes.weighted.optim.descent import FLOAT32_NOISE, HALVINGS, Cholesky
from tallybayes.weighted.optim.loss import CENTRE, Loss
from tallybayes.weighted.rows import LearningRows, thinned
from tallybayes.weighted.terms.term_scores import Terms, Weights, scores_of

__all__ = [
    "Weights",
    "compared_is_final",
    "learn_weights",
    "penalty_takes",
    "shared_weights",
]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

SCALES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
STOP_RATIO = 1.02  # times the least loss: a lower scale is not tried
MAX_VALIDATION_ROWS = 12_000  # rows of cross-validation
SALT = 1  # of its folds
MAX_WORK_ALL_FOLDS = 5_000_000  # values up to which each fold of few rows is left out once
MIN_ROWS_TO_CHOOSE = 1000  # rows from which the scale is chosen
MIN_PENALTY_LOSS = 0.5  # nats: a penalty that takes less from the likelihood is not chosen
MAX_STEPS = 200
TOLERANCE = 1e-6  # nats: what the last step may gain
COMPARED_TOLERANCE = 1e-1  # the same where only losses are compared
TOLERANCE_PER_ROW = 1e-5  # the same, a row, where other terms come
MIN_MANY_ROWS = 5000  # and rows are so many
MIN_MANY_WEIGHTS = 400  # deviations, above which the tolerance is looser
TOLERANCE_OF_MANY = 1e-1  # nats: what the last step may gain of so many
MAX_NEWTON_PARAMETERS = 1500  # parameters, of Newton's method
MIN_HESSIAN_ROWS, HESSIAN_ROWS_PER_WEIGHT = 4096, 16
"""Rows that a Hessian is made of while the optimum is far: in all, and a parameter."""

NEAR_OPTIMUM = 1.0
"""Nats: if a step gains less, and the optimum is to be exact, all rows are used."""

MIN_LENGTH = 0.1  # of a step: if a shorter one lowers the loss, the Hessian is made of all rows
SKIPPED_STEP_SHARE = 0.5  # of what a step may gain that is not taken, by an older Hessian


def _solved(
    loss: Loss,
    start: Weights,
    deviating: bool,
    tolerance: float,
    curvature: Curvature | None = None,
) -> Weights:
    if deviating:
        return class_weights(loss, start, steps=MAX_STEPS, tolerance=tolerance, curvature=curvature)
    return shared_weights(loss, start, steps=MAX_STEPS, tolerance=tolerance)


def _of_rows(values: Values, index: NDArray[np.intp]) -> Values:
    """Values of some rows, without a copy of all of them in between."""
    found = np.empty((*values.shape[:2], len(index)), dtype=values.dtype)
    for layer, into in zip(values, found, strict=True):
        np.take(layer, index, axis=1, out=into, mode="clip")
    return found


def _validated(
    values: Values,
    rows: LearningRows,
    pair: NDArray[np.bool_],
    start: Weights,
    log_share: Array,
    deviating: bool,
    scales: tuple[float, ...],
) -> Weights:
    """Weights under the γ of cross-validation, as some of the rows have them."""
    index = thinned(rows.y, rows.n_classes, MAX_VALIDATION_ROWS)
    thorough = len(index) < 1500 and values.size < MAX_WORK_ALL_FOLDS
    folds = 5 if thorough else 3
    fold = rows.take(index).folds(folds, SALT)
    parts = [(index[fold != f], index[fold == f]) for f in range(folds if thorough else 1)]
    inside = [_of_rows(values, train) for train, _ in parts]
    outside = [_of_rows(values, test) for _, test in parts]
    now, found, losses = [start] * len(parts), start, [np.inf]
    for scale in scales:
        loss, curvature = 0.0, Curvature()  # of one fold it is about that of the others
        for f, (train, test) in enumerate(parts):
            y, weight = rows.y[train], rows.weight[train]
            within = Loss(inside[f], y, weight, pair, log_share, scale)
            now[f] = _solved(within, now[f], deviating, COMPARED_TOLERANCE, curvature)
            scores = scores_of(outside[f], now[f].by_class(), log_share + now[f].offsets)
            scratch = np.empty(scores.shape, dtype=np.float32)
            loss += _kernels.softmax_residuals(
                scores, rows.y[test], rows.weight[test], scratch, get_num_threads()
            )
        if loss < min(losses):
            found = now[0]
        losses.append(loss)
        if loss > STOP_RATIO * min(losses):
            break
    return found


def learn_weights(
    terms: Terms,
    rows: LearningRows,
    start: Weights | None,
    log_share: Array,
    *,
    by_class: bool = True,
    penalty: float | None = None,
    only_compared: bool = False,
    validated: bool = True,
) -> Weights:
    """The weights of all terms.

    Parameters
    ----------
    terms : Terms
    rows : LearningRows
    start : Weights, optional
        Of the first terms, as they were before others came.
    log_share : float64 array (n_classes,)
        log p.
    by_class : bool
        Whether there are deviations, for more than two classes.
    penalty : float, optional
        γ; by cross-validation unless given.
    only_compared : bool
        Whether other terms will come, so that of many rows near the least loss is near enough.
    validated : bool
        Whether γ is chosen again.
    """
    d, n_classes = len(terms), rows.n_classes
    deviating = by_class and n_classes > 2
    first = start is None
    if start is None:
        equal = np.full(d, 1.0 / (1.0 + d / 8.0))
        start = Weights(equal, np.zeros((n_classes, d)), np.zeros(n_classes), 1.0)
    start = start.with_more(d - len(start.terms), CENTRE)
    pair = np.array(terms.pair, dtype=bool)
    values = terms.values
    scale = start.scale if penalty is None else penalty
    tolerance = _tolerance(terms, rows.n, by_class=by_class, only_compared=only_compared)
    loss = Loss(values, rows.y, rows.weight, pair, log_share, scale)
    if penalty is None and validated and rows.n >= MIN_ROWS_TO_CHOOSE:
        if not deviating:
            start = _solved(loss, start, deviating, tolerance)
            if penalty_takes(loss, start) < MIN_PENALTY_LOSS:
                return start
        at = SCALES.index(scale)
        tried = SCALES if first else SCALES[max(at - 1, 0) : at + 2]
        start = _validated(values, rows, pair, start, log_share, deviating, tried)
        loss = Loss(values, rows.y, rows.weight, pair, log_share, start.scale)
    return _solved(loss, start, deviating, tolerance)


def _tolerance(terms: Terms, n_rows: int, *, by_class: bool, only_compared: bool) -> float:
    """What the last step may gain, in nats."""
    tolerance = (
        TOLERANCE_PER_ROW * n_rows if only_compared and n_rows > MIN_MANY_ROWS else TOLERANCE
    )
    if by_class and terms.n_classes > 2 and len(terms) * terms.n_classes > MIN_MANY_WEIGHTS:
        tolerance = max(tolerance, TOLERANCE_OF_MANY)
    return tolerance


def compared_is_final(terms: Terms, n_rows: int, *, by_class: bool) -> bool:
    """Whether weights that are learned to compare losses are as exact as final ones."""
    compared, final = (
        _tolerance(terms, n_rows, by_class=by_class, only_compared=each) for each in (True, False)
    )
    return compared <= final


def shared_weights(loss: Loss, start: Weights, *, steps: int, tolerance: float) -> Weights:
    """Weights w and offsets b of the least penalised log-loss, without deviations.

    Parameters
    ----------
    loss : Loss
    start : Weights
    steps : int
        At most.
    tolerance : float
        In nats; it stops when a step is expected to gain less.
    """
    d = len(start.terms)
    q = np.concatenate([start.terms, start.offsets])
    few = len(q) <= MAX_NEWTON_PARAMETERS
    found = _newton(loss, q, d, steps, tolerance) if few else _limited(loss, q, d, tolerance)
    return Weights(found[:d], np.zeros_like(start.deviations), found[d:], loss.scale)


def penalty_takes(loss: Loss, found: Weights) -> float:
    """About how much a penalty of γ = 1 takes from the log-likelihood at weights that were found
    without deviations, in nats: ½ g'H⁻¹g, g its gradient; infinite of too many weights."""
    q = np.concatenate([found.terms, found.offsets])
    if len(q) > MAX_NEWTON_PARAMETERS:
        return np.inf
    free = np.append(found.terms > 0.0, np.ones(len(found.offsets), dtype=bool))
    of_terms = 2.0 * loss.ridge / loss.scale * (found.terms - CENTRE)
    g = np.append(of_terms, np.zeros_like(found.offsets))[free]
    curved = loss.some(max(MIN_HESSIAN_ROWS, HESSIAN_ROWS_PER_WEIGHT * len(q)))
    factor = Cholesky(_among(curved.shared_curvature(q), free))
    return 0.5 * float(g @ factor.solve(g))


def _among(matrix: Array, some: NDArray[np.bool_]) -> Array:
    """Some rows of a matrix, and the same columns."""
    return matrix if some.all() else matrix[np.ix_(some, some)]


def _newton(loss: Loss, q: Array, d: int, steps: int, tolerance: float) -> Array:
    value, gradient = loss.shared(q)
    curved = loss.some(max(MIN_HESSIAN_ROWS, HESSIAN_ROWS_PER_WEIGHT * len(q)))
    factor, before = None, np.empty(0, dtype=bool)
    for _ in range(steps):
        free = np.ones(len(q), dtype=bool)
        free[:d] = (q[:d] > 0.0) | (gradient[:d] < 0.0)
        enough = max(tolerance, FLOAT32_NOISE * abs(value))
        if factor is not None and np.array_equal(free, before):
            g = gradient[free]
            left = 0.5 * float(g @ factor.solve(g))
            # by the Hessian of the step before, about the same by now
            if left <= SKIPPED_STEP_SHARE * enough:
                break
        factor, before = Cholesky(_among(curved.shared_curvature(q), free)), free
        step = np.zeros(len(q))
        step[free] = -factor.solve(gradient[free])
        slope = float(gradient @ step)
        near = enough < -0.5 * slope <= NEAR_OPTIMUM
        if near and curved is not loss and tolerance < NEAR_OPTIMUM / 100.0:
            curved, factor = loss, None
            continue
        if -0.5 * slope <= enough:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = q + length * step
            np.maximum(there[:d], 0.0, out=there[:d])
            lower, steeper = loss.shared(there)
            room = 0.1 * FLOAT32_NOISE * abs(value)
            if lower <= value + 1e-4 * float(gradient @ (there - q)) + room:
                break
            length *= 0.5
        else:
            if curved is loss:
                break
            curved, factor = loss, None
            continue
        q, value, gradient = there, lower, steeper
        if length < MIN_LENGTH and curved is not loss:  # some rows misjudge the curvature
            curved, factor = loss, None
    return q


def _limited(loss: Loss, q: Array, d: int, tolerance: float) -> Array:
    """L-BFGS-B, where a Hessian would be too large."""
    from scipy.optimize import minimize  # slow to import, and few models need it

    found = minimize(
        loss.shared,
        q,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * d + [(None, None)] * (len(q) - d),
        options={
            "maxiter": 200,
            "maxfun": 400,
            "ftol": tolerance / max(1.0, abs(loss.shared(q)[0])),
        },
    )
    at: Array = found.x
    return at
