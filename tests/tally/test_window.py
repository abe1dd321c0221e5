"""Tallies by time: a span holds what counting its rows gives."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, Window, collect, compare, store
from tallybayes.errors import IncompatibleTallies, ModelFileError, NegativeTally, StoreError

START = datetime(2026, 5, 1, tzinfo=UTC)


def events(n, seed=0, days=4.0):
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.uniform(0.0, 24.0 * days, n))
    return pd.DataFrame(
        {
            "time": [START + timedelta(hours=h) for h in hours],
            "pay": rng.choice(["card", "cash", None], n),
            "age": rng.normal(40, 9, n).round(1),
            "sold": rng.choice(["no", "yes"], n),
        }
    )


def counts_of(frame, start, end, target="sold"):
    some = frame[(frame["time"] >= start) & (frame["time"] < end)].drop(columns="time")
    return collect(some if target else some.drop(columns="sold"), target)


# ---- laws ----------------------------------------------------------------------------------------
@settings(max_examples=10)
@given(st.integers(0, 90), st.integers(1, 96), st.sampled_from([0.5, 1.0, 6.0]), st.integers(0, 9))
def test_a_span_is_the_counts_of_its_rows(first, length, hours, seed):
    frame = events(60, seed)
    window = Window(days=None, hours=hours).count(frame, "time", "sold")
    start = START + timedelta(hours=(first // 6) * 6)
    end = start + timedelta(hours=max(length // 6, 1) * 6)
    inside = frame[(frame["time"] >= start) & (frame["time"] < end)]
    if inside.empty:
        with pytest.raises(ValueError, match="there are no rows from"):
            window.between(start, end)
        return
    assert window.between(start, end) == counts_of(frame, start, end)
    assert window.between() == collect(frame.drop(columns="time"), "sold")


@settings(max_examples=5)
@given(st.integers(0, 100), st.integers(1, 4))
def test_parts_in_any_order_and_a_file_change_nothing(tmp_path_factory, seed, parts):
    frame = events(50, seed)
    whole = Window().count(frame, "time", "sold")
    merged = Window()
    for at in np.array_split(np.random.default_rng(seed).permutation(50), parts):
        merged.count(frame.iloc[at], "time", "sold")
    assert merged == whole
    path = tmp_path_factory.mktemp("w") / "w.window"
    whole.save(path)
    read = Window.load(path)
    assert read == whole
    assert read.between() == whole.between()
    read.count(events(5, seed + 1), "time", "sold")  # and goes on
    assert read != whole


def test_rows_leave_with_their_step_and_late_ones_are_told():
    frame = events(200, 1, days=10.0)
    window = Window(days=3).count(frame, "time", "sold")
    end = max(window.steps) + timedelta(hours=1)
    assert window.between() == counts_of(frame, end - timedelta(days=3), end)
    assert window.last(1) == counts_of(frame, end - timedelta(days=1), end)
    before = window.between()
    assert window.count(frame.iloc[:7], "time", "sold").late == 7.0
    assert window.between() == before
    rest = before - window.last(2)  # whole weights subtract exactly
    first = counts_of(frame, end - timedelta(days=3), end - timedelta(days=2))
    assert np.array_equal(rest.classes.count, first.classes.count)
    assert all(column.js < 1e-15 for column in compare(rest, first).columns)


def test_weeks_are_compared_without_rows():
    frame = events(3000, 2, days=14.0)
    frame.loc[frame["time"] >= START + timedelta(days=7), "pay"] = "card"
    window = Window(days=14).count(frame.drop(columns="sold"), "time")
    week = START + timedelta(days=7)
    found = compare(window.between(end=week), window.between(week))
    assert found.moved() == ["pay"]
    assert repr(window) == "Window(days=14, hours=1): 3,000 rows"


def test_times_are_dates_or_seconds_and_files_are_read(tmp_path):
    frame = events(80, 3)
    seconds = frame.assign(time=[t.timestamp() for t in frame["time"]])
    frame.assign(time=frame["time"].dt.tz_localize(None)).to_parquet(tmp_path / "e.parquet")
    expected = Window().count(frame, "time", "sold")
    assert Window().count(seconds, "time", "sold") == expected
    assert Window().count(str(tmp_path / "e.parquet"), "time", "sold") == expected
    of_days = Window(hours=24).count(frame.assign(time=frame["time"].dt.date), "time", "sold")
    assert list(of_days.steps) == [START + timedelta(days=i) for i in range(4)]
    assert of_days.between(date(2026, 5, 2), date(2026, 5, 3)) == counts_of(
        frame, START + timedelta(days=1), START + timedelta(days=2)
    )


def test_a_store_gives_its_counts_by_time(tmp_path):
    frame = events(60, 4)
    rows = frame.drop(columns=["time", "sold"]).to_dict("records")
    with store.open(tmp_path / "x.db", create=NaiveBayes()) as held:
        held.learn(rows, frame["sold"], ids=range(60), times=frame["time"])
        held.forget(ids=[5])
        window = Window(days=None)
        for time, tally in held.by_time().items():
            window.add(tally, time)
        expected = Window(days=None).count(frame.drop(index=5), "time", "sold")
        assert window.between() == expected.between()
        assert list(window.steps) == list(expected.steps)
        with pytest.raises(ValueError, match="hours is a length of time above 0"):
            held.by_time(0)
    with (
        store.open(tmp_path / "y.db", create=NaiveBayes(), ledger="ids") as ids,
        pytest.raises(StoreError, match="this store keeps ids alone"),
    ):
        ids.by_time()


# ---- bad input -----------------------------------------------------------------------------------
def test_what_is_no_span_or_time_says_why(tmp_path):
    frame = events(30, 5)
    window = Window().count(frame, "time", "sold")
    before = window.between()
    half = START + timedelta(minutes=30)
    for call, message in (
        (lambda: Window(days=0), "days is a length of time above 0, got 0"),
        (lambda: Window(days=1, hours=48), "shorter than a step"),
        (lambda: Window().between(), "the window has no rows"),
        (lambda: window.between(half), "lies within the one from"),
        (lambda: window.between(START, START), "there are no rows from"),
        (lambda: window.last(0.01), "whole steps of 1 hours, got 0.01"),
        (lambda: window.last(-1), "above 0 and whole steps of 1 hours, got -1"),
        (lambda: window.last("1"), "got '1'"),
        (lambda: window.last(float("inf")), "got inf"),
        (lambda: window.between(pd.NaT), "a time is a datetime.*NaT"),
        (lambda: window.between("june"), "a time is a datetime"),
        (lambda: window.add(frame, START), r"got a DataFrame: count\(rows, time\) counts rows"),
        (lambda: window.count(frame, frame["time"]), r"assign\(time=…\)"),
        (lambda: window.count(frame, "time", frame["sold"]), r"assign\(target=…\)"),
        (lambda: window.count(frame, "when", "sold"), "when"),
        (lambda: window.count(frame, "pay", "sold"), "has no times"),
        (lambda: window.count(frame.assign(time=pd.NaT), "time", "sold"), "time"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(NegativeTally):
        window.add(-before, START)
    with pytest.raises(IncompatibleTallies):
        window.count(frame.assign(sold=1), "time", "sold")
    assert window.between() == window.last(1e6) == before
    assert window.between(START.replace(year=1), START.replace(year=9000)) == before
    before.save(tmp_path / "t.tally")
    with pytest.raises(ModelFileError, match="window"):
        Window.load(tmp_path / "t.tally")
