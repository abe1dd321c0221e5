"""Times with a zone and times without one in one column are told of, and read as UTC."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallybayes import NaiveBayes
from tallybayes.errors import ZoneWarning
from tallybayes.tables import read_table

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


def test_the_warning_names_the_column():
    rows = [{"t": NAIVE, "n": 1}, {"t": AWARE, "n": 2}] * 4
    with pytest.warns(ZoneWarning, match="column 't'"):
        NaiveBayes().fit(rows, [0, 1] * 4)
