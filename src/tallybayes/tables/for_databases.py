"""Frames as databases read them: columns of types that SQL lacks, or reads otherwise, in others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.tables.columns import (
    Column,
    Empty,
    Mixed,
    Nested,
    Numbers,
    is_missing,
    values_of,
    without_views,
)
from tallybayes.tables.read import read_table

__all__ = ["for_database"]

AS_OBJECTS = {"bytes", "timedelta", "timedelta64", "time", "period", "interval"}
"""What pandas calls columns of objects that SQL has no type for."""
ODD_IN_POLARS = {"Int128", "UInt128", "Float16", "Binary", "Duration", "Time", "Object"}


def for_database(frame: Any) -> Any:
    """The frame, of pandas, polars or pyarrow, itself where SQL reads all of its columns as
    :func:`read_table` does. Otherwise categories of numbers are strings in the result, durations
    and times of day seconds, bytes strings, and numbers of rare sizes float64."""
    module = type(frame).__module__.partition(".")[0]
    if hasattr(frame, "iloc"):
        pairs = enumerate(zip(frame.columns, frame.dtypes, strict=True))
        odd = [name for j, (name, dtype) in pairs if _is_odd_in_pandas(dtype, frame, j)]
        if not odd:
            return frame
        copy = frame.copy(deep=False)
        for name, column in zip(odd, read_table(frame[odd]).columns.values(), strict=True):
            if not isinstance(column, Mixed):
                copy[name] = _plain(column)
        return copy
    if module == "polars":
        import polars as pl

        kinds = {name: str(dtype).partition("(")[0] for name, dtype in frame.schema.items()}
        odd = [name for name, kind in kinds.items() if kind in ODD_IN_POLARS]
        columns = read_table(frame.select(odd)).columns if odd else {}
        return frame.with_columns(pl.Series(n, _plain(c)) for n, c in columns.items())
    if module == "pyarrow" and hasattr(frame, "set_column"):
        import pyarrow as pa

        odd = [field.name for field in frame.schema if _is_odd_in_arrow(field.type)]
        columns = read_table(frame.select(odd)).columns if odd else {}
        for j, name in enumerate(frame.column_names):
            given = frame.column(j)
            if name not in columns:
                plain = without_views(given)
            elif not isinstance(column := columns[name], Mixed):
                plain = pa.array(_plain(column), from_pandas=True)
            else:
                continue
            if plain is not given:
                frame = frame.set_column(j, name, plain)
    return frame


def _plain(column: Column) -> Any:
    """The values of a column in an array, dates in microseconds.

    Raises
    ------
    ValueError
        For a column of lists or other objects.
    """
    if isinstance(column, Nested):
        raise ValueError(column.error)
    if isinstance(column, Numbers) and column.what != "date":
        return column.values
    if isinstance(column, Numbers):
        days = column.values
        moments = np.round(np.where(np.isnan(days), 0.0, days) * 86_400e6)
        times = moments.astype(np.int64).astype("datetime64[us]")
        times[np.isnan(days)] = np.datetime64("NaT", "us")
        return times
    values = values_of(column)
    if not isinstance(column, Empty) and column.what == "boolean":
        values = [None if value is None else value == "True" for value in values]
        return np.array(values, dtype=object if None in values else bool)
    return np.array([*values, None], dtype=object)[:-1]


def _is_odd_in_pandas(dtype: Any, frame: Any, j: int) -> bool:
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return _is_odd_in_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return str(dtype.categories.inferred_type) not in ("string", "boolean")
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype | pd.SparseDtype):
        return True
    if not isinstance(dtype, np.dtype):
        return False
    if dtype.kind == "O":
        series = frame.iloc[:, j]
        first = next((v for v in series.array if not is_missing(v)), None)
        if first is None or isinstance(first, str | float | int):
            return False
        return pd.api.types.infer_dtype(series, skipna=True) in AS_OBJECTS
    return dtype.kind in "cm" or (dtype.kind == "f" and dtype.itemsize > 8)


def _is_odd_in_arrow(kind: Any) -> bool:
    import pyarrow as pa

    t = pa.types
    if t.is_dictionary(kind):
        strings = (t.is_string, t.is_large_string, t.is_string_view, t.is_boolean)
        return not any(test(kind.value_type) for test in strings)
    binary = (t.is_binary, t.is_large_binary, t.is_fixed_size_binary, t.is_binary_view)
    odd = (*binary, t.is_float16, t.is_decimal256, t.is_duration, t.is_time)
    return any(test(kind) for test in odd)
