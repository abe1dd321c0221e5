"""What counts say by a table, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tallybayes import _kernels

ODD = [-1.0, -0.0, 0.5, 2.5, 1e300, 2.0**63, float(np.nextafter(3.0, 0.0))]


def add_of_counts(x, table, scores):
    """The sums, and which numbers the table does not have."""
    inside = np.isin(x, np.arange(len(table)))
    sums = scores.copy()
    sums[inside] += table[x[inside].astype(int)]
    return sums, ~inside & ~np.isnan(x)


@pytest.mark.parametrize("threads", [1, 3])
@given(
    x=arrays(
        np.float64,
        st.integers(0, 200),
        elements=st.integers(0, 9).map(float) | st.sampled_from([*ODD, np.nan]),
    ),
    shape=st.tuples(st.integers(0, 6), st.integers(1, 5)),
)
def test_counts_add_what_the_table_has(x, shape, threads):
    rng = np.random.default_rng(len(x))
    table, scores = rng.normal(size=shape), rng.normal(size=(len(x), shape[1]))
    sums, others = add_of_counts(x, table, scores)
    beyond = np.full(len(x), 7, dtype=np.uint8)
    _kernels.add_of_counts(x, table, scores, beyond, threads)
    np.testing.assert_array_equal(scores, sums)
    np.testing.assert_array_equal(beyond, others)


def test_threads_share_many_rows():
    rng = np.random.default_rng(0)
    x, table = rng.integers(0, 30, 100_000).astype(float), rng.normal(size=(20, 4))
    scores, beyond = np.zeros((len(x), 4)), np.empty(len(x), dtype=np.uint8)
    _kernels.add_of_counts(x, table, scores, beyond, 3)
    sums, others = add_of_counts(x, table, np.zeros_like(scores))
    np.testing.assert_array_equal(scores, sums)
    np.testing.assert_array_equal(beyond, others)


@pytest.mark.parametrize(("rows", "classes", "marks"), [(3, 2, 4), (4, 3, 4), (4, 2, 3)])
def test_other_shapes_are_refused(rows, classes, marks):
    scores, beyond = np.zeros((rows, classes)), np.zeros(marks, dtype=np.uint8)
    with pytest.raises(ValueError, match=r"scores|beyond"):
        _kernels.add_of_counts(np.zeros(4), np.zeros((1, 2)), scores, beyond, 1)
