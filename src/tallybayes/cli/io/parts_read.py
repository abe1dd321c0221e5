"""The parts of a source that have been read, and where each of its rows stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.sources.contract import Part

__all__ = ["PartRead", "PartsRead"]


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
        before = sum(p.n_rows for p in self.parts[:i] if p.where == part.where)
        return part.where, part.called(before + row)

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
