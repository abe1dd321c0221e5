"""One column of a live score: the cells of a row's value, and densities that follow the rows."""

from __future__ import annotations

from bisect import bisect_right
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.columns.mixed import A_NUMBER
from tallybayes.models.live.cells import LiveCells, Touched
from tallybayes.parameters import Unseen
from tallybayes.tables.values import as_scalar, as_text
from tallybayes.tally.live_terms import LiveTermCounts

__all__ = [
    "LevelsColumn",
    "NumbersColumn",
    "Outgrown",
    "TextColumn",
    "Together",
    "columns_together",
    "live_column",
]

Array = NDArray[np.float64]


class Outgrown(Exception):
    """A row for which the choices have no place."""


def live_column(part: Any, cells: LiveCells) -> LevelsColumn | NumbersColumn | TextColumn:
    """The column of a part, its cells taken into `cells`."""
    if part.reads_documents:
        return TextColumn(part)
    return LevelsColumn(part, cells) if part.holds_levels else NumbersColumn(part, cells)


def _scalar(value: Any) -> Any:
    """A number, a string, or None for a missing value. Python's own come first: they are most."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is float:
        return value if value == value else None
    if kind is int:
        return float(value)
    scalar = as_scalar(value)
    return scalar[0] if isinstance(scalar, tuple) else scalar


class LevelsColumn:
    """A column of levels, or the kinds of the values of a column of numbers."""

    name: str
    unseen: Unseen
    has_missing: bool
    density = None

    def __init__(self, part: Any, cells: LiveCells) -> None:
        self.name, self.unseen, self.has_missing = part.name, part.unseen, part.has_missing
        self.cells = cells
        self.law: int = cells.add_law(part.law, in_effective_rows=part.in_effective_rows)
        start = cells.start[self.law]
        self.missing = start
        first = start + part.has_missing
        self.place: dict[str, int] = {level: first + i for i, level in enumerate(part.levels)}
        self.other: int = first + len(part.levels)
        self.grows: bool = part.grows
        self.booleans: bool = set(part.levels) <= {"True", "False"}

    def fade(self, factor: float) -> None:
        """Nothing: cells lose their weight together."""

    def touch_missing(self, touched: Touched) -> None:
        if self.has_missing:
            self.cells.touch(self.law, self.missing, touched)

    def learn_level(self, level: str, touched: Touched) -> None:
        cell = self.place.get(level)
        if cell is None:
            cell = self.cells.add_cell(self.law) if self.grows else None
            if cell is None:
                raise Outgrown
            self.place[level] = cell
        self.cells.touch(self.law, cell, touched)

    def ask_level(self, level: str, touched: Touched) -> None:
        cell = self.place.get(level)
        if cell is None:
            if self.unseen == "error":
                raise KeyError(self.name)
            if self.unseen == "ignore":
                return
            cell = self.other
        self.cells.touch(self.law, cell, touched)

    def learn(self, value: Any, k: int, weight: float, touched: Touched) -> None:
        if type(value) is not str:
            if _scalar(value) is None:
                self.touch_missing(touched)
                return
            value = as_text(value)
            if self.booleans and value not in self.place:  # 1 is True there
                raise Outgrown
        self.learn_level(value, touched)

    def ask(self, value: Any, touched: Touched, scores: Array) -> None:
        if type(value) is not str:
            if _scalar(value) is None:
                self.touch_missing(touched)
                return
            value = as_text(value)
            if self.booleans and value not in self.place:
                raise ValueError(f"column {self.name!r} holds {value}, which a table has to read")
        self.ask_level(value, touched)


class NumbersColumn:
    """A column of numbers in cells, or as a density; strings may stand beside the numbers."""

    kinds: LevelsColumn | None
    name: str
    cells: LiveCells
    start: int
    edges: list[float]

    def __init__(self, part: Any, cells: LiveCells) -> None:
        self.group: tuple[Together, int] | None = None  # and the column's number in it
        self.name, self.cells = part.name, cells
        self.kinds = None if part.kinds is None else LevelsColumn(part.kinds, cells)
        self.density: Any = None
        if part.computed is not None:
            self.density = part.density
        else:
            self.law: int = cells.add_law(part.law)
            self.start, self.edges = cells.start[self.law], part.edges.tolist()

    def _touch(self, value: Any, touched: Touched) -> float | None:
        """Notes the cells that a value is in, or a number beside those of like columns; returns
        a number whose density follows rows by itself.

        Raises
        ------
        ValueError
            For a string that does not stand beside the numbers, and for infinity.
        """
        scalar = _scalar(value)
        if scalar is None:
            if self.kinds is not None:
                self.kinds.touch_missing(touched)
            return None
        if type(scalar) is not float:
            if self.kinds is None or scalar not in self.kinds.place:
                raise ValueError(f"column {self.name!r} holds {value!r}")
            self.kinds.ask_level(scalar, touched)
            return None
        if not isfinite(scalar):
            raise ValueError(f"column {self.name!r} holds {value!r}")
        if self.kinds is not None:
            self.kinds.ask_level(A_NUMBER, touched)
        if self.density is None:
            self.cells.touch(self.law, self.start + bisect_right(self.edges, scalar), touched)
            return None
        if self.group is not None:
            together, j = self.group
            together.note(j, scalar)
            return None
        return scalar

    def learn(self, value: Any, k: int, weight: float, touched: Touched) -> None:
        try:
            number = self._touch(value, touched)
        except ValueError:
            raise Outgrown from None
        if number is not None:
            if not self.density.takes(number):
                raise Outgrown
            if weight > 0.0:
                self.density = self.density.learned(number, k, weight)
            else:
                self._take(self.density.forgotten(number, k, -weight))

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left; cells lose theirs together."""
        if self.density is not None and self.group is None:
            self._take(self.density.faded(factor))

    def _take(self, density: Any) -> None:
        if density is None:
            raise Outgrown
        self.density = density

    def ask(self, value: Any, touched: Touched, scores: Array) -> None:
        number = self._touch(value, touched)
        if number is not None:
            scores += self.density.log_density(np.array([number]))[0]


class TextColumn:
    """A column of documents, whose terms are counted in place."""

    name: str
    density = None

    def __init__(self, part: Any) -> None:
        self.name = part.name
        counts = part.following()
        if counts is None:
            raise Outgrown
        self.counts: LiveTermCounts = counts

    def learn(self, value: Any, k: int, weight: float, touched: Touched) -> None:
        text = _scalar(value)
        if text is None:
            return
        if type(text) is not str or not self.counts.change(text, k, weight):
            raise Outgrown

    def fade(self, factor: float) -> None:
        """Takes weight from every row, which would be a pass over all terms."""
        raise Outgrown

    def ask(self, value: Any, touched: Touched, scores: Array) -> None:
        text = _scalar(value)
        if text is None:
            return
        found = self.counts.scores_of(text) if type(text) is str else None
        if found is None:
            raise ValueError(f"column {self.name!r} holds {value!r}, which a table has to read")
        scores += found


class Together:
    """Columns of numbers whose densities follow rows side by side.

    Parameters
    ----------
    columns : list of NumbersColumn
    """

    def __init__(self, columns: list[NumbersColumn]) -> None:
        densities = [column.density for column in columns]
        self.following: Any = densities[0].following(densities)
        self.at: list[int] = []
        self.x: list[float] = []
        for j, column in enumerate(columns):
            column.group = self, j

    def note(self, column: int, x: float) -> None:
        """Note a value of the present row."""
        self.at.append(column)
        self.x.append(x)

    def forget(self) -> None:
        """Begins a row."""
        self.at, self.x = [], []

    def learn(self, k: int, weight: float) -> None:
        """Learns what was noted of a row, or takes it out where the weight is below 0."""
        if not self.at:
            return
        if weight > 0.0:
            self.following.learn(self.at, self.x, k, weight)
        elif not self.following.forget(self.at, self.x, k, -weight):
            raise Outgrown

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left."""
        self.following.fade(factor)

    def ask(self, scores: Array) -> None:
        """Adds what was noted of a row to its scores."""
        if self.at:
            scores += self.following.log_density(self.at, self.x)


def columns_together(columns: list[LevelsColumn | NumbersColumn | TextColumn]) -> list[Together]:
    """The columns whose densities follow rows side by side."""
    alike: dict[Any, list[NumbersColumn]] = {}
    for column in columns:
        key = None if column.density is None else column.density.side_by_side
        if key is not None:
            alike.setdefault(key, []).append(column)  # type: ignore[arg-type]
    return [Together(some) for some in alike.values()]
