"""pyarrow tables, and objects with an Arrow C stream. Imported when one arrives."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.tables.columns import (
    Column,
    Empty,
    Mixed,
    Numbers,
    Strings,
    Table,
    whole_numbers,
)
from tallybayes.tables.values import as_text, read_array, read_objects, read_strings

__all__ = ["read", "read_batches"]


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _codes(indices: Any) -> Any:
    """Indices of a dictionary as int32, −1 where there is none."""
    indices = indices.cast(pa.int32())
    if indices.null_count:
        indices = pc.fill_null(indices, -1)
    return indices.to_numpy()


def _read_column(column: Any, name: str, left_out: Container[str] = ()) -> Column:
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return Empty(len(column))
    if pa.types.is_dictionary(kind):
        column = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else column
        chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(chunk, pa.ChunkedArray):
            chunk = chunk.chunk(0)
        codes = _codes(chunk.indices)
        levels = chunk.dictionary.to_pylist()
        if not _is_text(kind.value_type) or chunk.dictionary.null_count:
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
        return Numbers(column.cast(pa.float64(), safe=False).to_numpy(), "float")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False)
        return read_array(column.to_numpy(), name)
    if pa.types.is_struct(kind) and {field.name for field in kind} == {"number", "text"}:
        return _read_both(column, name)
    return read_objects(column.to_pylist(), name, left_out)


def _read_both(column: Any, name: str) -> Column:
    """A column of structs of a number and a string, of which a row has one at most."""
    numbers = _read_column(pc.struct_field(column, "number"), name)
    strings = pc.struct_field(column, "text")
    if _is_text(strings.type):
        strings = strings.dictionary_encode()
    levels = _read_column(strings, name)
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


def read(x: Any, threads: int = 1, left_out: Container[str] = ()) -> Table:
    """Anything with ``__arrow_c_stream__``.

    A column of the type struct<number, text>, whose rows have one of the two at most, holds numbers
    and strings.

    Raises
    ------
    ValueError
        If two columns have one name, or x is a single column.
    """
    try:
        table = pa.table(x)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"X is a {type(x).__name__}, which is not a table: give one with a row a sample. Of a "
            "single column, to_frame() makes one, and of a single row of a frame, frame.iloc[[i]]."
        ) from error
    names = table.column_names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns are named {twice!r}: rename or drop one")
    strings = {name: table.column(name) for name in names if _is_text(table.column(name).type)}
    read = read_strings(strings, threads)
    columns = {
        k: read[k] if k in read else _read_column(table.column(k), k, left_out) for k in names
    }
    return Table(columns, table.num_rows, True)


def read_batches(batches: list[Any], threads: int = 1) -> Table:
    """Record batches, or tables, of one schema, one after the other."""
    return read(pa.concat_tables([pa.table(batch) for batch in batches]), threads)
