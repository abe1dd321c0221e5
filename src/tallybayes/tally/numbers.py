"""What is counted of numbers: moments, cross moments and level counts on a grid of their own bits.

Moments of each column by class are about a fixed origin c: n, S1 = Σw(x−c), S2 = Σw(x−c)². All
sums are double-doubles (a float64 and its rounding error). Adding, subtracting and moving the
origin are exact to 2⁻¹⁰⁰ relative to the sums themselves. What enters is a chunk of n ≤ 8192 rows
of a class, summed about a point b near them with an error of at most (n+4)²·2⁻¹⁰⁰·Σ|w|(x−b)²,
usually n times less, and none where x − b has few digits. So a row of 10¹² that is removed leaves
the others' variance, whatever rows it was added or removed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import Ascending, Shape, Within
from tallybayes.tally.base import ALL, MAX_RESIDUE_ROWS, Rows, Tally, is_nothing, is_residue

__all__ = [
    "BUDGET",
    "VANISHING",
    "CrossMoments",
    "GridCounts",
    "Moments",
    "lower_edges_of",
    "origin_of",
]

VANISHING = 2.0**-90
"""A sum of squares about the mean below this share of S2 is rounding of the double-doubles."""

ROUNDING, FRACTIONAL_ROUNDING = 2.0**-88, 2.0**-82
"""What the rounding of chunks leaves of the largest sum of squares about the mean that was ever
held: of whole weights, and of others. A sum of squares below it cannot be distinguished from 0."""

MOVED_ROUNDING = 2.0**-97
"""What many steps of double-doubles leave of the largest S2 that was ever held, besides."""

DECAYED_ROUNDING = 2.0**-51
"""The same of squares about the mean where a decay has multiplied weights: who forgets a row then
knows its weight to the last place of a float64 only."""

WHOLE_SLACK, FRACTIONAL_SLACK = 2.0**-80, 2.0**-37
"""How far below 0 a sum of squares may fall, relative to what was held, where all weights are whole
and where they are not: weights that were multiplied before are known to 2⁻⁵³ only."""

TINY = float(np.finfo(np.float64).tiny)
"""How far below 0 it may fall in any case: smaller squares have lost digits, or all of them."""

LEFT_OUT, LEFT_OUT_SHARE = 2.0**-890, 2.0**-50
"""The rounding errors of products are left out of sums where they are below 2⁻⁹⁰⁰, so that a sum of
squares is known to float64 only: what that can be of it, at most, and as a share of S2."""

Array = NDArray[np.float64]
OfFeatures = Annotated[Array, Shape("n_features")]
OfClasses = Annotated[Array, Shape("n_classes")]
OfEach = Annotated[Array, Shape("n_classes", "n_features")]
OfProducts = Annotated[Array, Shape("n_classes", "n_products")]
Index = NDArray[np.intp]


def origin_of(x: NDArray[Any]) -> Array:
    """An origin for the moments of the rows of x (n_rows, n_features): of the first three rows the
    median, so that one far row is not it; without rows, or where they are not finite, 0."""
    first = np.asarray(x[:3], dtype=np.float64)
    if not len(first):
        return np.zeros(first.shape[1])
    origin: Array = np.sort(first, axis=0)[1] if len(first) == 3 else first[0].copy()
    origin[~np.isfinite(origin)] = 0.0
    return origin


class _SumsOfSquares(Tally):
    """What both kinds of moments know of the rounding in their sums.

    Attributes
    ----------
    largest : float64 array (2, n_features), or 0.0
        The largest S2 of a class and the largest sum of squares about its mean that were held when
        rows were taken out: they bound the rounding that rows long gone have left.
    """

    additive: ClassVar[tuple[str, ...]] = ("n", "s1_hi", "s1_lo", "s2_hi", "s2_lo", "n_lo")
    frame: ClassVar[tuple[str, ...]] = ("origin",)
    carried: ClassVar[tuple[str, ...]] = ("largest",)

    origin: Array
    n: Array
    n_lo: Array
    s1_hi: Array
    s1_lo: Array
    s2_hi: Array
    s2_lo: Array
    largest: Array | float = 0.0

    _what: ClassVar[str]
    _add: ClassVar[Callable[..., None]]
    """What adds the totals of one, times a factor, to those of another."""

    @property
    def totals(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """n, the halves of S1 and S2, and the rest of n, as the kernels take them."""
        return (self.n, *self.sums, self.n_lo)

    @property
    def sums(self) -> tuple[Array, Array, Array, Array]:
        """The halves of S1 and S2."""
        return self.s1_hi, self.s1_lo, self.s2_hi, self.s2_lo

    def _frame_differs(self, name: str) -> str:
        return (
            f"{self._what} about different origins do not add; move one of them first: "
            "a + b.rebased(a.origin)"
        )

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        if rows is not ALL:
            part = self.take(rows)
            part.accumulate(other, factor)
            self.put(rows, part)
            return
        type(self)._add(*self.totals, *other.totals, factor)
        self.take_bounds(other.largest)

    def __mul__(self, weight: float) -> Self:
        scaled = self.zero()
        scaled.accumulate(self, weight)
        return scaled

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        scaled = self.copy()  # the halves of a sum belong together
        for k, weight in enumerate(by_class.tolist()):
            if weight != 1.0:
                scaled.put(np.array([k]), scaled.take(np.array([k])) * weight)
        return scaled

    def take_bounds(self, largest: Array | float) -> None:
        """Keeps the larger of two bounds, column by column."""
        if largest is not self.largest and np.any(largest):
            self.largest = np.maximum(self.largest, largest)

    def put(self, rows: Rows, other: Self) -> None:
        super().put(rows, other)
        self.take_bounds(other.largest)


class Moments(_SumsOfSquares):
    """Moments about an origin.

    Parameters
    ----------
    origin : float64 array (n_features,)
        The fixed c. Tallies about different origins do not add; see :meth:`rebased`.
    n : float64 array (n_classes, n_features)
        Rows, or weight, with a value: each feature has its own.
    s1_hi, s1_lo, s2_hi, s2_lo : float64 arrays (n_classes, n_features)
        S1 and S2, each as an unevaluated sum hi + lo.
    n_lo : float64 array (n_classes, n_features), optional
        The rounding error of n: n + n_lo is the weight. 0 for whole weights. Without it a mean far
        from the origin would not fit the sums.
    """

    _what, _add = "moments", _kernels.add_moments

    def __init__(
        self,
        origin: OfFeatures,
        n: Annotated[OfEach, Within(0.0)],
        s1_hi: OfEach,
        s1_lo: OfEach,
        s2_hi: OfEach,
        s2_lo: OfEach,
        n_lo: OfEach | None = None,
    ) -> None:
        self.origin = origin
        self.n = n
        self.n_lo: Array = np.zeros_like(n) if n_lo is None else n_lo
        self.s1_hi, self.s1_lo = s1_hi, s1_lo
        self.s2_hi, self.s2_lo = s2_hi, s2_lo

    @classmethod
    def zeros(cls, n_classes: int, origin: Array) -> Moments:
        shape = (n_classes, len(origin))
        return cls(origin, *(np.zeros(shape) for _ in range(6)))

    @classmethod
    def of_values(cls, values: Array, counts: Array) -> Moments:
        """Moments of one column from its values (n_values,), finite, and how often each class has
        each, (n_classes, n_values)."""
        n, x = len(counts), np.tile(values, len(counts))
        codes = np.repeat(np.arange(n, dtype=np.int32), len(values))
        weights = np.ascontiguousarray(counts).ravel()
        moments, weight, rest = cls.zeros(n, origin_of(x[:, None])), np.zeros(n), np.zeros(n)
        _kernels.count_classes(codes, weights, weight, 1, rest)
        moments.add_weight(weight[:, None], rest[:, None])
        _kernels.moments_dense(x, codes, weights, moments.origin, *moments.sums, 1)
        return moments

    def holds_the_same(self, other: Tally) -> bool:
        """Whether n is equal, and the sums are to the rounding of double-doubles: they depend on
        the order of rows in their last digits."""
        if not isinstance(other, Moments) or not np.array_equal(self.origin, other.origin):
            return False
        apart = self.copy()
        apart.accumulate(other, -1.0)
        size = np.abs(self.s2_hi) + np.abs(other.s2_hi)
        s1, s2 = VANISHING * np.sqrt(np.abs(self.n)) * np.sqrt(size), VANISHING * size
        equal = np.array_equal(self.n, other.n) and np.all(np.abs(apart.s1_hi) <= s1 + TINY)
        return bool(equal and np.all(np.abs(apart.s2_hi) <= s2 + TINY))

    def add_weight(self, weight: Array | float, rest: Array | float = 0.0, rows: Any = ALL) -> None:
        """n of some classes, all features, += weight + rest, in place, as a double-double."""
        n, lo = self.n[rows], self.n_lo[rows]
        total = n + weight
        back = total - n
        lo = lo + ((n - (total - back)) + (weight - back) + rest)
        self.n[rows] = total + lo
        self.n_lo[rows] = lo - (self.n[rows] - total)

    def pooled(self) -> Self:
        # as that of every tally, without a tally for each half: tables pool each column by itself
        pool, rows = self.copy(), self.n_classes
        while rows > 1:
            half = (rows + 1) // 2
            first, rest = pool._part(slice(rows - half)), pool._part(slice(half, rows))
            _kernels.add_moments(*first.totals, *rest.totals, 1.0)
            rows = half
        return pool._part(slice(rows))

    def column(self, j: int) -> Self:
        """The moments of one feature, a copy."""
        totals = (np.ascontiguousarray(array[:, j : j + 1]) for array in self.totals)
        column = type(self)(self.origin[j : j + 1].copy(), *totals)
        column.largest = self._largest_of(slice(j, j + 1))
        return column

    def _largest_of(self, features: Any) -> Array | float:
        largest = self.largest
        return largest if isinstance(largest, float) else largest[:, features]

    def _part(self, rows: Any) -> Self:
        """Some classes, whose counts are those of this tally and no copy."""
        part = type(self)(self.origin, *(array[rows] for array in self.totals))
        part.largest = self.largest
        return part

    def rebased(self, origin: Array) -> Self:
        """The same rows about another origin.

        S1 += nδ and S2 += 2δS1 + nδ², δ the move, in double-double arithmetic: the error is below
        2⁻¹⁰⁰·(|S2| + nδ²).
        """
        moved = self.copy()
        _kernels.rebase_moments(*moved.totals, self.origin, origin)
        moved.origin = origin
        return moved

    def mean_and_squares(self) -> tuple[Array, Array]:
        """Means and sums of squares about them, both (n_classes, n_features); where n = 0 the
        origin and 0."""
        mean, squares = np.empty_like(self.n), np.empty_like(self.n)
        _kernels.centre_moments(*self.totals, self.origin, VANISHING, mean, squares)
        return mean, squares

    def without(
        self, classes: Index, features: Index, x: Array, weight: Array
    ) -> tuple[Array, Array, Array]:
        """n, mean and sum of squares of some cells, each after one row is taken out, as exact as
        :meth:`settle` leaves them where rows are forgotten.

        Parameters
        ----------
        classes, features : index arrays (n_cells,)
        x, weight : float64 arrays (n_cells,)
            The value of the row in the feature, and its weight.
        """
        origin = self.origin[features]
        before = Moments(origin, *(part[classes, features][None, :] for part in self.totals))
        before.largest = self._largest_of(features)
        nothing = (np.zeros((1, len(x))) for _ in range(5))
        row = Moments(x, weight[None, :].copy(), *nothing).rebased(origin)
        left = before + row * -1.0
        left.settle(before)
        mean, squares = left.mean_and_squares()
        return left.n[0], mean[0], squares[0]

    def _about(self, points: Array) -> Self:
        """The same rows, each cell about a point of its own (n_classes, n_features), as one class
        of as many features."""
        cells = [array.reshape(1, -1).copy() for array in self.totals]
        origin = np.broadcast_to(self.origin, points.shape).ravel()
        return type(self)(origin, *cells).rebased(points.ravel())

    def _place_at_mean(self, where: NDArray[np.bool_]) -> None:
        """Cells whose sum of squares is rounding: all their rows are at their mean."""
        mean = self.mean_and_squares()[0]
        n, lo = self.n[where][None, :], self.n_lo[where][None, :]
        none = np.zeros_like(n)
        cells = Moments(mean[where], n, none, none, none, none, lo)
        cells = cells.rebased(np.broadcast_to(self.origin, mean.shape)[where])
        for sums, at_mean in zip(self.sums, cells.sums, strict=True):
            sums[where] = at_mean[0]

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """Rounding residues of n become zero; with them the sums, if those are residues too. A sum
        of squares that cannot be distinguished from 0 becomes zero.

        Parameters
        ----------
        before : Moments
            What rows were taken from.
        decayed : float
            The largest weight of a class since weights were multiplied; 0 if they never were.
        """
        before_mean, held = before.mean_and_squares()
        self.take_bounds(before.largest)
        self.take_bounds(_largest_of_classes(before.s2_hi, held))
        weight = self.n + self.n_lo
        gone = is_residue(weight, before.n) | is_nothing(weight, before.n)
        self.n[gone] = self.n_lo[gone] = 0.0
        most = np.broadcast_to(self.largest, (2, self.n.shape[1]))
        about_origin, held = np.abs(before.s2_hi) + most[0], np.abs(held) + most[1]
        whole = before._whole() & self._whole()
        fractions = self._slack_of_fractions(before, most[0])
        slack = np.where(whole, WHOLE_SLACK * about_origin, fractions)
        left_out = np.minimum(LEFT_OUT, LEFT_OUT_SHARE * about_origin)
        slack += left_out + TINY
        # without rows, sums on the positive side may be rounding of rows long gone: only a negative
        # sum of squares shows that other rows were removed than had been learned
        left = self._about(before_mean).s2_hi.reshape(before_mean.shape)
        empty = (self.n == 0.0) & (left >= -slack)
        for sums in self.sums:
            sums[empty] = 0.0
        _, squares = self.mean_and_squares()
        rounding = (squares < 0.0) & (squares >= -slack)
        unknown = MOVED_ROUNDING * about_origin
        unknown += np.where(whole, ROUNDING, FRACTIONAL_ROUNDING) * held
        if decayed:  # residues of weights are rows that are as far away as those removed were
            rows = np.maximum(decayed, np.abs(before.n)) / np.where(self.n > 0.0, self.n, 1.0)
            unknown += DECAYED_ROUNDING * held * (1.0 + rows)
        rounding |= np.abs(squares) <= unknown + left_out
        rounding &= (self.n > 0.0) & (squares != 0.0)
        if rounding.any():
            self._place_at_mean(rounding)

    def largest_squares(self) -> Array:
        """The largest S2 of a class and the largest sum of squares about its mean that it holds or
        has held, (2, n_features)."""
        now = _largest_of_classes(self.s2_hi, self.mean_and_squares()[1])
        return np.maximum(now, self.largest)

    @property
    def rounding(self) -> float:
        """The share of a sum of squares that is rounding where rows are taken out."""
        return ROUNDING if self._whole().all() else FRACTIONAL_ROUNDING

    @property
    def rest(self) -> Array:
        """What rounding of rows long gone may have left of sums of squares, (n_features,)."""
        about_origin, about_mean = np.broadcast_to(self.largest, (2, self.n.shape[1]))
        left: Array = MOVED_ROUNDING * about_origin + self.rounding * about_mean
        return left

    def _whole(self) -> NDArray[np.bool_]:
        """Where n is a whole number, and exact."""
        return (self.n_lo == 0.0) & (np.floor(self.n) == self.n)  # type: ignore[no-any-return]

    def _slack_of_fractions(self, before: Self, largest_squares: Array | float) -> Array:
        """How far below 0 the rounding of fractional weights can leave squares about the mean."""
        mean, held = before.mean_and_squares()
        taken = before.copy()
        taken.accumulate(self, -1.0)
        squares_taken = np.abs(taken._about(mean).s2_hi).reshape(mean.shape)
        slack = FRACTIONAL_SLACK * (np.abs(held) + squares_taken + largest_squares)
        slack += MAX_RESIDUE_ROWS * (1.0 + mean**2)
        return slack + WHOLE_SLACK * np.abs(before.s2_hi)

    def deficit(self) -> tuple[int, int, str] | None:
        if self.n.size and self.n.min() < 0.0:
            k, j = np.argwhere(self.n < 0.0)[0].tolist()
            return k, j, f"n = {self.n[k, j]:.17g}"
        emptied = (self.n == 0.0) & ((self.s1_hi != 0.0) | (self.s2_hi != 0.0))
        if emptied.any():
            k, j = np.argwhere(emptied)[0].tolist()
            return k, j, f"n = 0 but a sum of squares of {self.s2_hi[k, j]:.17g} about the origin"
        _, squares = self.mean_and_squares()
        if squares.size and squares.min() < -TINY:  # what is nearer to 0 has no digits
            k, j = np.argwhere(squares < -TINY)[0].tolist()
            return k, j, f"a sum of squares of {squares[k, j]:.17g} about the mean"
        return None


def _largest_of_classes(about_origin: Array, about_mean: Array) -> Array:
    """The largest S2 and sum of squares about the mean of each column, (2, n_features)."""
    held = about_origin, about_mean
    return np.stack([np.abs(squares).max(axis=0, initial=0.0) for squares in held])


# ---- products of columns, besides ----------------------------------------------------------------
# Cross moments of columns that are read together, by class, about a fixed origin c: n, S1 =
# Σw(x−c), S2 = Σw(x−c)(x−c)ᵀ.
#
# Only rows with a value in every one of the columns are counted: so all sums are of the same rows,
# and S2 about the mean is a covariance. The running sums are double-doubles, as those of
# :class:`tallybayes.tally.Moments` are: adding, subtracting and moving the origin are exact to
# 2⁻¹⁰⁰ relative to the sums themselves. What enters is a chunk of n ≤ 8192 rows of a class summed
# about a point b near them; the error of a product is at most
# (n+4)²·2⁻¹⁰⁰·Σ|w||x_i−b_i||x_j−b_j|.
class CrossMoments(_SumsOfSquares):
    """Moments and products of d columns about an origin.

    Parameters
    ----------
    origin : float64 array (d,)
        The fixed c. Tallies about different origins do not add; see :meth:`rebased`.
    n, n_lo : float64 arrays (n_classes,)
        Rows, or weight, with a value in every column, as an unevaluated sum.
    s1_hi, s1_lo : float64 arrays (n_classes, d)
        S1, as an unevaluated sum.
    s2_hi, s2_lo : float64 arrays (n_classes, d(d+1)/2)
        The lower triangle of S2, row by row.
    """

    _what, _add = "cross moments", _kernels.add_cross

    def __init__(
        self,
        origin: OfFeatures,
        n: Annotated[OfClasses, Within(0.0)],
        s1_hi: OfEach,
        s1_lo: OfEach,
        s2_hi: OfProducts,
        s2_lo: OfProducts,
        n_lo: OfClasses,
    ) -> None:
        self.origin = origin
        self.n, self.n_lo = n, n_lo
        self.s1_hi, self.s1_lo = s1_hi, s1_lo
        self.s2_hi, self.s2_lo = s2_hi, s2_lo

    @classmethod
    def zeros(cls, n_classes: int, origin: Array) -> CrossMoments:
        d = len(origin)
        widths = (d, d, d * (d + 1) // 2, d * (d + 1) // 2)
        s1_hi, s1_lo, s2_hi, s2_lo = (np.zeros((n_classes, width)) for width in widths)
        n, n_lo = np.zeros(n_classes), np.zeros(n_classes)
        return cls(origin, n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo)

    def holds_the_same(self, other: Tally) -> bool:
        """Whether n is equal, and the sums are to the rounding of double-doubles."""
        if not isinstance(other, CrossMoments):
            return False
        if not self.columns().holds_the_same(other.columns()):
            return False
        of_each = np.sqrt(np.abs(self.columns().s2_hi) + np.abs(other.columns().s2_hi))
        i, j = np.tril_indices(len(self.origin))
        apart = self.copy()
        apart.accumulate(other, -1.0)
        size = VANISHING * of_each[:, i] * of_each[:, j]
        return bool(np.all(np.abs(apart.s2_hi) <= size + TINY))

    def rebased(self, origin: Array) -> Self:
        """The same rows about another origin.

        S1 += nδ and S2 += δS1ᵀ + S1δᵀ + nδδᵀ, δ the move, in double-double arithmetic: the error is
        below 2⁻¹⁰⁰·(|S2_ij| + |δ_i S1_j| + |δ_j S1_i| + |nδ_iδ_j|).
        """
        moved = self.copy()
        _kernels.rebase_cross(*moved.totals, self.origin, origin)
        moved.origin = origin
        return moved

    def mean_and_scatter(self) -> tuple[Array, Array]:
        """Means (n_classes, d), and sums of squares and products about them (n_classes, d, d);
        where n = 0 the origin and 0."""
        d = len(self.origin)
        mean, scatter = np.empty((self.n_classes, d)), np.empty((self.n_classes, d, d))
        _kernels.centre_cross(*self.totals, self.origin, VANISHING, mean, scatter)
        return mean, scatter

    def mean_and_squares(self) -> tuple[Array, Array]:
        """Means and sums of squares about them, both (n_classes, d)."""
        return self.columns().mean_and_squares()

    def columns(self) -> Moments:
        """The columns one by one: what is on the diagonal."""
        shape = self.s1_hi.shape
        at = _diagonal(shape[1])
        n, lo = (np.repeat(part[:, None], shape[1], axis=1) for part in (self.n, self.n_lo))
        s2_hi, s2_lo = (np.ascontiguousarray(part[:, at]) for part in (self.s2_hi, self.s2_lo))
        s1 = self.s1_hi.copy(), self.s1_lo.copy()
        columns = Moments(self.origin, n, *s1, s2_hi, s2_lo, lo)
        columns.largest = self.largest
        return columns

    def without(self, classes: Index, x: Array, weight: Array) -> tuple[Array, Array, Array]:
        """n (n_rows,), means (n_rows, d) and sums of squares and products (n_rows, d, d) of
        classes, each after one row is taken out, as exact as :meth:`settle` leaves them where rows
        are forgotten.

        Parameters
        ----------
        classes : index array (n_rows,)
        x : float64 array (n_rows, d)
        weight : float64 array (n_rows,)
        """
        before = self.take(classes)
        row, codes = before.zero(), np.arange(len(x), dtype=np.int32)
        x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
        _kernels.cross_dense(x, codes, weight, self.origin, *row.totals, 1)
        left = before + row * -1.0
        left.settle(before)
        return left.n, *left.mean_and_scatter()

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """Rounding residues become zero, as those of the columns one by one do
        (:meth:`tallybayes.tally.Moments.settle`); the products of a column that is left without
        squares become zero about the mean.
        """
        columns = self.columns()
        was = columns.copy()
        columns.settle(before.columns(), decayed=decayed)
        self.take_bounds(columns.largest)
        at = _diagonal(len(self.origin))
        for mine, one_by_one in zip((self.n, self.n_lo), (columns.n, columns.n_lo), strict=True):
            mine[:] = one_by_one[:, 0]
        self.s1_hi[:], self.s1_lo[:] = columns.s1_hi, columns.s1_lo
        self.s2_hi[:, at], self.s2_lo[:, at] = columns.s2_hi, columns.s2_lo
        pairs = zip(columns.totals, was.totals, strict=True)
        marked = np.logical_or.reduce([new != old for new, old in pairs])
        _kernels.flatten_cross(*self.totals, np.ascontiguousarray(marked, dtype=np.uint8))

    def deficit(self) -> tuple[int, int, str] | None:
        return self.columns().deficit()


def _diagonal(d: int) -> NDArray[np.intp]:
    """Where the squares stand in the lower triangle."""
    i = np.arange(d, dtype=np.intp)
    return i * (i + 3) // 2


# ---- level counts of numbers on a grid of the float's own bits, which no data chooses ---------
# A cell holds the values that share sign, exponent and the leading bits of the mantissa. A tally
# keeps the finest grid on which it has at most `budget` cells. Dropping a bit joins neighbouring
# cells and commutes with adding, and a part never needs fewer bits than the whole: the same rows
# give the same tally in any order and any split. (After rows are removed a finer grid might fit
# again; what was joined stays joined.)
#
# Bins, quantiles, densities and the choice of a family are read from these counts afterwards.
Keys = NDArray[np.int64]

BUDGET = 4096
"""Cells that a column may have."""


def _keys_of_both(mine: Keys, theirs: Keys) -> Keys:
    """The keys that occur in one of two ascending arrays, ascending."""
    if np.array_equal(mine, theirs):
        return mine
    keys = np.concatenate([mine, theirs])
    keys.sort(kind="stable")  # which merges what is in order
    return keys[np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))]


def _bits_until_joined(keys: Keys, n_cells: int) -> int:
    """How many more bits have to be dropped until ascending keys have at most so many cells."""
    if len(keys) <= n_cells:
        return 0
    magnitude = np.where(keys < 0, -keys - 1, keys)
    differ = magnitude[1:] ^ magnitude[:-1]
    # two neighbours are one cell when all bits in which they differ are gone; signs never go
    bits = np.frexp(differ.astype(np.float64))[1].astype(np.int64)
    bits -= (bits > 0) & (differ >> np.maximum(bits - 1, 0) == 0)  # rounded up to a power of two
    bits[(keys[1:] < 0) != (keys[:-1] < 0)] = 64
    return int(np.partition(bits, len(bits) - n_cells)[len(bits) - n_cells])


def lower_edges_of(keys: Keys, shift: Keys | int) -> Array:
    """The smallest value of cells, float64 (n_cells,), by their keys and the bits dropped."""
    below = keys < 0
    edge = np.where(below, (-keys << shift) - 1, keys << shift).view(np.float64)
    return np.where(below, -edge, edge)


def _values_of(keys: Keys, shift: Keys | int) -> Array:
    """The value nearest 0 of cells, float64 (n_cells,)."""
    below = keys < 0
    value = (np.where(below, -keys - 1, keys) << shift).view(np.float64)
    return np.where(below, -value, value)


class GridCounts(Tally):
    """Grid counts of one column of numbers.

    Parameters
    ----------
    shift : int
        Trailing bits of the float64 that are dropped, from 0 (every value its own cell) on.
    keys : int64 array (n_cells,)
        The cells that occur, ascending, as the values in them do.
    counts : float64 array (n_classes, n_cells)
        Rows, or weight.
    budget : int
    """

    additive: ClassVar[tuple[str, ...]] = ("counts",)
    fixed_width = False

    def __init__(
        self,
        shift: Annotated[int, Within(0, 62)],
        keys: Annotated[Keys, Shape("n_cells"), Ascending()],
        counts: Annotated[Array, Shape("n_classes", "n_cells"), Within(0.0)],
        budget: Annotated[int, Within(1, 1 << 20)] = BUDGET,
    ) -> None:
        self.shift: int = shift
        self.keys: Keys = keys
        self.counts: Array = counts
        self.budget = budget

    @classmethod
    def zeros(cls, n_classes: int, budget: int = BUDGET) -> GridCounts:
        return cls(0, np.empty(0, dtype=np.int64), np.zeros((n_classes, 0)), budget)

    def _like(self, arrays: list[Array]) -> Self:
        return type(self)(self.shift, self.keys, arrays[0], self.budget)

    # ---- the grid --------------------------------------------------------------------------------
    def coarsened(self, shift: int) -> Self:
        """The same counts on a grid with at least `shift` bits dropped, and within the budget."""
        keys, counts, now = self.keys, self.counts, self.shift
        while now < shift or len(keys) > self.budget:
            by = shift - now if now < shift else _bits_until_joined(keys, self.budget)
            keys, now = np.where(keys < 0, -((-keys - 1) >> by) - 1, keys >> by), now + by
            if len(keys):
                first = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
                counts, keys = np.add.reduceat(counts, first, axis=1), keys[first]
        return type(self)(now, keys, counts, self.budget)

    def _onto(self, keys: Keys) -> Array:
        """The counts with a column for each of `keys`, which include those of this tally."""
        wide = np.zeros((self.n_classes, len(keys)))
        wide[:, np.searchsorted(keys, self.keys)] = self.counts
        return wide

    def joined(self, other: Self) -> tuple[Self, Self]:
        """Both tallies on one grid with the cells of both."""
        mine, theirs = self, other
        shift = max(mine.shift, theirs.shift)
        while True:
            mine, theirs = mine.coarsened(shift), theirs.coarsened(shift)
            shift = max(mine.shift, theirs.shift)
            if mine.shift == theirs.shift:
                keys = _keys_of_both(mine.keys, theirs.keys)
                if len(keys) <= self.budget:
                    break
                shift += _bits_until_joined(keys, self.budget)
        return (
            type(self)(shift, keys, mine._onto(keys), self.budget),
            type(self)(shift, keys, theirs._onto(keys), self.budget),
        )

    def _become(self, other: Self) -> None:
        """Takes over another tally's grid and counts, without empty cells."""
        kept = other.counts.any(axis=0)
        self.shift, self.keys, self.counts = other.shift, other.keys[kept], other.counts[:, kept]

    # ---- the group -------------------------------------------------------------------------------
    def zero(self) -> Self:
        return type(self)(
            0, np.empty(0, dtype=np.int64), np.zeros((self.n_classes, 0)), self.budget
        )

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        mine, theirs = self.joined(other)
        mine.counts[rows] += theirs.counts if factor == 1.0 else factor * theirs.counts
        self._become(mine)

    def weighted(self, by_class: Array) -> Self:
        scaled = super().weighted(by_class)
        scaled._become(scaled)  # cells of classes that weigh nothing are gone
        return scaled

    def put(self, rows: Rows, other: Self) -> None:
        mine, theirs = self.joined(other)
        mine.counts[rows] = theirs.counts
        self._become(mine)

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        mine, was = self.joined(before)
        Tally.settle(mine, was)
        self._become(mine)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return (
            self.shift == other.shift
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__: ClassVar[None] = None

    def _column_of(self, cell: list[int]) -> int:
        return 0

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {
            "shift": np.array([self.shift]),
            "keys": self.keys,
            "counts": self.counts,
            "budget": np.array([self.budget]),
        }

    # ---- reading ---------------------------------------------------------------------------------
    @staticmethod
    def values_of_each(grids: Sequence[GridCounts]) -> list[Array]:
        """:meth:`values` of several columns."""
        if not grids:
            return []
        n_cells = [len(grid.keys) for grid in grids]
        shift = np.repeat(np.array([grid.shift for grid in grids], dtype=np.int64), n_cells)
        values = _values_of(np.concatenate([grid.keys for grid in grids]), shift)
        ends = np.cumsum(n_cells).tolist()
        return [values[end - n : end] for n, end in zip(n_cells, ends, strict=True)]

    def keys_of(self, x: Array) -> Keys:
        """The keys of values on this tally's grid, int64 like x."""
        bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
        magnitude = bits & np.int64(2**63 - 1)
        shifted = magnitude >> self.shift
        return np.where((bits < 0) & (magnitude != 0), -shifted - 1, shifted)

    def value_of(self, x: Array) -> Array:
        """The value that stands for the cell of each value, like x: see :meth:`values`. A value in
        no cell gets that of a neighbouring cell."""
        at = np.searchsorted(self.keys, self.keys_of(x))
        return self.values()[np.minimum(at, len(self.keys) - 1)]

    def lower_edges(self) -> Array:
        """The smallest value of each cell, float64 (n_cells,), ascending."""
        return lower_edges_of(self.keys, self.shift)

    def values(self) -> Array:
        """One value that stands for each cell, float64 (n_cells,): the one nearest 0, which is the
        value itself where the cell has but one of few bits, such as a whole number."""
        return _values_of(self.keys, self.shift)
