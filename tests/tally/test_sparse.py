"""Sparse sums of features: the laws of a tally, and equal to the dense sums that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tallybayes.errors import IncompatibleTallies
from tallybayes.tally import FeatureSums
from tallybayes.tally.sparse import SparseSums
from tallybayes.testing import laws

SHAPE = (3, 4)
whole = hnp.arrays(np.float64, SHAPE, elements=st.integers(-3, 3).map(float))
weights = st.integers(-8, 8).map(float)


@given(a=whole, b=whole, c=whole, v=weights, w=weights)
def test_sparse_sums_obey_every_law(a, b, c, v, w):
    laws.check_every_law(*map(SparseSums, (a, b, c)), v=v, w=w)


@given(a=whole, b=whole, rows=st.permutations(range(3)), k=st.integers(0, 2))
def test_sparse_sums_are_the_dense_ones(a, b, rows, k):
    mine, dense = SparseSums(a), FeatureSums(a.copy())
    rows = np.array(rows)
    assert (mine + SparseSums(b)).dense() == dense + FeatureSums(b)
    assert mine.place(rows, 5).dense() == dense.place(rows, 5)
    assert mine.take(rows[:2]).dense() == dense.take(rows[:2])
    assert mine.pooled().dense() == dense.pooled()
    assert mine.weighted(np.array([1.0, 0.0, 2.0])).dense() == dense.weighted(
        np.array([1.0, 0.0, 2.0])
    )
    mine.put(np.array([k]), SparseSums(b[[k]]))
    dense.put(np.array([k]), FeatureSums(b[[k]]))
    assert mine.dense() == dense


@given(a=whole)
def test_a_deficit_names_the_class_and_the_column(a):
    found = SparseSums(a).deficit()
    expected = FeatureSums(a).deficit()
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == expected


def test_the_rest_of_a_subtraction_loses_what_rounding_left():
    before = SparseSums([[0.1 + 0.2, 1.0]])
    rest = before - SparseSums([[0.3, 0.25]])
    assert rest.dense().sums[0, 0] != 0.0
    rest.settle(before)
    assert rest.dense().sums.tolist() == [[0.0, 0.75]]


def test_sums_of_other_columns_do_not_add():
    with pytest.raises(IncompatibleTallies, match="4 and 5 features"):
        SparseSums(np.ones((2, 4))) + SparseSums(np.ones((2, 5)))
