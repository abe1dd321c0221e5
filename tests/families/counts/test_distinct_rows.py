"""Equal rows of a column share one computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.families.negative_binomial import MAX_CODE, distinct_rows

VALUES = st.sampled_from([0.0, 1.0, 2.0, 2.5, -1.0, 7.0, MAX_CODE - 1.0, float(MAX_CODE), 1e300])


@given(st.lists(st.tuples(st.integers(0, 3), VALUES, st.sampled_from([0.5, 1.0, 3.0]))))
def test_each_content_is_there_once_and_found_again(rows):
    own = np.array([row[0] for row in rows], dtype=np.intp)
    x = np.array([row[1] for row in rows])
    weight = np.array([row[2] for row in rows])
    first, place = distinct_rows(own, x, weight)
    assert len(first) == len(set(rows))
    for column in (own, x, weight):
        np.testing.assert_array_equal(column[first][place], column)


@pytest.mark.parametrize("scale", [1.0, 1e6, 0.1])
def test_many_codes_in_two_columns_are_sorted_not_multiplied(scale):
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 60_000, (2, 500)) * scale
    first, place = distinct_rows(x, z)
    assert len(first) == len(set(zip(x, z, strict=True)))
    np.testing.assert_array_equal(x[first][place], x)
    np.testing.assert_array_equal(z[first][place], z)
