"""The contribution of a column of numbers in bins to the score of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.groups import raise_infinite
from tallybayes.engines.memory.scores.part import (
    NO_PARAMETER,
    Distributions,
    KindsPart,
    LookupPart,
    need_no_level,
)
from tallybayes.parameters import Description, Term
from tallybayes.parameters.formula import CellTable, NumberCells
from tallybayes.tables import Empty, Mixed, Numbers
from tallybayes.tally import GridCounts
from tallybayes.threads import get_num_threads

__all__ = ["BinsPart", "strings_beside"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class BinsPart(LookupPart):
    """A column of numbers in bins. Strings beside the numbers have entries after those of the bins.

    Parameters are those of LookupPart, and:

    edges : float64 array (n_bins − 1,)
    kinds : KindsPart, optional
        Where missing values are evidence, or the column holds strings.
    """

    edges: Array
    kinds: KindsPart | None = None

    @classmethod
    def of(
        cls, columns: tuple[str, ...], likelihood: Any, n_classes: int, kinds: KindsPart | None
    ) -> Self:
        """The part of a column of numbers in bins."""
        law, follows = likelihood.law, likelihood.alpha is not None
        return cls(columns=columns, law=law, edges=likelihood.edges, kinds=kinds, follows=follows)

    def _whole_table(self, table: Array) -> Array:
        kinds = None if self.kinds is None else self.kinds.table
        return self._with_kinds(super()._whole_table(table), kinds)

    def _with_kinds(self, bins: Array, kinds: Array | None) -> Array:
        if kinds is None:
            return bins
        parts = [kinds[:, :1], bins[:, 1:] + kinds[:, 1:2], kinds[:, 2:]]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    @property
    def others_change(self) -> bool:
        return super().others_change or (self.kinds is not None and self.kinds.others_change)

    def own_table(self, weight: float) -> Array:
        kinds = None if self.kinds is None else self.kinds.own_table(weight)
        return self._with_kinds(super().own_table(weight), kinds)

    def other_table(self, weight: float) -> Array:
        kinds = None if self.kinds is None else self.kinds.other_table(weight)
        return self._with_kinds(super().other_table(weight), kinds)

    def fill_entries(self, column: Numbers | Mixed | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        numbers = column.numbers if isinstance(column, Mixed) else column
        values = np.require(numbers.values, requirements="A")
        if _kernels.bin_entries(values, self.edges, entries, get_num_threads()):
            raise_infinite(self.name, values)
        if self.kinds is not None and isinstance(column, Mixed):
            kinds = self.kinds.entries(column)
            entries[kinds > 1] = len(self.edges) + kinds[kinds > 1]

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """Of the bin that each value is in, not of its place in the bin, and of the kinds."""
        kinds = [] if self.kinds is None else self.kinds.log_evidence(None)
        return [*super().log_evidence(grid), *kinds]

    def prior_and_posteriors(self, level: Any) -> Any:
        need_no_level(self.name, level)
        raise ValueError(NO_PARAMETER.format(self.name, "read in bins"))

    def _apart(self, entries: Index) -> tuple[Index, Index]:
        """Entries of the bins, 0 for what is in none, and of the kinds."""
        beyond = entries - (len(self.edges) + 1)
        kinds = np.where(beyond > 0, beyond + 1, np.minimum(entries, 1))
        return np.where(beyond > 0, 0, entries), kinds

    def drawn_of(self, entries: Index, rng: Any, n: int) -> Array:
        if self.kinds is None:
            return super().drawn_of(entries, rng, n)
        bins, kinds = self._apart(entries)
        scores = self.kinds.drawn_of(kinds, rng, n)
        scores += super().drawn_of(bins, rng, n)
        return scores

    def without_of(self, entries: Index, own: Index, weight: Array) -> Array:
        if self.kinds is None:
            return super().without_of(entries, own, weight)
        bins, kinds = self._apart(entries)
        scores = super().without_of(bins, own, weight)
        scores += self.kinds.without_of(kinds, own, weight)
        return scores

    def terms(self) -> list[Term]:
        """Of missing values and numbers, where the column holds no strings."""
        cells = NumberCells(self.name, self.edges)
        return [CellTable(cells, self.table[:, : cells.size])]

    def described(self) -> Description:
        edges = [f"{edge:.6g}" for edge in self.edges.tolist()]
        names = [f"{a} to {b}" for a, b in zip(["…", *edges], [*edges, "…"], strict=True)]
        strings = [] if self.kinds is None else self.kinds.strings
        what = "P(bin | class); a bin has its lower edge"
        values = np.exp(self.table[:, 1 : 1 + len(names) + len(strings)])
        return Description(what, [*names, *strings], values)

    def distribution(self, made: Distributions) -> Any:
        return made.numbers(self, made.law_of_bins(self))

    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        strings = strings_beside(self.kinds, len(self.edges) + 2)
        scorer.add_bins(self.name, self.edges, np.ascontiguousarray(self.table.T), strings)
        return True


def strings_beside(kinds: KindsPart | None, first: int) -> dict[str, int]:
    """The entries of the strings beside numbers; `first` is that of the first."""
    strings = () if kinds is None else kinds.strings
    return {text: first + i for i, text in enumerate(strings)}
