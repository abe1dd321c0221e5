"""Smooth functions of cells: splines of ranks, and what a column or a pair has of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.weighted import splines
from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.splines import (
    column_functions,
    linear_splines,
    pair_functions,
    ranks,
    stacked,
)


def dense(functions):
    """Each function in each cell."""
    return stacked([functions]).toarray()


weights = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=40).map(np.array)


def number(n_numbers, levels=0, seed=0):
    """A number in so many cells, so many levels beside it and the missing value."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (n_numbers + levels + 1, 2)).astype(float)
    names = [f"l{i}" for i in range(levels)] if levels else None
    edges = np.arange(n_numbers - 1.0) if n_numbers else None
    return ColumnCells(name="x", counts=counts, edges=edges, levels=names)


@given(weights)
def test_ranks_ascend_and_lie_symmetrically(weight):
    rank = ranks(weight)
    assert ((rank >= 0.0) & (rank <= 1.0)).all()
    assert (np.diff(rank) >= 0.0).all()
    np.testing.assert_allclose(ranks(weight[::-1]), 1.0 - rank[::-1], atol=1e-9)


@given(weights, st.floats(1e-3, 1e3))
def test_ranks_do_not_depend_on_the_unit_of_weight(weight, factor):
    np.testing.assert_allclose(ranks(factor * weight), ranks(weight), atol=1e-9)


@given(st.lists(st.floats(0.0, 1.0), max_size=30).map(np.array), st.integers(2, 12))
def test_linear_splines_sum_to_one_and_reproduce_straight_lines(rank, n_knots):
    basis = dense(linear_splines(rank, n_knots))
    assert basis.shape == (len(rank), n_knots)
    assert (basis >= 0.0).all()
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)
    np.testing.assert_allclose(basis @ np.linspace(0.0, 1.0, n_knots), rank, atol=1e-12)


@pytest.mark.parametrize("n_knots", [2, 4, 8])
def test_a_spline_is_one_at_its_knot(n_knots):
    knots = np.linspace(0.0, 1.0, n_knots)
    np.testing.assert_allclose(dense(linear_splines(knots, n_knots)), np.eye(n_knots), atol=1e-12)


def test_splines_are_those_of_numpys_interpolation():
    rank = np.random.default_rng(0).random(50)
    knots, height = np.linspace(0.0, 1.0, 6), np.array([3.0, -1.0, 2.0, 2.0, 0.0, 7.0])
    np.testing.assert_allclose(
        dense(linear_splines(rank, 6)) @ height, np.interp(rank, knots, height)
    )


def test_levels_and_the_missing_value_have_a_function_each():
    values = dense(column_functions(number(0, levels=4)))
    assert np.array_equal(values, np.eye(5))
    values = dense(column_functions(number(20, levels=2)))
    own = values[20:]
    assert np.array_equal(own[:, -3:], np.eye(3))
    assert not own[:, :-3].any()
    assert not values[:20, -3:].any()


def test_the_line_of_a_number_is_straight_in_its_ranks():
    column = number(30)
    line = dense(column_functions(column))[:30, 0]
    rank = ranks(column.counts[:30].sum(axis=1))
    np.testing.assert_allclose(line, 3.0**0.5 * (2.0 * rank - 1.0))


@pytest.mark.parametrize("n_numbers", range(1, 12))
def test_every_function_of_the_cells_of_few_numbers_can_be_said(n_numbers):
    """Numbers in more cells than there are knots have smooth functions only."""
    values = dense(column_functions(number(n_numbers)))
    rank = np.linalg.matrix_rank(values)
    assert rank == 1 + min(n_numbers, splines.KNOTS)


def test_functions_of_a_pair_are_products():
    columns = [number(40, seed=1), number(0, levels=3, seed=2), number(4, seed=3)]
    (pair, functions), (other, _) = pair_functions(columns, [0, 1, 2])
    assert other.columns == (0, 2)  # levels and few numbers have no functions
    assert np.array_equal(pair.maps[0], coarse(columns[0], splines.PAIR_CELLS))
    assert functions.n_cells == pair.n_cells
    values = dense(functions).reshape(*pair.sizes, -1)
    label = coarse(columns[0], splines.PAIR_CELLS)
    weight = np.bincount(label[:40], columns[0].counts[:40].sum(axis=1))
    of_number = dense(linear_splines(ranks(weight), splines.KNOTS))
    for i in range(len(of_number)):
        for j in range(pair.sizes[1]):
            expected = np.zeros((splines.KNOTS + 1, pair.sizes[1]))
            expected[:-1, j] = splines.PAIR_SCALE * of_number[i]
            np.testing.assert_allclose(values[i, j], expected.ravel())


def test_finer_functions_of_a_pair_stand_beside_those_of_fewer_knots():
    columns = [number(100, seed=1), number(0, levels=3, seed=2)]
    [(pair, functions)] = pair_functions(columns, [0, 1], 16)
    label = coarse(columns[0], 32)
    assert np.array_equal(pair.maps[0], label)
    rank = ranks(np.bincount(label[:100], columns[0].counts[:100].sum(axis=1)))
    values = dense(functions).reshape(*pair.sizes, -1)
    for level in range(pair.sizes[1]):
        each = [dense(linear_splines(rank, n)) for n in (4, 8, 16)]
        own = values[: len(rank), level] / splines.PAIR_SCALE
        own = own[:, (own != 0.0).any(axis=0)]
        np.testing.assert_allclose(own, np.concatenate(each, axis=1), atol=1e-12)
    same = dense(pair_functions(columns, [0, 1], 4)[0][1])
    np.testing.assert_array_equal(same, dense(pair_functions(columns, [0, 1])[0][1]))


def test_functions_of_several_terms_stand_side_by_side():
    columns = [number(40, seed=1), number(0, levels=3, seed=2)]
    each = [column_functions(column) for column in columns]
    together = stacked(each).toarray()
    n, m = each[0].n_cells, each[0].n_functions
    assert together.shape == (n + 4, m + 4)
    assert np.array_equal(together[:n, :m], dense(each[0]))
    assert np.array_equal(together[n:, m:], np.eye(4))
    assert not together[:n, m:].any()
    assert not together[n:, :m].any()
    assert stacked([]).shape == (0, 0)
