"""The values of a source as they are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tallybayes.sources.contract import Source
from tallybayes.sources.several import Several, is_nested
from tallybayes.sources.text_files.cells import Kind, cells, kind_of
from tallybayes.sources.text_files.options import Spelling
from tallybayes.sources.text_files.text_file import TextFile
from tallybayes.tables import Column, Empty, Numbers, Strings
from tallybayes.tables.columns import strings_of

__all__ = ["Values", "files_of", "first_written", "read_as", "written_values"]


class Values(NamedTuple):
    """The values of a column in some rows.

    Parameters
    ----------
    codes : int array (n_rows,)
        The index of each row's value; -1 where there is none.
    levels : list of str
        The values as they are written, without surrounding space.
    what : str
        "text" for what has no type; else what the readers of tables call the column.
    """

    codes: NDArray[Any]
    levels: list[str]
    what: str


def files_of(source: Source) -> list[Any]:
    """The files of a source, or the source."""
    return list(source.sources) if isinstance(source, Several) else [source]


def written_values(
    source: Any, names: Collection[str] | None = None
) -> Iterator[dict[str, Values]]:
    """The values of a source that can be read again, part by part; columns that hold more than
    single values are not there."""
    if isinstance(source, TextFile):
        for table in source.written():
            yield {
                name: _of_arrow(table.column(name).combine_chunks())
                for name in table.column_names
                if names is None or name in names
            }
        return
    if names is not None:
        columns = source.columns()
        names = [name for name in names if name not in columns or not is_nested(columns[name])]
    for part in source.parts(None if names is None else list(names)):
        table = part.read()
        yield {name: _of_column(column) for name, column in table.columns.items()}


def first_written(source: Source, names: Collection[str]) -> Mapping[str, list[str]]:
    """The strings that some columns hold in the first rows, by column, as they are written;
    nothing of a source that can be read only once."""
    file = files_of(source)[0]
    if file.once:
        return {}
    if not isinstance(file, TextFile):
        kinds = {name: column.kind for name, column in file.columns().items()}
        names = [name for name in names if kinds.get(name) in ("text", "mixed")]
    if not names:
        return {}
    values = next(written_values(file, names), {})
    return {name: found.levels for name, found in values.items() if found.what == "text"}


def read_as(
    levels: Collection[str], name: str, spelling: Spelling
) -> tuple[Kind | None, list[str], list[str]]:
    """What strings are read as, if they are all that a column holds: its kind, and of one of
    numbers or strings those that are numbers, and those that are strings."""
    column = pa.array(list(levels), pa.string())
    spelling = spelling.of(name)
    kind = kind_of(column, spelling)
    if kind != "number or text":
        return kind, [], []
    found = cells(column, kind, name, spelling)
    if pa.types.is_floating(found.type):
        is_number = found.is_valid()
    elif pa.types.is_struct(found.type):
        is_number = pc.struct_field(found, "number").is_valid()
    else:
        is_number = pa.array(np.zeros(len(column), bool))
    missing = pc.is_in(column, value_set=pa.array(list(spelling.missing), pa.string()))
    strings = pc.and_not(pc.invert(is_number), missing)
    return kind, column.filter(is_number).to_pylist(), column.filter(strings).to_pylist()


def _of_arrow(column: Any) -> Values:
    """A column of a text file, of one chunk."""
    kind = column.type
    if pa.types.is_null(kind):
        return Values(np.full(len(column), -1), [], "null")
    if pa.types.is_boolean(kind):
        column, what = pc.if_else(column, "True", "False"), "boolean"
    elif pa.types.is_floating(kind):
        what = "float"
        whole = pc.equal(column, pc.round(column))
        plain = column.cast(pa.int64(), safe=False).cast(pa.string())
        column = pc.if_else(whole, plain, column.cast(pa.string()))
    else:
        column, what = pc.utf8_trim_whitespace(column.cast(pa.string())), "text"
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return Values(codes, encoded.dictionary.to_pylist(), what)


def _of_column(column: Column) -> Values:
    if isinstance(column, Empty):
        return Values(np.full(column.n_rows, -1), [], "null")
    strings = column if isinstance(column, Strings) else strings_of(column)
    what = column.what if isinstance(column, Numbers | Strings) else "mixed"
    return Values(strings.codes, strings.levels, what)
