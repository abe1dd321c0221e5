"""One rule for ties: a cell holds the number it starts with, in plain and in weighted models."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import _kernels
from tallybayes.tables import Numbers
from tallybayes.weighted.cells import ColumnCells

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


def cells(edges):
    return ColumnCells(name="x", counts=np.zeros((len(edges) + 2, 2)), edges=np.array(edges))


@given(edges=st.lists(NUMBERS, min_size=1, max_size=6, unique=True).map(sorted))
def test_a_number_that_a_cell_starts_with_is_in_it_and_the_one_before_is_not(edges):
    column = cells(edges)
    first = np.arange(1, len(edges) + 1)
    assert column.codes(Numbers(column.starts, "float")).tolist() == first.tolist()
    assert column.codes(Numbers(np.array(edges, dtype=np.float64), "float")).tolist() == list(
        first - 1
    )


@given(
    edges=st.lists(NUMBERS, min_size=1, max_size=6, unique=True).map(sorted),
    values=st.lists(NUMBERS, min_size=1, max_size=20),
)
def test_the_cells_of_weighted_models_are_the_bins_of_plain_ones(edges, values):
    column, entries = cells(edges), np.empty(len(values) + len(edges), dtype=np.int32)
    x = np.array([*values, *edges], dtype=np.float64)
    _kernels.bin_entries(x[:, None], column.starts, entries, 1)
    assert column.codes(Numbers(x, "float")).tolist() == (entries - 1).tolist()
    assert np.searchsorted(column.starts, x, side="right").tolist() == (entries - 1).tolist()
