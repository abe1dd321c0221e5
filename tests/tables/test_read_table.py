"""One table, whatever frame it comes in: rows, times, zones, bytes."""

import datetime
import datetime as dt
import decimal
import math
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.errors import ZoneWarning
from tallybayes.models.base import same
from tallybayes.tables import Mixed, Numbers, Strings, read_table
from tallybayes.tables.columns import read_objects, read_value, strings_of

ROWS = [
    {"n": 1, "t": "x", "b": True, "f": 1.5, "e": None, "d": datetime.date(2020, 1, 2)},
    {"n": 2, "t": None, "b": None, "f": None, "e": None, "d": None},
    {"n": 3, "t": "y", "b": False, "f": 2.5, "e": None, "d": datetime.date(1969, 1, 2)},
]
EXPECTED = {
    "n": [1.0, 2.0, 3.0],
    "t": ["x", None, "y"],
    "b": ["True", None, "False"],
    "f": [1.5, None, 2.5],
    "e": None,
    "d": [18263.0, None, -364.0],
}


class Stream:
    """Anything with the Arrow C stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


MAKES = {
    "dicts": lambda: ROWS,
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas, nullable": lambda: pd.DataFrame(ROWS).convert_dtypes(),
    "pandas, category": lambda: pd.DataFrame(ROWS).astype({"t": "category"}),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars, categorical": lambda: pl.DataFrame(ROWS).with_columns(
        pl.col("t").cast(pl.Categorical)
    ),
    "polars, enum": lambda: pl.DataFrame(ROWS).with_columns(
        pl.col("t").cast(pl.Enum(["z", "y", "x"]))
    ),
    "pyarrow": lambda: pa.Table.from_pylist(ROWS),
    "arrow stream": lambda: Stream(pa.Table.from_pylist(ROWS)),
    "array of objects": lambda: pd.DataFrame(ROWS),
}


def plain(column):
    if isinstance(column, Numbers):
        return [None if v != v else float(v) for v in column.values]
    if isinstance(column, Strings):
        return [None if code < 0 else column.levels[code] for code in column.codes]
    return None


@pytest.mark.parametrize("make", MAKES)
def test_every_frame_reads_alike(make):
    table = read_table(MAKES[make]())
    assert {name: plain(column) for name, column in table.columns.items()} == EXPECTED
    assert table.shape == (3, 6)


def test_arrays_have_numbered_columns():
    table = read_table(np.array([[1, "a"], [2, None]], dtype=object))
    assert [plain(c) for c in table.columns.values()] == [[1.0, 2.0], ["a", None]]
    assert list(table.columns) == ["0", "1"]
    assert not table.named


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", ">u2", ">M8[s]"])
def test_numbers_of_the_other_byte_order(dtype):
    values = np.array([500, 0, 1], dtype=dtype)
    expected = [v / 86400 if "M" in dtype else v for v in (500.0, 0.0, 1.0)]
    for x in (values[:, None], pd.DataFrame({"0": values})):
        column = read_table(x).columns["0"]
        assert plain(column) == expected
        assert column.values.dtype.isnative


NEAREST = decimal.Decimal("44.42")  # as 4442 × 0.01 it would be 44.42000000000001


@pytest.mark.parametrize(
    "table",
    [
        [{"x": NEAREST}],
        pd.DataFrame({"x": [NEAREST]}),
        pl.DataFrame({"x": pl.Series([NEAREST], dtype=pl.Decimal(9, 2))}),
        pa.table({"x": pa.array([NEAREST], pa.decimal128(9, 2))}),
        pa.table({"x": pa.array([NEAREST], pa.decimal256(50, 9))}),
    ],
    ids=["dicts", "pandas", "polars", "pyarrow", "pyarrow, 256"],
)
def test_a_decimal_is_the_nearest_float(table):
    assert plain(read_table(table).columns["x"]) == [44.42]


def test_decimals_are_numbers_and_mixed_objects_are_both():
    mixed = [{"x": 3, "y": decimal.Decimal("1.5")}, {"x": "three", "y": decimal.Decimal(2)}]
    table = read_table(mixed)
    column = table.columns["x"]
    assert isinstance(column, Mixed)
    assert plain(column.numbers) == [3.0, None]
    assert plain(column.strings) == [None, "three"]
    assert plain(column.take(np.array([1])).strings) == ["three"]
    assert plain(strings_of(column)) == ["3", "three"]
    assert plain(table.columns["y"]) == [1.5, 2.0]


SINGLE = "a Series, which is not a table: .* to_frame"


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "two columns are named 'a'"),
        ([{"a": [1, 2]}], ValueError, "column 'a' holds"),
        ([{"a": 1}, 3], ValueError, "element 1 is a int"),
        (np.zeros(3), ValueError, "Expected 2D array, got 1D"),
        (pd.Series([1, 2]), ValueError, SINGLE),
        (pd.Series(["a"]), ValueError, SINGLE),
        (pl.Series([1, 2]), ValueError, SINGLE),
        (pa.array([1, 2]), ValueError, "a Int64Array, which is not a table: .* to_frame"),
        ({"a": [1, 2]}, TypeError, "a dict of columns: make a table of it"),
        ({"a": 1, "b": "x"}, TypeError, r"a single row: give \[X\].* predict_one"),
        ({}, TypeError, "a single row"),
        ("t.csv", TypeError, "the string 't.csv': .*pandas.read_csv.* a file, y is the name"),
        (Path("t.csv"), TypeError, "the string 't.csv'"),
        (({"a": i} for i in range(3)), TypeError, r"a generator, .* give list\(X\)"),
        (None, ValueError, "Expected 2D array, got 0D"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect"),
    ],
)
def test_what_is_no_table_is_refused(x, error, words):
    with pytest.raises(error, match=words):
        read_table(x)


VALUES = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.floats(),
    st.integers(),
    st.sampled_from([2**53, 2**53 - 1, -(2**53), 1 - 2**53, 10**30, True, False]),
    st.sampled_from([np.float32(1.5), np.nan, np.int8(3), np.bool_(True), np.str_("a"), pd.NA]),
    st.sampled_from([pd.NaT, pd.Timestamp(5), decimal.Decimal("1.5"), Fraction(1, 3), b"ab"]),
    st.sampled_from([datetime.date(2020, 1, 2), datetime.timedelta(1), np.datetime64("2020")]),
)


@given(value=VALUES)
def test_a_value_is_read_as_a_column_of_one(value):
    one, other = read_value(value, "a"), read_objects([value], "a")
    assert type(one) is type(other)
    assert same(vars(one), vars(other))
    for name, held in vars(other).items():
        assert getattr(vars(one)[name], "dtype", None) == getattr(held, "dtype", None)


@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, (1, 2), np.zeros(2), uuid.UUID(int=7), Path("a"), object()],
    ids=["list", "dict", "tuple", "array", "UUID", "path", "object"],
)
def test_a_value_that_is_not_a_scalar_is_refused_alike(value):
    one, other = read_value(value, "a"), read_objects([value], "a")
    assert same(vars(one), vars(other))


@pytest.mark.parametrize("value", [1j, decimal.Decimal("sNaN")], ids=["complex", "sNaN"])
def test_an_unknown_value_is_refused_alike(value):
    with pytest.raises(ValueError, match="column") as one:
        read_value(value, "a")
    with pytest.raises(ValueError, match="column") as other:
        read_objects([value], "a")
    assert str(one.value) == str(other.value)
    assert read_value(value, "a", ("a",)).n_rows == 1  # the column is left out


def test_one_dict_has_its_keys_as_columns():
    table = read_table([{"a": 1.5, 7: "x", "b": None, "c": math.nan}])
    assert list(table.columns) == ["a", "7", "b", "c"]
    assert table.n_rows == 1
    with pytest.raises(ValueError, match="the same as text"):
        read_table([{"7": 1, 7: 2}])


DURATIONS = [dt.timedelta(seconds=90, microseconds=5), dt.timedelta(days=-1), None]
TIMES = [dt.time(0, 0, 1), dt.time(23, 59, 59, 250_000), None]
BYTES = [b"tea", "Tee \u00e4".encode(), None]
TABLES = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "arrow": lambda values: pa.table({"x": values}),
    "dicts": lambda values: [{"x": value} for value in values],
    "array": lambda values: np.array(values, dtype=object).reshape(-1, 1),
}
every = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def column(table):
    return next(iter(read_table(table).columns.values()))


@every
def test_durations_are_seconds(table):
    found = column(table(DURATIONS))
    assert isinstance(found, Numbers)
    np.testing.assert_array_equal(found.values, [90.000005, -86400.0, np.nan])


def test_durations_of_other_types_are_the_same_seconds():
    typed = pd.to_timedelta(DURATIONS)
    for table in (
        pd.DataFrame({"x": typed}),
        pd.DataFrame({"x": pd.Series(typed).astype("duration[ns][pyarrow]")}),
        np.asarray(typed).reshape(-1, 1),
        [{"x": value} for value in typed],
    ):
        np.testing.assert_allclose(column(table).values, [90.000005, -86400.0, np.nan], rtol=1e-15)


@every
def test_times_of_day_are_seconds_since_midnight(table):
    np.testing.assert_array_equal(column(table(TIMES)).values, [1.0, 86399.25, np.nan])


@every
def test_bytes_are_texts(table):
    found = column(table(BYTES))
    assert isinstance(found, Strings)
    assert [found.levels[c] if c >= 0 else None for c in found.codes] == ["tea", "Tee \u00e4", None]


def test_bytes_that_are_no_text_stay_apart():
    found = column(pd.DataFrame({"x": [b"\xff", b"\xfe"]}))
    assert found.levels == ["\\xff", "\\xfe"]


def test_periods_are_the_date_they_begin():
    periods = pd.PeriodIndex(["2020-01", "2021-07", None], freq="M")
    dates = pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2021-07-01", None])})
    for table in (pd.DataFrame({"x": periods}), [{"x": value} for value in periods]):
        found = column(table)
        assert found.what == "date"
        np.testing.assert_array_equal(found.values, column(dates).values)


def test_intervals_are_levels():
    intervals = pd.IntervalIndex.from_breaks([0, 1, 2]).repeat(2)
    assert column(pd.DataFrame({"x": intervals})).levels == ["(0, 1]", "(1, 2]"]


@pytest.mark.parametrize("values", [DURATIONS, TIMES, BYTES], ids=["durations", "times", "bytes"])
def test_a_row_at_a_time_counts_as_the_table(values):
    labels = ["a", "b", "a"]
    whole = NaiveBayes().fit([{"x": value} for value in values], labels)
    single = NaiveBayes()
    for value, label in zip(values, labels, strict=True):
        single.learn_one({"x": value}, label)
    assert single.tally_ == whole.tally_
    row = {"x": values[0]}
    assert single.predict_one(row) == whole.predict([row])[0]


NAIVE = datetime.datetime(2024, 3, 1, 12)
AWARE = datetime.datetime(2024, 3, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
HOLDERS = {
    "dicts": lambda values: [{"t": value} for value in values],
    "array": lambda values: np.array([[value] for value in values], dtype=object),
    "pandas": lambda values: pd.DataFrame({"t": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"t": pl.Series(values, dtype=pl.Object)}),
}


def days(table):
    [column] = table.columns.values()
    return column.values.tolist()


@pytest.mark.parametrize("holder", HOLDERS)
def test_both_kinds_in_one_column_are_told_of(holder):
    hold = HOLDERS[holder]
    with pytest.warns(ZoneWarning, match="with a time zone and times without one.* as UTC"):
        mixed = read_table(hold([NAIVE, AWARE, None]))
    noon = (NAIVE - datetime.datetime(1970, 1, 1)).total_seconds() / 86_400.0
    assert days(mixed)[:2] == [noon, noon - 2 / 24]
    read_table(hold([NAIVE, None, NAIVE, pd.NaT]))
    read_table(hold([AWARE, None, AWARE.astimezone(datetime.UTC)]))
    read_table(hold([datetime.date(2024, 3, 1), AWARE]))  # a date has no zone


LOCAL = pd.Series(pd.date_range("2024-01-01 03:17", periods=24, freq="7h"), name="t")
TOKYO = LOCAL.dt.tz_localize("Asia/Tokyo")


def in_file(frame, path):
    write = {".csv": frame.to_csv, ".parquet": frame.to_parquet}[path.suffix]
    write(path, index=False)
    return str(path)


READERS = {
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "arrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "pandas of arrow": lambda frame, folder: frame.convert_dtypes(dtype_backend="pyarrow"),
    "dicts": lambda frame, folder: frame.to_dict("records"),
    "ISO strings": lambda frame, folder: [{"t": time.isoformat()} for time in frame["t"]],
    "CSV": lambda frame, folder: in_file(frame, folder / "times.csv"),
    "Parquet": lambda frame, folder: in_file(frame, folder / "times.parquet"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("learned", ["with", "without"])
def test_times_with_and_without_a_zone_meet_in_training_and_prediction(reader, learned, tmp_path):
    """One of the two is hours off unless the zone is UTC, which nobody but the user knows."""
    labels = [f"class {i % 2}" for i in range(len(LOCAL))]
    frames = {
        "with": TOKYO.to_frame().assign(y=labels),
        "without": LOCAL.to_frame().assign(y=labels),
    }
    other = "without" if learned == "with" else "with"

    def rows(kind):
        return READERS[reader](frames[kind], tmp_path)

    model = NaiveBayes().fit(frames[learned][["t"]], labels)
    model.predict(rows(learned))
    model.predict(LOCAL.dt.normalize().to_frame())  # a date has no zone
    with pytest.warns(ZoneWarning, match="row 0, column 't' holds ") as found:
        model.predict(rows(other))
    assert len(found) == 1
    assert ("without a time zone, but" in str(found[0].message)) == (learned == "with")
    if reader != "ISO strings":  # which are levels to a model that begins with them
        model = NaiveBayes().fit(rows(other), "y")
        with pytest.warns(ZoneWarning, match="times with a time zone and times without one"):
            model.partial_fit(rows(learned), "y")


@pytest.mark.parametrize("learned", ["with", "without"])
def test_of_one_row_and_of_a_saved_or_merged_model_too(learned, tmp_path):
    times = {"with": TOKYO, "without": LOCAL}
    other = times.pop("without" if learned == "with" else "with").to_frame()
    mine = times[learned].to_frame()
    NaiveBayes().fit(mine, np.arange(24) % 2).save(tmp_path / "model.tally")
    for value in (other["t"][0], other["t"][0].isoformat()):
        model = tallybayes.load(tmp_path / "model.tally")
        model.predict_one({"t": mine["t"][0]})
        with pytest.warns(ZoneWarning, match="row 0, column 't'"):
            model.predict_one({"t": value})
    part = NaiveBayes().fit(other, np.arange(24) % 2)
    with pytest.warns(ZoneWarning, match="times with a time zone and times without one"):
        model = tallybayes.load(tmp_path / "model.tally").merge(part)
    model.predict(mine), model.predict(other)  # which of the two is right is unknown by now


def test_the_warning_names_the_column():
    rows = [{"t": NAIVE, "n": 1}, {"t": AWARE, "n": 2}] * 4
    with pytest.warns(ZoneWarning, match="column 't'"):
        NaiveBayes().fit(rows, [0, 1] * 4)
