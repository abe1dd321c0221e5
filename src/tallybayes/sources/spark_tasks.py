"""The functions of Spark tasks, over the record batches of a partition or over Parquet files.

A task answers with one row, or with the rows that it scored, and has no side effects: Spark may
repeat a task, or run it twice to be faster. An error in the data is also an answer, because Spark
would try a failed task four times.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import grouped
from tallybayes.sources.batches import ParquetFile
from tallybayes.sources.contract import MAX_PART_VALUES, located
from tallybayes.tables import Table, arrow
from tallybayes.tables.arrow import is_text

__all__ = [
    "ANSWERS",
    "FAN_IN",
    "TYPES_READ",
    "Answer",
    "NotPlain",
    "Piece",
    "answers_in",
    "counted",
    "counted_pieces",
    "merged",
    "scored",
    "taken_from_pieces",
]


# ---- tasks over the rows of a partition ----------------------------------------------------------
ANSWERS = "part bigint, answer binary"
"""The rows that tasks answer with: the number of the partition, and a pickled :class:`Answer`."""

FAN_IN = 16
"""How many answers one task of the tree merges; the last one merges what those leave."""

MIN_VALUES = MAX_PART_VALUES >> 1
"""Values that are counted at once, but for the last: each tally is merged."""


Each = Callable[[Table], Any]
Merge = Callable[[Any, Any], Any]


class Answer(NamedTuple):
    """The result of one or more partitions.

    Parameters
    ----------
    result : object
    rows : tuple of (int, int)
        The mark of the first row of each partition, and how many rows it has.
    error : ValueError, optional
        Why there is no result.
    """

    result: Any
    rows: tuple[tuple[int, int], ...]
    error: ValueError | None = None


def _partition() -> int:
    """The number of the partition that this task has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _read(rows: Any, names: Sequence[str]) -> Table:
    """The first columns, which get their names."""
    return arrow.read(rows.select(range(len(names))).rename_columns(list(names)))


def _together(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a partition that has rows as tables that are worth a call."""
    for group in grouped(batches, MIN_VALUES):
        rows = pa.Table.from_batches(group)
        if rows.num_rows:
            yield rows


def answer_row(part: int, answer: Answer) -> Any:
    """An answer as the row of a task."""
    answers = pa.array([pickle.dumps(answer, protocol=5)], pa.binary())
    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int64()), answers], names=["part", "answer"]
    )


def answers_in(batches: Iterator[Any]) -> Iterator[tuple[int, Answer]]:
    """Answers of tasks, one at a time."""
    for batch in batches:
        for part, answer in zip(*batch.columns, strict=True):
            yield part.as_py(), pickle.loads(answer.as_buffer())


def counted(
    names: Sequence[str], each: Each, merge: Merge, batches: Iterator[Any]
) -> Iterator[Any]:
    """Answers for one partition: what `each` returns for its rows, merged. The column after those
    that have names holds marks, which count rows in a partition."""
    part, n_rows, first, result = _partition(), 0, 0, None
    try:
        for rows in _together(batches):
            found = each(_read(rows, names))
            if n_rows == 0:
                first, result = rows.column(len(names))[0].as_py(), found
            else:
                result = merge(result, found)
            n_rows += rows.num_rows
    except SourceError as error:
        yield answer_row(part, Answer(None, (), error))
        return
    except ValueError as error:
        where = f"partition {part} of the Spark DataFrame"
        yield answer_row(part, Answer(None, (), located(error, where, n_rows)))
        return
    if n_rows:
        yield answer_row(part, Answer(result, ((first, n_rows),)))


def merged(merge: Merge, fan_in: int | None, batches: Iterator[Any]) -> Iterator[Any]:
    """Merges answers, which come in the order of their partitions: each `fan_in` that follow each
    other become one; None: all. No more than two are held."""
    group, held = 0, None
    for part, answer in answers_in(batches):
        mine = 0 if fan_in is None else part // fan_in
        if held is not None and mine != group:
            yield answer_row(group, held)
            held = None
        group, held = mine, answer if held is None else _both(held, answer, merge)
    if held is not None:
        yield answer_row(group, held)


def _both(before: Answer, after: Answer, merge: Merge) -> Answer:
    """One answer of two; of errors the first stays."""
    for answer in (before, after):
        if answer.error is not None:
            return answer
    try:
        return Answer(merge(before.result, after.result), before.rows + after.rows)
    except ValueError as error:
        return Answer(None, (), error)


def scored(
    places: Sequence[int],
    names: Sequence[str],
    each: Callable[[Table], list[Any]],
    batches: Iterator[Any],
) -> Iterator[Any]:
    """The rows with the further columns that `each` returns for those at `places`."""
    for rows in _together(batches):
        for i, column in enumerate(each(_read(rows.select(list(places)), names))):
            rows = rows.append_column(f"n{i}", pa.array(column))
        yield from rows.combine_chunks().to_batches()


# ---- tasks that read Parquet files directly: counting, and taking rows ---------------------------
# A task is identified by the number of its pieces, which is that of its partition. Its answer does
# not depend on where and how often it runs.
PARTITION_STRIDE = 1 << 33  # marks of a partition, as in monotonically_increasing_id


TYPES_READ = {  # of Spark's, and what they are in Arrow where nothing is converted
    "string": "string",
    "boolean": "bool",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
}


class Piece(NamedTuple):
    """The row groups of a file that begin between two places.

    Parameters
    ----------
    path : str
    start, end : int
        In bytes.
    size, changed : int
        Of the file, in bytes and in milliseconds: of another the pieces are not known.
    """

    path: str
    start: int
    end: int
    size: int
    changed: int


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
                try:
                    table = part.read()
                except SourceError as error:  # Spark reads it, or says what is wrong
                    raise NotPlain(str(error)) from error
                if table.n_rows:
                    yield table, part.where, before
                before += table.n_rows


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
