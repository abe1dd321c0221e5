"""Logarithms of exact rationals, to forty digits before they are rounded."""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

CONTEXT = Context(prec=40)
ROUNDING = 2e-14  # of a difference of two float64 logarithms of counts


def ln(p):
    """log p in nats; log 0 = −inf."""
    p = Fraction(p)
    if p == 0:
        return -np.inf
    return float(
        CONTEXT.subtract(Decimal(p.numerator).ln(CONTEXT), Decimal(p.denominator).ln(CONTEXT))
    )


def ln_all(probabilities):
    """log p of every rational of an array."""
    probabilities = np.asarray(probabilities, dtype=object)
    return np.array([ln(p) for p in probabilities.ravel()]).reshape(probabilities.shape)


def assert_logs(found, probabilities):
    """`found` is the logarithm of each rational, up to the rounding of two logarithms."""
    assert not np.isnan(found).any()
    np.testing.assert_allclose(found, ln_all(probabilities), rtol=4e-16, atol=ROUNDING)
