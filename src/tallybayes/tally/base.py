"""The arithmetic of all kinds of tally, and its laws.

Tallies form a commutative group under ``+`` with scaling by a real weight: there is a zero, ``+``
merges, ``-`` takes the difference, ``w * t`` multiplies the weight of every row by w. A signed
tally is a lawful difference; only a non-negative one can be estimated.

Sums of weights are linear in w: 2 * t holds what t + t holds. Sums of squared weights grow by w·|w|
and distinguish the two: t + t has twice the rows, 2 * t has the same rows with twice the weight.

The first axis of every additive array is the class, so that one operation serves all kinds.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies
from tallybayes.persistence import Shape, Within

__all__ = [
    "RESIDUE",
    "UNIT_ROWS",
    "ClassCounts",
    "FeatureSums",
    "LevelCounts",
    "RowWeights",
    "Tally",
    "effective_row_weight",
    "effective_rows",
    "is_residue",
    "less",
]


# ---- the arithmetic of all kinds of tally, and its laws ------------------------------------------
# Tallies form a commutative group under ``+`` with scaling by a real weight: there is a zero,
# ``+`` merges, ``-`` takes the difference, ``w * t`` multiplies the weight of every row by w. A
# signed tally is a lawful difference; only a non-negative one can be estimated.
#
# Sums of weights are linear in w: 2 * t holds what t + t holds. Sums of squared weights grow by
# w·|w| and distinguish the two: t + t has twice the rows, 2 * t has the same rows with twice the
# weight.
#
# The first axis of every additive array is the class, so that one operation serves all kinds.
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


def less(whole: Array, part: Array | float, of: Array | None = None) -> Array:
    """whole − part of weights, elementwise; what can only be rounding is 0.

    A whole that may itself be what is left `of` a larger weight is rounded beside that.
    """
    rest: Array = np.asarray(whole - part)
    rounding = rest <= RESIDUE * whole
    if of is not None:
        rounding |= (rest <= RESIDUE * of) & (rest < 0.5)
    rest[rounding] = 0.0
    return rest


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
    carried: ClassVar[tuple[str, ...]] = ()
    """Names of bounds that every tally of the same rows keeps; where two meet, the larger one."""

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
        for name in (*self.frame, *self.carried):
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

    def mixed(self, weights: Any) -> Self:
        """The counts of classes that are sums of these ones, each times its weight; those of
        squares as well, so that an effective row weighs what it did.

        Parameters
        ----------
        weights : sparse array (n_new_classes, n_classes)
            In CSR format.
        """
        arrays = []
        for array in self._arrays():
            flat = weights @ array.reshape(len(array), -1)
            arrays.append(flat.reshape(weights.shape[0], *array.shape[1:]))
        return self._like(arrays)

    def put(self, rows: Rows, other: Self) -> None:
        """Replaces the counts of some classes, in place."""
        for name in self.additive:
            getattr(self, name)[rows] = getattr(other, name)

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """After a subtraction from `before`, in place: rounding residues become zero. Sums of
        squares look at `decayed`, the largest weight of a class since weights were multiplied."""
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


# ---- effective rows ------------------------------------------------------------------------------
# Effective numbers of rows: how many rows of one weight carry as much information as the weighted
# rows do.
#
# A weight is a unit of counts, and a common factor on all weights does not change how many rows
# there are. Whatever is compared with a number of rows, or with nats that rows gain, is therefore
# compared in effective rows.
# rows (L. Kish, Survey Sampling, Wiley, 1965, section 11.7: the design effect of unequal weights,
# 1 + cv²(w) = n Σw² / (Σw)², by which n rows are worth n_eff = (Σw)² / Σw²).
class RowWeights(NamedTuple):
    """The weight of one effective row.

    Parameters
    ----------
    by_class : float64 array (n_classes, 1) or (1, 1)
        u_c: the weight taken out of a class for one of its rows, if only counts are known.
    overall : float
        u, all classes together: the unit of what is stated in rows.
    """

    by_class: Array
    overall: float

    @property
    def at_least_one(self) -> float:
        """What multiplies a smoothing that is declared, where the model chose the family: u, where
        that is more than 1. A row of weight 1,000 is then evidence of one row, and rows that
        weigh less, those that decay too, are smoothed as was declared."""
        return max(1.0, self.overall)


UNIT_ROWS = RowWeights(np.ones((1, 1)), 1.0)
"""Rows of weight 1."""


def effective_row_weight(count: Array, squared_weights: Array) -> Array:
    """u = Σw² / Σw, the weight of one effective row: the mean weight of a row, met by weight.

    Parameters
    ----------
    count : float64 array
        Σw, in units of weight.
    squared_weights : float64 array of the same shape
        Σw².

    Returns
    -------
    float64 array of the same shape
        Above 0 and finite. Rows of weight w have u = w. No row weighs more than all rows together,
        so u ≤ Σw. Where nothing was counted, or the squares left the range of float64, u is 1.
    """
    known = (count > 0.0) & (squared_weights > 0.0) & np.isfinite(squared_weights)
    weight = np.ones_like(count)
    np.divide(squared_weights, count, out=weight, where=known)
    usable = known & (weight > 0.0)
    return np.where(usable, np.minimum(weight, count), 1.0)


def effective_rows(count: Array, squared_weights: Array) -> Array:
    """n_eff = (Σw)² / Σw² [1]_, Kish's effective number of rows.

    Parameters
    ----------
    count, squared_weights : float64 arrays of one shape
        As in :func:`effective_row_weight`.

    Returns
    -------
    float64 array of the same shape
        In rows, 0 where nothing was counted; n rows of one weight are n effective rows.
    """
    return np.maximum(count, 0.0) / effective_row_weight(count, squared_weights)


# ---- rows, or weight, of each class: Σ I(y = c), the numerator of equation (9) -------------------
ROUNDING = 2.0**-48
"""The share of squared weights below which a difference of them is rounding."""


class ClassCounts(Tally):
    """Class counts, with the squared weights from which effective rows follow.

    Parameters
    ----------
    count : float64 array (n_classes,)
        Rows, or weight, of each class: Σw.
    squared_weights : float64 array (n_classes,), optional
        Σ w·|w| of each class, so that rows removed subtract. By default `count`: rows of
        weight 1.
    """

    additive: ClassVar[tuple[str, ...]] = ("count", "squared_weights")
    squares: ClassVar[tuple[str, ...]] = ("squared_weights",)

    def __init__(self, count: Array, squared_weights: Array | None = None) -> None:
        self.count = count
        self.squared_weights: Array = count.copy() if squared_weights is None else squared_weights

    @classmethod
    def zeros(cls, n_classes: int) -> ClassCounts:
        return cls(np.zeros(n_classes))

    @property
    def effective_rows(self) -> Array:
        """Kish's effective number of rows of each class, (n_classes,)."""
        return effective_rows(self.count, self.squared_weights)

    @property
    def row_weight(self) -> Array:
        """The weight of one effective row of each class, (n_classes,).

        A class without rows has that of all classes together.
        """
        return self.row_weights.by_class[:, 0]

    @property
    def pooled_effective_rows(self) -> float:
        """Kish's effective number of rows, all classes together."""
        pooled = self.count.sum(keepdims=True), self.squared_weights.sum(keepdims=True)
        return float(effective_rows(*pooled)[0])

    @property
    def pooled_row_weight(self) -> float:
        """The weight of one effective row, all classes together; 1 where nothing was counted."""
        pooled = self.count.sum(keepdims=True), self.squared_weights.sum(keepdims=True)
        return float(effective_row_weight(*pooled)[0])

    @property
    def row_weights(self) -> RowWeights:
        """The weight of one effective row, of each class and of all together."""
        own, overall = (
            effective_row_weight(self.count, self.squared_weights),
            self.pooled_row_weight,
        )
        return RowWeights(np.where(self.count > 0.0, own, overall)[:, None], overall)

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """As for every tally; and where the rest of the squared weights cannot be that of rows, the
        rows left are taken to be as heavy as the ones before.

        That happens where rows are removed with other weights than they were counted with: the
        counts are right all the same. Where heavy rows leave only rounding of light ones, those are
        taken to weigh 1.
        """
        super().settle(before)
        rest, count = self.squared_weights, self.count
        possible = (rest > 0.0) & (rest <= count * count * (1.0 + RESIDUE))
        possible &= ~is_residue(rest, before.squared_weights)
        unknown = np.abs(rest) <= ROUNDING * before.squared_weights
        row_weight = np.where(unknown, np.minimum(before.row_weight, 1.0), before.row_weight)
        as_before = np.minimum(row_weight, count) * count
        self.squared_weights = np.where(possible & ~unknown, rest, as_before)
        self.squared_weights[count == 0.0] = 0.0

    def deficit(self) -> tuple[int, int, str] | None:
        negative = np.flatnonzero(self.count < 0.0)
        if not len(negative):
            return None
        k = int(negative[0])
        return k, -1, f"{self.count[k]:.17g}"


# ---- rows, or weight, of each level in each class: Σ I(x_j = a, y = c) of equation (10) ----------
class LevelCounts(Tally):
    """Level counts, the columns side by side.

    Parameters
    ----------
    start : int64 array (n_features + 1,)
        Column j has the cells ``start[j] … start[j+1]−1``, one for each level.
    counts : float64 array (n_classes, start[-1])
        Rows, or weight.
    """

    additive: ClassVar[tuple[str, ...]] = ("counts",)
    frame: ClassVar[tuple[str, ...]] = ("start",)

    def __init__(
        self,
        start: Annotated[NDArray[np.int64], Shape("n_starts")],
        counts: Annotated[NDArray[np.float64], Shape("n_classes", "n_cells"), Within(0.0)],
    ) -> None:
        self.start = start
        self.counts = counts

    @classmethod
    def zeros(cls, n_classes: int, n_levels: NDArray[np.int64]) -> LevelCounts:
        start = np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)
        return cls(start, np.zeros((n_classes, int(start[-1]))))

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each column, int64 (n_features,)."""
        return self.start[1:] - self.start[:-1]  # quicker than np.diff for few

    @property
    def n_features(self) -> int:
        return len(self.start) - 1

    def column(self, j: int) -> NDArray[np.float64]:
        """The counts of one column, (n_classes, N_j), a view."""
        return self.counts[:, self.start[j] : self.start[j + 1]]

    def totals(self) -> NDArray[np.float64]:
        """n_cj, the weight of each class in each column, (n_classes, n_features)."""
        if not self.counts.shape[1]:
            return np.zeros((self.n_classes, self.n_features))
        # reduceat reads an empty column as its neighbour's first cell: such columns are set to 0
        padded = np.concatenate([self.counts, np.zeros((self.n_classes, 1))], axis=1)
        totals = np.add.reduceat(padded, self.start[:-1], axis=1)
        totals[:, self.n_levels == 0] = 0.0
        return totals

    def widen(self, n_levels: NDArray[np.int64]) -> Self:
        """The same counts in a frame with more levels; new levels have no counts."""
        if np.array_equal(n_levels, self.n_levels):
            return self
        if (n_levels < self.n_levels).any():
            raise IncompatibleTallies("a column can only gain levels")
        wide = LevelCounts.zeros(self.n_classes, n_levels)
        old = np.arange(int(self.start[-1])) + np.repeat(
            wide.start[:-1] - self.start[:-1], self.n_levels
        )
        wide.counts[:, old] = self.counts
        return wide  # type: ignore[return-value]

    def moved(self, n_levels: NDArray[np.int64], to: NDArray[np.intp]) -> Self:
        """The same counts with cell i moved to cell to[i] of a frame with `n_levels`."""
        wide = LevelCounts.zeros(self.n_classes, n_levels)
        wide.counts[:, to] = self.counts
        return wide  # type: ignore[return-value]

    def narrowed(self, kept: NDArray[np.bool_]) -> Self:
        """The counts of some cells, a mask (n_cells,), each in its column."""
        before = np.concatenate([[0], np.cumsum(kept)])[self.start].astype(np.int64)
        return LevelCounts(before, np.ascontiguousarray(self.counts[:, kept]))  # type: ignore[return-value]

    def _column_of(self, cell: list[int]) -> int:
        return int(np.searchsorted(self.start, cell[0], side="right")) - 1


# ---- sums of non-negative features by class: Σ w·x, or Σ w·[x > threshold] -----------------------
class FeatureSums(Tally):
    """Feature sums.

    Parameters
    ----------
    sums : float64 array (n_classes, n_features)
    """

    additive: ClassVar[tuple[str, ...]] = ("sums",)

    def __init__(
        self, sums: Annotated[NDArray[np.float64], Shape("n_classes", "n_features"), Within(0.0)]
    ) -> None:
        self.sums = sums

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> FeatureSums:
        """No rows counted. A large table is in huge pages, where the system has them."""
        table = _kernels.huge_table(n_classes, n_features)
        return cls(np.zeros((n_classes, n_features)) if table is None else table)
