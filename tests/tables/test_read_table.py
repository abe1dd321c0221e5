"""One table, whatever frame it comes in."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes.tables import Mixed, Numbers, Strings, read_table
from tallybayes.tables.columns import strings_of

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
