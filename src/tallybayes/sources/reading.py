"""Rows of a source, read for a model by a plan: labels are strings, rows without a label may be
skipped, and errors about values name the line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally, SourceError, SourceWarning, called, warn_user
from tallybayes.progress import reading_shown
from tallybayes.sources.arrow import flatten_hint, parts_kept
from tallybayes.sources.cells import Kind, Misfit, TextFile, cells, settled
from tallybayes.sources.contract import (
    Part,
    ReadAgain,
    RowsKept,
    Source,
    SourceColumn,
    is_nested,
    over_parts,
)
from tallybayes.sources.files import (
    Several,
    header_of,
    inner_of,
    is_in_database,
    is_paths,
    size_of,
    source_of,
    source_of_paths,
)
from tallybayes.sources.options import Spelling
from tallybayes.sources.places import need_weight
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table, arrow
from tallybayes.tables.columns import strings_of, values_of
from tallybayes.threads import in_order

__all__ = ["PartsRead", "Plan", "Rows", "as_written", "open_rows"]


# ---- what is read of the rows of a source --------------------------------------------------------
Labels = Callable[[NDArray[Any]], NDArray[Any]]
"""Labels as strings in the type that a model has them in."""


@dataclass(frozen=True)
class Plan:
    """The columns and labels that are read.

    Parameters
    ----------
    doing : str
        What is done with the rows, for whoever hears of progress.
    target : str, optional
        The column of labels.
    names : sequence of str, optional
        The other columns that are read; what a row lacks is missing. None: all.
    keep : sequence of str
        Columns that are handed on as they are, whether or not the model reads them as well.
    kinds : mapping
        The kind of each column. Where it is None or not given, the cells decide.
    left_out : collection of str
        Columns that are not read.
    fitting : bool
        Whether a model is made: kinds that are given are then declared.
    labels : callable, optional
        Makes labels those of a model; by default they are strings.
    weight : str, optional
        The column of weights.
    group : str, optional
        The column of groups of rows, which the model does not read.
    """

    doing: str
    target: str | None = None
    names: Sequence[str] | None = None
    keep: Sequence[str] = ()
    kinds: Mapping[str, Kind | None] = field(default_factory=dict)
    left_out: Collection[str] = ()
    fitting: bool = False
    labels: Labels | None = None
    weight: str | None = None
    group: str | None = None


# ---- the rows of a source ------------------------------------------------------------------------
R = TypeVar("R")


class _Fault(Exception):
    """A row of a part that cannot be used: `says` is what follows its place in the message."""

    def __init__(
        self, part: int, row: int, says: str | Callable[[], str], column: str | None
    ) -> None:
        super().__init__(f"row {row} of part {part}")
        self.part, self.row, self.says, self.column = part, row, says, column


class Rows:
    """A source, opened; itself one, which reads by the plan.

    Parameters
    ----------
    source : Source
        What is read.
    spelling : Spelling
        Of missing values and decimal signs.
    skip_unlabelled : bool
        Whether rows without a label are left out; by default they are an error.
    weight : str, optional
        The column of weights, where labels are read.
    flatten : bool
        Whether objects are flattened, as the source has it.
    """

    source: Source
    spelling: Spelling
    flatten: bool
    name: str
    once: bool

    has_names = False  # rows have numbers

    keyed: bool
    """Whether rows may lack a column, as those of JSON lines."""

    nameless: bool
    """Whether a column has no name, and is not read."""

    size: int | None
    """How many bytes there are, where that is known."""

    def __init__(
        self,
        source: Source,
        spelling: Spelling,
        *,
        skip_unlabelled: bool = False,
        weight: str | None = None,
        flatten: bool = False,
    ) -> None:
        self.source, self.spelling, self.flatten = source, spelling, flatten
        self.name, self.once = source.name, source.once
        self.skip_unlabelled, self.weight = skip_unlabelled, weight
        files = (
            [inner_of(file) for file in source.sources]
            if isinstance(source, Several)
            else [inner_of(source)]
        )
        self._of_text = of_text = [file for file in files if isinstance(file, TextFile)]
        self.keyed = any(file.keyed for file in of_text)
        self.nameless = any(file.nameless for file in of_text)
        self.size = sum(size_of(file.name) for file in files) or None
        self.plan: Plan = Plan("reading")
        self._no_dates: set[str] = set()
        self._said: set[str] = set()  # columns that are left out
        self._read_so_far = PartsRead(self.name)
        self._first_strings: dict[str, tuple[int, int, str]] = {}
        self._decided: dict[str, Kind] = {}

    def read_as(self, spelling: Spelling) -> None:
        """Read strings in another way from now on.

        Parameters
        ----------
        spelling : Spelling
            That way.
        """
        self.spelling = spelling
        for file in self._of_text:
            file.spelling = spelling

    def need_weights(self) -> None:
        """Refuse a column of weights that is not there."""
        if self.weight is not None:
            need_weight(self, self.weight)

    # ---- as a source -----------------------------------------------------------------------------
    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        return header_of(self.source)

    def columns(self) -> dict[str, SourceColumn]:
        """Name the columns that are read.

        Returns
        -------
        dict of str to SourceColumn
            By name.
        """
        requested = self._requested_of_rows()
        if requested is None:
            return self.source.columns()
        return {name: SourceColumn(name, "mixed", "") for name in requested}

    def _requested_of_rows(self) -> list[str] | None:
        """The columns that the plan names; None: all."""
        plan = self.plan
        if plan.names is None:
            return None
        beside = [*_given(plan.target), *_given(plan.weight), *_given(plan.group)]
        return list(dict.fromkeys([*plan.names, *beside]))

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        """Read the rows by the plan, part by part.

        Parameters
        ----------
        names : sequence of str, optional
            Ignored: the plan says what is read.
        as_written : collection of str
            Columns whose values are strings as they are written.

        Yields
        ------
        Part
            Some rows.
        """
        plan = self.plan
        if plan.fitting and plan.names is None:
            self._note_nested()
        self._read_so_far = PartsRead(self.name)
        self._first_strings, self._decided = {}, {}
        as_text = {n for n, kind in plan.kinds.items() if kind == "text"}
        written = {*as_written, *as_text, *_given(plan.target), *_given(plan.group)}
        with reading_shown(plan.doing, "row", self.size) as tick:
            there = plan.keep if self.keyed else self.source.columns()
            kept = [name for name in plan.keep if name in there]
            try:
                parts = parts_kept(self.source, self._asked(), written, kept)
                for i, part in enumerate(parts):
                    self._read_so_far.add(part)
                    read = partial(self._read, part, i)
                    place = partial(self._read_so_far.place_of_kept, part.where)
                    yield Part(read, part.where, True, place, part.done)
                    tick(self.n_rows, part.done)
            except ReadAgain as again:
                self._widen(again)
                raise

    def _note_nested(self) -> None:
        """Reports once the columns that a source leaves out: they hold more than single values."""
        beside = [c for c in self.source.columns().values() if c.name != self.plan.target]
        nested = [column for column in beside if is_nested(column)]
        if nested and len(nested) == len(beside):
            raise SourceError(
                f"{self.name} has no column of single values beside {self.plan.target!r}: "
                f"{nested[0].name!r} holds {nested[0].type}, unpack it"
                + self._flatten_hint(nested[0])
            )
        for column in nested:
            if column.name not in {*self.plan.left_out, *self._said}:
                self._said.add(column.name)
                warn_user(
                    f"column {column.name!r} is left out: its type is {column.type}"
                    + self._flatten_hint(column),
                    SourceWarning,
                )

    def _flatten_hint(self, column: SourceColumn) -> str:
        """What reads a column of objects in a file."""
        return "" if is_in_database(self.source) else flatten_hint(column.type)

    def _asked(self) -> list[str] | None:
        """The columns that the source has to read; None: all."""
        left_out, requested = self.plan.left_out, self._requested_of_rows()
        if requested is None:
            if self.keyed or not left_out:  # keys may come late
                return None
            columns = self.source.columns().items()
            return [n for n, column in columns if column.kind is not None and n not in left_out]
        there = requested if self.keyed else self.source.columns()
        unread = {*left_out} - {self.plan.group}
        return [name for name in requested if name in there and name not in unread]

    def _widen(self, again: ReadAgain) -> None:
        """A column that is not of dates after all: a note when fitting, else an error."""
        if not self.plan.fitting or again.column in self.plan.kinds:
            says = self._misfit(again.column, again.value, again.kind)
            raise SourceError(f"{again.where}{says}", place=again.where, column=again.column)
        if again.column in self._no_dates:  # which another thread has found
            return
        self._no_dates.add(again.column)
        where = again.where
        if not self._read_so_far.several:
            where = where.removeprefix(f"{self.name}, ")
        warn_user(
            f"column {again.column!r} is not read as {again.kind}s: {where} holds {again.value!r}",
            SourceWarning,
        )

    def _misfit(self, column: str, value: str, kind: str) -> str:
        """What to say of a cell that does not fit, after its place."""
        if self.plan.fitting:
            advice = f": correct it, or declare {column}=categorical"
        else:
            advice = (
                ", unlike the training data: correct it, leave it empty, or train with the column "
                f"as categorical (--column {column}=categorical on the command line)"
            )
        return f": column {column!r} holds {value!r}, which is not a {kind}{advice}"

    # ---- reading a part, on any thread -----------------------------------------------------------
    def _read(self, part: Part, i: int) -> Table:
        try:
            table = part.read()
        except ReadAgain as again:
            self._widen(again)
            raise
        plan, seen = self.plan, self._read_so_far.parts[i]
        seen.has(table.n_rows)
        columns = dict(table.columns)
        labels = None
        if plan.target is not None:
            label = columns.pop(plan.target, Empty(table.n_rows))
            labels = as_written(label, plan.target, self.spelling.of(plan.target))
        kept = table.kept if isinstance(table, RowsKept) else pa.table({})
        if plan.names is not None:
            columns = {n: columns.get(n, Empty(table.n_rows)) for n in plan.names}
        columns |= {name: Empty(table.n_rows) for name in plan.left_out}
        columns = {
            n: self._column(c, n, i, part.typed)
            for n, c in columns.items()
            if n not in (plan.weight, plan.group)
        }
        for name in (*_given(plan.weight), *_given(plan.group)):
            columns[name] = table.columns.get(name, Empty(table.n_rows))
        table = RowsKept(columns, table.n_rows, True, kept)
        if labels is None:
            return table
        labelled = self._labelled(table, labels, i)
        if plan.weight is not None:
            self._need_weights(labelled.columns[plan.weight], plan.weight, i)
        if plan.group is not None:
            self._need_groups(labelled.columns[plan.group], plan.group, i)
        return labelled

    def _column(self, column: Column, name: str, i: int, as_kinds: bool) -> Column:
        """A column as its kind, looked over for strings among numbers."""
        kind = self.plan.kinds.get(name)
        if as_kinds:
            try:
                no_dates = name in self._no_dates
                spelling = self.spelling.of(name)
                column, found = as_kind(column, kind, name, spelling, no_dates=no_dates)
            except Misfit as misfit:
                says = self._misfit(name, misfit.value, misfit.kind)
                raise _Fault(i, misfit.row, says, name) from None
            if kind is None and found is not None and isinstance(column, Strings | Mixed | Numbers):
                self._need_no_other_kind(name, found, column, i)
        if kind in ("number", "number or date", "date", "time"):
            self._need_kind(column, name, kind, i)
        elif kind != "text":
            self._note_string(column, name, i)
        return column

    def _need_no_other_kind(self, name: str, kind: Kind, column: Column, i: int) -> None:
        """Dates or times in one part and other values in another are strings in all of them."""
        before = self._decided.setdefault(name, kind)
        if not {"date", "time"} & {before, kind} or before == kind or not self.plan.fitting:
            return
        where = self._read_so_far.parts[i].where
        _, value = _first_string(column) or (0, "a number")
        if name not in self._no_dates:
            self._no_dates.add(name)
            what = "dates" if "date" in (before, kind) else "times"
            warn_user(
                f"column {name!r} is not read as {what}: {where} holds {value!r}", SourceWarning
            )
        raise ReadAgain(where, name, value, "date")

    def _need_kind(self, column: Column, name: str, kind: Kind, i: int) -> None:
        if isinstance(column, Empty):
            return
        found = _first_string(column, truth=True)
        if found is None and kind == "date" and isinstance(column, Numbers):
            if column.what == "date":
                return
            row = int(np.flatnonzero(~np.isnan(column.values.astype(float)))[0])
            found = row, f"{column.values[row]:g}"
        if found is not None:
            raise _Fault(i, found[0], self._misfit(name, found[1], kind), name)

    def _note_string(self, column: Column, name: str, i: int) -> None:
        known = self._first_strings.get(name)
        if known is not None and known[0] <= i:
            return
        found = _first_string(column)
        if found is not None:
            self._first_strings[name] = (i, *found)

    def _labelled(self, table: RowsKept, labels: Strings | Empty, i: int) -> Table:
        """The rows that have a label, and their labels as the model has them."""
        plan, seen, beside = self.plan, self._read_so_far.parts[i], table.kept
        assert plan.target is not None
        missing = np.ones(table.n_rows, bool) if isinstance(labels, Empty) else labels.codes < 0
        if missing.any():
            if not self.skip_unlabelled:
                row = int(np.argmax(missing))
                raise _Fault(i, row, lambda: self._no_label(i, row), plan.target)
            kept = np.flatnonzero(~missing)
            seen.kept, seen.n_kept = np.packbits(~missing), len(kept)
            rest, labels = table.take(kept), labels.take(kept)
            beside = beside.take(pa.array(kept)) if plan.keep else beside
            table = RowsKept(rest.columns, rest.n_rows, True, beside)
        own: Column = Empty(table.n_rows)
        if not isinstance(labels, Empty) and table.n_rows:
            if plan.fitting and not i:
                need_few(labels, plan.target)
            own = labels if plan.labels is None else as_own(labels, plan.labels)
        columns = table.columns | {plan.target: own}
        if plan.keep:
            return RowsKept(columns, table.n_rows, True, beside)
        return Table(columns, table.n_rows, True)

    def _need_weights(self, column: Column, name: str, i: int) -> None:
        """Raises where a row has no weight, or none that a row can have."""
        numbers = column.numbers if isinstance(column, Mixed) else column
        wrong = np.ones(column.n_rows, dtype=bool)
        if isinstance(numbers, Numbers) and numbers.what != "date":
            wrong = ~(np.isfinite(numbers.values) & (numbers.values >= 0.0))
        if wrong.any():
            row = self._read_so_far.parts[i].row_of(int(np.argmax(wrong)))
            says = f" has no weight in {name!r} ({called('weight')}): it is a number from 0 on"
            raise _Fault(i, row, says, name)

    def _need_groups(self, column: Column, name: str, i: int) -> None:
        """Raises where a row has no group."""
        values = values_of(column)
        if None in values:
            row = self._read_so_far.parts[i].row_of(values.index(None))
            says = (
                f" has no value in {name!r}, the column of groups ({called('group')}): give each "
                "row its group, one of its own where it belongs to none"
            )
            raise _Fault(i, row, says, name)

    def _no_label(self, part: int, row: int) -> str:
        """What to say of a row without a label, after its place."""
        written, target = self._label_as_written(part, row), self.plan.target
        leave = f"leave such rows out with {called('skip_unlabelled', True)}"
        if not written and not self.once:
            return f" has no label in {target!r}: fill it in, or {leave}"
        label = "a label" if self.once else "the label"
        label += f" {written}" if written else " NA, or another spelling of a missing value"
        holds = f" but {written!r}, which means missing by default" if written else ""
        return (
            f" has no label in {target!r}{holds}: fill it in, {leave}, or, if it is {label}, take "
            f"it as text with {called('missing', [''])}"
        )

    def _label_as_written(self, part: int, row: int) -> str:
        """What stands where a row has no label; nothing where that is empty, or can be read only
        once."""
        target = self.plan.target
        if self.once or target is None:
            return ""
        spelling = self.spelling
        self.read_as(replace(spelling, missing=("",), missing_of={}))
        try:
            parts = self.source.parts([target], [target])
            column = next(islice(parts, part, None)).read().columns[target]
        finally:
            self.read_as(spelling)
        code = column.codes[row] if isinstance(column, Strings) else -1
        return column.levels[code] if isinstance(column, Strings) and code >= 0 else ""

    # ---- rows and their places -------------------------------------------------------------------
    @property
    def n_rows(self) -> int:
        """The rows that have been read."""
        return self._read_so_far.n_rows

    @property
    def unlabelled(self) -> int:
        """How many of them had no label, and were left out."""
        return self._read_so_far.n_unlabelled

    @property
    def first_strings(self) -> dict[str, tuple[int, str]]:
        """The first row that holds a string, and the string, of each column that was undeclared."""
        return {
            name: (self._read_so_far.first_row(part) + row, text)
            for name, (part, row, text) in self._first_strings.items()
        }

    def where(self, row: int) -> str:
        """Call a row as people find it: by its line, where rows are lines.

        Parameters
        ----------
        row : int
            Its number, from 0.

        Returns
        -------
        str
            For messages.
        """
        return self._read_so_far.where(row)

    def place(self, row: int) -> str:
        """Call a row by its number and, where it has one, by its line.

        Parameters
        ----------
        row : int
            Its number, from 0.

        Returns
        -------
        str
            For messages.
        """
        where = self.where(row)
        return f"Row {row:,}" + ("" if where.startswith("row") else f" ({where})")

    def infinite(self, column: str, row: int) -> SourceError:
        """Make the error of an infinite number.

        Parameters
        ----------
        column : str
            Where it stands.
        row : int
            Its row, from 0.

        Returns
        -------
        SourceError
            With its place.
        """
        place = ", ".join(self._read_so_far.file_and_place(row))
        return SourceError(
            f"{place}: column {column!r} is infinite: give a finite number, or leave it empty (on "
            "the command line, --null inf reads it as missing)",
            place=place,
            row=row,
            column=column,
        )

    def kind_of(self, name: str) -> Kind:
        """Tell as which kind an undeclared column was read; dates are known by their values.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        str
            "number or text", "date", "time" or "text".
        """
        if any(file.kinds.get(name) == "time" for file in self._of_text):
            return "time"
        return self._decided.get(name, "number or text")

    # ---- use -------------------------------------------------------------------------------------
    @contextmanager
    def reading(self, plan: Plan) -> Iterator[Rows]:
        """Read by a plan; errors in a row name it.

        Parameters
        ----------
        plan : Plan
            What is read.

        Yields
        ------
        Rows
            These rows.

        Raises
        ------
        SourceError
            For a row that cannot be used, and where no row has a label.
        """
        self.plan = plan
        try:
            yield self
        except _Fault as fault:
            place = ", ".join(self._read_so_far.at(fault.part, fault.row))
            says = fault.says if isinstance(fault.says, str) else fault.says()
            row = self._read_so_far.number_in_file(fault.part, fault.row)
            error = SourceError(f"{place}{says}", place=place, row=row, column=fault.column)
            raise error from None
        except (NegativeTally, SourceError):
            raise
        except ValueError as error:
            if self.n_rows and self.n_rows == self.unlabelled:
                raise self._none_labelled() from error
            raise
        if plan.target is not None and self.n_rows == self.unlabelled:
            raise self._none_labelled()

    def _none_labelled(self) -> SourceError:
        rows = f"none of its {self.unlabelled:,} rows has a {self.plan.target!r}"
        return SourceError(f"{self.name}: {rows}")

    def over(self, do: Callable[[Table], R]) -> Iterator[R]:
        """Do something with each part that has rows, several at a time where they can be.

        Parameters
        ----------
        do : callable (Table)
            What is done.

        Yields
        ------
        object
            What it returns, in order.
        """

        def of_table(table: Table, _: Part) -> R:
            return do(table)

        each: Any = map if self.once else in_order
        for done in over_parts(self.parts(), of_table, each):
            yield done.result


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _first_string(column: Column, *, truth: bool = False) -> tuple[int, str] | None:
    """The first row that holds a string, and the string; booleans are none unless `truth`."""
    strings = column.strings if isinstance(column, Mixed) else column
    if not isinstance(strings, Strings):
        return None
    counts = np.array([truth or level not in ("False", "True") for level in strings.levels])
    rows = np.flatnonzero(np.append(counts, False)[strings.codes])
    return (int(rows[0]), strings.levels[strings.codes[rows[0]]]) if len(rows) else None


# ---- the parts of a source that have been read, and where each of its rows stands ----------------
@dataclass(eq=False)
class PartRead:
    """A part that is read, or will be.

    Parameters
    ----------
    where, place
        As of the part.
    n_rows : int
        How many rows it has.
    n_kept : int
        How many of them have a label.
    kept : uint8 array, optional
        A bit a row that has one, where some have none.
    counted : bool
        Whether it is known how many rows it has.
    """

    where: str
    place: Callable[[int], str] | None
    n_rows: int = 0
    n_kept: int = 0
    kept: NDArray[np.uint8] | None = None
    counted: bool = False

    def has(self, n_rows: int) -> None:
        """How many rows it has; all of them are taken to have a label."""
        self.n_rows = self.n_kept = n_rows
        self.counted = True

    def row_of(self, kept: int) -> int:
        """The number of a row among all, by its number among those that have a label."""
        if self.kept is None:
            return kept
        return int(np.flatnonzero(np.unpackbits(self.kept, count=self.n_rows))[kept])

    def called(self, row: int) -> str:
        """What a row is called, by its number in what holds the part."""
        return f"row {row:,}" if self.place is None else self.place(row)


class PartsRead:
    """The parts of a source, in order.

    Parameters
    ----------
    name : str
        Of the source.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[PartRead] = []
        self._before = 0, 0  # of how many parts the rows were added, and how many they are

    def add(self, part: Part) -> PartRead:
        """The next part, of which no row is read so far."""
        self.parts.append(PartRead(part.where, part.place))
        return self.parts[-1]

    @property
    def n_rows(self) -> int:
        """The rows that have been read. Asked after each part, it adds those that are new."""
        parts, rows = self._before
        while parts < len(self.parts) and self.parts[parts].counted:
            rows += self.parts[parts].n_rows
            parts += 1
        self._before = parts, rows
        return rows + sum(part.n_rows for part in self.parts[parts:])

    @property
    def n_unlabelled(self) -> int:
        """Those without a label."""
        return sum(part.n_rows - part.n_kept for part in self.parts)

    @property
    def several(self) -> bool:
        """Whether the source is several files."""
        return any(part.where != self.name for part in self.parts)

    def first_row(self, i: int) -> int:
        """The number of the first row of a part in the source."""
        return sum(part.n_rows for part in self.parts[:i])

    def at(self, i: int, row: int) -> tuple[str, str]:
        """The file of a row of a part, and what the row is called there."""
        part = self.parts[i]
        return part.where, part.called(self.number_in_file(i, row))

    def number_in_file(self, i: int, row: int) -> int:
        """The number of a row of a part in the file of the part."""
        where = self.parts[i].where
        return row + sum(p.n_rows for p in self.parts[:i] if p.where == where)

    def file_and_place(self, row: int) -> tuple[str, str]:
        """The file that has a row of the source, and what the row is called there."""
        for i, part in enumerate(self.parts):
            if row < part.n_rows:
                return self.at(i, row)
            row -= part.n_rows
        return self.name, f"row {row:,}"

    def where(self, row: int) -> str:
        """A row of the source (from 0) as people find it: its line, where rows are lines, and its
        file, where there are several."""
        file, place = self.file_and_place(row)
        return f"{file}, {place}" if self.several else place

    def place_of_kept(self, where: str, kept: int) -> str:
        """What a row of a file is called, by its number among those of it that have a label."""
        before = 0
        for part in self.parts:
            if part.where != where:
                continue
            if kept < part.n_kept:
                return part.called(before + part.row_of(kept))
            kept, before = kept - part.n_kept, before + part.n_rows
        return f"row {before + kept:,}"


# ---- labels that were read as strings: whether they can be classes, and their own type -----------
MIN_ROWS_TO_JUDGE = 100  # rows of a first part from which on labels must repeat


def need_few(labels: Strings, target: str) -> None:
    """Raises where the labels of the first rows are nearly all different."""
    different, rows = len(np.unique(labels.codes)), labels.n_rows
    if rows >= MIN_ROWS_TO_JUDGE and 2 * different > rows:
        raise SourceError(
            f"{target!r} has {different:,} different values in the first "
            f"{rows:,} rows: a target has few labels. Choose another column, or group "
            "its values into classes"
        )


def as_own(labels: Strings, own: Labels) -> Column:
    """Labels in the type that a model has them in."""
    used, codes = np.unique(labels.codes, return_inverse=True)
    known = own(np.array([labels.levels[code] for code in used.tolist()], dtype=np.str_))
    if known.dtype.kind in "iuf":
        return Numbers(known[codes], "integer" if known.dtype.kind in "iu" else "float")
    if known.dtype.kind == "b":
        return Strings(known.astype(np.int32)[codes], ["False", "True"], "boolean")
    return labels


# ---- strings of typed sources, such as Parquet, are read like the same strings in a text file ----
# A column has few levels and many rows, so only the levels are parsed.
def as_written(column: Column, name: str, spelling: Spelling) -> Strings | Empty:
    """Any column as levels, spelt as in text; `name` is for messages."""
    if isinstance(column, Empty):
        return column
    strings = column if isinstance(column, Strings) else strings_of(column)
    found = _parsed(strings, "text", name, spelling)
    assert isinstance(found, Strings | Empty)
    return found


def as_kind(
    column: Column, kind: Kind | None, name: str, spelling: Spelling, *, no_dates: bool
) -> tuple[Column, Kind | None]:
    """A column as its kind, and the kind, which its cells decide where that is left open.

    Parameters
    ----------
    column : Column
        Of a typed source.
    kind : str or None
    name : str
    spelling : Spelling
        Of missing values and decimal signs.
    no_dates : bool
        Whether strings that are dates stay strings, where the kind is open.

    Raises
    ------
    Misfit
        For a string that is not a number or a date; `row` is that of the column.
    """
    if kind == "text":
        return as_written(column, name, spelling), kind
    if isinstance(column, Numbers):
        if column.what == "date" and kind == "number or text":
            return strings_of(column), kind
        return column, kind
    if not isinstance(column, Strings):
        return column, kind
    if column.what == "boolean":
        if kind not in ("number", "number or date"):
            return column, kind
        truth = np.array([0.0, 1.0, np.nan])
        return Numbers(truth[column.codes], "float"), kind
    if kind is None and column.what == "category":
        return as_written(column, name, spelling), "text"
    levels = pa.array([column.levels[code] for code in _used(column)], pa.string())
    kind = settled(levels, kind, spelling)
    if kind in ("date", "time") and no_dates:
        kind = "number or text"
    return _parsed(column, kind, name, spelling), kind


def _used(column: Strings) -> list[int]:
    """The levels that occur."""
    there = column.codes[column.codes >= 0]
    return np.flatnonzero(np.bincount(there, minlength=len(column.levels))).tolist()


def _parsed(column: Strings, kind: Kind | None, name: str, spelling: Spelling) -> Column:
    used = _used(column)
    at = np.full(len(column.levels) + 1, len(used), dtype=np.intp)  # the last is a missing value
    at[used] = np.arange(len(used))
    levels = pa.array([*(column.levels[code] for code in used), None], pa.string())
    try:
        parsed = cells(levels, kind, name, spelling)
    except Misfit as misfit:
        misfit.row = int(np.flatnonzero(column.codes == used[misfit.row])[0])
        raise
    found = arrow.read(pa.table({name: parsed})).columns[name]
    if isinstance(found, Empty):
        return Empty(column.n_rows)
    taken = found.take(at[column.codes])
    if isinstance(taken, Strings):
        return Strings(taken.codes, taken.levels, "text")
    return taken


# ---- opening the rows of anything ----------------------------------------------------------------
def open_rows(
    data: Any,
    *,
    spelling: Spelling = Spelling(),  # noqa: B008  # frozen
    skip_unlabelled: bool = False,
    weight: str | None = None,
    sql: str | None = None,
    table: str | None = None,
    format: str | None = None,
    block: int | None = None,
    flatten: bool = False,
    **how: Any,
) -> Rows:
    """Open rows for a model, which reads them by a plan.

    Parameters
    ----------
    data : str, list of str, or source
        Files, folders and patterns, "-" for standard input; a database; or what is read part by
        part.
    spelling : Spelling
        Of missing values, numbers and dates.
    skip_unlabelled : bool, default=False
        Whether rows without a label are left out; by default they are an error.
    weight : str, optional
        The column of weights, where labels are read.
    sql, table : str, optional
        The query or table, where `data` is a database.
    format : {"csv", "jsonl", "parquet", "arrow", "excel"}, optional
        By default found from the content.
    block : int, optional
        Bytes of text that are parsed at a time.
    flatten : bool, default=False
        Whether keys of objects within rows are columns.
    **how : object
        Of files, as :func:`~tallybayes.sources.files.source_of_paths` has it: `layout`, `sheet`,
        `union_by_name`, `mixed` and `left_out`.

    Returns
    -------
    Rows
        For :meth:`tallybayes.model_files.TableFile.fit`, and for what else a model file does with
        rows.
    """
    paths = [data] if isinstance(data, str) else data
    if sql is not None or table is not None:
        source = source_of(paths[0], sql=sql, table=table)
    elif is_paths(paths):
        how |= {} if block is None else {"block": block}
        kind: Any = format
        source = source_of_paths(paths, kind, flatten=flatten, spelling=spelling, **how)
    else:
        source = source_of(data)
    return Rows(source, spelling, skip_unlabelled=skip_unlabelled, weight=weight, flatten=flatten)
