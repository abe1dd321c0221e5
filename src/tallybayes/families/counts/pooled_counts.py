"""A column of counts as negative binomial, each class with some pooled rows of all classes.

It is the mixture of :mod:`tallybayes.families.numeric.pooled` without atoms, and bounds the
log-ratios of the column in the same way. A value below 0 has no probability in any class and adds
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import TINY
from tallybayes.families.contract.density import LearningDensity
from tallybayes.families.contract.family import less
from tallybayes.families.counts.count_term import Pooling, count_term
from tallybayes.families.counts.distinct_rows import distinct_rows
from tallybayes.families.counts.negative_binomial import (
    NegativeBinomial,
    NegativeBinomialDensity,
    table_size,
)
from tallybayes.families.numeric.pooled import mixed, mixture_weights
from tallybayes.parameters import Description, Laws, Term
from tallybayes.parameters.formula import LawMixture, NumberLaw
from tallybayes.tally import GridCounts

__all__ = ["PooledCounts"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PooledCounts(LearningDensity):
    """Negative binomials with rows of all classes.

    Parameters
    ----------
    density : NegativeBinomialDensity
    rows : float
        s of :mod:`tallybayes.families.numeric.pooled`.
    """

    density: NegativeBinomialDensity
    rows: float = 1.0

    @classmethod
    def read(cls, grid: GridCounts, alpha: float, rows: float) -> PooledCounts:
        """A column whose family nobody declared; `alpha` are rows at its overall mean."""
        family = NegativeBinomial()
        return cls(NegativeBinomialDensity(family, grid, alpha), rows)

    @property
    def what(self) -> str:
        return self.density.what

    @property
    def n(self) -> Array:
        """n_c, float64 (n_classes,)."""
        return self.density.n

    def takes(self, x: float) -> bool:
        return x >= 0.0 and x.is_integer()

    def learned(self, x: float, k: int, weight: float) -> PooledCounts:
        """The density after a row of value x and class k is added, sizes as they are."""
        return replace(self, density=self.density.learned(x, k, weight))

    def forgotten(self, x: float, k: int, weight: float) -> PooledCounts | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        density = self.density.forgotten(x, k, weight)
        return None if density is None else replace(self, density=density)

    def faded(self, factor: float) -> PooledCounts:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        return replace(self, density=self.density.faded(factor))

    # ---- scores ----------------------------------------------------------------------------------
    def _mixed(self, scores: Array, n: Array) -> Array:
        with np.errstate(divide="ignore"):
            return mixed(scores + np.log(n), n, self.rows)

    def _of(self, x: Array) -> Array:
        """The scores of values, one by one."""
        scores = np.full((len(x), len(self.n)), -np.inf)
        counts = x >= 0.0
        scores[counts] = self.density.log_density(x[counts])
        return self._mixed(scores, self.n)

    @cached_property
    def _table(self) -> Array:
        """The scores of 0, 1, …"""
        scores = self.density.table(table_size(self.density.grid))
        return self._mixed(scores, self.n)

    def of_counts(self) -> Array | None:
        return None if self.density.learned_since is not None else self._table

    def log_density(self, x: Array) -> Array:
        if self.density.learned_since is not None:
            return self._of(x)
        at = np.clip(x, 0.0, len(self._table) - 1.0).astype(np.intp)
        scores = self._table[at]
        beyond = np.flatnonzero(at != x)
        if len(beyond):
            scores[beyond] = self._of(x[beyond])
        return scores

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        rows, place = distinct_rows(own, x, weight)
        x, own, weight = x[rows], own[rows], weight[rows]
        at = np.arange(len(rows)), own
        n = np.repeat(self.n[None, :], len(rows), axis=0)
        n[at] = less(n[at], weight)
        return self._mixed(self.density.without_distinct(x, own, weight), n).take(place, axis=0)

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        counts = x >= 0.0
        scores = np.full((n, len(x), len(self.n)), -np.inf)
        scores[:, counts] = self.density.drawn(x[counts], rng, n)
        return self._mixed(scores, self.n)

    def law(self) -> NumberLaw:
        none, (rest, shift, share) = np.zeros(0), self._pooling
        mixture = LawMixture(low=none, high=none, atoms=none, rest=rest, shift=shift, share=share)
        return replace(self.density.law(), mixture=mixture)

    @property
    def _pooling(self) -> Pooling:
        least = TINY * max(self.rows, 1.0)
        with np.errstate(divide="ignore"):
            log_rows = np.log(self.n)
        share = self.rows / max(float(self.n.sum()), least)
        return Pooling(log_rows, np.log(self.n + self.rows), share)

    def term(self, column: str) -> Term:
        density = self.density
        return count_term(column, self, density.grid, *density.mean_and_size, self._pooling)

    # ---- what it is ------------------------------------------------------------------------------
    def described(self) -> Description:
        return self.density.described()

    def distribution(self, laws: Laws) -> Any:
        weights = mixture_weights(np.diag(self.n), self.n, self.rows)
        law = self.density.distribution(laws)
        return laws.beside_atoms(law, np.empty(0), np.zeros((len(weights), 0)), weights)
