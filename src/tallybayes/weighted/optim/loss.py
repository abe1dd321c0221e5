"""The penalised leave-one-out log-loss of weights, its gradient and its curvature.

    Σ_i −log softmax(S_i)_{y_i} + γ·[Σ_t r_t (w_t − 0.3)² + 3 Σ_tk (v_tk − w_t)²] + 0.01 Σ b²
    S_ik = log p_k + b_k + Σ_t v_tk·z_tki

z_tki is the log-ratio of term t for class k with row i taken out; r_t is 1 for a column, 0.3 for a
pair.
Weights are not negative: w ≥ 0. Without deviations v_tk = w_t. With them w is known once v is,

    w_t = max(0, (0.3·r_t + 3 Σ_k v_tk) / (r_t + 3K)),

so that what is left is a smooth convex function of v and b without bounds. The sum over rows and
its gradient are in ``src/kernels/weighted/loss.hpp``, the penalties here.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.terms.term_scores import Weights, scores_of, shares_of

__all__ = ["CENTRE", "Loss"]

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

    pull: Array
    values: Values
    y: NDArray[np.int32]
    weight: Array
    log_share: Array
    scale: float
    n_classes: int
    d: int

    def __init__(
        self,
        values: Values,
        y: NDArray[np.int32],
        weight: Array,
        pair: NDArray[np.bool_],
        log_share: Array,
        scale: float,
    ) -> None:
        self.values, self.y, self.weight = values, y, weight
        self.log_share, self.scale = log_share, scale
        self.n_classes, self.d = len(log_share), values.shape[1]
        self.ridge: Array = np.where(pair, PAIR, 1.0) * scale
        self.pull = self.ridge + DEVIATION * scale * self.n_classes  # on w: its penalty and classes
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

    def class_curvature(self, q: Array) -> Array:
        """The Hessian in (v, b), class by class, float64 (n, n), n = n_classes·(n_terms + 1)."""
        return self.whole_with_penalty(self.data_curvature(q), q)

    def data_curvature(self, q: Array) -> Array:
        """The same of the log-loss alone, float64 (k, n_terms + 1, k, n_terms + 1), k classes."""
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
        """The Hessian from :meth:`data_curvature` of these rows, or of others like them."""
        w = self.split(q)[2]
        hessian, k, size = of_data.copy(), self.n_classes, self.d + 1
        shared = np.where(w > 0.0, DEVIATION * self.scale / self.pull, 0.0)
        force = 2.0 * DEVIATION * self.scale
        of_terms = np.einsum("ctdt->tcd", hessian)[:-1]  # a view: of each term, by two classes
        np.einsum("tcc->tc", of_terms)[:] += force
        of_terms -= (force * shared)[:, None, None]
        np.einsum("ctct->tc", hessian)[-1] += 2.0 * OFFSET
        return hessian.reshape(k * size, k * size)

    def class_blocks(self, q: Array) -> tuple[Array, Array]:
        """What the Hessian in (v, b), class by class, is about: blocks, one a class, float64
        (n_classes, n_terms + 1, n_terms + 1), and what w takes from the penalty, -f_t for v_tk and
        v_tl of any two classes, float64 (n_terms,). What classes share of the data is left out.
        """
        return self.blocks_with_penalty(self.data_blocks(q), q)

    def data_blocks(self, q: Array) -> Array:
        """The same blocks of the log-loss alone."""
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
        """The result of :meth:`class_blocks`, from blocks of these rows or of others like them."""
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
