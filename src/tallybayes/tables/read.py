"""Tables of any library: arrays, rows as dicts, frames of pandas and of polars; Arrow's in `arrow`.

Each library is imported where one of its frames arrives.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from tallybayes.errors import LeftOutWarning, warn_user
from tallybayes.tables.columns import (
    Column,
    Empty,
    Nested,
    Numbers,
    Strings,
    Table,
    as_text,
    not_a_table,
    read_array,
    read_objects,
    read_strings,
    read_value,
    whole_numbers,
    with_zone,
)

__all__ = ["AllBut", "is_arrow", "is_frame", "is_of", "read_polars", "read_table"]


KINDS = ("DataFrame", "Series")


class AllBut:
    """Every name but those given."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name not in self._names


def is_of(x: Any, module: str, name: str) -> bool:
    """Whether x is an instance of module.name, without importing the module."""
    found = sys.modules.get(module)
    return found is not None and hasattr(found, name) and isinstance(x, getattr(found, name))


def is_arrow(x: Any) -> bool:
    """Whether x is a table, or a column, that offers Arrow's memory and is not read otherwise: of
    pyarrow, or of a library besides NumPy, pandas and polars."""
    read_otherwise = (is_of(x, lib, kind) for lib in ("pandas", "polars") for kind in KINDS)
    if isinstance(x, np.ndarray) or any(read_otherwise):
        return False
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def is_frame(x: Any) -> bool:
    """Whether x has columns of types of their own: of pandas or polars, or in Arrow's memory."""
    return any(is_of(x, lib, "DataFrame") for lib in ("pandas", "polars")) or is_arrow(x)


def read_table(
    x: Any,
    threads: int = 1,
    left_out: Container[str] = (),
    needed: Container[str | None] | None = None,
) -> Table:
    """A table as plain columns.

    Parameters
    ----------
    x : pandas, polars or pyarrow table, anything with ``__arrow_c_stream__``, list of dicts, or
        array-like (n_rows, n_columns)
    threads : int, default=1
        How many may be used; the table does not depend on it.
    left_out : container of str, default=()
        Columns that may hold what cannot be read: they are empty then.
    needed : container of str, optional
        Columns of a frame that have to hold scalars; others that hold lists or other nested values
        are left out of the table, with a warning. By default all have to, and so do those of
        arrays and of rows as dicts, whose columns have no types.

    Returns
    -------
    Table
        Columns of an array have the names "0", "1", ….

    Raises
    ------
    ValueError
        If two columns have one name, a column that is needed holds lists or other nested values,
        or x has no columns.
    TypeError
        If x is none of the above.
    """
    if isinstance(x, Table):
        return x
    are_records = isinstance(x, list | tuple) and len(x) > 0 and isinstance(x[0], dict)
    if are_records:
        table = _records(x, left_out)
    elif is_of(x, "pandas", "DataFrame"):
        table = _read_pandas(x, threads, left_out)
    elif is_of(x, "polars", "LazyFrame"):
        raise TypeError("X is a polars LazyFrame: collect() it first")
    elif is_of(x, "polars", "DataFrame"):
        table = read_polars(x, threads, left_out)
    elif is_of(x, "pandas", "Series") or is_of(x, "polars", "Series"):
        raise not_a_table(x)
    elif is_arrow(x):
        from tallybayes.tables import arrow

        table = arrow.read(x, threads, left_out)
    else:
        table = _array_like(x)
    nested = {name: c for name, c in table.columns.items() if isinstance(c, Nested)}
    if not nested:
        return table
    return _without(nested, table, needed if table.named and not are_records else None)


def _without(
    nested: Mapping[str, Nested], table: Table, needed: Container[str | None] | None
) -> Table:
    """The columns that hold scalars.

    Raises
    ------
    ValueError
        If one that is needed does not.
    """
    for name, column in nested.items():
        if needed is None or name in needed:
            raise ValueError(column.error)
        warn_user(
            f"column {name!r} holds values of the type {column.example}, which is not a scalar, "
            "and is left out",
            LeftOutWarning,
        )
    return replace(table, columns={k: c for k, c in table.columns.items() if k not in nested})


def _need_rows(x: Any) -> None:
    """Raises for what holds a table, or one row of it, but is none."""
    if isinstance(x, Mapping):
        whole = any(isinstance(v, list | tuple | np.ndarray) for v in x.values())
        raise TypeError(
            "X is a dict of columns: make a table of it, such as pandas.DataFrame(X)"
            if whole
            else "X is a dict, a single row: give [X], a list of rows, or a method for one row, "
            "such as predict_one"
        )
    if isinstance(x, str | bytes | PurePath):
        raise TypeError(
            f"X is the string {str(x)[:80]!r}: give the table itself, such as pandas.read_csv "
            "makes it; to learn from a file, y is the name of a column in it"
        )
    if isinstance(x, Iterator):
        raise TypeError(f"X is a {type(x).__name__}, whose end is not known: give list(X)")


def _array_like(x: Any) -> Table:
    """An array-like (n_rows, n_columns).

    Raises
    ------
    TypeError
        If x is a sparse matrix, a dict, a string or an iterator.
    ValueError
        If x is not two-dimensional, or complex.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(x):
        raise TypeError(
            "Sparse data was passed where a table is read: use GaussianNB, MultinomialNB, "
            "BernoulliNB or CategoricalNB, which take sparse matrices, or use X.toarray()"
        )
    _need_rows(x)
    array = np.asarray(x)
    if array.dtype.names and array.ndim == 1:  # a structured array
        fields = {name: read_array(array[name], name) for name in array.dtype.names}
        return Table(fields, len(array), True)
    if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
        array = np.asarray(x, dtype=object)  # a list of mixed rows keeps its numbers
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X is a table with a row a "
            "sample. Reshape your data using X.reshape(-1, 1) if it is one column, or "
            "X.reshape(1, -1) if it is one row."
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns")
    columns = {str(j): read_array(array[:, j], str(j)) for j in range(array.shape[1])}
    return Table(columns, array.shape[0], False)


def _records(rows: Sequence[Mapping[Any, Any]], left_out: Container[str]) -> Table:
    """Rows as dicts; a key that a row lacks is a missing value.

    Raises
    ------
    ValueError
        If an element is not a dict.
    """
    names: dict[Any, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"X is a list of dicts, but element {i} is a {type(row).__name__}: give one dict "
                "a row"
            )
        names.update(dict.fromkeys(row))
    columns: dict[str, Column]
    if len(rows) == 1:
        columns = {str(name): read_value(x, str(name), left_out) for name, x in rows[0].items()}
    else:
        columns = {
            str(name): read_objects([row.get(name) for row in rows], str(name), left_out)
            for name in names
        }
    if len(columns) < len(names):
        raise ValueError("two keys of the rows are the same as text: use strings for keys")
    return Table(columns, len(rows), True)


# ---- pandas --------------------------------------------------------------------------------------
MAX_COPIED_ROWS = 4096  # rows that are copied in less time than pandas takes to make a series


def _pandas_column(series: Any, name: str, left_out: Container[str]) -> Column:
    import pandas as pd

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
        return with_zone(read_array(series.to_numpy(), name, left_out))
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


def _read_pandas(frame: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """A pandas.DataFrame.

    Raises
    ------
    ValueError
        If two columns have one name.
    """
    import pandas as pd

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
    columns = {
        k: read[k] if k in read else _pandas_column(s, k, left_out) for k, s in series.items()
    }
    return Table(columns, len(frame), True)


# ---- polars --------------------------------------------------------------------------------------
def _polars_column(series: Any, name: str, left_out: Container[str]) -> Column:
    import polars as pl

    dtype = series.dtype
    if dtype == pl.Null:
        return Empty(len(series))
    if dtype == pl.Categorical or dtype == pl.Enum:  # physical codes, numbered by what occurs
        distinct = series.drop_nulls().unique()
        if not len(distinct):
            return Empty(len(series))
        physical = distinct.to_physical().to_numpy().astype(np.int64)
        rank = np.full(int(physical.max()) + 2, -1, dtype=np.int32)
        rank[physical] = np.arange(len(physical), dtype=np.int32)
        codes = series.to_physical().cast(pl.Int64).fill_null(len(rank) - 1).to_numpy()
        return Strings(rank[codes], distinct.cast(pl.String).to_list(), "category")
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
        zoned = dtype == pl.Datetime and getattr(dtype, "time_zone", None)
        if zoned:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        column = read_array(series.cast(pl.Datetime("us")).to_numpy(), name)
        return with_zone(column) if zoned else column
    if dtype == pl.Duration:
        return Numbers(series.dt.total_nanoseconds().cast(pl.Float64).to_numpy() / 1e9, "duration")
    if dtype == pl.Time:
        return Numbers(series.cast(pl.Int64).cast(pl.Float64).to_numpy() / 1e9, "time")
    return read_objects(series.to_list(), name, left_out)


def read_polars(frame: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """A polars.DataFrame."""
    import polars as pl

    series = {s.name: s for s in frame.get_columns()}
    read = read_strings({k: s for k, s in series.items() if s.dtype == pl.String}, threads)
    columns = {
        k: read[k] if k in read else _polars_column(s, k, left_out) for k, s in series.items()
    }
    return Table(columns, frame.height, True)
