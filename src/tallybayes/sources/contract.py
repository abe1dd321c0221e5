"""The contract of a source of rows: its columns, and its rows in parts that fit into memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.tables import Table
from tallybayes.threads import in_order

__all__ = [
    "MAX_PART_VALUES",
    "Distributed",
    "Folded",
    "Part",
    "ReadAgain",
    "RowsKept",
    "Source",
    "SourceColumn",
    "is_distributed",
    "is_nested",
    "located",
    "over_parts",
    "restarted",
]


R = TypeVar("R")

MAX_PART_VALUES = 1 << 23
"""Values that a part holds at most, where the source leaves a choice: some 64 MB of numbers."""


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source.

    Parameters
    ----------
    name : str
    kind : str or None
        "text", "category", "boolean", "integer", "float", "decimal", "date" or "mixed", as the
        readers of tables call it; None for a type that is not a scalar.
    type : str
        Its type as the source calls it, for messages.
    """

    name: str
    kind: str | None
    type: str


class Part(NamedTuple):
    """Some rows that follow each other.

    Parameters
    ----------
    read : callable () -> Table
        Reads them, on whatever thread; called once at most.
    where : str
        What holds them, for messages: a file, or a part of one.
    typed : bool
        Whether columns have types. Text has none: what its labels are, all of them say.
    place : callable (int) -> str, optional
        What messages call a row of `where`, by its number there from 0, such as "line 5"; by
        default "row 3".
    done : float, optional
        The share of the source that has been read with this part, where that is known.
    """

    read: Callable[[], Table]
    where: str
    typed: bool = True
    place: Callable[[int], str] | None = None
    done: float | None = None


class Source(Protocol):
    """Rows that are read part by part, as often as they are asked for unless `once`.

    Every method raises :class:`~tallybayes.errors.SourceError` where the source cannot be read.
    """

    name: str
    once: bool

    def columns(self) -> dict[str, SourceColumn]:
        """The columns by name; no row is read unless only rows say what there is."""

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        """The rows in their order.

        Parameters
        ----------
        names : sequence of str, optional
            The columns that are read; None: all that hold scalars.
        as_written : collection of str
            Columns whose values, where they have no types, are strings as they are written.

        Raises
        ------
        ReadAgain
            Where a later row shows that rows before it were read wrongly: the next call reads them
            rightly.
        """


@dataclass(frozen=True, eq=False)
class RowsKept(Table):
    """Some rows, and columns of them that stand beside their predictions.

    Parameters
    ----------
    columns, n_rows, named
        As of a table.
    kept : pyarrow.Table
        As the source has them; the cells of text as they are written, null where nothing is.
    """

    kept: Any


class Folded(NamedTuple, Generic[R]):
    """The result of folding the rows of a distributed source.

    Parameters
    ----------
    result : R
        Of all parts, merged in their order.
    rows : tuple of (int, int)
        Of each partition that has rows, in their order, the mark of the first row, and how many
        rows there are; the marks of the others count on from it.
    names : list of str
        The columns that were read.
    """

    result: R
    rows: tuple[tuple[int, int], ...]
    names: list[str]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(n for _, n in self.rows)


class Distributed(Source, Protocol):
    """A source whose rows stay on the machines that hold them: functions are sent to the rows.

    What is sent is pickled. A function is called as often as it pleases the cluster, so that it
    answers and does nothing else.
    """

    def fold(
        self,
        names: Sequence[str] | None,
        each: Callable[[Table], R],
        merge: Callable[[R, R], R],
    ) -> Folded[R] | None:
        """What `each` returns for parts of the rows, merged in the rows' order; None without rows.

        Raises
        ------
        ValueError
            As `each` and `merge` do; the message then says where the rows are.
        """

    def take(self, names: Sequence[str], marks: NDArray[np.int64] | None) -> Table | None:
        """The rows with these marks, in their order; all rows, if None. None where there are none.

        Columns and marks are those that a fold has given.
        """

    def with_columns(
        self, names: Sequence[str], each: Callable[[Table], list[Any]], new: dict[str, type]
    ) -> Any:
        """What the source is made of, with further columns, evaluated when it is asked for.

        Parameters
        ----------
        names : sequence of str
            The columns that `each` gets.
        each : callable (Table) -> list of arrays
            The values of the new columns.
        new : dict
            Their names and types: bool, int, float or str.
        """


def is_distributed(source: Source) -> TypeGuard[Distributed]:
    """Whether functions are sent to a source's rows."""
    kind = type(source)  # a lazy frame of polars has a fold of its own
    return hasattr(kind, "fold") and hasattr(kind, "parts")


class ReadAgain(Exception):
    """Rows that were read have to be read again, from the first on.

    Parameters
    ----------
    where : str
        The row that shows it: a file and a line.
    column : str
        Whose value shows it.
    value : str
    kind : str
        What the column was read as before.
    """

    where: str
    column: str
    value: str
    kind: str

    def __init__(self, where: str, column: str, value: str, kind: str) -> None:
        super().__init__(f"{where}: column {column!r} holds {value!r}, which is not a {kind}")
        self.where, self.column, self.value, self.kind = where, column, value, kind


def restarted(read: Callable[[], R]) -> R:
    """What `read` returns, called again from the start as long as a source asks for it."""
    while True:
        try:
            return read()
        except ReadAgain:
            continue


def is_nested(column: SourceColumn) -> bool:
    """Whether a column holds more than single values; not one without values so far."""
    return column.kind is None and column.type not in ("text", "null")


# ---- what is done with the rows of each part -----------------------------------------------------
class Done(NamedTuple, Generic[R]):
    """What was done with the rows of a part.

    Parameters
    ----------
    part : Part
    before : int
        How many rows of what holds the part come before it.
    n_rows : int
    result : R
    """

    part: Part
    before: int
    n_rows: int
    result: R

    def place(self, row: int) -> str:
        """What messages call a row of the part."""
        row += self.before
        place = self.part.place(row) if self.part.place else f"row {row}"
        return f"{self.part.where}, {place}" if self.part.where else place


def over_parts(
    parts: Iterable[Part],
    do: Callable[[Table, Part], R],
    each: Callable[[Callable[[Part], Any], Iterable[Part]], Iterator[Any]] = in_order,
) -> Iterator[Done[R]]:
    """Do something with the rows of each part that has some, several parts at a time.

    Parameters
    ----------
    parts : iterable of Part
    do : callable (Table, Part) -> R
        On whatever thread.
    each : callable
        ``map`` where a part is wanted as soon as it is there.

    Yields
    ------
    Done
        In the order of the rows.

    Raises
    ------
    SourceError
        For a ValueError of `do`; the message says where its row is.
    """

    def of_part(part: Part) -> Done[R] | None:
        table = part.read()
        if not table.n_rows:
            return None
        try:
            return Done(part, 0, table.n_rows, do(table, part))
        except SourceError:
            raise
        except ValueError as error:
            raise _PartError(part, error) from error

    where, rows = "", 0  # what holds the rows so far, and how many of it have come
    try:
        for done in each(of_part, parts):
            if done is not None:
                before = rows if done.part.where == where else 0
                yield done._replace(before=before)
                where, rows = done.part.where, before + done.n_rows
    except _PartError as fault:
        part, error = fault.part, fault.error
        raise located(error, part.where, rows if part.where == where else 0, part.place) from error


class _PartError(Exception):
    """An error in the rows of a part."""

    def __init__(self, part: Part, error: ValueError) -> None:
        super().__init__(str(error))
        self.part, self.error = part, error


# ---- the place of the row that an error is about -------------------------------------------------
ROW = re.compile(r"\brow (\d+)")


def located(
    error: ValueError, where: str, before: int, place: Callable[[int], str] | None = None
) -> ValueError:
    """An error about rows of a part, as one about the rows of what the part belongs to.

    Parameters
    ----------
    error : ValueError
        Its rows are counted from the beginning of the part.
    where : str
        What the part belongs to: a file, a partition.
    before : int
        How many rows of it come before the part.
    place : callable (int) -> str, optional
        What messages call a row besides, by its number, such as "line 5".
    """
    message, kind = str(error), type(error)
    row = row_in(error)
    if row is not None and place is not None:
        where = f"{where}, {place(row + before)}"
    message = ROW.sub(lambda found: f"row {int(found[1]) + before}", message)
    message = f"{where}: {message}" if where else message
    if kind is not ValueError:
        return kind(message)
    return SourceError(message, place=where, row=None if row is None else row + before)


def row_in(error: ValueError) -> int | None:
    """The row that an error is about, from 0 in the rows that it was raised for."""
    found = ROW.search(str(error))
    return None if found is None else int(found[1])
