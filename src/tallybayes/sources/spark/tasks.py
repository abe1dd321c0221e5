"""The functions of Spark tasks, over the record batches of a partition.

A task answers with one row, or with the rows that it scored, and has no side effects: Spark may
repeat a task, or run it twice to be faster. An error in the data is also an answer, because Spark
would try a failed task four times.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import grouped
from tallybayes.sources.contract import MAX_PART_VALUES, located
from tallybayes.tables import Table, arrow

__all__ = [
    "ANSWERS",
    "FAN_IN",
    "Answer",
    "Each",
    "Merge",
    "answer_row",
    "answers_in",
    "counted",
    "mapped",
    "merged",
    "scored",
]

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


def mapped(names: Sequence[str], each: Each, batches: Iterator[Any]) -> Iterator[Any]:
    """Answers with what `each` returns for the rows of one partition."""
    part = _partition()
    for rows in _together(batches):
        yield answer_row(part, Answer(each(_read(rows, names)), ()))


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
