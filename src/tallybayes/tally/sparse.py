"""Feature sums of many classes, of which each holds few features: Σ w·x, sparse."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.tally.base import (
    ALL,
    FeatureSums,
    Rows,
    Tally,
    is_nothing,
    is_residue,
)

__all__ = ["SparseSums"]

Array = NDArray[np.float64]


class SparseSums(Tally):
    """What :class:`FeatureSums` holds, in memory for the sums that are not 0.

    Parameters
    ----------
    sums : sparse array (n_classes, n_features)
        In CSR format.
    """

    additive: ClassVar[tuple[str, ...]] = ("sums",)

    def __init__(self, sums: Any) -> None:
        self.sums = sparse.csr_array(sums)
        self.sums.sum_duplicates()
        self.sums.eliminate_zeros()

    def _of(self, sums: Any) -> Self:
        return type(self)(sums)

    def copy(self) -> Self:
        return self._of(self.sums.copy())

    def zero(self) -> Self:
        return self._of(sparse.csr_array(self.sums.shape))

    def accumulate(self, other: Self, factor: float = 1.0, rows: Rows = ALL) -> None:
        places = np.arange(self.n_classes)[rows]
        self.sums = self._of(self.sums + factor * other.place(places, self.n_classes).sums).sums

    @property
    def n_classes(self) -> int:
        return int(self.sums.shape[0])

    def __mul__(self, weight: float) -> Self:
        return self._of(self.sums * weight)

    __rmul__ = __mul__

    def weighted(self, by_class: Array) -> Self:
        return self._of(sparse.diags_array(by_class) @ self.sums)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return self.sums.shape == other.sums.shape and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    __hash__: ClassVar[None] = None

    # ---- reading and placing -------------------------------------------------------------------
    def place(self, rows: NDArray[np.intp], n_classes: int) -> Self:
        entries = self.sums.tocoo()
        at = np.asarray(rows)[entries.coords[0]], entries.coords[1]
        return self._of(sparse.coo_array((entries.data, at), (n_classes, self.sums.shape[1])))

    def take(self, rows: Rows) -> Self:
        return self._of(self.sums[np.arange(self.n_classes)[rows]])

    def pooled(self) -> Self:
        return self._of(sparse.csr_array(self.sums.sum(axis=0)[None, :]))

    def mixed(self, weights: Any) -> Self:
        return self._of(weights @ self.sums)

    def put(self, rows: Rows, other: Self) -> None:
        kept = np.ones(self.n_classes)
        kept[rows] = 0.0
        self.sums = self.weighted(kept).sums
        self.accumulate(other, 1.0, rows)

    def dense(self) -> FeatureSums:
        """The same sums, with those that are 0."""
        return FeatureSums(self.sums.toarray())

    def settle(self, before: Self, *, decayed: float = 0.0) -> None:
        """After a subtraction from `before`, in place: rounding residues become zero."""
        rest = self.sums.tocoo()
        was = np.asarray(before.sums[rest.coords]).ravel()
        gone = is_residue(rest.data, was) | is_nothing(rest.data, was)
        self.sums.data[gone] = 0.0
        self.sums.eliminate_zeros()

    def deficit(self) -> tuple[int, int, str] | None:
        entries = self.sums.tocoo()
        below = np.flatnonzero(entries.data < 0.0)
        if not len(below):
            return None
        first = below[0]
        k, j = (int(places[first]) for places in entries.coords)
        return k, j, f"{float(entries.data[first]):.17g}"

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Every array by name: what is saved."""
        indices, indptr = (a.astype(np.int64) for a in (self.sums.indices, self.sums.indptr))
        return {"data": self.sums.data, "indices": indices, "indptr": indptr}
