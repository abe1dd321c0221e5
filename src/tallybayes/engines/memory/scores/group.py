"""The base of the parts of a score that read a group of columns together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.memory.scores.part import (
    NO_PARAMETER,
    ComputedPart,
    need_no_level,
    values_of,
)
from tallybayes.tables import Table
from tallybayes.tally import GridCounts

__all__ = ["GroupPart"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupPart(ComputedPart):
    """A group of columns of numbers with one likelihood.

    Parameters are those of ComputedPart, and:

    likelihood : Correlated or Counts
    """

    holds: ClassVar[str]
    """What the group holds, for messages."""

    likelihood: Any

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        return [self.likelihood.log_evidence()]

    def prior_and_posteriors(self, level: Any) -> Any:
        need_no_level(self.columns[0], level)
        raise ValueError(NO_PARAMETER.format(self.columns[0], f"in a group of {self.holds}"))

    def matrix(self, x: Table) -> Array:
        """Their numbers, float64 (n_rows, n_columns), NaN for missing values.

        Raises
        ------
        ValueError
            For infinity.
        """
        wide = np.empty((x.n_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            wide[:, j] = values_of(name, x.columns[name])
        return wide

    def add_without(self, x: Table, own: Index, weight: Array, scores: Array) -> None:
        scores += self.without(x, own, weight)

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        drawn: Array = self.likelihood.drawn(self.matrix(x), rng, n)
        return drawn
