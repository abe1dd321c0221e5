"""Sums over neighbouring cells are those of the twin, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.reference.neighbours import neighbour_sums

from tallybayes import _kernels

counts = st.integers(0, 40).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda k: arrays(np.float64, (n, k), elements=st.floats(0.0, 1e6, width=32))
    )
)
distance = st.one_of(st.just(0.0), st.floats(0.0, 2.0))


@given(counts, st.data())
def test_sums_are_those_of_the_twin(counts, data):
    n = data.draw(st.integers(0, len(counts)))
    at = np.cumsum(data.draw(arrays(np.float64, n, elements=distance)))
    width = data.draw(arrays(np.float64, st.integers(0, 3), elements=st.floats(1e-12, 50.0)))
    into = np.full((len(width), *counts.shape), np.nan)
    _kernels.neighbour_sums(counts, at, width, into)
    np.testing.assert_array_equal(into, neighbour_sums(counts, at, width))


@pytest.mark.parametrize("shape", [(1, 4, 2), (2, 4, 3), (2, 5, 2), (3, 4, 2)])
def test_shapes_that_differ_are_refused(shape):
    with pytest.raises(ValueError, match="into has the wrong length"):
        _kernels.neighbour_sums(np.ones((4, 2)), np.arange(3.0), np.ones(2), np.empty(shape))
    with pytest.raises(ValueError, match="more numbers than cells"):
        _kernels.neighbour_sums(np.ones((2, 2)), np.arange(3.0), np.ones(2), np.empty((2, 2, 2)))
