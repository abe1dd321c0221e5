"""Rows that come as Arrow batches: Parquet, Arrow files and streams, datasets and lazy frames.

polars and DuckDB are not imported but by those who give their objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import (
    columns_of,
    explained,
    flat_schema,
    flatten_hint,
    flattened,
    grouped,
    names_read,
)
from tallybayes.sources.contract import MAX_PART_VALUES, Part, RowsKept, SourceColumn
from tallybayes.sources.opening import arrow_place
from tallybayes.tables import Strings, Table, arrow
from tallybayes.tables.arrow import is_text
from tallybayes.tables.read import read_polars

__all__ = ["ArrowFile", "ArrowSource", "Batches", "LazyFrame", "ParquetFile"]

BATCH_ROWS = 1 << 17  # of a batch that a database gives
MIN_PART_VALUES = MAX_PART_VALUES >> 3
"""Values of every part but the last: each part costs something by itself."""


class ArrowSource(ABC):
    """Rows in record batches: a :class:`~tallybayes.sources.contract.Source` whose columns have
    types."""

    name: str
    schema: Any
    once: bool = False
    keeps = True

    def columns(self) -> dict[str, SourceColumn]:
        return columns_of(self.schema)

    @abstractmethod
    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all."""

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name, self._hint)
        both = list(dict.fromkeys([*wanted, *kept]))
        for group in grouped(self.record_batches(both), MIN_PART_VALUES):
            yield Part(partial(_read, pa.Table.from_batches(group), wanted, kept), self.name)

    def _hint(self, kind: str) -> str:
        """What reads a column of this type, where it holds more than single values."""
        return ""


def _read(rows: Any, names: Sequence[str], kept: Sequence[str]) -> Table:
    """Some columns of an Arrow table, and others as they are."""
    table = arrow.read(rows.select(list(names)))
    if not kept:
        return table
    return RowsKept(table.columns, rows.num_rows, True, rows.select(list(kept)))


# ---- batches, and what gives some ----------------------------------------------------------------
class Batches(ArrowSource):
    """Record batches that come one after the other.

    Parameters
    ----------
    schema : pyarrow.Schema
    batches : callable () -> iterable of pyarrow.RecordBatch
        All of them, in the rows' order.
    name : str
        What messages call it.
    once : bool
        Whether they come only once.
    """

    def __init__(
        self, schema: Any, batches: Callable[[], Iterable[Any]], name: str, once: bool
    ) -> None:
        self.schema, self._batches, self.name, self.once = schema, batches, name, once
        self._begun = False

    @classmethod
    def of_reader(cls, given: Any) -> Batches:
        """A ``pyarrow.RecordBatchReader``, or anything with an Arrow stream that is not a table."""
        reader = (
            given if hasattr(given, "read_next_batch") else pa.RecordBatchReader.from_stream(given)
        )
        return cls(reader.schema, lambda: reader, f"the {type(given).__name__}", True)

    @classmethod
    def of_iterator(cls, given: Iterator[Any]) -> Batches:
        """An iterator of record batches or tables, all of one schema."""
        first = next(given, None)
        if first is None:
            raise SourceError("the iterator has no record batch: give one at least, if empty")
        if not isinstance(first, pa.RecordBatch | pa.Table):
            raise SourceError(
                f"an iterator of record batches is read, but it gives a {type(first).__name__}: "
                "make them with pyarrow.RecordBatch.from_pandas, or give a frame"
            )
        each = chain.from_iterable(
            item.to_batches() if isinstance(item, pa.Table) else [item]
            for item in chain([first], given)
        )
        return cls(first.schema, lambda: each, "the record batches", True)

    @classmethod
    def of_dataset(cls, dataset: Any) -> Batches:
        """A ``pyarrow.dataset.Dataset``."""
        return cls(dataset.schema, dataset.to_batches, "the dataset", False)

    @classmethod
    def of_relation(cls, relation: Any) -> Batches:
        """A relation of DuckDB, evaluated each time that it is read."""
        schema = relation.limit(0).to_arrow_reader(1).schema
        return cls(schema, lambda: relation.to_arrow_reader(BATCH_ROWS), "the relation", False)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        if self.once and self._begun:
            raise SourceError(
                f"{self.name} has been read, which it can be only once: give what can be read again"
            )
        self._begun = True
        with explained(self.name, "Arrow"):
            for batch in self._batches():
                yield batch if names is None else batch.select(list(names))


class LazyFrame(ArrowSource):
    """A polars.LazyFrame, evaluated in batches each time that it is read.

    Parameters
    ----------
    frame : polars.LazyFrame

    Raises
    ------
    SourceError
        If the query cannot be planned, or polars is too old to give batches.
    """

    name = "the LazyFrame"

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "collect_batches"):
            raise SourceError(
                "this version of polars cannot give a LazyFrame in batches: update polars, or "
                "collect() the frame"
            )
        self._frame = frame
        with self._explained():
            self.schema = frame.limit(0).collect().to_arrow().schema

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from polars.exceptions import PolarsError

        try:
            yield
        except (PolarsError, OSError) as error:
            raise SourceError(f"{self.name} cannot be evaluated: {error}") from error

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        for frame in self._frames(list(self.schema.names if names is None else names)):
            yield from frame.to_arrow().to_batches()

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name)
        for frame in self._frames(list(dict.fromkeys([*wanted, *kept]))):
            yield Part(partial(self._read, frame, wanted, kept), self.name)

    @staticmethod
    def _read(frame: Any, names: Sequence[str], kept: Sequence[str]) -> Table:
        table = read_polars(frame.select(names))
        if not kept:
            return table
        return RowsKept(table.columns, frame.height, True, frame.select(kept).to_arrow())

    def _frames(self, names: Sequence[str]) -> Iterator[Any]:
        rows = max(1, (MAX_PART_VALUES >> 3) // max(1, len(names)))
        with self._explained():
            yield from self._frame.select(names).collect_batches(
                chunk_size=rows,
                lazy=True,
                engine="streaming",  # whatever polars is set to: the other one holds all rows
            )


# ---- files ---------------------------------------------------------------------------------------
class ArrowFile(ArrowSource):
    """An Arrow file or stream on the disk, or Feather.

    Parameters
    ----------
    path : str
    flatten : bool
        Whether the fields of structs are columns, such as a.b.
    """

    def __init__(self, path: str, *, flatten: bool = False) -> None:
        self.name, self._flatten = path, flatten
        self._path, self._filesystem = arrow_place(path)
        with explained(path, "Arrow"), self._opened() as file:
            self.schema = self._reader(file)[0]
        if flatten:
            self.schema = flat_schema(self.schema)

    def _opened(self) -> Any:
        if self._filesystem is None:
            return pa.memory_map(self._path)
        return self._filesystem.open_input_file(self._path)

    @staticmethod
    def _reader(file: Any) -> tuple[Any, Iterator[Any]]:
        head = file.read(6)
        file.seek(0)
        if head == b"ARROW1":
            reader = pa.ipc.open_file(file)
            return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
        stream = pa.ipc.open_stream(file)
        return stream.schema, iter(stream)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        with explained(self.name, "Arrow"), self._opened() as file:
            for batch in self._reader(file)[1]:
                rows = [batch]
                if self._flatten:
                    rows = flattened(pa.Table.from_batches([batch])).to_batches()
                for each in rows:
                    yield each if names is None else each.select(list(names))

    def _hint(self, kind: str) -> str:
        return flatten_hint(kind)


class ParquetFile:
    """One Parquet file, a row group or a piece of one at a time; dictionary-encoded strings stay
    codes.

    Parameters
    ----------
    path : str
    flatten : bool
        Whether the fields of structs are columns, such as a.b.

    Raises
    ------
    SourceError
        If it is not a whole Parquet file.
    """

    schema: Any

    once = False
    keeps = True

    def __init__(self, path: str, *, flatten: bool = False) -> None:
        self.name, self._flatten = path, flatten
        self._path, self._filesystem = arrow_place(path)
        with self._explained(), self._opened() as file:
            self._metadata, self.schema = file.metadata, file.schema_arrow
        if flatten:
            self.schema = flat_schema(self.schema)

    @property
    def n_rows(self) -> int:
        """How many rows the file says it has."""
        return int(self._metadata.num_rows)

    def columns(self) -> dict[str, SourceColumn]:
        return columns_of(self.schema)

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name, flatten_hint)
        read = 0
        for group in range(self._metadata.num_row_groups):
            yield from self.parts_of_group(group, wanted, read, kept)
            read += self.rows_of(group)

    # ---- row groups ------------------------------------------------------------------------------
    def groups_between(self, start: int, end: int) -> list[int]:
        """The row groups whose first column begins between two places, in bytes."""
        groups = range(self._metadata.num_row_groups)
        first = [self._metadata.row_group(group).column(0).data_page_offset for group in groups]
        return [group for group in groups if start <= first[group] < end]

    def rows_of(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self._metadata.row_group(group).num_rows)

    def parts_of_group(
        self, group: int, names: list[str], read: int, kept: Sequence[str] = ()
    ) -> Iterator[Part]:
        """The parts of a row group, before which `read` rows of the file come."""
        both = list(dict.fromkeys([*names, *kept]))
        most, n_rows = max(1, MAX_PART_VALUES // max(1, len(both))), self.rows_of(group)
        if n_rows <= most:
            done = (read + n_rows) / max(1, self.n_rows)
            yield Part(partial(self._group, group, names, kept), self.name, done=done)
            return
        with self._decoding(group, both), self._again(names) as file:  # decoded piece by piece
            for batch in file.iter_batches(most, [group], both, use_threads=False):
                read += batch.num_rows
                rows = partial(self._table, pa.Table.from_batches([batch]), names, kept)
                yield Part(rows, self.name, done=read / self.n_rows)

    def rows_taken(self, group: int, names: list[str], rows: Any) -> Any:
        """Some rows of a row group, by their places, as an Arrow table."""
        with self._decoding(group, names), self._opened(metadata=self._metadata) as file:
            return self._flat(file.read_row_group(group, names, use_threads=False)).take(rows)

    def _opened(self, strings: Sequence[str] = (), metadata: Any = None) -> Any:
        return pq.ParquetFile(
            self._path,
            metadata=metadata,
            read_dictionary=list(strings),
            filesystem=self._filesystem,
            pre_buffer=False,
            page_checksum_verification=True,  # of pages that have a checksum, as those of Spark
        )

    def _again(self, names: Sequence[str]) -> Any:
        """The file for one reader: columns of strings come as codes."""
        strings = [name for name in names if is_text(self.schema.field(name).type)]
        return self._opened(strings, self._metadata)

    def _group(self, group: int, names: list[str], kept: Sequence[str]) -> Table:
        both = list(dict.fromkeys([*names, *kept]))
        with self._decoding(group, both), self._again(names) as file:
            return self._table(file.read_row_group(group, both, use_threads=False), names, kept)

    def _flat(self, table: Any) -> Any:
        """A table, flattened where that is asked for."""
        return flattened(table) if self._flatten else table

    def _table(self, rows: Any, names: Sequence[str], kept: Sequence[str]) -> Table:
        rows = self._flat(rows)
        table = _read(rows, names, kept)
        columns = {
            name: replace(column, what="text")
            if isinstance(column, Strings) and is_text(self.schema.field(name).type)
            else column
            for name, column in table.columns.items()
        }
        return replace(table, columns=columns)

    def _explained(self) -> Any:
        return explained(self.name, "Parquet")

    @contextmanager
    def _decoding(self, group: int, names: Sequence[str]) -> Iterator[None]:
        """Errors of a row group name the first column that cannot be read."""
        try:
            with self._explained():
                yield
        except SourceError as error:
            for name in names:
                try:
                    with self._explained(), self._opened(metadata=self._metadata) as file:
                        file.read_row_group(group, [name], use_threads=False)
                except SourceError as cause:
                    n_groups = self._metadata.num_row_groups
                    raise SourceError(
                        f"{cause}: column {name!r} of row group {group + 1:,} of {n_groups:,}. "
                        "Write the file again, or leave the column out"
                    ) from error
            raise
