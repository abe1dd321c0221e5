"""Cross moments of columns that are read together, by class, about a fixed origin c:
n, S1 = Σw(x−c), S2 = Σw(x−c)(x−c)ᵀ.

Only rows with a value in every one of the columns are counted: so all sums are of the same rows,
and S2 about the mean is a covariance. The running sums are double-doubles, as those of
:class:`tallybayes.tally.Moments` are: adding, subtracting and moving the origin are exact to 2⁻¹⁰⁰
relative to the sums themselves. What enters is a chunk of n ≤ 8192 rows of a class summed
about a point b near them; the error of a product is at most
(n+4)²·2⁻¹⁰⁰·Σ|w||x_i−b_i||x_j−b_j|.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.tally.base import ALL, Rows, Tally
from tallybayes.tally.moments import TINY, VANISHING, Moments

__all__ = ["CrossMoments"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class CrossMoments(Tally):
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

    additive: ClassVar[tuple[str, ...]] = ("n", "s1_hi", "s1_lo", "s2_hi", "s2_lo", "n_lo")
    frame: ClassVar[tuple[str, ...]] = ("origin",)

    n: Array
    n_lo: Array
    s1_hi: Array
    s1_lo: Array
    s2_hi: Array
    s2_lo: Array

    def __init__(
        self,
        origin: Array,
        n: Array,
        s1_hi: Array,
        s1_lo: Array,
        s2_hi: Array,
        s2_lo: Array,
        n_lo: Array,
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

    @property
    def totals(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """n, the halves of S1 and S2, and the rest of n, as the kernels take them."""
        return self.n, self.s1_hi, self.s1_lo, self.s2_hi, self.s2_lo, self.n_lo

    def _frame_differs(self, name: str) -> str:
        return (
            "cross moments about different origins do not add; move one of them first: "
            "a + b.rebased(a.origin)"
        )

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        if rows is ALL:
            _kernels.add_cross(*self.totals, *other.totals, factor)
            return
        part = self.take(rows)
        _kernels.add_cross(*part.totals, *other.totals, factor)
        self.put(rows, part)

    def __mul__(self, weight: float) -> Self:
        scaled = self.zero()
        scaled.accumulate(self, weight)
        return scaled

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        return self._weighted_class_by_class(by_class)

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
        return Moments(self.origin, n, self.s1_hi.copy(), self.s1_lo.copy(), s2_hi, s2_lo, lo)

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

    def settle(
        self, before: Self, largest_squares: Array | float = 0.0, *, decayed: float = 0.0
    ) -> None:
        """Rounding residues become zero, as those of the columns one by one do
        (:meth:`tallybayes.tally.Moments.settle`); the products of a column that is left without
        squares become zero about the mean.
        """
        columns = self.columns()
        was = columns.copy()
        columns.settle(before.columns(), largest_squares, decayed=decayed)
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
