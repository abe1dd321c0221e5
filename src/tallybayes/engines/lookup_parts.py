"""The parts of a table's score: their contract, and those that are looked up in cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.contract import raise_infinite
from tallybayes.engines.leave_one_out import cells_without
from tallybayes.errors import UnseenLevel
from tallybayes.score import (
    CellTable,
    Density,
    Description,
    LevelCells,
    LookupLaw,
    NumberCells,
    Term,
    Unseen,
)
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tally import GridCounts
from tallybayes.threads import get_num_threads, in_threads

__all__ = [
    "MISSING",
    "NO_PARAMETER",
    "BinsPart",
    "ComputedPart",
    "Distributions",
    "KindsPart",
    "LevelsPart",
    "LookupPart",
    "Part",
    "Shown",
    "need_no_level",
    "table_of_numbers",
    "tables_of",
    "values_of",
]


# ---- a part: what a column, or a group, adds to each class ---------------------------------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]

NO_PARAMETER = (
    "column {!r} is {}: parameters are drawn of levels, of Poisson() and of "
    "Gaussian(prior=NormalInverseGamma(…))"
)


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


def need_no_level(name: str, level: Any) -> None:
    """Raises ValueError where a level is named of a column that has none."""
    if level is not None:
        raise ValueError(f"column {name!r} has no levels: leave level= out")


class Distributions(Protocol):
    """How a part becomes a distribution object; the implementation is in a layer above the
    engines."""

    def law_of_bins(self, part: Any) -> Any:
        """What a number of each class is distributed as, where it is read in bins."""

    def law_of(self, density: Density) -> Any:
        """The same of a number that is read as a density."""

    def levels(self, part: Any) -> Any:
        """A column of levels."""

    def numbers(self, part: Any, law: Any) -> Any:
        """A column of numbers of this law."""

    def counts(self, part: Any) -> Any:
        """A group of columns that count together."""

    def correlated(self, part: Any) -> Any:
        """A group of correlated columns."""


class Shown(NamedTuple):
    """The contribution of some values of a column to the score of each class.

    Parameters
    ----------
    entries : list or array (n,)
        What the values are called.
    scores : float64 array (n, n_classes)
        In nats.
    """

    entries: Any
    scores: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(ABC):
    """The contribution of a column, or a group of columns, to the score of each class.

    It is looked up, or computed, or both: the strings beside numbers are looked up, the numbers
    computed.

    Parameters
    ----------
    columns : tuple of str
    """

    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """The column, or the first of a group."""
        return self.columns[0]

    # ---- forms -----------------------------------------------------------------------------------
    @property
    def lookup(self) -> LookupPart | None:
        """What of it is looked up in a table of cells."""
        return None

    @property
    def computed(self) -> ComputedPart | None:
        """What of it is computed from the values."""
        return None

    @property
    def kinds(self) -> KindsPart | None:
        """The scores of a missing value, of any number and of each string, in a column of numbers
        where these are counted."""
        return None

    @property
    def holds_levels(self) -> bool:
        """Whether the column holds levels, not numbers."""
        return False

    @property
    def reads_documents(self) -> bool:
        """Whether the column holds documents, whose terms it can tell apart."""
        return False

    @property
    def follows_rows(self) -> bool:
        """Whether it can learn rows one by one, families and bins as they are."""
        return False

    # ---- smoothing -------------------------------------------------------------------------------
    @property
    def follows(self) -> bool:
        """Whether its smoothing follows the model's alpha."""
        return False

    def rescaled(self, factor: float) -> Self:
        """The part with a smoothing `factor` times as strong, where that follows the model's
        alpha."""
        return self

    # ---- scores ----------------------------------------------------------------------------------
    @abstractmethod
    def contributions(self, x: Table) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name."""

    @abstractmethod
    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What it adds under parameters drawn from their posterior, (n, n_rows, n_classes)."""

    @abstractmethod
    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What it adds after each row itself is taken out, (n_rows, n_classes)."""

    # ---- what it is ------------------------------------------------------------------------------
    @abstractmethod
    def terms(self) -> list[Term]:
        """The score as terms of a formula."""

    @abstractmethod
    def described(self) -> Description:
        """The parameters in words."""

    @abstractmethod
    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """log p(columns | labels), in nats, of each law that it has; `grid` are the values of a
        column of numbers. Raises ImproperPrior."""

    @abstractmethod
    def prior_and_posteriors(self, level: Any) -> Any:
        """The distributions of a parameter, of a level where the column has levels; raises
        ImproperPrior."""

    @abstractmethod
    def distribution(self, made: Distributions) -> Any:
        """The distribution of the columns, as `made` makes it."""

    @abstractmethod
    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """What cells or values add, by column; `values` gives the numbers at which a density is
        shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ComputedPart(Part):
    """A part that is computed from the values.

    Parameters are those of Part, and:

    n_classes : int
    """

    n_classes: int

    @property
    def computed(self) -> ComputedPart | None:
        return self

    @property
    def pooled_density(self) -> Density | None:
        """Its density, where columns of such are scored together in one pass."""
        return None

    @abstractmethod
    def add(self, x: Table, scores: Array) -> None:
        """Adds what is computed to `scores` (n_rows, n_classes), contiguous, in place."""

    @abstractmethod
    def add_without(self, x: Table, own: Index, weight: Array, scores: Array) -> None:
        """:meth:`add` after each row itself is taken out."""


# ---- columns that are looked up: cells of levels, and of kinds of values -------------------------
MISSING = "(missing)"


MAX_COLUMNS_AT_ONCE = 128
"""Columns whose tables a thread computes together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupPart(Part):
    """A column read as cells. Not for direct use.

    Parameters are those of Part, and:

    law : LookupLaw
        Its first cell is the missing value, where `has_missing`.
    has_missing : bool
    unseen : {"smooth", "ignore", "error"}
        What the last cell of a column of levels is for.
    follows : bool
        Whether the strength of its prior follows the model's alpha.
    """

    law: LookupLaw
    has_missing: bool = False
    unseen: Unseen = "smooth"
    follows: bool = False

    @property
    def lookup(self) -> LookupPart | None:
        return self

    @property
    def follows_rows(self) -> bool:
        return True

    def rescaled(self, factor: float) -> Self:
        return replace(self, law=self.law.scaled(factor)) if self.follows else self

    @cached_property
    def table(self) -> Array:
        """Log-probabilities of the missing value and of each cell, float64 (n_classes, 1 +
        n_cells)."""
        return self._whole_table(self.law.log_prob())

    def _whole_table(self, table: Array) -> Array:
        """The table of the column, from that of its law."""
        return self._entries(table)

    def take_table(self, table: Array) -> None:
        """Takes :attr:`table` over from that of the law, which was computed elsewhere."""
        self.__dict__["table"] = self._whole_table(table)

    def _entries(self, table: Array) -> Array:
        """A table with an entry for a missing value, from that of the law."""
        if not self.has_missing:
            table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
        if self.unseen == "ignore":
            table[:, -1] = 0.0
        return np.ascontiguousarray(table)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes the scores of the other classes."""
        return self.law.others_change

    def own_table(self, weight: float) -> Array:
        """The table as rows of this weight read it in their own class, each without itself."""
        return self._entries(self.law.own_without(weight))

    def other_table(self, weight: float) -> Array:
        """The same in the classes that they are not of."""
        return self._entries(self.law.other_without(weight))

    @abstractmethod
    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        """Writes the entry of the table for each row into `entries`, contiguous (n_rows,)."""

    def entries(self, column: Column) -> NDArray[np.int32]:
        """Entry of the table for each row, int32 (n_rows,)."""
        entries = np.empty(column.n_rows, dtype=np.int32)
        self.fill_entries(column, entries)
        return entries

    def contributions(self, x: Table) -> dict[str, Array]:
        entries = self.entries(x.columns[self.name])
        return {self.name: np.ascontiguousarray(self.table.T[entries])}

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        return [self.law.log_evidence()]

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        return self.drawn_of(self.entries(x.columns[self.name]).astype(np.intp), rng, n)

    def drawn_of(self, entries: Index, rng: Any, n: int) -> Array:
        """:meth:`drawn` of rows with these entries."""
        scores = np.zeros((n, len(entries), len(self.table)))
        cells = entries - (0 if self.has_missing else 1)
        there = cells >= 0
        if self.unseen == "ignore":
            there &= entries < self.table.shape[1] - 1
        used, at = np.unique(cells[there], return_inverse=True)
        if len(used):
            scores[:, there] += self.law.drawn(used, rng, n)[:, :, at].transpose(0, 2, 1)
        return scores

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        return self.without_of(self.entries(x.columns[self.name]).astype(np.intp), own, weight)

    def without_of(self, entries: Index, own: Index, weight: Array) -> Array:
        """:meth:`without` of rows with these entries."""
        if self.has_missing:
            return cells_without(self.law, entries, own, weight)
        there = entries > 0
        if there.all():
            return cells_without(self.law, entries - 1, own, weight)
        scores = np.zeros((len(own), len(self.table)))
        if there.any():
            scores[there] = cells_without(self.law, entries[there] - 1, own[there], weight[there])
        return scores

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """The missing value where that is evidence, then the cells."""
        names, kinds = list(self.described().rows), self.kinds
        scores = self.table[:, 1 : 1 + len(names)]
        if self.has_missing or (kinds is not None and kinds.has_missing):
            names, scores = [MISSING, *names], self.table[:, : len(names) + 1]
        return {self.name: Shown(names, scores.T)}


def tables_of(parts: Sequence[LookupPart]) -> list[Array]:
    """:attr:`LookupPart.table` of each; tables that are not cached are computed together."""
    by_type: dict[type[LookupLaw], list[LookupPart]] = {}
    for part in parts:
        if "table" not in part.__dict__:
            by_type.setdefault(type(part.law), []).append(part)
    for law, some in by_type.items():
        chunks = [
            some[start : start + MAX_COLUMNS_AT_ONCE]
            for start in range(0, len(some), MAX_COLUMNS_AT_ONCE)
        ]

        def compute(chunk: list[LookupPart], law: type[LookupLaw] = law) -> None:
            for part, table in zip(chunk, law.log_probs([p.law for p in chunk]), strict=True):
                part.take_table(table)

        in_threads(compute, chunks)
    return [part.table for part in parts]


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelsPart(LookupPart):
    """A column of levels. The law's last cell serves levels never seen.

    Parameters are those of LookupPart, and:

    levels : list of str
    grows : bool
        Whether a further level would be smoothed as the others are and leave their smoothing as it
        is; under a prior it takes some of theirs.
    in_effective_rows : bool
        Whether the strength of its prior grows with the weight of an effective row.
    """

    levels: list[str]
    grows: bool = True
    in_effective_rows: bool = False

    @property
    def holds_levels(self) -> bool:
        return True

    @cached_property
    def _entry_of_level(self) -> dict[str, int]:
        return {level: i + 1 for i, level in enumerate(self.levels)}

    def fill_entries(self, column: Strings | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        at = self._entry_of_level
        unseen = len(at) + 1
        rank = np.array([*map(at.get, column.levels, repeat(unseen)), 0], dtype=np.int32)
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
        cell = self.levels.index(str(level)) + self.has_missing
        return self.law.prior_and_posteriors(cell, f"P({self.name} = {level} | class)")

    def terms(self) -> list[Term]:
        cells, table = LevelCells(self.name, self.levels, self.unseen == "error"), self.table
        if table.shape[1] < cells.size:  # levels never seen add nothing
            table = np.pad(table, ((0, 0), (0, cells.size - table.shape[1])))
        return [CellTable(cells, table)]

    def described(self) -> Description:
        n = len(self.levels)
        return Description("P(level | class)", self.levels, np.exp(self.table[:, 1 : 1 + n]))

    def distribution(self, made: Distributions) -> Any:
        return made.levels(self)

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        found = super().shown(values)
        if self.table.shape[1] == len(self.levels) + 1:  # no cell for levels never seen
            return found
        names, scores = found[self.name]
        more = np.column_stack([scores.T, self.table[:, -1]]).T
        return {self.name: Shown([*names, "(any other)"], more)}


@dataclass(frozen=True, eq=False, kw_only=True)
class KindsPart(LevelsPart):
    """The kind of a value of a column of numbers: a missing value, a number, or one of the strings
    beside them.

    Parameters are those of LevelsPart; the first level is "a number".
    """

    @property
    def strings(self) -> list[str]:
        """The strings beside the numbers."""
        return self.levels[1:]

    def terms(self) -> list[Term]:
        return [table_of_numbers(self.name, np.empty(0), self, self.table)]

    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        strings = column.strings if isinstance(column, Mixed) else Empty(column.n_rows)
        super().fill_entries(strings, entries)
        entries[~np.isnan(values_of(self.name, column))] = 1


# ---- columns of numbers in bins ------------------------------------------------------------------
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
        return [table_of_numbers(self.name, self.edges, self.kinds, self.table)]

    def described(self) -> Description:
        edges = [f"{edge:.6g}" for edge in self.edges.tolist()]
        names = [f"{a} to {b}" for a, b in zip(["…", *edges], [*edges, "…"], strict=True)]
        strings = [] if self.kinds is None else self.kinds.strings
        what = "P(bin | class); a bin has its lower edge"
        values = np.exp(self.table[:, 1 : 1 + len(names) + len(strings)])
        return Description(what, [*names, *strings], values)

    def distribution(self, made: Distributions) -> Any:
        return made.numbers(self, made.law_of_bins(self))


def table_of_numbers(name: str, starts: Array, kinds: KindsPart | None, table: Array) -> CellTable:
    """The table of a column of numbers, and of the strings beside them."""
    strings = [] if kinds is None else kinds.strings
    size = len(starts) + 2 + len(strings)
    takes_others = bool(strings) and table.shape[1] > size
    cells = NumberCells(name, starts, strings, takes_others)
    return CellTable(cells, table[:, : cells.size])
