"""pyarrow tables, and objects with an Arrow C stream. Imported when one arrives."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tallybayes.tables.columns import (
    Column,
    Empty,
    Mixed,
    Numbers,
    Strings,
    Table,
    as_text,
    not_a_table,
    read_array,
    read_objects,
    read_strings,
    whole_numbers,
    with_zone,
)

__all__ = ["as_table", "is_text", "read", "read_batches", "read_column", "take"]


UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of each unit of time are a second."""


def is_text(kind: Any) -> bool:
    """Whether a type is that of strings."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _codes(indices: Any) -> Any:
    """Indices of a dictionary as int32, −1 where there is none."""
    indices = indices.cast(pa.int32())
    if indices.null_count:
        indices = pc.fill_null(indices, -1)
    return indices.to_numpy()


def read_column(column: Any, name: str, left_out: Container[str] = ()) -> Column:
    """A column, but for strings, which :func:`read_strings` reads at once."""
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        bits, kind = kind.extension_name == "arrow.bool8", kind.storage_type
        column = column.cast(kind)
        if bits:
            column, kind = column.cast(pa.bool_()), pa.bool_()
    if pa.types.is_run_end_encoded(kind):
        column, kind = pc.run_end_decode(column), kind.value_type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return Empty(len(column))
    if pa.types.is_dictionary(kind):
        chunk = column.unify_dictionaries().combine_chunks()
        if isinstance(chunk, pa.ChunkedArray):
            chunk = chunk.chunk(0)
        codes = _codes(chunk.indices)
        levels = chunk.dictionary.to_pylist()
        if chunk.dictionary.null_count:  # a null of the dictionary is a missing value, too
            there = [level is not None for level in levels]
            rank = np.where([*there, False], np.cumsum([*there, False]) - 1, -1)
            codes = rank.astype(np.int32)[codes]
            levels = [level for level in levels if level is not None]
        if not is_text(kind.value_type):
            levels = [as_text(v) for v in levels]
        return Strings(codes, levels, "category")
    if pa.types.is_boolean(kind):
        codes = pc.fill_null(column.cast(pa.int32()), -1).to_numpy()
        return Strings(codes.astype(np.int32), ["False", "True"], "boolean")
    if pa.types.is_integer(kind):
        if column.null_count:
            return whole_numbers(pc.fill_null(column, 0).to_numpy(), column.is_null().to_numpy())
        return Numbers(column.to_numpy(), "integer")
    if pa.types.is_decimal(kind):
        text = column.cast(pa.string())  # straight to floats, it would miss the nearest one
        return Numbers(text.cast(pa.float64()).to_numpy(), "float")
    if pa.types.is_floating(kind):
        if pa.types.is_float16(kind):  # no kernel reads halves
            column = column.cast(pa.float32())
        return Numbers(column.to_numpy(), "float")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
        times = read_array(column.to_numpy(), name)
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        return with_zone(times) if zoned else times
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        units = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
        seconds = units.cast(pa.float64(), safe=False).to_numpy() / UNITS[kind.unit]
        return Numbers(seconds, "duration" if pa.types.is_duration(kind) else "time")
    if pa.types.is_struct(kind) and {field.name for field in kind} == {"number", "text"}:
        return _read_both(column, name)
    return read_objects(column.to_pylist(), name, left_out)


def _read_both(column: Any, name: str) -> Column:
    """A column of structs of a number and a string, of which a row has one at most."""
    numbers = read_column(pc.struct_field(column, "number"), name)
    strings = pc.struct_field(column, "text")
    if is_text(strings.type):
        strings = strings.dictionary_encode()
    levels = read_column(strings, name)
    if isinstance(numbers, Empty) or isinstance(levels, Empty):
        return levels if isinstance(numbers, Empty) else numbers
    if (
        not isinstance(numbers, Numbers)
        or numbers.what == "date"
        or not isinstance(levels, Strings)
    ):
        raise ValueError(
            f"column {name!r} is of the type {column.type}: its field 'number' has to hold "
            "numbers, and its field 'text' strings"
        )
    given = np.asarray(numbers.values)
    twice = (levels.codes >= 0) & ~(np.isnan(given) if given.dtype.kind == "f" else False)
    if twice.any():
        row = int(np.argmax(twice))
        raise ValueError(
            f"row {row}, column {name!r} holds the number {given[row].item()!r} and the string "
            f"{levels.levels[levels.codes[row]]!r}: a row has one of them at most"
        )
    return Mixed(numbers, levels)


def as_table(x: Any) -> Any:
    """A pyarrow table of anything with ``__arrow_c_stream__``.

    Raises
    ------
    ValueError
        If x is a single column.
    """
    if isinstance(x, pa.Table):
        return x
    if isinstance(x, pa.RecordBatch):
        return pa.Table.from_batches([x])
    try:
        return pa.table(x)
    except pa.ArrowInvalid as error:
        raise not_a_table(x) from error


def take(x: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a table, or some values of a column."""
    if not isinstance(x, pa.Array | pa.ChunkedArray):
        table = as_table(x)
        return pa.table([take(column, rows) for column in table.columns], table.column_names)
    if pa.types.is_string_view(x.type) or pa.types.is_binary_view(x.type):  # Arrow takes none
        x = x.cast(pa.large_string() if pa.types.is_string_view(x.type) else pa.large_binary())
    return x.take(pa.array(rows))


def read(x: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """Anything with ``__arrow_c_stream__``.

    A column of the type struct<number, text>, whose rows have one of the two at most, holds numbers
    and strings.

    Raises
    ------
    ValueError
        If two columns have one name, or x is a single column.
    """
    table = as_table(x)
    names = table.column_names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns are named {twice!r}: rename or drop one")
    strings = {name: table.column(name) for name in names if is_text(table.column(name).type)}
    read = read_strings(strings, threads)
    columns = {
        k: read[k] if k in read else read_column(table.column(k), k, left_out) for k in names
    }
    return Table(columns, table.num_rows, True)


def read_batches(batches: list[Any], threads: int = 1) -> Table:
    """Record batches, or tables, of one schema, one after the other."""
    return read(pa.concat_tables([as_table(batch) for batch in batches]), threads)
