"""Grid counts: the same in any order and any split, and cells that hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import _kernels
from tallybayes.tally import GridCounts


def count(x, codes, n_classes=2, weights=None, budget=64):
    fault, shift, keys, counts = _kernels.grid_counts(
        np.asarray(x), np.asarray(codes, dtype=np.int32), weights, n_classes, budget
    )
    assert fault == 0
    order = np.argsort(keys)
    table = counts.reshape(-1, n_classes)[order].T
    return GridCounts(shift, keys[order], np.ascontiguousarray(table), budget)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-50, 50).map(float),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.7e308, 1e-300]),
)


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 1)), max_size=200), st.integers(0, 200))
def test_any_split_and_any_order_give_the_same_tally(rows, cut):
    x, codes = [r[0] for r in rows], [r[1] for r in rows]
    whole = count(np.array(x), codes)
    assert count(np.array(x[::-1]), codes[::-1]) == whole
    parts = count(np.array(x[:cut]), codes[:cut]) + count(np.array(x[cut:]), codes[cut:])
    assert parts == whole
    assert whole + whole.zero() == whole
    assert len(whole.keys) <= 64
    assert whole.counts.sum() == len(rows)


@given(st.lists(NUMBERS, min_size=1, max_size=100), st.integers(2, 20), st.integers(0, 60))
def test_a_finer_grid_is_coarsened_as_far_as_it_must(values, budget, shift):
    codes = np.zeros(len(values))
    fine = count(np.array(values), codes, budget=200)
    fine.budget = budget
    coarse = fine.coarsened(0)
    assert coarse == count(np.array(values), codes, budget=budget)
    further = fine.coarsened(shift)
    assert further.shift == max(shift, coarse.shift)
    assert further == coarse.coarsened(shift)


@given(st.lists(NUMBERS, min_size=1, max_size=300))
def test_cells_hold_the_values_between_their_edges(values):
    x = np.array(values)
    tally = count(x, np.zeros(len(x)))
    edges = tally.lower_edges()
    cell = np.searchsorted(edges, x, side="right") - 1
    assert (tally.keys[cell] == tally.keys_of(x)).all()
    assert (tally.keys_of(tally.values()) == tally.keys).all()
    assert (np.bincount(cell, minlength=len(edges)) == tally.counts[0]).all()


def test_few_values_keep_cells_of_their_own():
    tally = count(np.arange(50.0), np.zeros(50))
    assert tally.shift == 0
    assert tally.values().tolist() == list(range(50))


def test_taking_a_part_away_leaves_the_counts_of_the_rest_on_its_grid():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=500), rng.integers(0, 2, 500)
    rest = count(x, codes) - count(x[:200], codes[:200])
    alone = count(x[200:], codes[200:]).coarsened(rest.shift)
    kept = rest.counts.any(axis=0)
    assert rest.keys[kept].tolist() == alone.keys.tolist()
    assert (rest.counts[:, kept] == alone.counts).all()
    assert rest.deficit() is None
    assert (count(x[:1], codes[:1]) - count(x, codes)).deficit() is not None


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.uint16])
def test_a_value_is_counted_alike_in_every_type(dtype):
    x = np.arange(100).astype(dtype)
    assert count(x, np.zeros(100)) == count(x.astype(float), np.zeros(100))


def test_gaps_are_left_out_and_infinity_is_a_fault():
    assert count(np.array([np.nan, 1.0]), [0, 1]).counts.tolist() == [[0.0], [1.0]]
    fault, *_ = _kernels.grid_counts(np.array([np.inf]), np.zeros(1, dtype=np.int32), None, 1, 8)
    assert fault == _kernels.NOT_FINITE


@given(st.lists(st.tuples(st.lists(NUMBERS, max_size=30), st.integers(8, 64)), max_size=4))
def test_values_of_several_columns_are_those_of_each(cases):
    tallies = [count(np.array(x), np.zeros(len(x)), budget=budget) for x, budget in cases]
    found = GridCounts.values_of_each(tallies)
    assert [values.tolist() for values in found] == [t.values().tolist() for t in tallies]
