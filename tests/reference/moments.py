"""Moments about an origin, exactly: n = Σw, S1 = Σw(x−c), S2 = Σw(x−c)²."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from reference.rational import exact, exact_weights, zeros

CHUNK_ROWS = 8192
UNIT = Fraction(1, 2**53)  # half a unit in the last place of 1.0


class ExactMoments(NamedTuple):
    """Object arrays of Fraction, (n_classes, d)."""

    n: np.ndarray
    s1: np.ndarray
    s2: np.ndarray


def count_moments(x, codes, weights, n_classes, origin):
    """The moments of the rows of x about the origin."""
    shape = (n_classes, x.shape[1])
    n, s1, s2 = zeros(*shape), zeros(*shape), zeros(*shape)
    c = exact(origin)
    for k, w, row in zip(codes.tolist(), exact_weights(weights, len(codes)), exact(x), strict=True):
        n[k] += w
        s1[k] += w * (row - c)
        s2[k] += w * (row - c) ** 2
    return ExactMoments(n, s1, s2)


def add_moments(a, b, factor=1.0):
    """a + factor·b, about one origin."""
    f = Fraction(factor)
    return ExactMoments(*(left + f * right for left, right in zip(a, b, strict=True)))


def rebase_moments(m, old_origin, new_origin):
    """The same rows about another origin: with δ = old − new,
    Σw(x−new) = S1 + nδ and Σw(x−new)² = S2 + 2δS1 + nδ²."""
    delta = exact(old_origin) - exact(new_origin)
    return ExactMoments(m.n, m.s1 + m.n * delta, m.s2 + 2 * delta * m.s1 + m.n * delta**2)


def centre_moments(m, origin):
    """Means, and sums of squares about them; 0 where n = 0."""
    mean, squares = zeros(*m.n.shape), zeros(*m.n.shape)
    for cell in np.ndindex(m.n.shape):
        if m.n[cell]:
            offset = m.s1[cell] / m.n[cell]
            mean[cell] = offset + Fraction(float(origin[cell[1]]))
            squares[cell] = m.s2[cell] - m.s1[cell] * offset
    return mean, squares


def to_moments(tally):
    """What the arrays of a tally stand for: n + n_lo, s1_hi + s1_lo, s2_hi + s2_lo."""
    return ExactMoments(
        exact(tally.n) + exact(tally.n_lo),
        exact(tally.s1_hi) + exact(tally.s1_lo),
        exact(tally.s2_hi) + exact(tally.s2_lo),
    )


def chunk_shift(values):
    """What a chunk of a class is summed about: 0 where that is near enough, else the median of its
    first three rows, of two the one that is nearer to 0. `values` are float64 (n_rows,)."""
    first = np.sort(np.asarray(values[:3], dtype=np.float64))
    if len(first) < 3:
        return float(min(values, key=abs))
    near = abs(first[1]) <= 8.0 * (first[2] - first[0])
    return 0.0 if near else float(first[1])


def chunk_error(n_rows):
    """The error of a compensated sum of n products, relative to the sum of their absolute values:
    Ogita, Rump and Oishi (2005), equation 5.8, with room for the rounding of x − b and for a start
    of up to 16 times the sum."""
    return 64 * (n_rows + 4) ** 2 * UNIT**2


def chunk_bounds(x, codes, weights, n_classes):
    """How far the kernel may be from exact in Σw(x−μ) and in the sum of squares about the mean,
    before the sums are moved to the origin.

    A chunk of m rows of a class is summed about b, :func:`chunk_shift`. Each of the two sums has an
    error of at most (m + 4)²·2⁻¹⁰⁰ times the sum of the absolute values of its terms,
    A1 = Σ|w||x−b| and A2 = Σ|w|(x−b)². A sum of squares about the mean takes in both: s2 − s1²/n is
    off by (m + 4)²·2⁻¹⁰⁰·(A2 + 2·|s1|·A1/n), at most three times that of A2 for weights of one
    sign.

    Returns
    -------
    first, second : object arrays of Fraction (n_classes, d)
    """
    first, second = zeros(n_classes, x.shape[1]), zeros(n_classes, x.shape[1])
    w = exact_weights(weights, len(codes))
    for start in range(0, len(codes), CHUNK_ROWS):
        rows = np.arange(start, min(start + CHUNK_ROWS, len(codes)))
        for k in range(n_classes):
            of_class = rows[(codes[rows] == k) & (w[rows] != 0)]
            if not len(of_class):
                continue
            shift = exact(np.apply_along_axis(chunk_shift, 0, x[of_class].astype(np.float64)))
            t, weight = exact(x[of_class]) - shift, w[of_class][:, None]
            share = chunk_error(len(of_class))
            first[k] += share * (abs(weight) * abs(t)).sum(axis=0)
            second[k] += 3 * share * (abs(weight) * t**2).sum(axis=0)
    return first, second
