"""Probabilities of cells (levels, or bins of a number) from their counts, with every row or without
one.

    P(a | c) = (k_ca + S·q_a) / (n_c + S)

k_ca is the weight of cell a in class c, spread over neighbouring cells where a density is smoothed;
n_c is the weight of the column's values in class c; q is the base measure and S its strength, in
rows: the posterior mean under a Dirichlet(S·q) prior. With q_a = 1/N and S = αN this is equation
(11) of the seed article on categorical naive Bayes. A class without a value uses the counts of all
classes together.

Leaving a row of class c and cell a out changes k_ca and n_c; it changes what other classes say only
where they use counts of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellLaw", "log_ratio"]

Array = NDArray[np.float64]

RESIDUE = 2.0**-40  # of a difference of weights: what is less than this share is rounding


def _less(whole: Array, part: Array | float) -> Array:
    """whole − part of weights; what can only be rounding is 0."""
    rest: Array = np.asarray(whole - part)
    rest[rest <= RESIDUE * np.broadcast_to(whole, rest.shape)] = 0.0
    return rest


def log_ratio(part: Array, whole: Array, n_cells: int) -> Array:
    """log(part / whole), −inf for 0; 1/n_cells where there is nothing and no smoothing at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.log(part) - np.log(whole)
    nothing = np.broadcast_to(whole == 0.0, ratio.shape)
    if nothing.any():
        ratio[nothing] = -np.log(max(n_cells, 1))
    return ratio


@dataclass(frozen=True, eq=False, kw_only=True)
class CellLaw:
    """The probabilities of a column's cells in each class.

    Parameters
    ----------
    counts : float64 array (n_classes, n_cells)
        k_ca. A cell for values never seen may stand among them, with count 0.
    total : float64 array (n_classes, 1)
        n_c.
    n_cells : int
        N: cells that a value can be in.
    strength : float
        S, in rows.
    base : float64 array (n_cells,), optional
        q. By default the shares of the cells among all classes, with one row spread evenly besides:
        q_a = (m_a + 1/N) / (m + 1).
    rows : float64 array (n_cells,), optional
        m_a where k is spread, else Σ_c k_ca.
    centre : float64 array (n_cells,), optional
        The share of a row that stays in its own cell; 1 where k is not spread.
    """

    counts: Array
    total: Array
    n_cells: int
    strength: float
    base: Array | None = None
    rows: Array | None = None
    centre: Array | float = 1.0

    def take(self, cells: NDArray[np.integer]) -> CellLaw:
        """The law of some cells, which may repeat: a cell a row, for rows of different weight."""
        rows = self.counts.sum(axis=0) if self.rows is None else self.rows
        return replace(
            self,
            counts=self.counts[:, cells],
            base=None if self.base is None else self.base[cells],
            rows=rows[cells],
            centre=self.centre if isinstance(self.centre, float) else self.centre[cells],
        )

    def _base(self, weight: Array | float) -> Array:
        """q without a row of this weight in the cell; weight 0: q as it is."""
        if self.base is not None:
            return self.base
        rows = self.counts.sum(axis=0) if self.rows is None else self.rows
        everyone = np.asarray(self.total.sum())
        share = _less(rows, weight) + 1.0 / self.n_cells
        return np.asarray(share / (_less(everyone, weight) + 1.0))

    def base_with_all(self) -> Array:
        """q with every row counted, float64 (n_cells,)."""
        return self._base(0.0)

    def _log(self, counts: Array, total: Array, base: Array) -> Array:
        return log_ratio(counts + self.strength * base, total + self.strength, self.n_cells)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes what the classes that it is not of say: where they use
        counts of all classes."""
        return self.base is None or bool((self.total == 0.0).any())

    def log_prob(self) -> Array:
        """log P(a | c), float64 (n_classes, n_cells), in nats."""
        blank = self.total == 0.0
        counts, total = self.counts, self.total
        if blank.any():
            counts = np.where(blank, counts.sum(axis=0), counts)
            total = np.where(blank, total.sum(), total)
        return self._log(counts, total, self._base(0.0))

    def other_without(self, weight: Array | float) -> Array:
        """log P(a | c) in the classes that a row in cell a is not of, after it is taken out.

        Parameters
        ----------
        weight : float or float64 array (n_cells,)
            The row's weight.

        Returns
        -------
        float64 array (n_classes, n_cells)
        """
        counts, total = self.counts, self.total
        blank = total == 0.0
        if blank.any():
            counts = np.where(blank, _less(self.pooled, weight * np.asarray(self.centre)), counts)
            total = np.where(blank, _less(np.full(counts.shape[1], total.sum()), weight), total)
        return self._log(counts, total, self._base(weight))

    def own_without(self, weight: Array | float) -> Array:
        """log P(a | c) in class c after a row of class c and cell a is taken out.

        Parameters
        ----------
        weight : float, or float64 array that broadcasts to (n_classes, n_cells)
            The row's weight.

        Returns
        -------
        float64 array (n_classes, n_cells)
        """
        moved = weight * np.asarray(self.centre)
        counts = _less(self.counts, moved)
        left = _less(np.broadcast_to(self.total, counts.shape), weight)
        gone = left == 0.0
        if gone.any():
            pooled = _less(np.broadcast_to(self.pooled, counts.shape), moved)
            counts = np.where(gone, pooled, counts)
            left = np.where(gone, _less(np.full(counts.shape, self.total.sum()), weight), left)
        return self._log(counts, left, self._base(weight))

    @property
    def pooled(self) -> Array:
        """k of all classes together, float64 (n_cells,)."""
        return np.asarray(self.counts.sum(axis=0))
