"""What every engine promises, on every engine: the results of the same rows in a table."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.sources import ENGINES, TEXT_FILES, as_written, passed_over, source_of
from tallybayes import LazyNaiveBayes, collect
from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    CountNumbers,
    row_hashes,
)
from tallybayes.engines.registry import engine_named
from tallybayes.errors import LeftOutWarning
from tallybayes.families import Categorical, Gaussian
from tallybayes.tables.columns import stacked, values_of
from tallybayes.tally import CrossMoments, GridCounts, Moments
from tallybayes.tally.table import some_levels_group

FITTED = [engine for engine in ENGINES if engine not in ("duckdb view", "sheets")]
"""Those whose sources a classifier takes as they are."""

each = pytest.mark.parametrize("engine", ENGINES)
fitted = pytest.mark.parametrize("engine", FITTED)
fitted_and_files = pytest.mark.parametrize("engine", [*FITTED, *TEXT_FILES])
files_too = pytest.mark.parametrize("engine", [*ENGINES, *TEXT_FILES])

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
    columns["weight"][0] = 1.0  # something weighs
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
@fitted_and_files
@settings(max_examples=6, deadline=None)
@given(table=tables(), weighted=st.booleans())
def test_every_source_is_counted_as_a_table_is(engine, table, weighted):
    if passed_over(engine, "tally"):
        return
    table, weight = as_written(engine, table), "weight" if weighted else None
    _, source = source_of(engine, table)
    found = collect(source, "y", sample_weight=weight)
    assert_same(found, collect(table, "y", sample_weight=weight))


def asked_of(table, how):
    """The counts that are asked for, from all counts of a table."""
    families = {name: None for name in table.column_names if name != "y"}
    families |= {n: Categorical() if hasattr(h, "only") else Gaussian() for n, h in how.items()}
    whole, pairs = collect(table, "y", families), []
    for columns, group in whole.pairs:
        asked = how[columns.names[0]]
        if columns.kind == "levels" and not asked.closed:
            counts = dict(zip(columns.levels[0].tolist(), group.counts.T, strict=True))
            mine = [counts.get(level, np.zeros(len(group.counts))) for level in asked.only]
            rest = sum(counts.values()) - sum(mine)
            named = columns.names[0], asked.only, np.stack(mine, axis=1)
            pairs.append(some_levels_group(*named, rest, len(counts)))
        elif columns.kind != "grid":
            pairs.append((columns, group))
    return whole.with_pairs(pairs)


def parted(tally):
    """The columns of which some levels are named, which do not join others; and those others."""
    some = [pair for pair in tally.pairs if pair[0].n_all is not None]
    return tally.with_pairs(some), tally.with_pairs([p for p in tally.pairs if p[0].n_all is None])


@files_too
@settings(max_examples=6, deadline=None)
@given(table=tables(), level=st.sampled_from(ODD), number=st.integers(-5, 5))
def test_what_is_asked_for_is_counted(engine, table, level, number):
    if passed_over(engine, "asked"):
        return
    table = as_written(engine, table)
    numbers = {"flag": CountNumbers(), "group by": CountNumbers(), "day": CountNumbers()}
    every = table["level"].unique().drop_null().to_pylist()
    some = {"level": CountLevels([level, "never"]), "x.y": CountLevels([*{str(number), "0"}])}
    for how in (
        some | numbers,
        {"level": CountLevels(every, closed=True), "x.y": CountNumbers()},
    ):
        counting, source = source_of(engine, table)
        found, expected = counting.collect(Counting(how), source, "y"), asked_of(table, how)
        few, whole = zip(*map(parted, (found, expected)), strict=True)
        assert few[0] == few[1]
        assert_same(*whole)


@fitted
def test_a_column_of_many_numbers_has_the_same_grid(engine):
    rng = np.random.default_rng(3)
    far = rng.normal(size=9000) * 10.0 ** rng.integers(-9, 9, 9000)
    table = pa.table({"x": far, "near": rng.normal(size=9000), "y": rng.integers(0, 3, 9000)})
    expected = collect(table, "y")
    assert max(group.shift for group in expected.groups if isinstance(group, GridCounts)) > 0
    assert_same(collect(source_of(engine, table)[1], "y"), expected)


@fitted
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
    assert_same(collect(source_of(engine, table)[1], "y"), collect(plain, "y"))


@pytest.mark.parametrize("engine", [*FITTED, "json lines"])
def test_nested_columns_are_left_out_and_said_so(engine):
    table = pa.table({"x": [1.0, 2.5, 3.0], "y": ["a", "b", "a"], "tags": [["s"], ["t", "u"], []]})
    with pytest.warns(LeftOutWarning, match="column 'tags' .* not a scalar, and is left out"):
        tally = collect(source_of(engine, table)[1], "y")
    assert_same(tally, collect(table.drop_columns(["tags"]), "y"))


def test_a_question_to_nested_columns_is_refused():
    table = pa.table({"x": [1.0, 2.5], "y": ["a", "b"], "tags": [["s"], ["t", "u"]]})
    with pytest.raises(ValueError, match=r"column 'tags' .*neither number, text, boolean nor date"):
        LazyNaiveBayes(source_of("duckdb", table)[1], "y").predict([{"x": 1.0}])


@each
def test_labels_of_every_type_are_classes(engine):
    for labels in ([1, 0, 1], [2.5, -1.0, 2.5], [True, False, True], ["b", "a", "b"]):
        counting, source = source_of(engine, pa.table({"x": [1.0, 2.0, 3.0], "y": labels}))
        tally = counting.collect(Counting({"x": CountNumbers()}), source, "y")
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


@files_too
def test_results_of_parts_are_merged_in_the_order_of_the_rows(engine):
    table = a_table().append_column("at", pa.array(range(500)))
    counting, source = source_of(engine, as_written(engine, table))
    found, rows = counting.fold(source, *folding(), names=["at"])
    assert found == list(range(500))
    assert rows == []


@files_too
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
@files_too
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
        counting.collect(Counting({"x.y": CountNumbers()}), source, "y")
    counting, source = source_of(engine, pa.table({"x": [1.0, 2.0], "y": ["a", None]}))
    with pytest.raises(ValueError, match=r"1 rows of the evidence have no label .* 'y'"):
        counting.collect(Counting({"x": CountNumbers()}), source, "y")


@each
def test_a_name_that_is_not_a_column_is_refused_with_those_that_are(engine):
    counting, source = source_of(engine, a_table(5))
    known = "its columns are .*'level', 'group by', 'x.y'"
    with pytest.raises(ValueError, match=f"no target 'Y'; {known}"):
        counting.collect(Counting({"x.y": CountNumbers()}), source, "Y")
    with pytest.raises(ValueError, match=f"no column 'LEVEL'; {known}"):
        counting.collect(Counting({"LEVEL": CountLevels(["a"])}), source, "y")


@each
def test_values_that_are_not_admitted_are_refused(engine):
    table = pa.table(
        {
            "far": [1.0, np.inf, 2.0],
            "low": [3, -2, 1],
            "text": ["a", "b", "c"],
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


def test_what_an_engine_cannot_do_it_says():
    counting, source = source_of("batches", a_table(20))
    with pytest.raises(ValueError, match=r"'x > 1' is SQL, .*filter the rows"):
        counting.collect(Counting({}, where=[Condition("x > 1")]), source, "y")
    with pytest.raises(ValueError, match="leave connection= out"):
        engine_named("stream").open(source, connection=object())
