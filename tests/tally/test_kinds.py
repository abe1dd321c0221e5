"""Each kind of sums by itself: levels, sparse sums, grids and cross moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tallybayes import _kernels
from tallybayes.engines.arrays import collect_array
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.schema import Columns, Schema
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    FeatureSums,
    GridCounts,
    LevelCounts,
    TableTally,
)
from tallybayes.tally.sparse import SparseSums
from tallybayes.testing import laws
from tallybayes.testing.laws import exactly, in_mean_and_squares, law_refuses
from tallybayes.testing.strategies import batches, far_first_row, frames

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


CLASSES = np.array(["a", "b"])


def counted(x, codes=None, weights=None, origin=None, n_classes=2):
    x = np.asarray(x, dtype=np.float64)
    codes = np.zeros(len(x), dtype=np.int32) if codes is None else np.asarray(codes, np.int32)
    origin = np.zeros(x.shape[1]) if origin is None else np.asarray(origin, dtype=np.float64)
    columns = Columns(kind="cross", n_features=x.shape[1], origin=origin)
    return collect_array(columns, x, codes, n_classes, weights, whose="a test").tally


def table(tally, names=("u", "v"), classes=CLASSES):
    columns = Columns(kind="cross", n_features=len(names), names=names, origin=tally.origin)
    counts = ClassCounts(tally.n.copy())
    return TableTally(Schema(classes, (columns,), by_name=True), counts, (tally,))


@pytest.mark.parametrize("whole", [True, False])
@given(data=st.data())
def test_any_split_gives_one_tally(whole, data):
    frame = data.draw(frames("cross", whole=whole))
    x, codes, weights = data.draw(batches(frame, whole=whole))
    at = data.draw(st.integers(0, len(x)))
    parts = [
        counted(
            x[rows], codes[rows], None if weights is None else weights[rows],
            frame.columns.origin, frame.n_classes,
        )
        for rows in (slice(0, at), slice(at, None), slice(None))
    ]  # fmt: skip
    same = exactly if whole else in_mean_and_squares(1e-9, counts=1e-12)
    positive = weights is None or weights.min(initial=0.0) >= 0.0
    if whole or positive:
        assert same(parts[0] + parts[1], parts[2], parts[:2])


@given(x=far_first_row(20, 3), seed=st.integers(0, 99))
def test_forgetting_a_far_row_that_came_by_itself_leaves_the_others(x, seed):
    codes = np.random.default_rng(seed).integers(0, 2, 20)
    far = counted(x[:1], codes[:1], origin=x[0])
    others = counted(x[1:], codes[1:], origin=x[0])
    rest = far + others - far
    rest.settle(far + others)
    assert in_mean_and_squares(1e-9)(rest, others, ())
    assert rest.deficit() is None


def test_what_is_left_of_all_rows_is_zero():
    x = np.random.default_rng(0).normal(size=(30, 3)) * 0.1 + 7.0
    whole = counted(x, weights=np.full(30, 0.1))
    rest = whole.copy()
    for row in x:
        before = rest
        rest = rest - counted(row[None, :], weights=np.array([0.1]))
        rest.settle(before)
        assert rest.deficit() is None
    assert rest == rest.zero()


def test_a_single_row_that_is_left_has_no_spread():
    x = np.random.default_rng(1).normal(size=(20, 3)) + 1e4
    whole = counted(x)
    rest = whole - counted(x[1:])
    rest.settle(whole)
    mean, scatter = rest.mean_and_scatter()
    np.testing.assert_allclose(mean[0], x[0], rtol=1e-12)
    assert not scatter.any()


def test_products_with_a_column_that_settles_vanish_about_the_mean():
    x = np.array([[1.0, 0.3], [1.0, 0.7], [1.0, 1.9], [4.0, 0.1]])
    whole = counted(x * 0.1)
    rest = whole - counted(x[3:] * 0.1)
    rest.settle(whole)
    scatter = rest.mean_and_scatter()[1][0]
    assert abs(scatter[0, 0]) < 1e-15
    assert abs(scatter[0, 1]) < 1e-15
    assert scatter[1, 1] == pytest.approx(np.var(x[:3, 1] * 0.1) * 3)


def test_more_than_was_counted_is_a_deficit():
    x = np.random.default_rng(2).normal(size=(10, 2))
    held = table(counted(x))
    for rows, shown in (
        (np.vstack([x, x]), "n = -10"),
        (100.0 + x[:9], "about the mean"),
        (100.0 + x, "n = 0 but a sum of squares"),
    ):
        rest = held + table(counted(rows)) * -1.0
        rest.groups[0].settle(held.groups[0])
        rest.classes.count[:] = 0.0
        with pytest.raises(NegativeTally, match=shown):
            rest.need_non_negative("forget")


def test_tallies_about_different_origins_do_not_add():
    a, b = counted([[1.0, 2.0]]), counted([[1.0, 2.0]], origin=[1.0, 0.0])
    law_refuses(a, b)
    with pytest.raises(IncompatibleTallies, match=r"a \+ b.rebased\(a.origin\)"):
        a + b
    assert (a + b.rebased(a.origin)).n[0] == 2.0


def test_tables_join_classes_and_origins():
    x = np.arange(12.0).reshape(6, 2) ** 2
    a = table(counted(x[:3], [0, 1, 0], origin=[1.0, 1.0]))
    b = table(counted(x[3:], [1, 0, 1], origin=[5.0, 7.0]), classes=np.array(["b", "c"]))
    both = a.merged(b)
    assert both.schema.classes.tolist() == ["a", "b", "c"]
    expected = counted(x, [0, 1, 0, 2, 1, 2], origin=[1.0, 1.0], n_classes=3)
    assert both.groups[0] == expected


def test_tables_with_another_group_have_both():
    a, b = table(counted([[1.0, 2.0]])), table(counted([[1.0, 2.0]]), names=("v", "w"))
    both = a.merged(b)
    assert [g.names for g in both.schema.groups] == [("u", "v"), ("v", "w")]
    assert isinstance(both.groups[1], CrossMoments)
    assert both.arrays()["group1.s2_hi"].shape == (2, 3)


@pytest.mark.parametrize("sparse", [False, True])
def test_infinite_rows_are_refused_by_name(sparse):
    from scipy.sparse import csr_array

    x = np.array([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ValueError, match="contains NaN: row 1, column 0 holds nan"):
        collect_array(
            Columns(kind="cross", n_features=2, origin=np.zeros(2)),
            csr_array(x) if sparse else x, np.zeros(2, np.int32), 1, None, whose="a test",
        )  # fmt: skip
