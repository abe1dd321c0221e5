"""Rows in record batches: Arrow files, readers and iterators of batches, datasets, and other
objects with an Arrow stream."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

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
from tallybayes.sources.contract import MAX_PART_VALUES, Part, SourceColumn
from tallybayes.sources.opening import arrow_place
from tallybayes.tables import arrow

__all__ = ["ArrowFile", "Batches", "parts_of"]

BATCH_ROWS = 1 << 17  # of a batch that a database gives
MIN_PART_VALUES = MAX_PART_VALUES >> 3
"""Values of every part but the last: each part costs something by itself."""


def parts_of(batches: Iterable[Any], where: str) -> Iterator[Part]:
    """Record batches as parts that are large enough."""
    for group in grouped(batches, lambda batch: batch, MIN_PART_VALUES):
        yield Part(partial(arrow.read, pa.Table.from_batches(group)), where)


class Batches:
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

    schema: Any
    name: str
    once: bool

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

    def columns(self) -> dict[str, SourceColumn]:
        return columns_of(self.schema)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all."""
        if self.once and self._begun:
            raise SourceError(
                f"{self.name} has been read, which it can be only once: give what can be read again"
            )
        self._begun = True
        with explained(self.name, "Arrow"):
            for batch in self._batches():
                yield batch if names is None else batch.select(list(names))

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name)
        yield from parts_of(self.record_batches(wanted), self.name)


class ArrowFile:
    """An Arrow file or stream on the disk, or Feather.

    Parameters
    ----------
    path : str
    filesystem : pyarrow.fs.FileSystem, optional
        Where the path is; by default this machine's, or that of a URL.
    flatten : bool
        Whether the fields of structs are columns, such as a.b.
    """

    once = False

    def __init__(self, path: str, filesystem: Any = None, *, flatten: bool = False) -> None:
        self.name, self._flatten = path, flatten
        self._path, self._filesystem = (
            arrow_place(path) if filesystem is None else (path, filesystem)
        )
        with explained(path, "Arrow"), self._opened() as file:
            self.schema: Any = self._reader(file)[0]
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

    def columns(self) -> dict[str, SourceColumn]:
        return columns_of(self.schema)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all."""
        with explained(self.name, "Arrow"), self._opened() as file:
            for batch in self._reader(file)[1]:
                rows = [batch]
                if self._flatten:
                    rows = flattened(pa.Table.from_batches([batch])).to_batches()
                for each in rows:
                    yield each if names is None else each.select(list(names))

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        wanted = names_read(self.schema, names, self.name, flatten_hint)
        yield from parts_of(self.record_batches(wanted), self.name)
