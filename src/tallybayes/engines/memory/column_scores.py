"""What a column, or a group of columns, of a table adds to the score of each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.groups import raise_infinite
from tallybayes.engines.memory.lookup_leave_one_out import cells_without
from tallybayes.engines.memory.pooled_columns import CHUNK, PooledColumns
from tallybayes.engines.threads import get_num_threads
from tallybayes.errors import UnseenLevel
from tallybayes.parameters import Cells, Counts, Density, Description, Unseen
from tallybayes.tables import Column, Empty, Mixed, Numbers, Table, Texts
from tallybayes.tally import GridCounts

__all__ = [
    "BinsPart",
    "CountsPart",
    "DensityPart",
    "KindsPart",
    "LevelsPart",
    "LookupPart",
    "Part",
    "values_of",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def values_of(name: str, column: Any) -> Array:
    """The numbers of a column as float64, NaN for missing values and strings.

    Raises
    ------
    ValueError
        For infinity.
    """
    if isinstance(column, Empty):
        return np.full(column.n_rows, np.nan)
    if isinstance(column, Mixed):
        column = column.numbers
    assert isinstance(column, Numbers)
    values = np.asarray(column.values, dtype=np.float64)
    if np.isinf(values).any():
        raise_infinite(name, values)
    return values


NO_PARAMETER = (
    "column {!r} is {}: parameters are drawn of levels, of Poisson() and of "
    "Gaussian(prior=NormalInverseGamma(…))"
)


def need_no_level(name: str, level: Any) -> None:
    """Raises ValueError where a level is named of a column that has none."""
    if level is not None:
        raise ValueError(f"column {name!r} has no levels: leave level= out")


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupPart:
    """A column read as cells. Not for direct use.

    Parameters
    ----------
    name : str
    law : Cells
        Its first cell is the missing value, where `has_gap`.
    has_gap : bool
    unseen : {"smooth", "ignore", "error"}
        What the last cell of a column of levels is for.
    follows : bool
        Whether the strength of its prior follows the model's alpha.
    """

    name: str
    law: Cells
    has_gap: bool = False
    unseen: Unseen = "smooth"
    follows: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    @cached_property
    def table(self) -> Array:
        """Log-probabilities of the missing value and of each cell, float64 (n_classes, 1 +
        n_cells)."""
        return self._all_entries()

    def _all_entries(self) -> Array:
        return self._entries(self.law.log_prob())

    def _entries(self, table: Array) -> Array:
        """A table with an entry for a missing value, from that of the law."""
        if not self.has_gap:
            table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
        if self.unseen == "ignore":
            table[:, -1] = 0.0
        return np.ascontiguousarray(table)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes what the classes that it is not of say."""
        return self.law.others_change

    def own_table(self, weight: float) -> Array:
        """The table as rows of this weight read it in their own class, each without itself."""
        return self._entries(self.law.own_without(weight))

    def other_table(self, weight: float) -> Array:
        """The same in the classes that they are not of."""
        return self._entries(self.law.other_without(weight))

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

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """log p(column | labels), in nats, of each law that it has; `grid` are the values of a
        column of numbers. Raises ImproperPrior."""
        return [self.law.log_evidence()]

    def prior_and_posteriors(self, level: Any) -> Any:
        """The distributions of a parameter, of a level where the column has levels; raises
        ImproperPrior."""
        raise NotImplementedError

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What the column adds under parameters drawn from their posterior, (n, n_rows,
        n_classes)."""
        return self.drawn_of(self.entries(x.columns[self.name]).astype(np.intp), rng, n)

    def drawn_of(self, entries: Index, rng: Any, n: int) -> Array:
        """:meth:`drawn` of rows with these entries."""
        scores = np.zeros((n, len(entries), len(self.table)))
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
        return self.without_of(self.entries(x.columns[self.name]).astype(np.intp), own, weight)

    def without_of(self, entries: Index, own: Index, weight: Array) -> Array:
        """:meth:`without` of rows with these entries."""
        if self.has_gap:
            return cells_without(self.law, entries, own, weight)
        there = entries > 0
        if there.all():
            return cells_without(self.law, entries - 1, own, weight)
        scores = np.zeros((len(own), len(self.table)))
        if there.any():
            scores[there] = cells_without(self.law, entries[there] - 1, own[there], weight[there])
        return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelsPart(LookupPart):
    """A column of levels. The law's last cell serves levels never seen.

    Parameters are those of LookupPart, and:

    levels : list of str
    grows : bool
        Whether a further level would be smoothed as the others are and leave their smoothing as it
        is; under a prior it takes some of theirs.
    """

    levels: list[str]
    grows: bool = True

    def fill_entries(self, column: Texts | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        at = {level: i + 1 for i, level in enumerate(self.levels)}
        rank = np.array(
            [*(at.get(level, len(at) + 1) for level in column.levels), 0], dtype=np.int32
        )
        # a missing value, code −1, reads the last; without a mode, out= would cost a copy
        np.take(rank, column.codes, out=entries, mode="wrap")
        if self.unseen == "error" and len(entries) and entries.max() > len(at):
            row = int(np.argmax(entries))
            level = column.levels[column.codes[row]]
            raise UnseenLevel(
                f"row {row}, column {self.name!r} holds {level!r}, which "
                'training did not have. Learn it first, or choose unseen="smooth" or "ignore".'
            )

    def prior_and_posteriors(self, level: Any) -> Any:
        if str(level) not in self.levels:
            raise ValueError(
                f"column {self.name!r} has the levels {self.levels}: name one, got {level!r}"
            )
        cell = self.levels.index(str(level)) + self.has_gap
        return self.law.prior_and_posteriors(cell, f"P({self.name} = {level} | class)")

    def described(self) -> Description:
        n = len(self.levels)
        return Description("P(level | class)", self.levels, np.exp(self.table[:, 1 : 1 + n]))


@dataclass(frozen=True, eq=False, kw_only=True)
class KindsPart(LevelsPart):
    """What a value of a column of numbers is: a missing value, a number, or one of the strings
    beside them.

    Parameters are those of LevelsPart; the first level is "a number".
    """

    @property
    def texts(self) -> list[str]:
        """The strings beside the numbers."""
        return self.levels[1:]

    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        texts = column.texts if isinstance(column, Mixed) else Empty(column.n_rows)
        super().fill_entries(texts, entries)
        entries[~np.isnan(values_of(self.name, column))] = 1


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

    def _all_entries(self) -> Array:
        kinds = None if self.kinds is None else self.kinds.table
        return self._with_kinds(super()._all_entries(), kinds)

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

    def described(self) -> Description:
        edges = [f"{edge:.6g}" for edge in self.edges.tolist()]
        names = [f"{a} to {b}" for a, b in zip(["…", *edges], [*edges, "…"], strict=True)]
        texts = [] if self.kinds is None else self.kinds.texts
        what = "P(bin | class); a bin has its lower edge"
        values = np.exp(self.table[:, 1 : 1 + len(names) + len(texts)])
        return Description(what, [*names, *texts], values)


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityPart:
    """A column of numbers as a density.

    Parameters
    ----------
    name : str
    density : Density
    n_classes : int
    kinds : KindsPart, optional
        Where missing values are evidence, or the column holds strings: the probabilities that a
        value is a missing value, a number or a string; the density is that of a number.
    """

    name: str
    density: Density
    n_classes: int
    kinds: KindsPart | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def described(self) -> Description:
        """The parameters in words."""
        what, rows, values = self.density.described()
        if self.kinds is None or not self.kinds.texts:
            return Description(what, rows, values)
        kinds = self.kinds.described()
        names = [f"P({name!r})" for name in self.kinds.texts]
        shares = kinds.values[:, 1:]
        return Description(what, [*rows, *names], np.concatenate([values, shares], axis=1))

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """log p(column | labels), in nats, of the density of its numbers, and of the kinds; raises
        ImproperPrior."""
        assert grid is not None
        kinds = [] if self.kinds is None else self.kinds.log_evidence(None)
        return [self.density.log_evidence_of(grid), *kinds]

    def prior_and_posteriors(self, level: Any) -> Any:
        """The distributions of a parameter; raises ImproperPrior."""
        need_no_level(self.name, level)
        return self.density.prior_and_posteriors(self.name)

    @cached_property
    def pooled(self) -> PooledColumns | None:
        """The kernel that scores the column, where its density has the form for it."""
        if self.density.pooled() is None:
            return None
        return PooledColumns([self.density], self.n_classes)

    @cached_property
    def gap_scores(self) -> tuple[Array, Array]:
        """What a missing value, and a number, say by themselves, float64 (n_classes,) each."""
        if self.kinds is None:
            return np.zeros(self.n_classes), np.zeros(self.n_classes)
        gap, there = np.ascontiguousarray(self.kinds.table.T[:2])
        return gap, there

    def of_number(self, value: float) -> list[float]:
        """What one number adds to the score of each class."""
        column = Numbers(np.array([value]), "float")
        return self.contribution(column)[0].tolist()  # type: ignore[no-any-return]

    def contribution(self, column: Any) -> Array:
        """(n_rows, n_classes) of a column."""
        scores = np.zeros((column.n_rows, self.n_classes))
        self.add_numbers(column, scores)
        if self.kinds is not None:
            scores += self.kinds.table.T[self.kinds.entries(column)]
        return scores

    def add_numbers(self, column: Any, scores: Array) -> None:
        """Adds what the numbers of a column say to `scores` (n_rows, n_classes), contiguous, in
        place; missing values and strings say nothing."""
        values = values_of(self.name, column)
        if self.pooled is not None:
            self.pooled.add([values], scores)
            return
        gap = np.isnan(values)
        if gap.any():
            scores[~gap] += self.density.log_density(values[~gap])
        else:
            scores += self.density.log_density(values)

    def contributions(self, x: Table) -> dict[str, Array]:
        """What the column adds, (n_rows, n_classes), in nats, by name."""
        return {self.name: self.contribution(x.columns[self.name])}

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What the column adds under parameters drawn from their posterior, (n, n_rows,
        n_classes)."""
        values = values_of(self.name, x.columns[self.name])
        there = ~np.isnan(values)
        if self.kinds is None:
            scores = np.zeros((n, x.n_rows, self.n_classes))
        else:
            scores = self.kinds.drawn(x, rng, n)
        if there.any():
            scores[:, there] += self.density.drawn(values[there], rng, n)
        return scores

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What the column adds after each row itself is taken out, (n_rows, n_classes)."""
        scores = np.zeros((x.n_rows, self.n_classes))
        self.add_numbers_without(x.columns[self.name], own, weight, scores)
        if self.kinds is not None:
            scores += self.kinds.without(x, own, weight)
        return scores

    def add_numbers_without(self, column: Any, own: Index, weight: Array, scores: Array) -> None:
        """:meth:`add_numbers` after each row itself is taken out."""
        values = values_of(self.name, column)
        if self.pooled is not None:
            self.pooled.add_without([values], own, weight, scores)
            return
        there = np.flatnonzero(~np.isnan(values))
        for start in range(0, len(there), CHUNK):
            rows = there[start : start + CHUNK]
            scores[rows] += self.density.without(values[rows], own[rows], weight[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class CountsPart:
    """A group of columns that count together. A missing value counts as 0, which says nothing.

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

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """log p(columns | labels), in nats; raises ImproperPrior."""
        return [self.counts.log_evidence()]

    def prior_and_posteriors(self, level: Any) -> Any:
        need_no_level(self.columns[0], level)
        raise ValueError(NO_PARAMETER.format(self.columns[0], "in a group of counts"))

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
