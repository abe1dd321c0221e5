"""The same values in every container that people bring.

A container holds columns, which are given by name as lists of Python's values with None for a
missing one, and a single column such as labels, weights or documents. Its rows are those of the
lists, in their order, whatever its index says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["CONTAINERS", "INDEXES", "Container", "numpy_table"]

Values = Sequence[Any]
Columns = Mapping[str, Values]


@dataclass(frozen=True)
class Container:
    """One kind of container.

    Parameters
    ----------
    table : callable (dict of str to list) -> table
        Holds several columns.
    column : callable (list) -> column
        Holds one.
    named : bool, default=True
        Whether a table has the names of its columns.
    """

    table: Callable[[Columns], Any]
    column: Callable[[Values], Any]
    named: bool = True


# ---- lists and arrays --------------------------------------------------------------------------
def _rows(columns: Columns) -> list[list[Any]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _dicts(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _array(values: Values) -> NDArray[Any]:
    """Numbers and booleans in their own type, anything else as objects."""
    array = np.array([*values, None], dtype=object)[:-1]  # of lists, it has one dimension
    held = {type(value) for value in values}
    return np.asarray(values) if held <= {int, float} or held == {bool} else array


def numpy_table(columns: Columns) -> NDArray[Any]:
    """An array (n_rows, n_columns): of numbers where all are, else of objects."""
    held = [_array(values) for values in columns.values()]
    if all(array.dtype.kind in "iuf" for array in held):
        return np.stack(held, axis=1)
    table = np.empty((len(held[0]), len(held)), dtype=object)
    for j, values in enumerate(columns.values()):
        table[:, j] = values
    return table


def _of_numpy(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Container:
    return Container(lambda c: change(numpy_table(c)), lambda v: change(_array(v)), named=False)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _other_bytes(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder())


def _masked(array: NDArray[Any]) -> NDArray[Any]:
    return np.ma.MaskedArray(array, mask=np.zeros(array.shape, dtype=bool))


def _spread(array: NDArray[Any]) -> NDArray[Any]:
    """Every second row of an array, and of a table every third column."""
    rows = np.repeat(array, 2, axis=0)[::2]
    return rows if rows.ndim == 1 else np.repeat(rows, 3, axis=1)[:, ::3]


ARRAYS: dict[str, Container] = {
    "list": Container(_rows, list, named=False),
    "tuples": Container(lambda c: tuple(zip(*c.values(), strict=True)), tuple, named=False),
    "dicts": Container(_dicts, list),
    "tuple of dicts": Container(lambda c: tuple(_dicts(c)), tuple),
    "list of arrays": Container(lambda c: list(numpy_table(c)), list, named=False),
    "array": _of_numpy(np.asarray),
    "array of objects": _of_numpy(lambda array: array.astype(object)),
    "array by columns": _of_numpy(np.asfortranarray),
    "array, a view of some rows and columns": _of_numpy(_spread),
    "array, a view in reverse": _of_numpy(lambda array: array[::-1].copy()[::-1]),
    "array, read-only": _of_numpy(_read_only),
    "array of the other byte order": _of_numpy(_other_bytes),
    "array with a mask": _of_numpy(_masked),
}


# ---- pandas --------------------------------------------------------------------------------------
INDEXES: dict[str, Callable[[int], Any]] = {
    "from 0": lambda n: pd.RangeIndex(n),
    "from 7": lambda n: pd.RangeIndex(7, 7 + n),
    "by 5, down": lambda n: pd.RangeIndex(5 * n, 0, -5),
    "shuffled": lambda n: pd.Index(np.random.default_rng(0).permutation(n)),
    "repeated": lambda n: pd.Index([1] * n),
    "negative": lambda n: pd.Index(range(-n, 0)),
    "floats": lambda n: pd.Index([i / 2 for i in range(n)]),
    "missing values": lambda n: pd.Index([np.nan, *range(1, n)]),
    "strings": lambda n: pd.Index([f"row {n - i}" for i in range(n)]),
    "digits": lambda n: pd.Index([str(n - i) for i in range(n)]),
    "booleans": lambda n: pd.Index([i % 2 == 0 for i in range(n)]),
    "times": lambda n: pd.date_range("2024-02-28", periods=n, freq="h", tz="Europe/Zurich"),
    "periods": lambda n: pd.period_range("2024-01", periods=n, freq="M"),
    "intervals": lambda n: pd.interval_range(0, n),
    "categories": lambda n: pd.CategoricalIndex([f"c{i % 2}" for i in range(n)]),
    "several levels": lambda n: pd.MultiIndex.from_arrays(
        [[i % 2 for i in range(n)], [f"k{i}" for i in range(n)]], names=["a", "b"]
    ),
}
"""Indexes of pandas by name: of so many rows."""


def _in_pandas(
    change: Callable[[pd.DataFrame], pd.DataFrame], index: str = "shuffled"
) -> Container:
    def table(columns: Columns) -> pd.DataFrame:
        frame = pd.DataFrame(columns)
        return change(frame.set_axis(INDEXES[index](len(frame))))

    return Container(table, lambda values: table({"values": values})["values"])


def _rows_chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as the rows of a larger one that a mask chooses."""
    twice = pd.concat([frame.iloc[[0]], frame, frame.iloc[[-1]]])
    held = np.ones(len(twice), dtype=bool)
    held[[0, -1]] = False
    return twice[held]


def _columns_chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as columns of a larger one."""
    wider = frame.copy()
    wider.insert(0, "before", 0)
    wider["after"] = "z"
    return wider[list(frame.columns)]


def _strings(dtype: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Columns of strings, and of nothing else, in another type."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        strings = [n for n in frame if pd.api.types.infer_dtype(frame[n], skipna=True) == "string"]
        return frame.astype(dict.fromkeys(strings, dtype))

    return change


def _other_frame(frame: pd.DataFrame) -> pd.DataFrame:
    class Frame(pd.DataFrame):  # type: ignore[misc]
        """A frame of another library that is built on pandas."""

    return Frame(frame)


PANDAS: dict[str, Container] = {
    **{f"pandas, index: {name}": _in_pandas(lambda frame: frame, index=name) for name in INDEXES},
    "pandas, nullable": _in_pandas(lambda f: f.convert_dtypes(dtype_backend="numpy_nullable")),
    "pandas, Arrow": _in_pandas(lambda f: f.convert_dtypes(dtype_backend="pyarrow")),
    "pandas, objects": _in_pandas(lambda f: f.astype(object)),
    "pandas, categories": _in_pandas(_strings("category")),
    "pandas, strings of Python": _in_pandas(_strings("string[python]")),
    "pandas, strings as objects": _in_pandas(_strings(object)),
    "pandas, every second row": _in_pandas(lambda f: f.loc[f.index.repeat(2)].iloc[::2]),
    "pandas, in reverse": _in_pandas(lambda f: f.iloc[::-1].copy().iloc[::-1]),
    "pandas, a mask": _in_pandas(_rows_chosen),
    "pandas, some columns": _in_pandas(_columns_chosen),
    "pandas, a subclass": _in_pandas(_other_frame),
    "pandas, an array as column": Container(
        lambda c: pd.DataFrame({name: pd.array(values) for name, values in c.items()}), pd.array
    ),
    "pandas, an index as column": Container(lambda c: pd.DataFrame(c), pd.Index),
}


# ---- polars and Arrow ----------------------------------------------------------------------------
def _in_polars(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Container:
    def table(columns: Columns) -> pl.DataFrame:
        series = [pl.Series(name, values, strict=False) for name, values in columns.items()]
        return change(pl.DataFrame(series))

    return Container(table, lambda values: table({"values": values})["values"])


def _in_arrow(change: Callable[[pa.Table], Any]) -> Container:
    def table(columns: Columns) -> Any:
        return change(pa.table({name: pa.array(values) for name, values in columns.items()}))

    return Container(table, lambda values: table({"values": values}).column("values"))


def _chunked(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(i, 2) for i in range(0, table.num_rows, 2)])


def _sliced(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 1), table, table]).slice(1, table.num_rows)


def _dictionaries(table: pa.Table) -> pa.Table:
    """Strings as a dictionary and indices."""
    columns = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


def _other_strings(kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        columns = [c.cast(kind) if pa.types.is_string(c.type) else c for c in table.columns]
        return pa.table(columns, names=table.column_names)

    return change


class Stream:
    """A table of any library that offers Arrow's stream, and nothing else.

    Parameters
    ----------
    table : pyarrow.Table
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


POLARS: dict[str, Container] = {
    "polars": _in_polars(lambda frame: frame),
    "polars, chunks": _in_polars(
        lambda f: pl.concat([f[i : i + 2] for i in range(0, f.height, 2)], rechunk=False)
    ),
    "polars, a slice": _in_polars(lambda f: pl.concat([f[:1], f, f]).slice(1, f.height)),
    "polars, in reverse": _in_polars(lambda f: f.reverse().clone()[::-1]),
    "polars, categories": _in_polars(
        lambda f: f.with_columns(pl.col(pl.String).cast(pl.Categorical))
    ),
    "polars, enums": _in_polars(
        lambda f: f.with_columns(
            s.cast(pl.Enum(s.drop_nulls().unique().sort())) for s in f if s.dtype == pl.String
        )
    ),
}

ARROW: dict[str, Container] = {
    "Arrow": _in_arrow(lambda table: table),
    "Arrow, chunks": _in_arrow(_chunked),
    "Arrow, a slice": _in_arrow(_sliced),
    "Arrow, dictionaries": _in_arrow(_dictionaries),
    "Arrow, chunks of dictionaries": _in_arrow(
        lambda t: pa.concat_tables([_dictionaries(t.slice(i, 2)) for i in range(0, len(t), 2)])
    ),
    "Arrow, large strings": _in_arrow(_other_strings(pa.large_string())),
    "Arrow, views of strings": _in_arrow(_other_strings(pa.string_view())),
    "Arrow, a batch": _in_arrow(lambda table: table.to_batches()[0]),
    "Arrow, a stream": Container(lambda c: Stream(pa.table(dict(c))), pa.array),
}

CONTAINERS: dict[str, Container] = {**ARRAYS, **PANDAS, **POLARS, **ARROW}
"""Kinds of containers by name."""
