"""Parquet files, a row group or a piece of one at a time; dictionary-encoded strings stay codes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
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
    names_read,
)
from tallybayes.sources.contract import MAX_PART_VALUES, Part, SourceColumn
from tallybayes.sources.opening import arrow_place
from tallybayes.tables import Strings, Table, arrow
from tallybayes.tables.arrow import is_text

__all__ = ["ParquetFile"]


class ParquetFile:
    """One Parquet file.

    Parameters
    ----------
    path : str
    filesystem : pyarrow.fs.FileSystem, optional
        Where the path is; by default this machine's, or that of a URL.
    flatten : bool
        Whether the fields of structs are columns, such as a.b.

    Raises
    ------
    SourceError
        If it is not a whole Parquet file.
    """

    schema: Any

    once = False

    def __init__(self, path: str, filesystem: Any = None, *, flatten: bool = False) -> None:
        self.name, self._flatten = path, flatten
        self._path, self._filesystem = (
            arrow_place(path) if filesystem is None else (path, filesystem)
        )
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
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name, flatten_hint)
        read = 0
        for group in range(self._metadata.num_row_groups):
            yield from self.parts_of_group(group, wanted, read)
            read += self.rows_of(group)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all, as the file has them."""
        wanted = list(self.schema.names if names is None else names)
        rows = max(1, (MAX_PART_VALUES >> 3) // max(1, len(wanted)))
        with self._explained(), self._opened(metadata=self._metadata) as file:
            for batch in file.iter_batches(rows, columns=wanted, use_threads=False):
                yield from self._flat(batch).select(wanted).to_batches()

    # ---- row groups ------------------------------------------------------------------------------
    def groups_between(self, start: int, end: int) -> list[int]:
        """The row groups whose first column begins between two places, in bytes."""
        groups = range(self._metadata.num_row_groups)
        first = [self._metadata.row_group(group).column(0).data_page_offset for group in groups]
        return [group for group in groups if start <= first[group] < end]

    def rows_of(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self._metadata.row_group(group).num_rows)

    def parts_of_group(self, group: int, names: list[str], read: int) -> Iterator[Part]:
        """The parts of a row group, before which `read` rows of the file come."""
        most, n_rows = max(1, MAX_PART_VALUES // max(1, len(names))), self.rows_of(group)
        if n_rows <= most:
            done = (read + n_rows) / max(1, self.n_rows)
            yield Part(partial(self._group, group, names), self.name, done=done)
        else:  # decoded piece by piece, one after the other
            yield from self._pieces(group, names, most, read)

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

    def _group(self, group: int, names: list[str]) -> Table:
        with self._decoding(group, names), self._again(names) as file:
            return self._table(file.read_row_group(group, names, use_threads=False))

    def _pieces(self, group: int, names: list[str], rows: int, before: int) -> Iterator[Part]:
        with self._decoding(group, names), self._again(names) as file:
            for batch in file.iter_batches(rows, [group], names, use_threads=False):
                before += batch.num_rows
                read = partial(self._table, pa.Table.from_batches([batch]))
                yield Part(read, self.name, done=before / self.n_rows)

    def _flat(self, rows: Any) -> Any:
        """Rows as a table, flattened where that is asked for."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        return flattened(table) if self._flatten else table

    def _table(self, rows: Any) -> Table:
        table = arrow.read(self._flat(rows))
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
