"""Rows of a source, counted part by part; their label, and their weight, are columns of it.

Parts are read and counted on threads, a few at a time, and merged in their order. A fair sample of
the rows, by the hashes of their numbers, is kept for what is chosen on rows.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.engines.contract import Sampler
from tallybayes.errors import IncompatibleTallies, SourceError
from tallybayes.estimators.tables.sources.counted_rows import (
    Counted,
    CountedRows,
    HowToCount,
    Kept,
    joined_rows,
    sample_of,
)
from tallybayes.estimators.tables.sources.where_rows_lie import count_where_rows_lie
from tallybayes.models.rows import first_infinite
from tallybayes.sources.contract import (
    Part,
    Source,
    SourceColumn,
    is_distributed,
    located,
    restarted,
)
from tallybayes.sources.files import is_source, source_of
from tallybayes.sources.opening import header_hint
from tallybayes.tables import Strings, Table, read_table
from tallybayes.threads import in_order

__all__ = ["count_parts", "need_name", "rows_of", "tables_of"]


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


def need_name(given: Any, parameter: str) -> None:
    """Raises ValueError for weights or groups that are not a column of the source."""
    if not (given is None or isinstance(given, str)):
        raise ValueError(
            f"{parameter} is the name of a column where y is, as the rows are read part by part; "
            f"got a {type(given).__name__}"
        )


def rows_of(
    x: Any,
    threads: int = 1,
    left_out: Container[str] = (),
    needed: Container[str] | None = None,
) -> Source:
    """A source, or a table in memory as one, whose columns are read as by :func:`read_table`.

    Raises
    ------
    ValueError
        If x is a table whose columns have no names.
    """
    if is_source(x):
        return source_of(x)
    table = read_table(x, threads, left_out, needed)
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
    counted: CountedRows
    kept: Kept | None
    part: Part
    infinite: dict[str, tuple[int, str]]


class _PartError(Exception):
    """An error in the rows of a part."""

    def __init__(self, part: Part, error: ValueError) -> None:
        super().__init__(str(error))
        self.where, self.place, self.error = part.where, part.place, error


def count_parts(
    source: Source,
    how: HowToCount,
    *,
    as_written: Collection[str],
    left_out: Collection[str],
    max_rows: int | None = 0,
) -> Counted:
    """The tally of a source's rows, and a sample of them.

    Parameters
    ----------
    source : Source
    how : HowToCount
    as_written : collection of str
        Columns whose values are levels as they are written, where the source has no types.
    left_out : collection of str
        Columns that are not read.
    max_rows : int, optional
        How many rows the sample has at most; None: all.

    Raises
    ------
    ValueError
        If there are no rows, a column is missing, a row has no label or weight, or as `how` does;
        the message then names the place.
    """
    names = list(source.columns())
    for name, what in ((how.target, "target"), (how.weight, "weight"), (how.group, "group")):
        if name is not None and name not in names:
            raise ValueError(
                f"{source.name} has no column {name!r}, the {what}; its columns are {names}"
                f"{(hint := header_hint(names)) and '.'}{hint}"
            )
    read = None
    if left_out:
        read = [n for n, c in source.columns().items() if n not in left_out and c.kind is not None]
    if is_distributed(source):
        return count_where_rows_lie(source, read, how, max_rows)

    def count_part(part: Part) -> _CountedPart | None:
        table = part.read()
        if not table.n_rows:
            return None
        try:
            if not part.typed:
                _need_labels_in_text(table, how.target)
            rows, labels = how.read(table)
            groups = how.groups(table)
            counted = CountedRows.of(rows, how.count(rows, labels), part.typed)
            infinite = first_infinite(rows)
        except SourceError:
            raise
        except ValueError as error:
            raise _PartError(part, error) from error
        if max_rows == 0:  # the next part then has the memory of this one
            return _CountedPart(counted, None, part, infinite)
        x = Table(rows.columns, rows.n_rows, True)
        kept = Kept(x, labels, part.typed, groups)
        return _CountedPart(counted, kept, part, infinite)

    written = {how.target, *as_written, *([how.group] if how.group else [])}

    def count_all() -> Counted:
        counting = _Counting(how, max_rows)
        try:
            for counted in in_order(count_part, source.parts(read, written)):
                if counted is not None:
                    counting.add(counted)
        except _PartError as error:
            raise counting.explained(error) from error.error
        return counting.result(source.name)

    return restarted(count_all)


def _need_labels_in_text(table: Table, target: str) -> None:
    """Raises ValueError for a row of a text file without a label."""
    column = table.columns[target]
    missing = column.codes < 0 if isinstance(column, Strings) else np.ones(table.n_rows, bool)
    if missing.any():
        raise ValueError(
            f"row {int(np.argmax(missing))} has no label in {target!r}: fill it in, or leave the "
            "row out. If it holds a label such as NA, which means missing by default, "
            "tallybayes.csv(path, missing=['']) takes it as text"
        )


class _Counting:
    """The result of the parts so far."""

    def __init__(self, how: HowToCount, max_rows: int | None) -> None:
        self._how = how
        self._counted: CountedRows | None = None
        self._sampler: Sampler[Kept] = Sampler(max_rows)
        self._in_file = 0
        self._where = ""
        self._infinite: dict[str, str] = {}

    def add(self, part: _CountedPart) -> None:
        before, n_rows, where = self._counted, part.counted.n_rows, part.part.where
        try:
            self._counted = (
                part.counted
                if before is None
                else joined_rows(before, part.counted, self._how.fading)
            )
        except IncompatibleTallies as error:
            what = f"the label {self._how.target!r}: " if "class labels" in str(error) else ""
            raise IncompatibleTallies(
                f"{where}, after the rows of {self._where}: {what}{error}"
            ) from error
        if part.kept is not None:
            self._sampler.add(part.kept, n_rows)
        in_file = self._in_file if where == self._where else 0
        for name, (row, _) in part.infinite.items():
            if name not in self._infinite:
                in_all = row + in_file
                place = part.part.place(in_all) if part.part.place else f"row {in_all}"
                self._infinite[name] = f"{where}, {place}" if where else place
        self._in_file, self._where = n_rows + in_file, where

    def explained(self, error: _PartError) -> ValueError:
        """An error that names the place of its row."""
        before = self._in_file if error.where == self._where else 0
        return located(error.error, error.where, before, error.place)

    def result(self, name: str) -> Counted:
        if self._counted is None:
            raise ValueError(f"{name} has no rows: there is nothing to learn from")
        tally, labels = self._counted.tallies.read()
        sample = sample_of(self._sampler.parts(), labels, tally.schema.classes)
        first, n_rows = self._counted.first, self._counted.n_rows
        return Counted(tally, first, n_rows, sample, self._infinite)
