"""The loss of weights, and its descent."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from tallybayes import _kernels
from tallybayes.threads import get_num_threads
from tallybayes.weighted.rows import LearningRows, thinned
from tallybayes.weighted.scores import Terms, Weights, scores_of, shares_of

__all__ = [
    "NO_FUNCTIONS",
    "CellFunctions",
    "Cholesky",
    "CorrectedRows",
    "Loss",
    "Weights",
    "added",
    "class_weights",
    "compared_is_final",
    "descend",
    "learn_weights",
    "penalty_takes",
    "shared_weights",
    "solved",
]


# ---- the penalised leave-one-out log-loss of weights, its gradient and its curvature -------------
#     Σ_i −log softmax(S_i)_{y_i} + γ·[Σ_t r_t (w_t − 0.3)² + 3 Σ_tk (v_tk − w_t)²] + 0.01 Σ b²
#     S_ik = log p_k + b_k + Σ_t v_tk·z_tki
#
# z_tki is the log-ratio of term t for class k with row i taken out; r_t is 1 for a column, 0.3 for
# a pair. Weights are not negative: w ≥ 0. Without deviations v_tk = w_t. With them w is known once
# v is,
#
#     w_t = max(0, (0.3·r_t + 3 Σ_k v_tk) / (r_t + 3K)),
#
# so that what is left is a smooth convex function of v and b without bounds. The sum over rows and
# its gradient are in ``src/kernels/weighted/loss.hpp``, the penalties here.
Array = NDArray[np.float64]
Values = NDArray[np.float32]

CENTRE = 0.3
PAIR = 0.3
DEVIATION = 3.0
OFFSET = 0.01
CHUNK = 2048  # rows that are multiplied at a time
MIN_CURVATURE = 0.01
"""Of the mean curvature of rows: rows with less are left out, at most this share in all."""

ROUNDING = 1e-5  # of the diagonal of a Hessian in float32


@dataclass(eq=False)
class Loss:
    """The loss on some rows under one γ.

    Parameters
    ----------
    values : float32 array (layers, n_terms, n_rows)
        z, as of `Terms`.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    pair : bool array (n_terms,)
    log_share : float64 array (n_classes,)
        log p.
    scale : float
        γ.
    """

    values: Values
    y: NDArray[np.int32]
    weight: Array
    pair: NDArray[np.bool_]
    log_share: Array
    scale: float

    def __post_init__(self) -> None:
        self.n_classes: int = len(self.log_share)
        self.d: int = self.values.shape[1]
        self.ridge: Array = np.where(self.pair, PAIR, 1.0) * self.scale
        # on w: its penalty and classes
        self.pull: Array = self.ridge + DEVIATION * self.scale * self.n_classes
        self._centre = CENTRE * self.ridge

    def data(self, v: Array, b: Array) -> tuple[float, Array, Array]:
        """The log-loss without penalty, and its gradient in v (n_classes, n_terms) and in b."""
        in_v, in_b = np.empty((self.n_classes, self.d)), np.empty(self.n_classes)
        loss = _kernels.weighted_loss(
            self.values,
            np.ascontiguousarray(v),
            self.log_share + b,
            self.y,
            self.weight,
            in_v,
            in_b,
            get_num_threads(),
        )
        return loss, in_v, in_b

    def shared(self, q: Array) -> tuple[float, Array]:
        """Penalised loss and gradient in (w, b), without deviations."""
        w, b = q[: self.d], q[self.d :]
        v = np.empty((self.n_classes, self.d))
        v[:] = w
        loss, each, in_b = self.data(v, b)
        apart = w - CENTRE
        loss += float((self.ridge * apart**2).sum() + OFFSET * (b**2).sum())
        in_w = each.sum(axis=0) + 2.0 * self.ridge * apart
        return loss, np.concatenate([in_w, in_b + 2.0 * OFFSET * b])

    def shared_curvature(self, q: Array) -> Array:
        """The Hessian in (w, b), without deviations."""
        w, b = q[: self.d], q[self.d :]
        p = self.proba(np.broadcast_to(w, (self.n_classes, self.d)), b)
        d, k = self.d, self.n_classes
        hessian = np.zeros((d + k, d + k))
        hessian[d:, d:] = -(p * self.weight) @ p.T
        hessian[np.arange(d, d + k), np.arange(d, d + k)] += (p * self.weight).sum(axis=1)
        weighted = (p * self.weight).astype(np.float32)
        if len(self.values) == 1:  # w·p·(1 − p), halves of the difference for either class
            root = np.sqrt(weighted[1] * p[0].astype(np.float32))
            # chunks stay in the cache for the product
            for begin in range(0, len(root), CHUNK):
                part = slice(begin, begin + CHUNK)
                rows = self.values[0, :, part] * root[part]
                hessian[:d, :d] += rows @ rows.T
                hessian[:d, d + 1] += rows @ root[part]
            hessian[:d, d] = -hessian[:d, d + 1]
        else:
            mean = np.zeros(self.values.shape[1:], dtype=np.float32)
            for z, share in zip(self.values, p.astype(np.float32), strict=True):
                mean += z * share
            for c, z in enumerate(self.values):
                apart = z - mean
                product = apart * weighted[c]
                hessian[:d, :d] += product @ apart.T
                hessian[:d, d + c] = product.sum(axis=1)
        hessian[d:, :d] = hessian[:d, d:].T
        hessian[np.arange(d), np.arange(d)] += 2.0 * self.ridge
        hessian[np.arange(d, d + k), np.arange(d, d + k)] += 2.0 * OFFSET
        return hessian

    def split(self, q: Array) -> tuple[Array, Array, Array]:
        """v (n_classes, n_terms), b, and w of least penalty given v; q (n_classes, n_terms + 1)."""
        both = q.reshape(self.n_classes, self.d + 1)
        v, b = both[:, :-1], both[:, -1]
        w = (self._centre + DEVIATION * self.scale * v.sum(axis=0)) / self.pull
        return v, b, np.maximum(w, 0.0)

    def by_class(self, q: Array) -> tuple[float, Array]:
        """Penalised loss and gradient in (v, b), class by class."""
        v, b, w = self.split(q)
        loss, each, in_b = self.data(v, b)
        u = v - w
        loss += float((self.ridge * (w - CENTRE) ** 2).sum() + OFFSET * (b**2).sum())
        loss += DEVIATION * self.scale * float((u**2).sum())
        gradient = np.empty((self.n_classes, self.d + 1))
        gradient[:, :-1] = each + 2.0 * DEVIATION * self.scale * u
        gradient[:, -1] = in_b + 2.0 * OFFSET * b
        return loss, gradient.ravel()

    def some(self, max_rows: int) -> Loss:
        """About so many of its rows, each standing for more."""
        step = -(-len(self.y) // max_rows)
        if step < 2:
            return self
        less = copy(self)
        less.values = np.ascontiguousarray(self.values[:, :, ::step])
        less.y = self.y[::step]
        less.weight = self.weight[::step] * (len(self.y) / len(less.y))
        return less

    def data_curvature(self, q: Array) -> Array:
        """The Hessian of the log-loss alone in (v, b), class by class, float64 (k, n_terms + 1, k,
        n_terms + 1), k classes."""
        v, b, _ = self.split(q)
        p = self.proba(v, b)
        k, size = self.n_classes, self.d + 1
        shares, root = p.astype(np.float32), np.sqrt(self.weight).astype(np.float32)
        rows = np.empty((k, size, len(self.y)), dtype=np.float32)
        np.multiply(self.values, shares[:, None] * root, out=rows[:, :-1])
        np.multiply(shares, root, out=rows[:, -1])
        flat = rows.reshape(k * size, len(self.y))
        hessian = -(flat @ flat.T).astype(np.float64).reshape(k, size, k, size)
        weighted = root * np.sqrt(shares)
        np.multiply(self.values, weighted[:, None], out=rows[:, :-1])
        rows[:, -1] = weighted
        own = np.einsum("ctcd->ctd", hessian)  # a view: of each class alone
        own += rows @ rows.transpose(0, 2, 1)
        np.einsum("ctt->ct", own)[:] *= 1.0 + ROUNDING
        return hessian

    def whole_with_penalty(self, of_data: Array, q: Array) -> Array:
        """The Hessian with the penalty, float64 (n, n), n = n_classes·(n_terms + 1), from
        :meth:`data_curvature` of these rows, or of others like them."""
        w = self.split(q)[2]
        hessian, k, size = of_data.copy(), self.n_classes, self.d + 1
        shared = np.where(w > 0.0, DEVIATION * self.scale / self.pull, 0.0)
        force = 2.0 * DEVIATION * self.scale
        of_terms = np.einsum("ctdt->tcd", hessian)[:-1]  # a view: of each term, by two classes
        np.einsum("tcc->tc", of_terms)[:] += force
        of_terms -= (force * shared)[:, None, None]
        np.einsum("ctct->tc", hessian)[-1] += 2.0 * OFFSET
        return hessian.reshape(k * size, k * size)

    def data_blocks(self, q: Array) -> Array:
        """What the Hessian of the log-loss alone in (v, b) is about: blocks, one a class, float64
        (n_classes, n_terms + 1, n_terms + 1). What classes share of the data is left out."""
        v, b, _ = self.split(q)
        p = self.proba(v, b)
        blocks = np.empty((self.n_classes, self.d + 1, self.d + 1))
        index = np.arange(self.d + 1)
        for c, z in enumerate(self.values):
            curved = p[c] * (1.0 - p[c]) * self.weight
            # rows with confident predictions have little curvature
            some = np.flatnonzero(curved > MIN_CURVATURE * curved.mean())
            rows = np.empty((self.d + 1, len(some)), dtype=np.float32)
            rows[-1] = np.sqrt(curved[some])
            _kernels.scaled_rows(z, some, rows[-1], rows[:-1])
            blocks[c] = rows @ rows.T
        blocks[:, index, index] *= 1.0 + ROUNDING
        return blocks

    def blocks_with_penalty(self, of_data: Array, q: Array) -> tuple[Array, Array]:
        """The blocks with the penalty, from :meth:`data_blocks` of these rows or of others like
        them; and what w takes from the penalty, -f_t for v_tk and v_tl of any two classes, float64
        (n_terms,)."""
        w = self.split(q)[2]
        blocks, force, index = of_data.copy(), 2.0 * DEVIATION * self.scale, np.arange(self.d)
        blocks[:, index, index] += force
        blocks[:, -1, -1] += 2.0 * OFFSET
        return blocks, np.where(w > 0.0, force * DEVIATION * self.scale / self.pull, 0.0)

    def class_diagonal(self, q: Array) -> Array:
        """The diagonal of the Hessian in (v, b), class by class."""
        v, b, _ = self.split(q)
        p = self.proba(v, b)
        spread = (p * (1.0 - p) * self.weight).astype(np.float32)
        diagonal = np.empty((self.n_classes, self.d + 1))
        for c, z in enumerate(self.values):
            diagonal[c, :-1] = (z * z) @ spread[c] + 2.0 * DEVIATION * self.scale
            diagonal[c, -1] = spread[c].sum() + 2.0 * OFFSET
        return diagonal.ravel()

    def proba(self, v: Array, b: Array) -> Array:
        """P, float64 (n_classes, n_rows)."""
        return shares_of(scores_of(self.values, v, self.log_share + b))

    def weights(self, q: Array) -> Weights:
        """Of (v, b)."""
        v, b, w = self.split(q)
        return Weights(w, v - w, b, self.scale)


# ---- descent on a convex function of many parameters, and the linear systems that it solves ------
# L-BFGS with a preconditioner: J. Nocedal and S. Wright, Numerical Optimization, 2nd edition,
# algorithm 7.4, where the initial matrix is an approximate inverse of the Hessian, made again
# every few steps. For systems of few unknowns LAPACK is called directly: most of the time of
# `scipy.linalg.cho_solve` is spent on finding out what its arguments are.
Objective = Callable[[Array], tuple[float, Array]]
Inverse = Callable[[Array], Array]

HISTORY = 12  # steps that are remembered
HALVINGS = 30
FLOAT32_NOISE = 1e-7  # of a value summed of float32 terms: lower steps than this are not seen


def _direction(gradient: Array, pairs: list[tuple[Array, Array, float]], inverse: Inverse) -> Array:
    """−H⁻¹g, by the two loops over steps s and changes of gradient y."""
    q, factors = gradient.copy(), []
    for s, y, curvature in reversed(pairs):
        factors.append(float(s @ q) / curvature)
        q = daxpy(y, q, a=-factors[-1])
    d = inverse(q)
    if pairs:  # scaled by the last step (7.20), with the preconditioner in between
        _, y, curvature = pairs[-1]
        d *= curvature / float(y @ inverse(y))
    for (s, y, curvature), factor in zip(pairs, reversed(factors), strict=True):
        d = daxpy(s, d, a=factor - float(y @ d) / curvature)
    return -d


def descend(
    objective: Objective,
    start: Array,
    preconditioner: Callable[[Array], Inverse],
    *,
    refresh: int,
    steps: int,
    worth: float,
) -> Array:
    """Where a convex function is least.

    Parameters
    ----------
    objective : callable
        Value and gradient at a point.
    start : float64 array (n_parameters,)
    preconditioner : callable
        At a point: what a gradient is multiplied by, about the inverse of the Hessian.
    refresh : int
        Steps after which the preconditioner is made again.
    steps : int
        At most.
    worth : float
        It stops when a step is expected to lower the value by less than this.
    """
    at = start.astype(np.float64)
    value, gradient = objective(at)
    pairs: list[tuple[Array, Array, float]] = []
    for step in range(steps):
        if step % refresh == 0:
            inverse = preconditioner(at)
        d = _direction(gradient, pairs, inverse)
        slope = float(gradient @ d)
        if -0.5 * slope <= max(worth, FLOAT32_NOISE * abs(value)):
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = at + length * d
            lower, steeper = objective(there)
            if lower <= value + 1e-4 * length * slope + 0.1 * FLOAT32_NOISE * abs(value):
                break
            length *= 0.5
        else:
            break
        s, y = there - at, steeper - gradient
        if (curvature := float(s @ y)) > 0.0:
            pairs = [*pairs[1 - HISTORY :], (s, y, curvature)]
        at, value, gradient = there, lower, steeper
    return at


class Cholesky:
    """The Cholesky factor of a matrix.

    Parameters
    ----------
    matrix : float64 array (n, n)
        Symmetric.

    Raises
    ------
    LinAlgError
        If it is not positive definite.
    """

    def __init__(self, matrix: Array) -> None:
        self._factor, info = dpotrf(matrix, lower=0, clean=1)
        if info != 0:
            raise np.linalg.LinAlgError(
                f"a Cholesky factor needs a positive definite matrix, got {info=}"
            )

    def solve(self, b: Array) -> Array:
        """x of A·x = b, float64 (n,)."""
        if not len(b):
            return b
        x, _ = dpotrs(self._factor, b, lower=0)
        found: Array = x.ravel()
        return found

    def inverse(self) -> Array:
        """A⁻¹."""
        upper, _ = dpotri(self._factor, lower=0)  # 0 below, as the factor is
        whole: Array = upper + upper.T
        np.fill_diagonal(whole, upper.diagonal())
        return whole


# ---- weights that deviate by class: descent with a Hessian that is updated every few steps -------
MAX_PARAMETERS = 4000  # parameters, of a Hessian
MAX_WHOLE_PARAMETERS = 400  # parameters up to which it is whole, and not made of blocks
MAX_HESSIAN_AGE = 25  # steps after which it is made again
MIN_CLASS_HESSIAN_ROWS = 4000  # rows that it is made of


class Curvature:
    """The Hessian of rows at some weights. It may serve descents on other, similar rows, because it
    only has to be approximate."""

    def __init__(self) -> None:
        self._of_data: Array | None = None
        self._weight = 0.0

    @property
    def known(self) -> bool:
        return self._of_data is not None

    def look(self, loss: Loss, q: Array) -> None:
        """At the rows of a loss, at these weights."""
        self._of_data = loss.data_curvature(q) if _whole(loss) else loss.data_blocks(q)
        self._weight = max(float(loss.weight.sum()), 1e-300)

    def inverse(self, loss: Loss, q: Array) -> Inverse:
        """Of the Hessian of a loss, about."""
        assert self._of_data is not None
        of_data = self._of_data * (float(loss.weight.sum()) / self._weight)
        if _whole(loss):
            return Cholesky(loss.whole_with_penalty(of_data, q)).solve
        return _inverse_of_blocks(*loss.blocks_with_penalty(of_data, q))


def _whole(loss: Loss) -> bool:
    """Whether a Hessian is whole, and not made of blocks."""
    return bool(loss.n_classes * (loss.d + 1) <= MAX_WHOLE_PARAMETERS)


def class_weights(
    loss: Loss, start: Weights, *, steps: int, tolerance: float, curvature: Curvature | None = None
) -> Weights:
    """Weights, deviations and offsets of the least penalised log-loss.

    Parameters
    ----------
    loss : Loss
    start : Weights
    steps : int
        At most.
    tolerance : float
        In nats; it stops when a step is expected to gain less.
    curvature : Curvature, optional
        As another descent has left it; this one starts with it and leaves what it has seen later.
    """
    size = loss.n_classes * (loss.d + 1)
    some = loss.some(max(MIN_CLASS_HESSIAN_ROWS, 2 * size))
    seen = curvature or Curvature()
    at_once = seen.known

    def preconditioner(q: Array) -> Inverse:
        nonlocal at_once
        if size <= MAX_PARAMETERS:
            try:
                if not at_once:
                    seen.look(some, q)
                at_once = False
                return seen.inverse(some, q)
            except np.linalg.LinAlgError:  # rounding of nearly flat directions: steps are slower
                pass
        diagonal = some.class_diagonal(q)
        return lambda gradient: gradient / diagonal

    q = np.column_stack([start.by_class(), start.offsets]).ravel()
    refresh = min(max(size // 40, 3), MAX_HESSIAN_AGE)  # a Hessian costs as many gradients, or less
    found = descend(loss.by_class, q, preconditioner, refresh=refresh, steps=steps, worth=tolerance)
    return loss.weights(found)


def _inverse_of_blocks(blocks: Array, shared: Array) -> Inverse:
    """What a gradient is multiplied by: the inverse of B − U·F·Uᵀ, B blocks of classes, F the
    diagonal of what is shared and U one unit matrix a class, by Woodbury's identity,

        B⁻¹ + B⁻¹·U·(F⁻¹ − Uᵀ·B⁻¹·U)⁻¹·Uᵀ·B⁻¹.

    Parameters
    ----------
    blocks : float64 array (n_classes, n_terms + 1, n_terms + 1)
    shared : float64 array (n_terms,)
    """
    inverse = np.stack([Cholesky(block).inverse() for block in blocks])
    some = np.flatnonzero(shared > 0.0)
    inner = -inverse[:, some[:, None], some].sum(axis=0)
    inner[np.arange(len(some)), np.arange(len(some))] += 1.0 / shared[some]
    of_shared = Cholesky(inner)

    def apply(gradient: Array) -> Array:
        by_class = gradient.reshape(len(blocks), -1, 1)
        solved = inverse @ by_class
        back = np.zeros(by_class.shape[1:])
        back[some, 0] = of_shared.solve(solved[:, some, 0].sum(axis=0))
        return (solved + inverse @ back).ravel()

    return apply


# ---- weights of terms, by the least penalised leave-one-out log-loss: convex, few parameters -----
# γ is chosen by cross-validation over the leave-one-out rows, from 1,000 rows on, where it
# matters.
#
# Weights that all classes share are found by Newton's method under w ≥ 0: D. Bertsekas, Projected
# Newton methods for optimization problems with simple constraints, SIAM J. Control and
# Optimization 20 (1982). Weights at 0 that would fall stay, the others take a Newton step, which
# ends at 0 where it would cross it.
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


# ---- offsets or functions of cells under a ridge -------------------------------------------------
# Rows under offsets of their cells, or under functions of their cells, and where their ridge-
# penalised loss is least.
Cells = NDArray[np.int32]

MAX_RIDGE_STEPS = 40
RIDGE_TOLERANCE = 0.1  # nats: what the last step may gain


@dataclass(eq=False)
class CorrectedRows:
    """Rows whose cells are corrected.

    Parameters
    ----------
    cells : int32 array (n_rows, n_terms)
        Numbered over all terms; −1 for none.
    scores : float64 array (n_rows, n_classes)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_cells : int
    """

    cells: Cells
    scores: Array
    y: Cells
    weight: Array
    n_cells: int

    def __post_init__(self) -> None:
        self.shape: tuple[int, int] = self.n_cells, self.scores.shape[1]

    def loss(self, q: Array) -> tuple[float, Array]:
        """Log-loss under corrections q (n_cells, n_classes), and its gradient."""
        gradient = np.zeros(self.shape)
        loss = _kernels.correction_gradient(
            self.cells, self.scores, self.y, self.weight, q, gradient, get_num_threads()
        )
        return loss, gradient

    def curvature(self) -> Array:
        """The diagonal of the Hessian in q, at q = 0."""
        diagonal = np.zeros(self.shape)
        _kernels.correction_curvature(
            self.cells, self.scores, self.weight, diagonal, get_num_threads()
        )
        return diagonal


class CellFunctions(NamedTuple):
    """Functions of cells, by their values other than 0, cell by cell.

    Parameters
    ----------
    start : int64 array (n_cells + 1,)
        The first value of each cell, and the number of all.
    function : int64 array (n_values,)
    value : float64 array (n_values,)
    """

    start: NDArray[np.int64]
    function: NDArray[np.int64]
    value: Array


NO_FUNCTIONS = CellFunctions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def solved(
    rows: CorrectedRows,
    curvature: Array,
    ridge: float,
    start: Array,
    steps: int = MAX_RIDGE_STEPS,
    of_loss: float = 0.0,
    functions: CellFunctions = NO_FUNCTIONS,
) -> Array:
    """q of the least ridge-penalised loss, from where it starts, by at most so many steps, until
    the next gains less than a share of the loss (or 0.1 nats).

    Parameters
    ----------
    rows : CorrectedRows
    curvature : float64 array, like q
        About the diagonal of the Hessian without the ridge; what it is infinite for stays as it is.
    ridge : float
    start : float64 array, like q
    steps : int
    of_loss : float
    functions : CellFunctions, optional
        If given, q are their coefficients (n_functions, n_classes), else the offsets of the cells
        (n_cells, n_classes).
    """
    q = np.array(start, dtype=np.float64, order="C")
    _kernels.ridge_descent(
        rows.cells,
        rows.scores,
        rows.y,
        rows.weight,
        *functions,
        curvature,
        ridge,
        q,
        steps,
        RIDGE_TOLERANCE,
        of_loss,
        get_num_threads(),
    )
    return q


def added(q: Array, cells: Cells) -> Array:
    """What corrections add to rows, (n_rows, n_classes)."""
    added = np.empty((len(cells), q.shape[1]))
    _kernels.corrections_added(cells, np.ascontiguousarray(q), added, get_num_threads())
    return added
