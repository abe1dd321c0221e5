"""pandas frames. Imported only when one arrives."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import pandas as pd

from tallybayes.tables.columns import Column, Empty, Numbers, Strings, Table, whole_numbers
from tallybayes.tables.values import as_text, read_array, read_objects, read_strings

__all__ = ["read"]

MAX_COPIED_ROWS = 4096  # rows that are copied in less time than pandas takes to make a series


def _read_column(series: Any, name: str, left_out: Container[str]) -> Column:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.int32)
        return Strings(codes, [as_text(v) for v in dtype.categories.tolist()], "category")
    if isinstance(dtype, pd.ArrowDtype):
        from tallybayes.tables import arrow

        return arrow.read_column(series.array.__arrow_array__(), name, left_out)
    if isinstance(dtype, pd.SparseDtype):
        return read_array(np.asarray(series), name, left_out)
    if isinstance(dtype, pd.StringDtype):
        codes, levels = pd.factorize(series)
        if not len(levels):
            return Empty(len(series))
        return Strings(codes.astype(np.int32), [str(v) for v in levels.tolist()], "text")
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return read_array(series.to_numpy(), name, left_out)
    if pd.api.types.is_bool_dtype(dtype):
        if isinstance(dtype, np.dtype):
            return read_array(series.to_numpy(), name, left_out)
        codes = series.fillna(False).to_numpy(dtype=bool).astype(np.int32)
        codes[series.isna().to_numpy()] = -1
        return Strings(codes, ["False", "True"], "boolean")
    if pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, np.dtype):
        if pd.api.types.is_integer_dtype(dtype):
            wide = np.uint64 if pd.api.types.is_unsigned_integer_dtype(dtype) else np.int64
            return whole_numbers(series.to_numpy(dtype=wide, na_value=0), series.isna().to_numpy())
        return Numbers(series.to_numpy(dtype=np.float64, na_value=np.nan), "float")
    if isinstance(dtype, np.dtype):
        return read_array(series.to_numpy(), name, left_out)
    return read_objects(series.to_numpy(dtype=object), name, left_out)


def read(frame: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """A pandas.DataFrame.

    Raises
    ------
    ValueError
        If two columns have one name.
    """
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(
            f"two columns are named {twice[0]!r}: rename or drop one, names distinguish columns"
        )
    names: dict[str, None] = {}
    for name in frame.columns.tolist():
        if str(name) in names:
            raise ValueError(f"two columns are named {name!s} as text: rename one")
        names[str(name)] = None
    types = set(frame.dtypes) if len(frame) <= MAX_COPIED_ROWS else set()
    if len(types) == 1 and isinstance(one := types.pop(), np.dtype) and one.kind in "iuf":
        values = frame.to_numpy()
        return Table(
            {n: read_array(values[:, j], n) for j, n in enumerate(names)}, len(frame), True
        )
    series = dict(zip(names, (one for _, one in frame.items()), strict=True))
    strings = {}
    for name, one in series.items():
        in_arrow = isinstance(one.dtype, pd.StringDtype) and one.dtype.storage.startswith("pyarrow")
        if isinstance(one.dtype, pd.ArrowDtype):
            from tallybayes.tables.arrow import is_text

            in_arrow = is_text(one.dtype.pyarrow_dtype)
        if in_arrow:
            strings[name] = one.array.__arrow_array__()
    read: dict[str, Column] = read_strings(strings, threads)
    columns = {k: read[k] if k in read else _read_column(s, k, left_out) for k, s in series.items()}
    return Table(columns, len(frame), True)
