"""Arrays of exact rational numbers: object arrays of Fraction, with NumPy's arithmetic."""

from fractions import Fraction

import numpy as np


def exact(values):
    """Every number as the rational that it is."""
    values = np.asarray(values)
    fractions = np.empty(values.shape, dtype=object)
    fractions.ravel()[:] = [Fraction(v) for v in values.ravel().tolist()]
    return fractions


def zeros(*shape):
    """Exact zeros."""
    return exact(np.zeros(shape))


def rounded(values):
    """The nearest float64 of each rational."""
    return np.array([float(v) for v in values.ravel()], dtype=np.float64).reshape(values.shape)


def exact_weights(weights, n):
    """Weights as rationals; none means weight 1."""
    return exact(np.ones(n) if weights is None else weights)
