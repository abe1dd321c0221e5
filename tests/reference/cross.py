"""Cross moments about an origin, exactly: n = Σw, S1 = Σw(x−c), S2 = Σw(x−c)(x−c)ᵀ; and triangular
scores."""

from typing import NamedTuple

import numpy as np

from reference.moments import CHUNK_ROWS, chunk_error, chunk_shift
from reference.rational import exact, exact_weights, zeros


class ExactCross(NamedTuple):
    """Object arrays of Fraction: (n_classes,), (n_classes, d), (n_classes, d, d)."""

    n: np.ndarray
    s1: np.ndarray
    s2: np.ndarray


def count_cross(x, codes, weights, n_classes, origin):
    """The cross moments of the rows of x about the origin."""
    d = x.shape[1]
    n, s1, s2 = zeros(n_classes), zeros(n_classes, d), zeros(n_classes, d, d)
    c = exact(origin)
    for k, w, row in zip(codes.tolist(), exact_weights(weights, len(codes)), exact(x), strict=True):
        t = row - c
        n[k] += w
        s1[k] += w * t
        s2[k] += w * t[:, None] * t[None, :]
    return ExactCross(n, s1, s2)


def rebase_cross(m, old_origin, new_origin):
    """The same rows about another origin, δ = old − new."""
    delta = exact(old_origin) - exact(new_origin)
    moved = m.s2 + delta[:, None] * m.s1[:, None, :] + m.s1[:, :, None] * delta[None, :]
    both = m.n[:, None, None] * delta[:, None] * delta[None, :]
    return ExactCross(m.n, m.s1 + m.n[:, None] * delta, moved + both)


def centre_cross(m, origin):
    """Means, and sums of squares and products about them; 0 where n = 0."""
    mean, scatter = zeros(*m.s1.shape), zeros(*m.s2.shape)
    for k, n in enumerate(m.n):
        if n:
            offset = m.s1[k] / n
            mean[k] = offset + exact(origin)
            scatter[k] = m.s2[k] - offset[:, None] * m.s1[k][None, :]
    return mean, scatter


def to_cross(tally):
    """What the arrays of a tally stand for."""
    d = len(tally.origin)
    lower = exact(tally.s2_hi) + exact(tally.s2_lo)
    s2 = zeros(tally.n_classes, d, d)
    for i in range(d):
        for j in range(i + 1):
            s2[:, i, j] = s2[:, j, i] = lower[:, i * (i + 1) // 2 + j]
    s1 = exact(tally.s1_hi) + exact(tally.s1_lo)
    return ExactCross(exact(tally.n) + exact(tally.n_lo), s1, s2)


def cross_bound(x, codes, weights, n_classes):
    """3(m+4)²·2⁻¹⁰⁶·Σ|w||x_i−b_i||x_j−b_j| of each class and chunk of m rows, b as of chunk_shift:
    how far the products about the mean may be from exact, before they are moved to the origin."""
    d = x.shape[1]
    bound = zeros(n_classes, d, d)
    w = exact_weights(weights, len(codes))
    for start in range(0, len(codes), CHUNK_ROWS):
        rows = np.arange(start, min(start + CHUNK_ROWS, len(codes)))
        for k in range(n_classes):
            of_class = rows[(codes[rows] == k) & (w[rows] != 0)]
            if not len(of_class):
                continue
            shift = exact(np.apply_along_axis(chunk_shift, 0, x[of_class]))
            t = abs(exact(x[of_class]) - shift)
            share = 3 * chunk_error(len(of_class)) * abs(w[of_class])[:, None, None]
            bound[k] += (share * t[:, :, None] * t[:, None, :]).sum(axis=0)
    return bound


def score_triangular(x, mean, rotation, constant, freedom):
    """The share of each column, float64 (n_rows, n_classes, d), summed in the kernel's order."""
    shares = np.empty((len(x), *mean.shape))
    for i, row in enumerate(x):
        for k in range(len(mean)):
            q = 0.0
            for j in range(len(row)):
                r = 0.0
                for at in range(j + 1):
                    r += rotation[k, j, at] * (row[at] - mean[k, at])
                if freedom is None:
                    shares[i, k, j] = constant[k, j] - 0.5 * (r * r)
                else:
                    half = 0.5 * (freedom[k] + j)
                    before, q = np.log1p(q / freedom[k]), q + r * r
                    after = np.log1p(q / freedom[k])
                    shares[i, k, j] = constant[k, j] - (half + 0.5) * after + half * before
    return shares
