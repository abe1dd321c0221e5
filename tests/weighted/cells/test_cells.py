"""Cells: one rule for ties, and sums over neighbours."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tallybayes import _kernels
from tallybayes.tables import Numbers
from tallybayes.weighted.cells import ColumnCells, over_neighbours, position, spread

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


counts = st.integers(1, 40).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda k: arrays(np.float64, (n, k), elements=st.floats(0.0, 1e6, width=32))
    )
)


@given(counts, st.sampled_from(["cells", "rank"]), st.lists(st.floats(0.001, 100.0), max_size=4))
def test_sums_are_those_of_the_kernel(counts, kind, widths):
    at = position(counts.sum(axis=1), kind)
    expected = np.array([spread(at, width) @ counts for width in widths])
    found = over_neighbours(counts, len(counts), kind, widths)
    assert found.shape == (len(widths), *counts.shape)
    np.testing.assert_allclose(
        found, expected.reshape(found.shape), atol=1e-8 * max(counts.sum(), 1e-3)
    )


def test_a_kernel_of_one_cell_is_none():
    counts = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(over_neighbours(counts, 6, "cells", [1.0])[0], counts)


def test_no_rows():
    counts = np.zeros((5, 2))
    for kind in ("cells", "rank"):
        np.testing.assert_array_equal(over_neighbours(counts, 5, kind, [2.0])[0], counts)


def test_cells_that_are_not_of_numbers_are_by_themselves():
    counts = np.arange(12.0).reshape(6, 2)
    for kind, width in (("cells", 3.0), ("rank", 0.5)):
        found = over_neighbours(counts, 4, kind, [width])[0]
        np.testing.assert_array_equal(found[:4], over_neighbours(counts[:4], 4, kind, [width])[0])
        np.testing.assert_array_equal(found[4:], counts[4:])
