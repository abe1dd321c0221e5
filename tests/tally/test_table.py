"""The tally of a whole model: joined with others, and aligned to a wider schema."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.engines.arrays import collect_array
from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, FeatureSums, TableTally
from tallybayes.testing.laws import in_mean_and_squares
from tallybayes.testing.strategies import data_sets

KINDS = ("levels", "sums", "moments", "cross")
alike = in_mean_and_squares(2.0**-26)


def counted(kind, x, y):
    """A tally of these rows with the classes and levels that they happen to have."""
    classes, codes = np.unique(y, return_inverse=True)
    d = x.shape[1]
    columns = Columns(
        kind=kind,
        n_features=d,
        n_levels=np.zeros(d, dtype=np.int64) if kind == "levels" else None,
        origin=x[0].astype(float) if kind in ("moments", "cross") else None,
    )
    found = collect_array(columns, x, codes.astype(np.int32), len(classes), None, whose="a test")
    return TableTally(Schema(classes, (found.columns,)), found.classes, (found.tally,))


def aligned(*tables):
    schema = tables[0].schema
    for table in tables[1:]:
        schema = schema.join(table.schema)
    return tuple(table.aligned(schema) for table in tables)


@st.composite
def parts(draw, kind, count):
    """Tallies of the parts of one data set, and of all of it."""
    families = {"levels": "categorical", "sums": "multinomial"}
    family = families.get(kind, "gaussian")
    x, y, _ = draw(data_sets(family, min_rows=count, of_weights=("none",)))
    cuts = sorted(draw(st.lists(st.integers(1, len(x) - 1), min_size=count - 1, unique=True)))
    edges = [0, *cuts[: count - 1], len(x)]
    tables = [counted(kind, x[a:b], y[a:b]) for a, b in pairwise(edges)]
    return counted(kind, x, y), tables


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_parts_with_other_classes_levels_and_origins_merge_to_the_whole(kind, data):
    whole, (a, b, c) = data.draw(parts(kind, 3))
    for merged in (a.merged(b).merged(c), a.merged(b.merged(c)), c.merged(a).merged(b)):
        left, right = aligned(whole, merged)
        assert alike(left, right)


@pytest.mark.parametrize("kind", ["levels", "sums"])
@given(data=st.data())
def test_counts_merge_to_the_whole_bit_for_bit(kind, data):
    whole, (a, b) = data.draw(parts(kind, 2))
    assert a.merged(b) == whole
    assert b.merged(a) == whole


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_merging_changes_neither_part(kind, data):
    _, (a, b) = data.draw(parts(kind, 2))
    before = a.copy(), b.copy()
    merged = a.merged(b)
    for array in merged.arrays().values():
        array[...] = 7
    assert (a, b) == before


@pytest.mark.parametrize("kind", KINDS)
def test_aligning_puts_counts_at_their_class_and_leaves_the_rest_empty(kind):
    x = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]])
    y = np.array(["b", "d", "d"])
    table = counted(kind, x, y)
    schema = Schema(np.array(["a", "b", "c", "d"]), table.schema.groups)
    wide = table.aligned(schema)
    assert wide.schema == schema
    assert wide.classes.count.tolist() == [0.0, 1.0, 0.0, 2.0]
    (group,) = wide.groups
    assert group.take(np.array([1, 3])) == table.groups[0]
    assert group.take(np.array([0, 2])) == table.groups[0].zero()


def test_aligning_widens_levels_and_moves_origins():
    x, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    levels = counted("levels", x.astype(int), y)
    wider = Columns(kind="levels", n_features=1, n_levels=np.array([5]))
    assert levels.aligned(Schema(y, (wider,))).groups[0].n_levels.tolist() == [5]
    moments = counted("moments", x, y)
    moved = Columns(kind="moments", n_features=1, origin=np.array([100.0]))
    (group,) = moments.aligned(Schema(y, (moved,))).groups
    assert group.origin.tolist() == [100.0]
    assert group.s1_hi.tolist() == [[-99.0], [-98.0]]
    assert group.mean_and_squares()[0].tolist() == [[1.0], [2.0]]


def test_aligning_changes_nothing_in_the_tally_that_is_aligned():
    x, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    for kind in KINDS:
        table = counted(kind, x.astype(int), y)
        before = table.copy()
        table.aligned(counted(kind, x.astype(int) + 1, y + 1).schema.join(table.schema))
        assert table == before


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_columns_do_not_merge(kind):
    x, y = np.ones((2, 2)), np.array([0, 1])
    a, b = counted(kind, x, y), counted(kind, x[:, :1], y)
    before = a.copy(), b.copy()
    with pytest.raises(IncompatibleTallies, match="features"):
        a.merged(b)
    assert (a, b) == before


def test_an_empty_part_changes_nothing():
    columns = Columns(kind="sums", n_features=2)
    schema = Schema(np.array([0, 1]), (columns,))
    empty = TableTally(schema, ClassCounts.zeros(2), (FeatureSums.zeros(2, 2),))
    full = TableTally(schema, ClassCounts(np.ones(2)), (FeatureSums(np.ones((2, 2))),))
    assert empty.merged(full) == full
    assert full.merged(empty) == full
    assert empty.merged(empty) == empty


def test_arrays_have_unique_names_and_hold_everything():
    columns = Columns(kind="sums", n_features=2)
    schema = Schema(np.array([0, 1]), (columns, columns))
    groups = (FeatureSums(np.ones((2, 2))), FeatureSums(np.full((2, 2), 2.0)))
    table = TableTally(schema, ClassCounts(np.array([3.0, 4.0])), groups)
    arrays = table.arrays()
    assert sorted(arrays) == ["class_count", "class_squared_weights", "group0.sums", "group1.sums"]
    assert [float(arrays[name].sum()) for name in sorted(arrays)] == [7.0, 7.0, 4.0, 8.0]
