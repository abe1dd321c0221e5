"""What a source of rows is: its columns, and its rows in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from tallybayes.tables import Table

__all__ = ["CELLS", "Part", "ReadAgain", "Source", "SourceColumn", "restarted"]

R = TypeVar("R")

CELLS = 1 << 23
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
