"""Level counts: columns of different widths side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tallybayes.errors import IncompatibleTallies
from tallybayes.tally import LevelCounts

widths = hnp.arrays(np.int64, st.integers(0, 5), elements=st.integers(0, 4))


def filled(n_levels, n_classes=3):
    tally = LevelCounts.zeros(n_classes, n_levels)
    tally.counts[:] = np.arange(tally.counts.size).reshape(tally.counts.shape) + 1.0
    return tally


@given(n_levels=widths)
def test_columns_and_totals_are_those_of_each_column(n_levels):
    tally = filled(n_levels)
    assert tally.n_features == len(n_levels)
    np.testing.assert_array_equal(tally.n_levels, n_levels)
    totals = tally.totals()
    assert totals.shape == (3, len(n_levels))
    for j, width in enumerate(n_levels):
        assert tally.column(j).shape == (3, width)
        np.testing.assert_array_equal(totals[:, j], tally.column(j).sum(axis=1))


@given(n_levels=widths, data=st.data())
def test_widening_keeps_every_count_and_adds_empty_levels(n_levels, data):
    more = data.draw(hnp.arrays(np.int64, len(n_levels), elements=st.integers(0, 3)))
    tally = filled(n_levels)
    wide = tally.widen(n_levels + more)
    np.testing.assert_array_equal(wide.n_levels, n_levels + more)
    for j, width in enumerate(n_levels):
        np.testing.assert_array_equal(wide.column(j)[:, :width], tally.column(j))
        assert not wide.column(j)[:, width:].any()
    np.testing.assert_array_equal(wide.totals(), tally.totals())


@given(n_levels=widths, data=st.data())
def test_widening_commutes_with_adding(n_levels, data):
    more = n_levels + data.draw(hnp.arrays(np.int64, len(n_levels), elements=st.integers(0, 3)))
    a, b = filled(n_levels), 2.0 * filled(n_levels)
    assert (a + b).widen(more) == a.widen(more) + b.widen(more)


def test_a_column_cannot_lose_levels():
    tally = filled(np.array([2, 3]))
    before = tally.copy()
    with pytest.raises(IncompatibleTallies, match="only gain"):
        tally.widen(np.array([3, 2]))
    assert tally == before


@given(n_levels=widths)
def test_a_deficit_names_the_column_of_the_cell(n_levels):
    for j, width in enumerate(n_levels):
        for level in range(width):
            tally = filled(n_levels)
            tally.column(j)[1, level] = -2.0
            assert tally.deficit() == (1, j, "-2")
