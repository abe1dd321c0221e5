"""polars frames. Imported only when one arrives."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import polars as pl

from tallybayes.tables.columns import Column, Empty, Numbers, Strings, Table, whole_numbers
from tallybayes.tables.values import read_array, read_objects, read_strings

__all__ = ["read"]


def _codes(categories: Any) -> Column:
    """A Categorical or Enum series: its physical codes, renumbered by the levels that occur."""
    distinct = categories.drop_nulls().unique()
    if not len(distinct):
        return Empty(len(categories))
    physical = distinct.to_physical().to_numpy().astype(np.int64)
    rank = np.full(int(physical.max()) + 2, -1, dtype=np.int32)
    rank[physical] = np.arange(len(physical), dtype=np.int32)
    codes = categories.to_physical().cast(pl.Int64).fill_null(len(rank) - 1).to_numpy()
    return Strings(rank[codes], distinct.cast(pl.String).to_list(), "category")


def _read_column(series: Any, name: str, left_out: Container[str]) -> Column:
    dtype = series.dtype
    if dtype == pl.Null:
        return Empty(len(series))
    if dtype == pl.Categorical or dtype == pl.Enum:
        return _codes(series)
    if dtype == pl.Boolean:
        codes = series.cast(pl.Int32).fill_null(-1).to_numpy()
        return Strings(codes.astype(np.int32), ["False", "True"], "boolean")
    if str(dtype) in ("Int128", "UInt128"):  # NumPy has none
        least, most = series.min(), series.max()
        if least is not None and not (least >= -(2**63) and most < 2**63):
            return read_objects(series.to_list(), name, left_out)
        series, dtype = series.cast(pl.Int64), pl.Int64()
    if dtype.is_integer():
        if series.null_count():
            return whole_numbers(series.fill_null(0).to_numpy(), series.is_null().to_numpy())
        return Numbers(series.to_numpy(), "integer")
    if dtype.is_float():
        if dtype not in (pl.Float32, pl.Float64):  # no kernel reads halves
            series = series.cast(pl.Float32)
        return Numbers(series.to_numpy(), "float")
    if dtype.is_decimal():
        return Numbers(series.cast(pl.Float64).to_numpy(), "float")
    if dtype == pl.Date or dtype == pl.Datetime:
        if dtype == pl.Datetime and getattr(dtype, "time_zone", None):
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return read_array(series.cast(pl.Datetime("us")).to_numpy(), name)
    if dtype == pl.Duration:
        return Numbers(series.dt.total_nanoseconds().cast(pl.Float64).to_numpy() / 1e9, "duration")
    if dtype == pl.Time:
        return Numbers(series.cast(pl.Int64).cast(pl.Float64).to_numpy() / 1e9, "time")
    return read_objects(series.to_list(), name, left_out)


def read(frame: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """A polars.DataFrame."""
    series = {s.name: s for s in frame.get_columns()}
    read = read_strings({k: s for k, s in series.items() if s.dtype == pl.String}, threads)
    columns = {k: read[k] if k in read else _read_column(s, k, left_out) for k, s in series.items()}
    return Table(columns, frame.height, True)
