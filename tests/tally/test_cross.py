"""Cross moments as a tally: subtracting, settling, what shows a deficit, joining in a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.engines.arrays import collect_array
from tallybayes.errors import IncompatibleTallies, NegativeTally
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, CrossMoments, TableTally
from tallybayes.testing.laws import exactly, in_mean_and_squares, law_refuses
from tallybayes.testing.strategies import batches, far_first_row, frames

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
