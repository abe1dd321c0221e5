"""The functions of Spark tasks that read Parquet files directly: counting, and taking rows.

A task is identified by the number of its pieces, which is that of its partition. Its answer does
not depend on where and how often it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.sources.batches import ParquetFile
from tallybayes.sources.contract import Part, located
from tallybayes.sources.spark.parquet_scan import TYPES_READ, Piece
from tallybayes.sources.spark.tasks import Answer, Each, Merge, answer_row
from tallybayes.tables import Table
from tallybayes.tables.arrow import is_text

__all__ = ["PARTITION_STRIDE", "NotPlain", "counted_pieces", "taken_from_pieces"]

PARTITION_STRIDE = 1 << 33  # marks of a partition, as in monotonically_increasing_id


class NotPlain(ValueError):
    """A file is not as it was listed, or its columns are not those of the DataFrame."""


Tasks = Sequence[Sequence[Piece]]
Types = dict[str, str]


def _file(piece: Piece, types: Types) -> ParquetFile:
    """The file of a piece.

    Raises
    ------
    NotPlain
    """
    try:
        found = os.stat(piece.path)
        if (found.st_size, found.st_mtime_ns // 1_000_000) != (piece.size, piece.changed):
            raise NotPlain(f"{piece.path} has changed")
        file = ParquetFile(piece.path)
    except (OSError, SourceError) as error:
        raise NotPlain(str(error)) from error
    for name, kind in types.items():
        there = [file.schema.field(i).type for i in file.schema.get_all_field_indices(name)]
        if len(there) != 1 or not _is(there[0], kind):
            raise NotPlain(f"the column {name!r} of {piece.path} is not of the type {kind}")
    return file


def _is(found: Any, kind: str) -> bool:
    """Whether a type of Arrow is one of Spark's, with nothing to convert."""
    return is_text(found) if kind == "string" else str(found) == TYPES_READ[kind]


def _tables(pieces: Sequence[Piece], types: Types) -> Iterator[tuple[Table, str, int]]:
    """The rows of pieces, their file, and how many of its rows come before."""
    for piece in pieces:
        file = _file(piece, types)
        for group in file.groups_between(piece.start, piece.end):
            before = sum(file.rows_of(k) for k in range(group))
            for part in file.parts_of_group(group, list(types), before):
                table = _read(part)
                if table.n_rows:
                    yield table, part.where, before
                before += table.n_rows


def _read(part: Part) -> Table:
    try:
        return part.read()
    except SourceError as error:  # Spark reads it, or says what is wrong
        raise NotPlain(str(error)) from error


def counted_pieces(
    tasks: Tasks, types: Types, each: Each, merge: Merge, batches: Iterator[Any]
) -> Iterator[Any]:
    """Answers for the pieces whose numbers come: what `each` returns for their rows, merged."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            answer = _counted(tasks[number], types, each, merge, number * PARTITION_STRIDE)
            if answer is not None:
                yield answer_row(number, answer)


def _counted(
    pieces: Sequence[Piece], types: Types, each: Each, merge: Merge, first: int
) -> Answer | None:
    n_rows, result = 0, None
    try:
        for table, where, before in _tables(pieces, types):
            try:
                found = each(table)
            except SourceError:
                raise
            except ValueError as error:
                raise located(error, where, before) from error
            result = found if n_rows == 0 else merge(result, found)
            n_rows += table.n_rows
    except ValueError as error:
        return Answer(None, (), error)
    return Answer(result, ((first, n_rows),)) if n_rows else None


def taken_from_pieces(
    tasks: Tasks, types: Types, marks: NDArray[np.int64], batches: Iterator[Any]
) -> Iterator[Any]:
    """Answers with the rows of these marks."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            low, high = np.searchsorted(
                marks, [number * PARTITION_STRIDE, (number + 1) * PARTITION_STRIDE]
            )
            mine = marks[low:high] - number * PARTITION_STRIDE
            if len(mine):
                yield answer_row(number, _taken(tasks[number], types, mine))


def _taken(pieces: Sequence[Piece], types: Types, rows: NDArray[np.int64]) -> Answer:
    found, first = [], 0
    try:
        for piece in pieces:
            file = _file(piece, types)
            for group in file.groups_between(piece.start, piece.end):
                end = first + file.rows_of(group)
                low, high = np.searchsorted(rows, [first, end])
                if high > low:
                    found.append(file.rows_taken(group, list(types), rows[low:high] - first))
                first = end
    except ValueError as error:
        return Answer(None, (), error)
    return Answer(pa.concat_tables(found), ()) if found else Answer(None, ())
