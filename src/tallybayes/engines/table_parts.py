"""What a column, or a group of columns, of a table adds to the score of each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.cells import cells_without
from tallybayes.engines.table import raise_infinite
from tallybayes.engines.threads import get_num_threads
from tallybayes.errors import UnseenLevel
from tallybayes.parameters import Cells, Counts, Density, Description, PooledTerms, Unseen
from tallybayes.tables import Column, Empty, Numbers, Table, Texts

__all__ = ["BinsPart", "CountsPart", "DensityPart", "LevelsPart", "Part", "values_of"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CHUNK = 1 << 15  # rows whose intermediate results stay in the cache


def values_of(name: str, column: Any) -> Array:
    """The numbers of a column as float64, NaN for gaps.

    Raises
    ------
    ValueError
        For infinity.
    """
    if isinstance(column, Empty):
        return np.full(column.n_rows, np.nan)
    assert isinstance(column, Numbers)
    values = np.asarray(column.values, dtype=np.float64)
    if np.isinf(values).any():
        raise_infinite(name, values)
    return values


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupPart:
    """A column read as cells. Not for direct use.

    Parameters
    ----------
    name : str
    law : Cells
        Its first cell is the gap, where `has_gap`.
    has_gap : bool
    gaps : Cells, optional
        Two cells: what a gap, and a value, say by themselves.
    unseen : {"smooth", "ignore", "error"}
        What the last cell of a column of levels is for.
    follows : bool
        Whether the strength of its prior follows the model's alpha.
    """

    name: str
    law: Cells
    has_gap: bool = False
    gaps: Cells | None = None
    unseen: Unseen = "smooth"
    follows: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    @cached_property
    def table(self) -> Array:
        """Log-probabilities of the gap and of each cell, float64 (n_classes, 1 + n_cells)."""
        return self._entries(
            self.law.log_prob(), None if self.gaps is None else self.gaps.log_prob()
        )

    def _entries(self, table: Array, gaps: Array | None) -> Array:
        """A table with an entry for a gap, from those of the law and of gaps."""
        if not self.has_gap:
            table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
        if gaps is not None:
            table[:, 0] = gaps[:, 0]
            table[:, 1:] += gaps[:, [1]]
        if self.unseen == "ignore":
            table[:, -1] = 0.0
        return np.ascontiguousarray(table)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes what the classes that it is not of say."""
        return self.law.others_change or (self.gaps is not None and self.gaps.others_change)

    def own_table(self, weight: float) -> Array:
        """The table as rows of this weight read it in their own class, each without itself."""
        gaps = None if self.gaps is None else self.gaps.own_without(weight)
        return self._entries(self.law.own_without(weight), gaps)

    def other_table(self, weight: float) -> Array:
        """The same in the classes that they are not of."""
        gaps = None if self.gaps is None else self.gaps.other_without(weight)
        return self._entries(self.law.other_without(weight), gaps)

    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        """Writes the entry of the table for each row into `entries`, contiguous (n_rows,)."""
        raise NotImplementedError

    def entries(self, column: Column) -> NDArray[np.int32]:
        """Entry of the table for each row, int32 (n_rows,)."""
        entries = np.empty(column.n_rows, dtype=np.int32)
        self.fill_entries(column, entries)
        return entries

    def described(self) -> Description:
        """The parameters in words."""
        raise NotImplementedError

    def contributions(self, x: Table) -> dict[str, Array]:
        """What the column adds, (n_rows, n_classes), in nats, by name."""
        entries = self.entries(x.columns[self.name])
        return {self.name: np.ascontiguousarray(self.table.T[entries])}

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What the column adds under parameters drawn from their posterior, (n, n_rows,
        n_classes)."""
        entries = self.entries(x.columns[self.name]).astype(np.intp)
        scores = np.zeros((n, x.n_rows, len(self.table)))
        if self.gaps is not None:  # before what depends on the rows, so that no batch changes it
            both = self.gaps.drawn(np.arange(2), rng, n)
            scores += both[:, :, (entries > 0).astype(np.intp)].transpose(0, 2, 1)
        cells = entries - (0 if self.has_gap else 1)
        there = cells >= 0
        if self.unseen == "ignore":
            there &= entries < self.table.shape[1] - 1
        used, at = np.unique(cells[there], return_inverse=True)
        if len(used):
            scores[:, there] += self.law.drawn(used, rng, n)[:, :, at].transpose(0, 2, 1)
        return scores

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What the column adds after each row itself is taken out, (n_rows, n_classes)."""
        entries = self.entries(x.columns[self.name]).astype(np.intp)
        if self.has_gap:
            return cells_without(self.law, entries, own, weight)
        there = entries > 0
        scores = np.zeros((len(own), len(self.table)))
        if there.all():
            scores = cells_without(self.law, entries - 1, own, weight)
        elif there.any():
            scores[there] = cells_without(self.law, entries[there] - 1, own[there], weight[there])
        if self.gaps is not None:
            scores += cells_without(self.gaps, there.astype(np.intp), own, weight)
        return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelsPart(LookupPart):
    """A column of texts. The law's last cell serves levels never seen.

    Parameters are those of LookupPart, and:

    levels : list of str
    """

    levels: list[str]

    def fill_entries(self, column: Texts | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        at = {level: i + 1 for i, level in enumerate(self.levels)}
        rank = np.array(
            [*(at.get(level, len(at) + 1) for level in column.levels), 0], dtype=np.int32
        )
        # a gap, code −1, reads the last; without a mode, out= would cost a copy
        np.take(rank, column.codes, out=entries, mode="wrap")
        if self.unseen == "error" and len(entries) and entries.max() > len(at):
            row = int(np.argmax(entries))
            level = column.levels[column.codes[row]]
            raise UnseenLevel(
                f"row {row}, column {self.name!r} holds {level!r}, which "
                'training did not have. Learn it first, or choose unseen="smooth" or "ignore".'
            )

    def described(self) -> Description:
        n = len(self.levels)
        return Description("P(level | class)", self.levels, np.exp(self.table[:, 1 : 1 + n]))


@dataclass(frozen=True, eq=False, kw_only=True)
class BinsPart(LookupPart):
    """A column of numbers in bins.

    Parameters are those of LookupPart, and:

    edges : float64 array (n_bins − 1,)
    """

    edges: Array

    def fill_entries(self, column: Numbers | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        values = np.require(column.values, requirements="A")
        if _kernels.bin_entries(values, self.edges, entries, get_num_threads()):
            raise_infinite(self.name, values)

    def described(self) -> Description:
        edges = [f"{edge:.6g}" for edge in self.edges.tolist()]
        names = [f"{a} to {b}" for a, b in zip(["…", *edges], [*edges, "…"], strict=True)]
        what = "P(bin | class); a bin has its lower edge"
        return Description(what, names, np.exp(self.table[:, 1:]))


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityPart:
    """A column of numbers as a density.

    Parameters
    ----------
    name : str
    density : Density
    n_classes : int
    gaps : Cells, optional
        Two cells: what a gap, and a value, say by themselves.
    """

    name: str
    density: Density
    n_classes: int
    gaps: Cells | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def described(self) -> Description:
        """The parameters in words."""
        return self.density.described()

    @cached_property
    def _pooled(self) -> PooledTerms | None:
        return self.density.pooled()

    @cached_property
    def gap_scores(self) -> tuple[Array, Array]:
        """What a gap, and a value, say by themselves, float64 (n_classes,) each."""
        if self.gaps is None:
            return np.zeros(self.n_classes), np.zeros(self.n_classes)
        gap, there = np.ascontiguousarray(self.gaps.log_prob().T)
        return gap, there

    def contribution(self, values: Array) -> Array:
        """(n_rows, n_classes) of values (n_rows,), NaN for gaps."""
        if self._pooled is not None:
            scores = np.zeros((len(values), self.n_classes))
            self._add_pooled(self._pooled, values, scores)
            return scores
        gap = np.isnan(values)
        if gap.any():
            scores = np.zeros((len(values), self.n_classes))
            scores[~gap] = self.density.log_density(values[~gap])
        else:
            scores = self.density.log_density(values)
        if self.gaps is not None:
            scores += self.gaps.log_prob().T[(~gap).astype(np.intp)]
        return scores

    def _add_pooled(self, terms: PooledTerms, values: Array, scores: Array) -> None:
        x, threads = np.ascontiguousarray(values), get_num_threads()
        _kernels.pooled_scores(x, *terms, *self.gap_scores, scores, threads)

    def add_to(self, scores: Array, x: Table) -> None:
        """Adds what the column says to `scores` (n_rows, n_classes), contiguous, in place."""
        values = values_of(self.name, x.columns[self.name])
        if self._pooled is not None:
            self._add_pooled(self._pooled, values, scores)
        else:
            scores += self.contribution(values)

    def contributions(self, x: Table) -> dict[str, Array]:
        """What the column adds, (n_rows, n_classes), in nats, by name."""
        return {self.name: self.contribution(values_of(self.name, x.columns[self.name]))}

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What the column adds under parameters drawn from their posterior, (n, n_rows,
        n_classes)."""
        values = values_of(self.name, x.columns[self.name])
        there = ~np.isnan(values)
        scores = np.zeros((n, x.n_rows, self.n_classes))
        if self.gaps is not None:  # before what depends on the rows, so that no batch changes it
            both = self.gaps.drawn(np.arange(2), rng, n)
            scores += both[:, :, there.astype(np.intp)].transpose(0, 2, 1)
        if there.any():
            scores[:, there] += self.density.drawn(values[there], rng, n)
        return scores

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What the column adds after each row itself is taken out, (n_rows, n_classes)."""
        values = values_of(self.name, x.columns[self.name])
        there = np.flatnonzero(~np.isnan(values))
        scores = np.zeros((len(values), self.n_classes))
        for start in range(0, len(there), CHUNK):
            rows = there[start : start + CHUNK]
            scores[rows] = self.density.without(values[rows], own[rows], weight[rows])
        if self.gaps is not None:
            cells = (~np.isnan(values)).astype(np.intp)
            scores += cells_without(self.gaps, cells, own, weight)
        return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class CountsPart:
    """A group of columns that count together. A gap counts as 0, which says nothing.

    Parameters
    ----------
    columns : tuple of str
    counts : Counts
    n_classes : int
    """

    columns: tuple[str, ...]
    counts: Counts
    n_classes: int

    def described(self) -> Description:
        """The parameters in words."""
        what, _, values = self.counts.described()
        return Description(what, list(self.columns), values)

    def matrix(self, x: Table) -> Array:
        """Their numbers, float64 (n_rows, n_columns).

        Raises
        ------
        ValueError
            For infinity or a negative number.
        """
        wide = np.empty((x.n_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            wide[:, j] = values_of(name, x.columns[name])
        np.nan_to_num(wide, copy=False, nan=0.0)
        if wide.size and wide.min() < 0.0:
            i, j = np.argwhere(wide < 0.0)[0].tolist()
            raise ValueError(
                f"row {i}, column {self.columns[j]!r} holds {wide[i, j].item()!r}, but is one of a "
                "group of counts: counts are not negative"
            )
        return wide

    def contributions(self, x: Table) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name."""
        shares = self.counts.contributions(self.matrix(x))
        return {name: shares[:, :, j] for j, name in enumerate(self.columns)}

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What they add under parameters drawn from their posterior, (n, n_rows, n_classes)."""
        return self.counts.drawn(self.matrix(x), rng, n)

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What they add after each row itself is taken out, (n_rows, n_classes)."""
        wide = self.matrix(x)
        step = max(1, (CHUNK << 3) // (self.n_classes * wide.shape[1]))
        parts = [slice(start, start + step) for start in range(0, max(len(own), 1), step)]
        return np.concatenate([self.counts.without(wide[p], own[p], weight[p]) for p in parts])


Part = LevelsPart | BinsPart | DensityPart | CountsPart
