"""Durations, times of day, periods, bytes and intervals are read alike from every kind of table."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes
from tallybayes.tables import Numbers, Strings, read_table

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
