"""Finding the bin of each number, against its twin and NumPy's search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import LAYOUTS, bin_entries
from reference.inputs import DTYPES, INTEGERS, whole_numbers
from tallybayes import _kernels

EDGES = st.lists(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-4, 4).map(float),
    max_size=40,
    unique=True,
).map(lambda edges: np.array(sorted(edges), dtype=np.float64))


def found(x, edges, threads=2):
    entries = np.full(len(x), -7, dtype=np.int32)
    return entries, _kernels.bin_entries(x, np.asarray(edges, dtype=np.float64), entries, threads)


def numbers(edges, dtype):
    """Numbers, many of which are an edge, a neighbour of one, a zero of either sign or a missing
    value."""
    with np.errstate(over="ignore"):  # an edge may be beyond float32, or next to infinity
        neighbours = [*np.nextafter(edges, np.inf), *np.nextafter(edges, -np.inf)]
        special = np.array([0.0, -0.0, np.nan, *edges, *neighbours]).astype(dtype)
    kept = [v for v in special.tolist() if not np.isinf(v)]
    width = np.dtype(dtype).itemsize * 8
    return st.sampled_from(kept) | st.floats(allow_infinity=False, width=width)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data(), edges=EDGES)
def test_floats_fall_into_the_bin_that_the_twin_says(dtype, data, edges):
    x = data.draw(arrays(dtype, st.integers(0, 150), elements=numbers(edges, dtype)))
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, bin_entries(x, edges))


@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data(), edges=EDGES)
def test_integers_of_every_width_fall_into_the_bin_that_the_twin_says(dtype, data, edges):
    """Also those beyond 2⁵³, which are read as the nearest float."""
    info = np.iinfo(dtype)
    near = st.integers(max(-5, int(info.min)), 5)
    x = data.draw(
        arrays(dtype, st.integers(0, 150), elements=near | st.integers(info.min, info.max))
    )
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, bin_entries(x, edges))


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 1000])
def test_any_number_of_edges_is_searched_as_numpy_does(n_edges):
    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.normal(size=n_edges))
    x = np.concatenate([rng.normal(size=997), edges])
    entries, fault = found(x, edges)
    assert fault == 0
    np.testing.assert_array_equal(entries, np.searchsorted(edges, x, side="right") + 1)


def test_an_edge_belongs_to_the_bin_above_it_and_both_zeros_are_one():
    entries, _ = found(np.array([-1.0, -0.0, 0.0, 1.0, np.nan]), [0.0, 1.0])
    assert entries.tolist() == [1, 2, 2, 3, 0]
    assert found(np.array([-0.0, 0.0]), [-0.0])[0].tolist() == [2, 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_column_of_every_type_and_layout_is_read_in_place(dtype):
    x = whole_numbers(np.random.default_rng(0), (300, 2), dtype)
    edges = np.array([-30.0, 0.0, 1.0, 10.5])
    for hold in LAYOUTS.values():
        entries, fault = found(hold(x)[:, 1], edges)
        assert fault == 0
        np.testing.assert_array_equal(entries, bin_entries(x[:, 1], edges))


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [0, 63, 64, 40_000])
def test_infinity_is_a_fault_wherever_it_stands(row, dtype, infinity):
    x = np.zeros(40_001, dtype=dtype)
    assert found(x, [1.0])[1] == 0
    x[row] = infinity
    assert found(x, [1.0])[1] == _kernels.NOT_FINITE


def test_the_largest_numbers_are_no_fault():
    top = np.finfo(np.float64).max
    entries, fault = found(np.array([top, -top]), [-1.0, 1.0, top])
    assert (entries.tolist(), fault) == ([4, 1], 0)


def test_entries_of_another_length_are_refused():
    with pytest.raises(ValueError, match="entries has the wrong length"):
        _kernels.bin_entries(np.zeros(3), np.zeros(1), np.empty(4, dtype=np.int32), 1)
    with pytest.raises(ValueError, match="one column"):
        _kernels.bin_entries(np.zeros((3, 2)), np.zeros(1), np.empty(3, dtype=np.int32), 1)
