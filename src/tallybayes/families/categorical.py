"""Categorical features: P(x_j = a | c), equations (10) and (11) of the seed article.

    P_α(x_j = a | c) = (n_cja + α) / (n_cj + α·N_j)

with n_cja the weight of level a in class c, n_cj = Σ_a n_cja and N_j the number of levels, declared
or found. The same expression with n_cja = 0, α / (n_cj + α·N_j), serves a level that the column
does not have. A class without any observation in a column uses the pooled counts of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import log
from tallybayes.parameters import Lookup, Unseen
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, LevelCounts

__all__ = ["Categorical"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Categorical:
    """Categorical likelihood with additive smoothing.

    Parameters
    ----------
    alpha : float
        α of equation (11), in rows; 0 is the maximum likelihood of equation (10).
    unseen : {"smooth", "ignore", "error"}
        A level that the column does not have: smoothed as above, left out of the product, or
        refused.
    """

    kind: ClassVar[Kind] = "levels"
    alpha: float = 1.0
    unseen: Unseen = "smooth"

    def _smoothed(self, tally: LevelCounts) -> tuple[Array, Array]:
        """Counts n_cja + α (n_classes, cells), and totals n_cj + αN_j (n_classes, n_features)."""
        counts, totals = tally.counts, tally.totals()
        blank = totals == 0.0
        if blank.any():
            cells = np.repeat(blank, tally.n_levels, axis=1)
            counts = np.where(cells, counts.sum(axis=0), counts)
            totals = np.where(blank, totals.sum(axis=0), totals)
        counts, totals = counts + self.alpha, totals + self.alpha * tally.n_levels
        nothing = totals == 0.0  # no observation in any class and no smoothing: every level alike
        if nothing.any():
            counts = np.where(np.repeat(nothing, tally.n_levels, axis=1), 1.0, counts)
            totals = np.where(nothing, np.maximum(tally.n_levels, 1), totals)
        return counts, totals

    def log_probabilities(self, tally: LevelCounts) -> Array:
        """log P_α(x_j = a | c), float64 (n_classes, cells), in the tally's order of cells."""
        counts, totals = self._smoothed(tally)
        log_prob: Array = log(counts) - np.repeat(np.log(totals), tally.n_levels, axis=1)
        return log_prob

    def estimate(self, tally: LevelCounts, classes: ClassCounts) -> Lookup:
        counts, totals = self._smoothed(tally)
        d = tally.n_features
        start = tally.start + np.arange(d + 1)
        table = np.empty((tally.n_classes, int(start[-1])))
        last = start[1:] - 1
        seen = np.ones(table.shape[1], dtype=bool)
        seen[last] = False
        log_totals = np.log(totals)
        table[:, seen] = log(counts) - np.repeat(log_totals, tally.n_levels, axis=1)
        table[:, last] = log(np.full_like(totals, self.alpha)) - log_totals
        if self.unseen == "ignore":
            table[:, last] = 0.0
        return Lookup(
            table=table, start=start, offset=np.zeros(tally.n_classes), unseen=self.unseen
        )

    def sample(
        self, tally: LevelCounts, classes: ClassCounts, rows: NDArray[np.intp], rng: Any
    ) -> NDArray[np.int64]:
        """Level codes, int64 (len(rows), n_features)."""
        counts, totals = self._smoothed(tally)
        x = np.empty((len(rows), tally.n_features), dtype=np.int64)
        for j in range(tally.n_features):
            cells = slice(int(tally.start[j]), int(tally.start[j + 1]))
            cumulative = np.cumsum(counts[:, cells], axis=1) / totals[:, [j]]
            u = rng.uniform(size=len(rows))
            x[:, j] = (u[:, None] >= cumulative[rows, :-1]).sum(axis=1)
        return x
