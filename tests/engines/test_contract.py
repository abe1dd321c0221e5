"""What every engine promises, on every engine: the results of memory on the same rows."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.sources import ENGINES, TEXT_FILES, as_written, passed_over, source_of
from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    CountNumbers,
    Labels,
    row_hashes,
)
from tallybayes.engines.memory import MemoryEngine
from tallybayes.engines.registry import engine_named
from tallybayes.errors import LeftOutWarning
from tallybayes.tables.columns import stacked, values_of
from tallybayes.tally import CrossMoments, GridCounts, Moments

each = pytest.mark.parametrize("engine", ENGINES)
others = pytest.mark.parametrize("engine", ENGINES[1:])
files_too_and_memory = pytest.mark.parametrize("engine", [*ENGINES, *TEXT_FILES])
files_too = pytest.mark.parametrize("engine", [*ENGINES[1:], *TEXT_FILES])

ODD = ["a", "", "select", 'quo"te', "it's", "new\nline", "日本", "🙂", "1", "True", " a"]
SCHEMA = pa.schema(
    {
        "level": pa.string(),
        "group by": pa.int64(),
        "x.y": pa.float64(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "weight": pa.float64(),
        "y": pa.string(),
    }
)


def rows_of(**columns):
    return pa.table(columns, schema=pa.schema([SCHEMA.field(name) for name in columns]))


@st.composite
def tables(draw, most=60):
    """Rows with missing values, odd strings, far numbers, and weights that are whole."""
    n = draw(st.integers(1, most))
    days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    numbers = st.one_of(
        st.integers(-5, 5).map(float),
        st.floats(-1e6, 1e6),
        st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 0.1, 1e15]),
    )
    values = {
        "level": st.sampled_from(ODD),
        "group by": st.integers(-(2**62), 2**62),
        "x.y": numbers,
        "flag": st.booleans(),
        "day": days,
    }
    columns = {
        name: draw(st.lists(st.one_of(st.none(), of), min_size=n, max_size=n))
        for name, of in values.items()
    }
    columns["weight"] = draw(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0]), min_size=n, max_size=n)
    )
    columns["y"] = draw(st.lists(st.sampled_from(["no", "yes", ""]), min_size=n, max_size=n))
    return rows_of(**columns)


def a_table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(1e3, 2.0, n))
    return rows_of(
        **{
            "level": rng.choice(ODD, n).tolist(),
            "group by": rng.integers(-3, 9, n).tolist(),
            "x.y": [None if v != v else v for v in x.tolist()],
            "flag": (rng.random(n) < 0.3).tolist(),
            "day": [datetime.date(2020, 1, 1 + d) for d in rng.integers(0, 28, n).tolist()],
            "weight": rng.integers(0, 4, n).astype(float).tolist(),
            "y": rng.choice(["no", "yes"], n).tolist(),
        }
    )


def assert_same(mine, theirs):
    """Counts bit for bit, moments about one origin to rounding beside their squares."""
    assert mine.schema.classes.tolist() == theirs.schema.classes.tolist()
    schema = theirs.schema.join(mine.schema)
    mine, theirs = mine.aligned(schema), theirs.aligned(schema)
    assert mine.classes == theirs.classes
    for columns, a, b in zip(schema.groups, mine.groups, theirs.groups, strict=True):
        if not isinstance(a, Moments | CrossMoments):
            assert a == b, columns.key
            continue
        assert np.array_equal(a.n, b.n), columns.key
        assert columns.origin is not None
        size = (np.abs(b.s2_hi) + np.abs(columns.origin) ** 2 * b.n).max(initial=0.0)
        np.testing.assert_allclose(a.s2_hi, b.s2_hi, rtol=1e-12, atol=1e-13 * size + 1e-290)
        room = 1e-13 * np.sqrt(size * max(1.0, b.n.max(initial=0.0))) + 1e-290
        np.testing.assert_allclose(a.s1_hi, b.s1_hi, rtol=1e-12, atol=room)


# ---- counting ------------------------------------------------------------------------------------
@files_too
@settings(max_examples=6, deadline=None)
@given(table=tables(), weighted=st.booleans())
def test_every_engine_makes_the_tally_that_memory_makes(engine, table, weighted):
    if passed_over(engine, "tally"):
        return
    table = as_written(engine, table)
    what = Counting(weight="weight" if weighted else None)
    expected = MemoryEngine().collect(what, table, "y")
    counting, source = source_of(engine, table)
    assert_same(counting.collect(what, source, "y"), expected)


@files_too
@settings(max_examples=6, deadline=None)
@given(table=tables(), level=st.sampled_from(ODD), number=st.integers(-5, 5))
def test_what_is_declared_is_counted_as_declared(engine, table, level, number):
    if passed_over(engine, "declared"):
        return
    table = as_written(engine, table)
    how = {
        "level": CountLevels(),
        "group by": CountLevels(),
        "x.y": CountLevels(),
        "day": CountLevels(),
        "flag": CountNumbers(grid=False),
    }
    expected = MemoryEngine().collect(Counting(how), table, "y")
    counting, source = source_of(engine, table)
    assert_same(counting.collect(Counting(how), source, "y"), expected)
    some = {"level": CountLevels([level, "never"]), "x.y": CountLevels([str(number), "0"])}
    expected = MemoryEngine().collect(Counting(some), table, "y")
    assert counting.collect(Counting(some), source, "y") == expected


@others
def test_a_column_of_many_numbers_has_the_same_grid(engine):
    rng = np.random.default_rng(3)
    far = rng.normal(size=9000) * 10.0 ** rng.integers(-9, 9, 9000)
    table = pa.table({"x": far, "near": rng.normal(size=9000), "y": rng.integers(0, 3, 9000)})
    expected = MemoryEngine().collect(Counting(), table, "y")
    assert max(group.shift for group in expected.groups if isinstance(group, GridCounts)) > 0
    counting, source = source_of(engine, table)
    assert_same(counting.collect(Counting(), source, "y"), expected)


@others
def test_decimals_dictionaries_and_a_column_called_select_are_counted_as_what_they_hold(engine):
    """Decimals as numbers, dictionaries as their strings; a NaN is missing as NULL is."""
    amounts = [Decimal("0.10"), Decimal("-3.25"), None, Decimal("0.10"), Decimal("7.00")]
    table = pa.table(
        {
            "amount": pa.array(amounts, pa.decimal128(9, 2)),
            "select": pa.array(["a", None, "", "it's", "a"]).dictionary_encode(),
            "from.where": [1.5, float("nan"), None, 2.5, 1.5],
            "y": pa.array(["no", "yes", "no", "yes", "no"]),
        }
    )
    plain = table.set_column(0, "amount", table["amount"].cast(pa.float64()))
    plain = plain.set_column(1, "select", plain["select"].cast(pa.string()))
    expected = MemoryEngine().collect(Counting(), plain, "y")
    counting, source = source_of(engine, table)
    assert_same(counting.collect(Counting(), source, "y"), expected)


@pytest.mark.parametrize("engine", [*ENGINES, "json lines"])
def test_nested_columns_are_left_out_and_said_so(engine):
    table = pa.table({"x": [1.0, 2.5, 3.0], "y": ["a", "b", "a"], "tags": [["s"], ["t", "u"], []]})
    counting, source = source_of(engine, table)
    with pytest.warns(LeftOutWarning, match="column 'tags' .* not a scalar, and is left out"):
        tally = counting.collect(Counting(), source, "y")
    assert_same(tally, MemoryEngine().collect(Counting(), table.drop_columns(["tags"]), "y"))
    counting, source = source_of(engine, table)
    with pytest.raises(ValueError, match="'tags'"):
        counting.collect(Counting({"tags": CountLevels()}), source, "y")


@each
def test_labels_of_every_type_are_classes(engine):
    for labels in ([1, 0, 1], [2.5, -1.0, 2.5], [True, False, True], ["b", "a", "b"]):
        counting, source = source_of(engine, pa.table({"x": [1.0, 2.0, 3.0], "y": labels}))
        tally = counting.collect(Counting(), source, "y")
        assert tally.schema.classes.tolist() == sorted(set(labels))
        assert tally.classes.count.tolist() == [1.0, 2.0]


# ---- rows where they are, and samples of them ----------------------------------------------------
def folding():
    """The number of each row of parts, and the rows; the functions are their own, so that they are
    sent whole."""

    def each(table, typed):
        return values_of(table.columns["at"]), table

    def merge(before, after):
        return before + after

    return each, merge


def sampled(counting, source, n):
    def each(table, typed):
        return table.n_rows, table

    _, rows = counting.fold(source, each, folding()[1], max_rows=n)
    return stacked(rows)


@files_too_and_memory
def test_results_of_parts_are_merged_in_the_order_of_the_rows(engine):
    table = a_table().append_column("at", pa.array(range(500)))
    counting, source = source_of(engine, as_written(engine, table))
    found, rows = counting.fold(source, *folding(), names=["at"])
    assert found == list(range(500))
    assert rows == []


@files_too_and_memory
def test_an_error_about_a_row_is_raised_and_a_source_without_rows_has_no_result(engine):
    table = a_table().append_column("at", pa.array(range(500)))
    counting, source = source_of(engine, as_written(engine, table))

    def refused(table, typed):
        raise ValueError("not this one")

    each, merge = folding()
    with pytest.raises(ValueError, match="not this one"):
        counting.fold(source, refused, merge)
    if engine not in TEXT_FILES:  # without rows there is no table
        _, nothing = source_of(engine, table.slice(0, 0))
        assert counting.fold(nothing, each, merge, max_rows=5) == (None, [])


# ---- samples -------------------------------------------------------------------------------------
@files_too_and_memory
def test_a_sample_is_of_the_rows_with_the_smallest_hashes_in_their_order(engine):
    table = a_table().append_column("at", pa.array(range(500)))
    table = as_written(engine, table)
    counting, source = source_of(engine, table)
    hashes = row_hashes(np.arange(500, dtype=np.uint64))
    chosen = np.sort(np.argsort(hashes)[:40])
    sample = sampled(counting, source, 40)
    assert list(sample.columns) == table.column_names
    assert values_of(sample.columns["at"]) == chosen.tolist()
    assert values_of(sample.columns["level"]) == table["level"].take(chosen).to_pylist()
    assert sampled(counting, source, None).n_rows == 500


def test_a_sample_is_fair_whatever_the_period_of_the_rows():
    """Of rows in periods each place has its share, to four standard deviations."""
    chosen = np.argsort(row_hashes(np.arange(100_000, dtype=np.uint64)))[:10_000]
    for period in (2, 3, 7, 64):
        counts = np.bincount(chosen % period, minlength=period)
        expected = 10_000 / period
        assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


@each
def test_a_column_named_like_the_row_number_is_a_column(engine):
    table = pa.table({"tallybayes_row": [3, 1, 2], "y": ["a", "b", "a"]})
    counting, source = source_of(engine, table)
    assert values_of(sampled(counting, source, 9).columns["tallybayes_row"]) == [3, 1, 2]


# ---- bad input -----------------------------------------------------------------------------------
@each
def test_a_source_without_rows_or_labels_is_refused(engine):
    counting, source = source_of(engine, a_table().slice(0, 0))
    with pytest.raises(ValueError, match="there is no evidence"):
        counting.collect(Counting(), source, "y")
    counting, source = source_of(engine, pa.table({"x": [1.0, 2.0], "y": ["a", None]}))
    with pytest.raises(ValueError, match=r"1 rows of the evidence have no label .* 'y'"):
        counting.collect(Counting(), source, "y")


@each
def test_a_name_that_is_not_a_column_is_refused_with_those_that_are(engine):
    counting, source = source_of(engine, a_table(5))
    known = "its columns are .*'level', 'group by', 'x.y'"
    with pytest.raises(ValueError, match=f"no target 'Y'; {known}"):
        counting.collect(Counting(), source, "Y")
    with pytest.raises(ValueError, match=f"no column 'LEVEL'; {known}"):
        counting.collect(Counting({"LEVEL": CountLevels()}), source, "y")
    with pytest.raises(ValueError, match=f"no weight 'mass'; {known}"):
        counting.collect(Counting(weight="mass"), source, "y")


@each
def test_values_that_are_not_admitted_are_refused(engine):
    table = pa.table(
        {
            "far": [1.0, np.inf, 2.0],
            "low": [3, -2, 1],
            "text": ["a", "b", "c"],
            "w": [1.0, None, 1.0],
            "y": ["a", "b", "a"],
        }
    )
    counting, source = source_of(engine, table)
    for how, said in (
        ({"far": CountNumbers()}, "infinity"),
        ({"low": CountNumbers(non_negative=True)}, "'low' of the source holds -2"),
        ({"text": CountLevels(["a", "b"], closed=True)}, "'text' of the source holds 'c'"),
        ({"text": CountNumbers()}, "text|'a'"),
    ):
        with pytest.raises(ValueError, match=said):
            counting.collect(Counting(how), source, "y")
    with pytest.raises(ValueError, match=r"weight column .*finite number in every row"):
        counting.collect(Counting({"low": CountNumbers()}, weight="w"), source, "y")


def test_what_an_engine_cannot_do_it_says():
    duck, source = source_of("duckdb", a_table(20))
    with pytest.raises(ValueError, match="name the target, a column of the source"):
        duck.collect(Counting(), source, Labels(np.array(["a"]), np.zeros(20, np.int32)))
    with pytest.raises(ValueError, match="counts each column by itself"):
        duck.collect(Counting(together={("x.y", "group by"): "cross"}), source, "y")
    with pytest.raises(ValueError, match="the rows are in memory: filter"):
        MemoryEngine().collect(Counting(where=[Condition("x > 1")]), a_table(20), "y")
    with pytest.raises(ValueError, match="leave connection= out"):
        engine_named("memory").open(a_table(2), connection=object())
