"""The contribution of a group of columns of counts to the score of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.scores.group import GroupPart
from tallybayes.engines.memory.scores.part import (
    Distributions,
    Shown,
)
from tallybayes.engines.memory.scores.pooled_columns import CHUNK
from tallybayes.parameters import Counts, Description, Inexpressible, QuadraticTerms, Term
from tallybayes.parameters.formula import Powers
from tallybayes.tables import Column, Numbers, Table

__all__ = ["CountsPart"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class CountsPart(GroupPart):
    """A group of columns that count together. A missing value counts as 0, which adds nothing.

    Parameters are those of GroupPart, and:

    likelihood : Counts
    """

    holds = "counts"
    likelihood: Counts

    def terms(self) -> list[Term]:
        slopes = self.likelihood.slopes()
        if slopes is None:
            what = self.likelihood.described().what
            raise Inexpressible(
                f"the columns {list(self.columns)} are read together as {what}, whose terms are "
                "not products of a weight and a count"
            )
        none = np.zeros(self.n_classes)
        return [
            Powers(name, QuadraticTerms(none, slope, none, none))
            for name, slope in zip(self.columns, np.ascontiguousarray(slopes.T), strict=True)
        ]

    def described(self) -> Description:
        what, _, values = self.likelihood.described()
        return Description(what, list(self.columns), values)

    def matrix(self, x: Table) -> Array:
        """Their numbers, float64 (n_rows, n_columns), 0 for missing values.

        Raises
        ------
        ValueError
            For infinity or a negative number.
        """
        wide = super().matrix(x)
        np.nan_to_num(wide, copy=False, nan=0.0)
        if wide.size and wide.min() < 0.0:
            i, j = np.argwhere(wide < 0.0)[0].tolist()
            raise ValueError(
                f"row {i}, column {self.columns[j]!r} holds {wide[i, j].item()!r}, but is one of a "
                "group of counts: counts are not negative"
            )
        return wide

    def contributions(self, x: Table) -> dict[str, Array]:
        shares = self.likelihood.contributions(self.matrix(x))
        return {name: shares[:, :, j] for j, name in enumerate(self.columns)}

    def add(self, x: Table, scores: Array) -> None:
        for share in self.contributions(x).values():
            scores += share

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        wide = self.matrix(x)
        step = max(1, (CHUNK << 3) // (self.n_classes * wide.shape[1]))
        parts = [slice(start, start + step) for start in range(0, max(len(own), 1), step)]
        return np.concatenate([self.likelihood.without(wide[p], own[p], weight[p]) for p in parts])

    def distribution(self, made: Distributions) -> Any:
        return made.counts(self)

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """What one unit of each column adds."""
        ones = np.eye(len(self.columns))
        columns: dict[str, Column] = {
            name: Numbers(ones[:, j], "float") for j, name in enumerate(self.columns)
        }
        shares = self.contributions(Table(columns, len(ones), True))
        return {n: Shown(["one more"], shares[n][[j]]) for j, n in enumerate(self.columns)}

    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        """Possible where they have a linear form."""
        slopes = self.likelihood.slopes()
        if slopes is None:
            return False
        none = np.zeros(self.n_classes)
        for name, slope in zip(self.columns, np.ascontiguousarray(slopes.T), strict=True):
            scorer.add_quadratic(name, none, slope, none, none, none, 1, {}, np.stack([none, none]))
        return True
