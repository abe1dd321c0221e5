"""Weights of terms, by the least penalised leave-one-out log-loss: convex, few parameters.

    S_ik = log p_k + b_k + Σ_t (w_t + u_tk)·z_tki,    z_tki what term t says with row i taken out

    Σ_i −log softmax(S_i)_{y_i} + γ·[Σ_t r_t (w_t − 0.3)² + 3 Σ u²] + 0.01 Σ b²,    w ≥ 0

r_t is 1 for a column and 0.3 for a pair; u, deviations by class, are there for more than two
classes; γ is chosen by cross-validation over the leave-one-out rows, from 1,000 rows on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.rows import LearningRows

__all__ = ["Terms", "Weights", "learn_weights"]

Array = NDArray[np.float64]
Values = NDArray[np.float32]

CENTRE = 0.3
PAIR = 0.3
DEVIATION = 3.0
OFFSET = 0.01
SCALES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
MOST_ROWS = 25_000  # on which weights are learned
VALIDATED = 12_000  # rows of cross-validation
FEWEST = 1000  # rows from which the scale is chosen
STEPS = 200


@dataclass(frozen=True, eq=False)
class Weights:
    """Learned weights.

    Parameters
    ----------
    terms : float64 array (n_terms,)
    deviations : float64 array (n_classes, n_terms)
        0 for two classes.
    offsets : float64 array (n_classes,)
    scale : float
        γ.
    """

    terms: Array
    deviations: Array
    offsets: Array
    scale: float

    def by_class(self) -> Array:
        """w_t + u_tk, float64 (n_classes, n_terms)."""
        return self.terms + self.deviations


class Terms:
    """What terms say of the learning rows, (n_classes, n_terms, n_rows), in room that grows."""

    def __init__(self, n_classes: int, n_rows: int) -> None:
        self._room = np.empty((n_classes, 16, n_rows), dtype=np.float32)
        self.pair: list[bool] = []

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def values(self) -> Values:
        return self._room[:, : len(self.pair)]

    def add(self, values: Values, *, pair: bool) -> None:
        """One more term, values (n_classes, n_rows)."""
        if len(self) == self._room.shape[1]:
            n_classes, room, n_rows = self._room.shape
            wider = np.empty((n_classes, 2 * room, n_rows), dtype=np.float32)
            wider[:, :room] = self._room
            self._room = wider
        self._room[:, len(self)] = values
        self.pair.append(pair)


def scores_of(values: Values, weights: Weights, log_share: Array) -> Array:
    """S, float64 (n_classes, n_rows)."""
    by_class = weights.by_class().astype(np.float32)
    scores = np.empty((len(by_class), values.shape[2]))
    for k, w in enumerate(by_class):
        scores[k] = w @ values[k]
        scores[k] += log_share[k] + weights.offsets[k]
    return scores


def _solved(
    values: Values,
    y: NDArray[np.int32],
    weight: Array,
    pair: NDArray[np.bool_],
    start: Weights,
    log_share: Array,
    scale: float,
    by_class: bool,
    steps: int,
) -> Weights:
    """Weights of the least penalised log-loss on some rows."""
    n_classes, d, n = values.shape
    deviating = by_class and n_classes > 2
    ridge = np.where(pair, PAIR, 1.0) * scale
    residual = np.empty((n_classes, n), dtype=np.float32)
    threads = get_num_threads()

    def unpacked(q: Array) -> Weights:
        u = q[d + n_classes :].reshape(n_classes, d) if deviating else np.zeros((n_classes, d))
        return Weights(q[:d], u, q[d : d + n_classes], scale)

    def objective(q: Array) -> tuple[float, Array]:
        now = unpacked(q)
        scores = scores_of(values, now, log_share)
        loss = _kernels.softmax_residuals(scores, y, weight, residual, threads)
        gradient = np.zeros(len(q))
        each = np.stack([values[k] @ residual[k] for k in range(n_classes)])
        apart = now.terms - CENTRE
        gradient[:d] = each.sum(axis=0) + 2.0 * ridge * apart
        gradient[d : d + n_classes] = residual.sum(axis=1) + 2.0 * OFFSET * now.offsets
        loss += float((ridge * apart**2).sum() + OFFSET * (now.offsets**2).sum())
        if deviating:
            loss += DEVIATION * scale * float((now.deviations**2).sum())
            gradient[d + n_classes :] = (each + 2.0 * DEVIATION * scale * now.deviations).ravel()
        return loss, gradient

    begin = [start.terms, start.offsets] + ([start.deviations.ravel()] if deviating else [])
    q = np.concatenate(begin)
    bounds: list[Any] = [(0.0, None)] * d + [(None, None)] * (len(q) - d)
    found = minimize(
        objective,
        q,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-7},
    )
    return unpacked(found.x)


def _validated_scale(
    values: Values,
    rows: LearningRows,
    pair: NDArray[np.bool_],
    start: Weights,
    log_share: Array,
    by_class: bool,
) -> float:
    """γ by cross-validation."""
    if rows.n < FEWEST:
        return 1.0
    order = np.random.default_rng(1).permutation(rows.n)[:VALIDATED]
    folds = 5 if len(order) < 1500 else 3
    fold = np.arange(len(order)) % folds
    loss = np.zeros(len(SCALES))
    for f in range(folds if len(order) < 1500 else 1):
        train, test = np.sort(order[fold != f]), np.sort(order[fold == f])
        inside, outside = values[:, :, train], values[:, :, test]
        now = start
        for i, scale in enumerate(SCALES):
            args = (rows.y[train], rows.weight[train], pair, now, log_share, scale, by_class, 60)
            now = _solved(inside, *args)
            scores = scores_of(outside, now, log_share)
            scratch = np.empty(scores.shape, dtype=np.float32)
            loss[i] += _kernels.softmax_residuals(
                scores, rows.y[test], rows.weight[test], scratch, get_num_threads()
            )
    return SCALES[int(np.argmin(loss))]


def learn_weights(
    terms: Terms,
    rows: LearningRows,
    start: Weights | None,
    log_share: Array,
    *,
    by_class: bool = True,
    penalty: float | None = None,
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
    """
    d, n_classes = len(terms), rows.n_classes
    pair = np.array(terms.pair, dtype=bool)
    if start is None:
        start = Weights(
            np.full(d, 1.0 / (1.0 + d / 8.0)), np.zeros((n_classes, d)), np.zeros(n_classes), 1.0
        )
    more = d - len(start.terms)
    start = Weights(
        np.append(start.terms, np.full(more, CENTRE)),
        np.concatenate([start.deviations, np.zeros((n_classes, more))], axis=1),
        start.offsets,
        start.scale,
    )
    values = terms.values
    scale = penalty
    if scale is None:
        scale = _validated_scale(values, rows, pair, start, log_share, by_class)
    y, weight = rows.y, rows.weight
    if rows.n > MOST_ROWS:
        some = np.sort(np.random.default_rng(0).permutation(rows.n)[:MOST_ROWS])
        values, y, weight = np.ascontiguousarray(values[:, :, some]), y[some], weight[some]
    return _solved(values, y, weight, pair, start, log_share, scale, by_class, STEPS)
