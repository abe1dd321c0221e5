"""Parquet and Arrow IPC (file or stream)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tallybayes.errors import SourceError
from tallybayes.sources.opening.stream import beginning
from tallybayes.sources.text_files.batch import Batch

__all__ = ["arrow", "names", "parquet"]


def _need_names(path: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SourceError(f"{path}: two columns are named {name!r}: rename or remove one")


def _sliced(parts: Iterable[Any], rows: int, total: int | None) -> Iterator[Batch]:
    first = 0
    for part in parts:
        for start in range(0, part.num_rows, rows):
            piece = part.slice(start, rows)
            done = min(1.0, (first + piece.num_rows) / total) if total else None
            yield Batch(pa.Table.from_batches([piece]), first, done=done)
            first += piece.num_rows


def names(path: str, format: str) -> list[str]:
    """The names of the columns of a file."""
    try:
        if format == "parquet":
            with pq.ParquetFile(path) as file:
                return list(file.schema_arrow.names)
        with pa.OSFile(path) as file:
            is_file = beginning(path).startswith(b"ARROW1")
            return list((pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).schema.names)
    except pa.ArrowException as error:
        raise SourceError(
            f"{path} is a damaged or incomplete {format.title()} file ({error})"
        ) from None


def parquet(path: str, rows: int) -> Iterator[Batch]:
    """The rows of a Parquet file."""
    try:
        with pq.ParquetFile(path) as file:
            _need_names(path, file.schema_arrow.names)
            yield from _sliced(file.iter_batches(rows), rows, file.metadata.num_rows)
    except pa.ArrowException as error:
        raise SourceError(f"{path} is a damaged or incomplete Parquet file ({error})") from None


def arrow(path: str, rows: int) -> Iterator[Batch]:
    """The rows of an Arrow file or stream."""
    try:
        with pa.OSFile(path) as file:
            if beginning(path).startswith(b"ARROW1"):
                reader = pa.ipc.open_file(file)
                parts: Any = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                reader = parts = pa.ipc.open_stream(file)
            _need_names(path, reader.schema.names)
            yield from _sliced(parts, rows, None)
    except pa.ArrowException as error:
        raise SourceError(f"{path} is a damaged or incomplete Arrow file ({error})") from None
