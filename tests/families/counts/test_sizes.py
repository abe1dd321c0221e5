"""Sizes of negative binomials, against the root of the exact derivative."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from tallybayes.families.negative_binomial import MAX_LOG_SIZE, Sizes

NONE = np.zeros(1)
FIRST = np.zeros(1, dtype=np.intp)


def slope(values, counts, log_size):
    """Σ_x n_x Σ_{i<x} 1/(r + i) − n log(1 + x̄/r), in 60 digits."""
    r, n = log_size.exp(), sum(counts)
    mean = sum(c * x for c, x in zip(counts, values, strict=True)) / n
    each = (
        c * sum((1 / (r + i) for i in range(x)), Decimal(0))
        for c, x in zip(counts, values, strict=True)
    )
    return sum(each, Decimal(0)) - n * (1 + mean / r).ln()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dispersed", [True, False])
def test_sizes_without_a_row_are_the_roots(seed, dispersed):
    rng = np.random.default_rng(seed)
    x = rng.negative_binomial(8, 0.6, 400) if dispersed else rng.poisson(3.0, 400)
    weight = rng.choice([0.25, 1.75, 2.5], 400)
    values = np.unique(x)
    counts = np.array([[weight[x == v].sum() for v in values]])
    sizes = Sizes(values.astype(np.float64), counts, None)
    value, w = x[:1].astype(np.float64), weight[:1]
    found = float(sizes.without(FIRST, value, w)[0])
    if found == MAX_LOG_SIZE:  # without the row, variance does not exceed the mean
        rest, at = counts[0] - w * (values == x[0]), values
        mean = rest @ at / rest.sum()
        assert rest @ (at - mean) ** 2 <= rest @ at * (1.0 + 1e-12)
        return
    with localcontext() as context:
        context.prec = 60
        exact = [Decimal(c) for c in counts[0].tolist()]
        exact[values.tolist().index(int(x[0]))] -= Decimal(float(w[0]))
        low, high = (
            slope(values.tolist(), exact, Decimal(found) + Decimal(step)) for step in (-1e-8, 1e-8)
        )
    assert low > 0 > high


def test_values_beyond_those_counted_are_solved_without_the_kernel():
    sizes = Sizes(np.array([0.0, 1.0, 9.0]), np.array([[5.0, 3.0, 2.0]]), None)
    nothing = sizes.without(FIRST, np.array([50.0]), NONE)
    np.testing.assert_allclose(nothing, sizes.of_all, rtol=1e-9)
