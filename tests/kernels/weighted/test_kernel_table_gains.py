"""What a column's smoothed counts gain is what the twin says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.reference.table_gains import table_gains

from tallybayes import _kernels

rows = st.one_of(st.just(0.0), st.integers(1, 5).map(float), st.floats(1e-3, 1e6))


@given(st.integers(0, 30), st.integers(1, 4), st.integers(0, 3), st.data())
def test_gains_are_those_of_the_twin(n_cells, n_classes, n_ways, data):
    def draw(shape, elements=rows):
        return data.draw(arrays(np.float64, shape, elements=elements))

    counts = draw((n_cells, n_classes))
    summed = counts + draw((n_ways, n_cells, n_classes))
    removed = draw(counts.shape, st.floats(0.0, 3.0))
    p = draw(n_classes, st.floats(1e-3, 1.0))
    strength = draw(data.draw(st.integers(0, 4)), st.floats(0.25, 512.0))
    gains = np.full((n_ways, len(strength)), np.nan)
    _kernels.table_gains(counts, removed, p, summed, strength, gains)
    expected = table_gains(counts, removed, p, summed, strength)
    size = 1e-12 * (1.0 + 30.0 * counts.sum())  # of the terms, which may cancel
    np.testing.assert_allclose(gains, expected, rtol=0.0, atol=size)


def test_a_column_without_rows_gains_nothing():
    gains = np.full((2, 3), np.nan)
    nothing = np.zeros((4, 2))
    _kernels.table_gains(
        nothing, nothing + 1.0, np.full(2, 0.5), np.zeros((2, 4, 2)), np.arange(1.0, 4.0), gains
    )
    assert not gains.any()


@pytest.mark.parametrize("which", ["removed", "p", "summed", "gains"])
def test_shapes_that_differ_are_refused(which):
    given = {
        "counts": np.ones((4, 2)),
        "removed": np.ones((4, 2)),
        "p": np.full(2, 0.5),
        "summed": np.ones((3, 4, 2)),
        "strength": np.ones(5),
        "gains": np.empty((3, 5)),
    }
    given[which] = np.ascontiguousarray(given[which][..., 1:])
    with pytest.raises(ValueError, match=f"{which} has the wrong length"):
        _kernels.table_gains(*given.values())
