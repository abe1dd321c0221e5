"""Rows of a source, counted part by part; their label, and their weight, are columns of it.

Parts are read and counted on threads, a few at a time, and merged in their order. A fair sample of
the rows, by the hashes of their numbers, is kept for what is chosen on rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Labels
from tallybayes.engines.groups import merged_tables
from tallybayes.engines.memory.labels import labels_of
from tallybayes.engines.sampling import Sampler
from tallybayes.engines.stream.labels import labels_read, with_labels
from tallybayes.engines.threads import in_order
from tallybayes.errors import SourceError
from tallybayes.estimators.labels import labels_and_codes
from tallybayes.models.columns.rows import RowsToCount
from tallybayes.sources.contract import Part, Source, SourceColumn, restarted
from tallybayes.sources.find import is_source, source_of
from tallybayes.tables import Table, read_table
from tallybayes.tables.stacked import stacked
from tallybayes.tally import TableTally

__all__ = ["Counted", "Sample", "count_parts", "rows_of", "tables_of"]

Array = NDArray[np.float64]
ROW = re.compile(r"\brow (\d+)")


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a source.

    Parameters
    ----------
    x : Table
        As they were counted.
    labels : array (n_rows,)
    weights : float64 array (n_rows,), optional
    """

    x: Table
    labels: NDArray[Any]
    weights: Array | None


@dataclass(frozen=True, eq=False)
class Counted:
    """What counting a source has given.

    Parameters
    ----------
    tally : TableTally
    first : RowsToCount
        Rows of the first part: names and declarations are theirs.
    n_rows : int
    sample : Sample
        Empty where no sample is asked for.
    """

    tally: TableTally
    first: RowsToCount
    n_rows: int
    sample: Sample


class _Whole:
    """A table in memory as a source of one part."""

    once = False
    name = "the table"

    def __init__(self, table: Table) -> None:
        self._table = table

    def columns(self) -> dict[str, SourceColumn]:
        return {name: SourceColumn(name, "mixed", "") for name in self._table.columns}

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        yield Part(lambda: self._table, "")


def rows_of(x: Any, threads: int = 1, left_out: Collection[str] = ()) -> Source:
    """A source, or a table in memory as one, whose columns `left_out` may hold anything.

    Raises
    ------
    ValueError
        If x is a table whose columns have no names.
    """
    if is_source(x):
        return source_of(x)
    table = read_table(x, threads, left_out)
    if not table.named:
        raise ValueError(
            "y is the name of a column, but X has no column names: give a data frame, or the "
            "labels as an array"
        )
    return _Whole(table)


def tables_of(
    source: Source, names: Sequence[str] | None, as_written: Collection[str]
) -> Iterator[Table]:
    """The parts of a source as tables, in order; a part is read while the one before is used."""
    for table in in_order(lambda part: part.read(), source.parts(names, as_written)):
        if table.n_rows:
            yield table


@dataclass(frozen=True, eq=False)
class _CountedPart:
    rows: RowsToCount
    labels: Labels
    tally: TableTally
    where: str
    typed: bool


class _PartError(Exception):
    """An error in the rows of a part."""

    def __init__(self, part: Part, error: ValueError) -> None:
        super().__init__(str(error))
        self.where, self.place, self.error = part.where, part.place, error


def count_parts(
    source: Source,
    target: str,
    weight: str | None,
    *,
    as_written: Collection[str],
    left_out: Collection[str],
    prepare: Callable[[Table], RowsToCount],
    count: Callable[[RowsToCount, Labels], TableTally],
    fading: Callable[[int], float] | None = None,
    most: int | None = 0,
) -> Counted:
    """The tally of a source's rows, and a sample of them.

    Parameters
    ----------
    source : Source
    target : str
        The column of labels.
    weight : str, optional
        The column of weights.
    as_written : collection of str
        Columns whose values are levels as they are written, where the source has no types.
    left_out : collection of str
        Columns that are not read.
    prepare : callable (Table) -> RowsToCount
        Makes rows, without label and weight, what is counted. It is called on several threads.
    count : callable (RowsToCount, Labels) -> TableTally
        Likewise.
    fading : callable (int) -> float, optional
        By how much so many later rows multiply what was counted before them.
    most : int, optional
        How many rows the sample has at most; None: all.

    Raises
    ------
    ValueError
        If there are no rows, a column is missing, a row has no label or weight, or as `prepare` and
        `count` do; the message then says where.
    """
    names = list(source.columns())
    for name, what in ((target, "target"), (weight, "weight")):
        if name is not None and name not in names:
            raise ValueError(
                f"{source.name} has no column {name!r}, the {what}; its columns are {names}"
            )
    given = [name for name in (target, weight) if name is not None]
    read = None
    if left_out:
        read = [n for n, c in source.columns().items() if n not in left_out and c.kind is not None]

    def count_part(part: Part) -> _CountedPart | None:
        table = part.read()
        if not table.n_rows:
            return None
        try:
            labels = labels_of(table, target, weight)
            labels_and_codes(labels.classes)  # which refuses what are not classes
            others = {name: c for name, c in table.columns.items() if name not in given}
            rows = prepare(replace(table, columns=others))
            return _CountedPart(rows, labels, count(rows, labels), part.where, part.typed)
        except SourceError:
            raise
        except ValueError as error:
            raise _PartError(part, error) from error

    def count_all() -> Counted:
        counting = _Counting(fading, most)
        try:
            for counted in in_order(count_part, source.parts(read, {target, *as_written})):
                if counted is not None:
                    counting.add(counted)
        except _PartError as error:
            raise counting.explained(error) from error.error
        return counting.result(source.name)

    return restarted(count_all)


class _Counting:
    """What the parts so far have given."""

    def __init__(self, fading: Callable[[int], float] | None, most: int | None) -> None:
        self._fading = fading
        self._tallies: dict[bool, TableTally] = {}
        self._first: RowsToCount | None = None
        self._sampler: Sampler[_Kept] = Sampler(most)
        self._n_rows = self._in_file = 0
        self._where = ""

    def add(self, part: _CountedPart) -> None:
        n_rows = part.rows.n_rows
        self._take_names(part.rows)
        if self._fading is not None:
            factor = self._fading(n_rows)
            self._tallies = {typed: tally * factor for typed, tally in self._tallies.items()}
        before = self._tallies.get(part.typed)
        tally = part.tally if before is None else merged_tables(before, part.tally)
        self._tallies[part.typed] = tally
        self._sampler.add(
            _Kept(Table(part.rows.columns, n_rows, True), part.labels, part.typed), n_rows
        )
        self._in_file = n_rows + (self._in_file if part.where == self._where else 0)
        self._where = part.where
        self._n_rows += n_rows

    def _take_names(self, rows: RowsToCount) -> None:
        """Columns, and what types settle, are those of the first rows and those that come later."""
        if self._first is None:
            self._first = replace(rows, columns={}, n_rows=0)
            return
        names, what = self._first.names, self._first.declared
        if rows.names != names:
            names = names.joined(rows.names.seen, rows.names.firm)
        if what.by_type:
            groups = [group for t in self._tallies.values() for group in t.schema.groups]
            what = what.completed(rows.declared, {n for g in groups for n in g.names or ()})
        self._first = replace(self._first, names=names, declared=what)

    def explained(self, error: _PartError) -> ValueError:
        """An error that says where its row is."""
        before = self._in_file if error.where == self._where else 0
        message, where = str(error), error.where
        found = ROW.search(message)
        if found and error.place is not None:
            where = f"{where}, {error.place(int(found[1]) + before)}"
        message = ROW.sub(lambda found: f"row {int(found[1]) + before}", message)
        kind = type(error.error)
        return kind(f"{where}: {message}" if where else message)

    def result(self, name: str) -> Counted:
        if self._first is None:
            raise ValueError(f"{name} has no rows: there is nothing to learn from")
        untyped = self._tallies.get(False)
        read = None
        if untyped is not None:
            read = labels_read(untyped.schema.classes)
            if read is not None:
                self._tallies[False] = with_labels(untyped, read)
        tally, *more = self._tallies.values()
        for other in more:
            tally = merged_tables(tally, other)
        sample = _sample(self._sampler.parts(), read, tally.schema.classes)
        return Counted(tally, self._first, self._n_rows, sample)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Rows of a part, without its tally."""

    x: Table
    labels: Labels
    typed: bool

    def take(self, rows: NDArray[np.intp]) -> _Kept:
        classes, codes, weights = self.labels
        labels = Labels(classes, codes[rows], None if weights is None else weights[rows])
        return _Kept(self.x.take(rows), labels, self.typed)


def _labels(part: _Kept, read: dict[str, Any] | None) -> list[Any]:
    classes = part.labels.classes.tolist()
    if read is not None and not part.typed:
        classes = [read[label] for label in classes]
    return [classes[code] for code in part.labels.codes.tolist()]


def _sample(parts: list[_Kept], read: dict[str, Any] | None, classes: NDArray[Any]) -> Sample:
    if not parts:
        return Sample(Table({}, 0, True), classes[:0], None)
    found = [label for part in parts for label in _labels(part, read)]
    labels = np.empty(len(found), dtype=classes.dtype)
    labels[:] = found
    weights = [part.labels.weights for part in parts if part.labels.weights is not None]
    x = stacked([part.x for part in parts])
    return Sample(x, labels, np.concatenate(weights) if weights else None)
