"""Pairs of columns, term by term as the formulas stand."""

import numpy as np
from numpy.polynomial import Polynomial

__all__ = [
    "column_scores",
    "correction",
    "counted",
    "curvature",
    "estimate",
    "estimate_of_two",
    "gain",
    "mean_removed",
    "over_neighbours",
    "pair_scores",
    "softmax",
    "values",
    "weighted",
]


def counted(cells, y, weight, proba, n_cells):
    """C, E, what of E is of the own class, and its squares, (4, n_cells, n_classes)."""
    C, E, mine, squares = sums = np.zeros((4, n_cells, proba.shape[1]))
    for v, k, w, p in zip(cells, y, weight, proba.astype(float), strict=True):
        if v >= 0:
            C[v, k] += w
            E[v] += w * p
            mine[v, k] += w * p[k]
            squares[v, k] += w * p[k] ** 2
    return sums


def mean_removed(y, weight, n_classes):
    """What leaving a row of each class out removes, on average over weight."""
    total = np.bincount(y, weight, n_classes)
    less = np.bincount(y, weight**2, n_classes)
    return np.where(total > 0.0, less / np.where(total > 0.0, total, 1.0), 1.0)


def estimate(sums, c, e, t, removed):
    """:func:`gain`, if the rows of a class in a cell are alike in what P leaves to others."""
    if sums.shape[2] == 2:
        return estimate_of_two(sums, c, e, t, removed)
    total = 0.0
    for (C, E, A, _), count, expected in zip(sums.transpose(1, 0, 2), c, e, strict=True):
        m, less, rest = C.sum(), np.minimum(C, removed), np.maximum(E - A, 0.0)
        for k in np.flatnonzero(C > 0):
            p = A[k] / C[k]
            own = (max(count[k] - less[k], 0) + t[k]) / (max(expected[k] - less[k] * p, 0) + t[k])
            mass, x = 0.0, 0.0
            for other in range(len(C)):
                if other != k:
                    theirs = rest[other] / (m - C[other])
                    left = max(expected[other] - theirs, 0.0)
                    mass += rest[other]
                    x += rest[other] * (count[other] + t[other]) / (left + t[other])
            total += C[k] * np.log(own / (p * own + max(1 - p, 0) * (x / mass if mass else 1.0)))
    return total


def estimate_of_two(sums, c, e, t, removed):
    """Of two classes: f(p) at the mean of the own P of a cell and class, and half its second
    derivative times their variance."""
    total, p = 0.0, Polynomial([0.0, 1.0])
    for (C, _, A, squares), count, expected in zip(sums.transpose(1, 0, 2), c, e, strict=True):
        for y in np.flatnonzero(C > 0):
            o, r, mean = 1 - y, min(C[y], removed[y]), A[y] / C[y]
            own, other = max(count[y] - r, 0.0) + t[y], count[o] + t[o]
            N = own * (expected[o] - r * (1.0 - p) + t[o])
            M = other * (expected[y] - r * p + t[y])
            D = p * N + (1.0 - p) * M
            bend = [q.deriv(2)(mean) / q(mean) - (q.deriv()(mean) / q(mean)) ** 2 for q in (N, D)]
            spread = max(squares[y] / C[y] - mean**2, 0.0)
            total += C[y] * (np.log(N(mean) / D(mean)) + 0.5 * spread * (bend[0] - bend[1]))
    return total


def over_neighbours(table, width, axis, numbers):
    """Triangular sums over the first cells of an axis, those of numbers; the others stay alone."""
    n = table.shape[axis]
    apart = np.abs(np.arange(n)[:, None] - np.arange(n))
    kernel = np.maximum(0.0, 1.0 - apart / width)
    kernel[numbers:], kernel[:, numbers:] = np.eye(n)[numbers:], np.eye(n)[:, numbers:]
    return np.moveaxis(np.tensordot(kernel, table, (1, axis)), 0, axis)


def _ratios(i, cells, y, weight, proba, C, E, t):
    """(C + t) / (E + t) of row i's cell, the row taken out of both."""
    less = weight[i]
    count, expected = C[cells[i]].copy(), E[cells[i]] - less * proba[i].astype(float)
    count[y[i]] -= less
    return (np.maximum(count, 0.0) + t) / (np.maximum(expected, 0.0) + t)


def gain(cells, y, weight, proba, C, E, t):
    """Σ w·log(ratio_y / Σ_k P_k·ratio_k)."""
    total = 0.0
    for i in range(len(y)):
        if cells[i] >= 0:
            ratio = _ratios(i, cells, y, weight, proba, C, E, t)
            total += weight[i] * np.log(ratio[y[i]] / (proba[i] * ratio).sum())
    return total


def values(cells, y, weight, proba, C, E, t):
    """log ratios, centred over classes, (n_classes, n_rows)."""
    out = np.zeros(proba.T.shape)
    for i in range(len(y)):
        if cells[i] >= 0:
            z = np.log(_ratios(i, cells, y, weight, proba, C, E, t))
            out[:, i] = z - z.mean()
    return out


def softmax(scores, y, weight):
    """Log-loss of scores (n_classes, n_rows), and w·(softmax − [k = y])."""
    p = np.exp(scores - scores.max(axis=0))
    p /= p.sum(axis=0)
    rows = np.arange(len(y))
    loss = -(weight * np.log(p[y, rows])).sum()
    p[y, rows] -= 1.0
    return loss, p * weight


def weighted(Z, v, offset, y, weight):
    """Log-loss of weighted values Z (layers, n_terms, n_rows), and its gradient in v and offset."""
    if len(Z) == len(v):
        scores = offset[:, None] + np.einsum("kt,kti->ki", v, Z)
        loss, residual = softmax(scores, y, weight)
        return loss, np.einsum("kti,ki->kt", Z, residual), residual.sum(axis=1)
    half = 0.5 * (v[1] @ Z[0])
    loss, residual = softmax(offset[:, None] + np.stack([-half, half]), y, weight)
    in_v = 0.5 * (Z[0] @ residual[1])
    return loss, np.stack([in_v, in_v]), residual.sum(axis=1)


def curvature(cells, scores, weight, n_cells):
    """Σ w·P·(1 − P) over the rows of each cell, (n_cells, n_classes)."""
    diagonal = np.zeros((n_cells, scores.shape[1]))
    for row, s, w in zip(cells, scores, weight, strict=True):
        p = np.exp(s - s.max())
        p /= p.sum()
        for v in row[row >= 0]:
            diagonal[v] += w * p * (1.0 - p)
    return diagonal


def correction(cells, scores, y, weight, q):
    """Log-loss of scores (n_rows, n_classes) plus q over cells, and its gradient in q."""
    row, term = np.nonzero(cells >= 0)
    cell = cells[row, term]
    total, gradient = scores.copy(), np.zeros_like(q)
    np.add.at(total, row, q[cell])
    loss, residual = softmax(total.T, y, weight)
    np.add.at(gradient, cell, residual.T[row])
    return loss, gradient


def column_scores(cells, y, removed, C, p, least, W):
    """W·z of each row, z = log of a column's smoothed counts without the row over p, centred."""
    out = np.zeros((len(y), len(p)))
    for i, v in enumerate(cells):
        if v >= 0:
            count = C[v].copy()
            count[y[i]] -= removed[i]
            z = np.log(np.maximum(count, least) / p)
            out[i] = W * (z - z.mean())
    return out


def pair_scores(cells, y, removed, proba, C, E, t, W):
    """W·z of each row, z as of :func:`values`."""
    return W * values(cells, y, removed, proba, C, E, t).T
