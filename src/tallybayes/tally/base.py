"""The arithmetic of all kinds of tally, and its laws.

Tallies form a commutative group under ``+`` with scaling by a real weight: there is a zero, ``+``
merges, ``-`` takes the difference, ``w * t`` multiplies the weight of every row by w. A signed
tally is a lawful difference; only a non-negative one can be estimated.

Sums of weights are linear in w: 2 * t holds what t + t holds. Sums of squared weights grow by w·|w|
and distinguish the two: t + t has twice the rows, 2 * t has the same rows with twice the weight.

The first axis of every additive array is the class, so that one operation serves all kinds.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import IncompatibleTallies

__all__ = ["RESIDUE", "Tally", "is_residue"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice
ALL = slice(None)

RESIDUE = 2.0**-40
"""The share of rows that is rounding, here and wherever counts are subtracted. What is left of a
cell after a subtraction counts as zero when it is below this share of what the cell held before and
below one half: whole weights never leave such a rest, rounded ones may."""

MAX_RESIDUE_ROWS = 2.0**-30
"""What many subtractions leave of a cell, in rows, is zero below this, if the last one took 1,000
times as much."""


def is_residue(rest: Array, before: Array) -> NDArray[np.bool_]:
    """Where `rest`, left of `before` by a subtraction, is rounding and not a count."""
    size = np.abs(rest)
    return (size <= RESIDUE * np.abs(before)) & (size < 0.5)


def is_nothing(rest: Array, before: Array) -> NDArray[np.bool_]:
    """Where `rest` is what the rounding of many subtractions has left, on either side of zero."""
    size = np.abs(rest)
    return (size < MAX_RESIDUE_ROWS) & (np.abs(before - rest) >= 1000.0 * size)


class Tally:
    """Base of the kinds of tally. A kind names its arrays and inherits the group."""

    additive: ClassVar[tuple[str, ...]]
    """Names of the arrays that add; each has the classes as its first axis."""
    squares: ClassVar[tuple[str, ...]] = ()
    """Those of the additive arrays that are sums of w·|w|: a factor f multiplies them by f·|f|."""
    frame: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays that define what is counted; they must be equal to add."""

    fixed_width: ClassVar[bool] = True
    """Whether tallies with as many classes have arrays of one shape."""

    @property
    def n_classes(self) -> int:
        return len(getattr(self, self.additive[0]))

    def _arrays(self) -> list[Array]:
        return [getattr(self, name) for name in self.additive]

    def _like(self, arrays: list[Array]) -> Self:
        """The same frame with other counts."""
        fresh = object.__new__(type(self))
        for name in self.frame:
            setattr(fresh, name, getattr(self, name))
        for name, array in zip(self.additive, arrays, strict=True):
            setattr(fresh, name, array)
        return fresh

    def _need_frame(self, other: Tally) -> None:
        if type(self) is not type(other):
            raise IncompatibleTallies(
                f"{type(self).__name__} and {type(other).__name__} do not add"
            )
        if self.n_classes != other.n_classes:
            raise IncompatibleTallies(
                f"tallies of {self.n_classes} and {other.n_classes} classes do not add; align "
                "them with `place` first"
            )
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            if self.fixed_width and mine.shape != theirs.shape and not self.frame:
                raise IncompatibleTallies(
                    f"{type(self).__name__} of {mine.shape[1]} and {theirs.shape[1]} features do "
                    "not add"
                )
        for name in self.frame:
            if not np.array_equal(getattr(self, name), getattr(other, name)):
                raise IncompatibleTallies(self._frame_differs(name))

    def _frame_differs(self, name: str) -> str:
        return f"{type(self).__name__} with different {name} do not add"

    # ---- the group ---------------------------------------------------------------------------
    def copy(self) -> Self:
        return self._like([array.copy() for array in self._arrays()])

    def zero(self) -> Self:
        """The neutral element: the same frame, nothing counted."""
        return self._like([np.zeros_like(array) for array in self._arrays()])

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        """``self[rows] += factor · other``, in place; frames are taken to be equal."""
        for name in self.additive:
            mine, theirs = getattr(self, name), getattr(other, name)
            by = self._factor(name, factor)
            mine[rows] += theirs if by == 1.0 else by * theirs

    def _factor(self, name: str, weight: float) -> float:
        """What an array is multiplied by where the weight of each row is multiplied by `weight`."""
        return weight * abs(weight) if name in self.squares else weight

    def __add__(self, other: Self) -> Self:
        self._need_frame(other)
        total = self.copy()
        total.accumulate(other)
        return total

    def __sub__(self, other: Self) -> Self:
        self._need_frame(other)
        total = self.copy()
        total.accumulate(other, -1.0)
        return total

    def __mul__(self, weight: float) -> Self:
        return self._like(
            [self._factor(name, weight) * getattr(self, name) for name in self.additive]
        )

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        """The same rows, the weight of those of class k multiplied by ``by_class[k]``."""
        arrays = []
        for name in self.additive:
            array = getattr(self, name)
            by = np.array([self._factor(name, weight) for weight in by_class.tolist()])
            arrays.append(array * by.reshape(-1, *[1] * (array.ndim - 1)))
        return self._like(arrays)

    def _weighted_class_by_class(self, by_class: Array) -> Self:
        """:meth:`weighted` of a kind whose arrays belong together, so that scaling is its own."""
        scaled = self.copy()
        for k, weight in enumerate(by_class.tolist()):
            if weight != 1.0:
                scaled.put(np.array([k]), scaled.take(np.array([k])) * weight)
        return scaled

    def __neg__(self) -> Self:
        return self * -1.0

    def __eq__(self, other: object) -> bool:
        """Equal frames and bit-equal counts."""
        if type(self) is not type(other):
            return NotImplemented
        names = (*self.frame, *self.additive)
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # tallies are mutable values

    def holds_the_same(self, other: Tally) -> bool:
        """Whether both count the same rows, in whatever order and parts they were counted."""
        return bool(self == other)

    # ---- reading and placing -------------------------------------------------------------------
    def place(self, rows: NDArray[np.intp], n_classes: int) -> Self:
        """The same counts with class i moved to rows[i] of `n_classes`."""
        placed = []
        for array in self._arrays():
            wide = np.zeros((n_classes, *array.shape[1:]))
            wide[rows] = array
            placed.append(wide)
        return self._like(placed)

    def take(self, rows: Rows) -> Self:
        """The counts of some classes, as a copy."""
        return self._like([np.array(array[rows]) for array in self._arrays()])

    def pooled(self) -> Self:
        """All classes together, as a tally of one class; halves are added, so that a thousand
        classes take ten additions."""
        pool = self.take(ALL)
        while pool.n_classes > 1:
            half = (pool.n_classes + 1) // 2
            rest = pool.take(slice(half, None))
            pool = pool.take(slice(0, half))
            pool.accumulate(rest, 1.0, slice(0, rest.n_classes))
        return pool

    def put(self, rows: Rows, other: Self) -> None:
        """Replaces the counts of some classes, in place."""
        for name in self.additive:
            getattr(self, name)[rows] = getattr(other, name)

    def settle(self, before: Self) -> None:
        """After a subtraction from `before`, in place: rounding residues become zero."""
        for name in self.additive:
            if name in self.squares:
                continue
            rest = getattr(self, name)
            was = getattr(before, name)
            rest[is_residue(rest, was) | is_nothing(rest, was)] = 0.0

    def deficit(self) -> tuple[int, int, str] | None:
        """The first (class, column) that more was taken from than it held, and what shows it.

        None for a tally that some rows could have produced, as far as the tally shows.
        """
        for name in self.additive:
            array = getattr(self, name)
            if array.size and array.min() < 0.0:
                k, *cell = np.argwhere(array < 0.0)[0].tolist()
                found = float(array[(k, *cell)])
                return k, self._column_of(cell), f"{found:.17g}"
        return None

    def _column_of(self, cell: list[int]) -> int:
        return cell[0] if cell else -1

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Every array by name: what is saved."""
        return {name: getattr(self, name) for name in (*self.frame, *self.additive)}

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{getattr(self, name).shape}" for name in self.additive)
        return f"{type(self).__name__}({shapes})"
