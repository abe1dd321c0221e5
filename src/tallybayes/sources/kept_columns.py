"""Rows to predict, piece by piece, with columns that are kept unchanged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from tallybayes.errors import SourceError
from tallybayes.sources.contract import Part, ReadAgain, RowsKept, Source, parts_kept
from tallybayes.sources.several import Several
from tallybayes.sources.text_files.text_file import TextFile
from tallybayes.sources.with_columns import inner_of
from tallybayes.tables import Column, Empty, Strings, Table, arrow

__all__ = ["ArrowRows", "KeptColumns", "Piece", "kept_columns"]


@runtime_checkable
class ArrowRows(Protocol):
    """A source whose rows come as Arrow record batches, with unchanged columns."""

    name: str
    schema: Any

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows, with these columns or all."""


class Piece(NamedTuple):
    """Some rows that follow each other.

    Parameters
    ----------
    read : callable () -> (pyarrow.RecordBatch, Table)
        Reads the columns that stay, and those that are predicted from, on whatever thread.
    where : str
        What holds the rows, for messages.
    place : callable (int) -> str, optional
        What messages call a row of `where`, by its number there.
    """

    read: Callable[[], tuple[Any, Table]]
    where: str
    place: Callable[[int], str] | None = None


@dataclass(frozen=True, eq=False)
class KeptColumns:
    """The rows of a source, with the columns that stay.

    Parameters
    ----------
    name : str
        Of the source.
    schema : pyarrow.Schema
        Of the columns that stay.
    pieces : callable () -> iterator of Piece
        All rows in order, as often as the source can be read.
    """

    name: str
    schema: Any
    pieces: Callable[[], Iterator[Piece]]


def kept_columns(
    source: Source, kept: Sequence[str], read: Sequence[str], as_written: Collection[str]
) -> KeptColumns:
    """The rows of a source: columns that stay, and the table to predict.

    Columns of Arrow batches stay as they are; those of text, which has no types, are strings as
    they are written.

    Parameters
    ----------
    source : Source
    kept, read : sequence of str
        Columns that stay, and columns that are predicted from.
    as_written : collection of str
        Those of the latter that are strings, where the source has no types.

    Raises
    ------
    SourceError
        If the source is text and typed files side by side.
    """
    files = _files(source)
    if all(isinstance(inner_of(file), ArrowRows) for file in files):
        return _of_arrow(source.name, files, kept, read)
    if all(isinstance(inner_of(file), TextFile) for file in files):
        schema = pa.schema([(name, pa.string()) for name in kept])
        return KeptColumns(source.name, schema, lambda: _of_text(source, schema, read, as_written))
    raise SourceError(
        f"{source.name}: some are text, whose columns have no types, and some are not: predict "
        "each kind by itself"
    )


def _files(source: Source) -> list[Any]:
    return list(source.sources) if isinstance(source, Several) else [source]


# ---- Arrow ---------------------------------------------------------------------------------------
def _of_arrow(
    name: str, files: Sequence[ArrowRows], kept: Sequence[str], read: Sequence[str]
) -> KeptColumns:
    schema = pa.schema([files[0].schema.field(column) for column in kept])
    both = list(dict.fromkeys([*kept, *read]))

    def pieces() -> Iterator[Piece]:
        for file in files:
            for batch in file.record_batches(both):
                yield Piece(partial(_of_batch, file.name, batch, schema, read), file.name)

    return KeptColumns(name, schema, pieces)


def _of_batch(name: str, batch: Any, schema: Any, read: Sequence[str]) -> tuple[Any, Table]:
    columns = [batch.column(field.name) for field in schema]
    for i, field in enumerate(schema):
        if columns[i].type != field.type:
            columns[i] = _cast(columns[i], field, name)
    return pa.record_batch(columns, schema=schema), arrow.read_batches([batch.select(list(read))])


def _cast(column: Any, field: Any, name: str) -> Any:
    """A column as the type that it has in the first file."""
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise SourceError(
            f"{name}: column {field.name!r} is of the type {column.type}, and in the first file "
            f"{field.type}, as which it cannot be kept ({error}): leave it out of keep="
        ) from None


# ---- text ----------------------------------------------------------------------------------------
def _of_text(
    source: Source, schema: Any, read: Sequence[str], as_written: Collection[str]
) -> Iterator[Piece]:
    try:
        for part in parts_kept(source, read, as_written, list(schema.names)):
            yield Piece(partial(_of_part, part, schema), part.where, part.place)
    except ReadAgain as again:
        raise _late(again) from None


def _of_part(part: Part, schema: Any) -> tuple[Any, Table]:
    try:
        table = part.read()
    except ReadAgain as again:
        raise _late(again) from None
    kept = table.kept if isinstance(table, RowsKept) else {}  # without columns to keep
    columns = [_strings(kept[name], table.n_rows) for name in schema.names]
    return pa.record_batch(columns, schema=schema), table


def _late(again: ReadAgain) -> SourceError:
    """Rows before it have been predicted and handed on, so that they cannot be read again."""
    return SourceError(
        f"{again}, unlike the rows before: correct it, or declare the column as Categorical() and "
        "fit anew"
    )


def _strings(column: Column, n_rows: int) -> Any:
    if isinstance(column, Empty):
        return pa.nulls(n_rows, pa.string())
    assert isinstance(column, Strings)  # as it is written
    codes = pa.array(column.codes, mask=column.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.levels)).cast(pa.string())
