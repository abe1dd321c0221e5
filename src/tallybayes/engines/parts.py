"""What a column, or a group of columns, of a table adds to the score of each class.

A column is looked up in a table of cells, or computed from its values, or both: the strings beside
numbers are looked up, the numbers computed. Each part is evaluated with every row counted, or with
each row taken out of the counts while it is scored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.contract import raise_infinite
from tallybayes.engines.leave_one_out import cells_without
from tallybayes.errors import UnseenLevel
from tallybayes.score import (
    CellTable,
    Correlated,
    Counts,
    Description,
    DocumentLikelihood,
    GroupTerm,
    ImproperPrior,
    LevelCells,
    LookupLaw,
    NumberCells,
    NumberDensity,
    NumberLaw,
    NumberTerm,
    OpaqueTerm,
    Term,
    TextTerm,
    Unseen,
    missing_patterns,
)
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import numbers_and_strings
from tallybayes.tally import GridCounts
from tallybayes.threads import get_num_threads, in_threads
from tallybayes.tokens.analyzer import Analyzer, KnownTerms
from tallybayes.tokens.counting import Documents

__all__ = [
    "ALTERNATIVES",
    "MISSING",
    "BinsPart",
    "CorrelatedPart",
    "CountsPart",
    "KindsPart",
    "LevelsPart",
    "LookupPart",
    "Part",
    "PooledColumns",
    "TakenOut",
    "TextPart",
    "distinct_documents",
    "part_of",
    "scored_together",
    "tables_of",
    "values_of",
]


# ---- the contract --------------------------------------------------------------------------------
Array = NDArray[np.float64]
Index = NDArray[np.intp]


class TakenOut(NamedTuple):
    """Rows that were counted, each to be taken out of the counts while it is scored.

    Parameters
    ----------
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
        The weight that it was counted with.
    """

    own: Index
    weight: Array

    def take(self, rows: Any) -> TakenOut:
        """Some of the rows."""
        return TakenOut(self.own[rows], self.weight[rows])


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(ABC):
    """The contribution of a column, or a group of columns, to the score of each class.

    Parameters
    ----------
    columns : tuple of str
    n_classes : int
    kinds : KindsPart, optional
        Of a column of numbers where missing values are evidence, or which holds strings: the
        probabilities that a value is a missing value, a number or a string.
    follows : bool
        Whether the strength of its smoothing follows the model's alpha.
    likelihood : object, optional
        What computes it, where it is not only looked up.
    """

    kind: ClassVar[Literal["levels", "cells", "density", "counts", "triangular", "documents"]]
    how: ClassVar[str] = ""
    """How it is read, for the message that it has no parameter."""

    columns: tuple[str, ...]
    n_classes: int
    kinds: KindsPart | None = None
    follows: bool = False
    likelihood: Any = None

    @property
    def name(self) -> str:
        """The column, or the first of a group."""
        return self.columns[0]

    @property
    def lookup(self) -> LookupPart | None:
        """What of it is looked up in a table of cells."""
        return self.kinds

    @property
    def pooled(self) -> PooledColumns | None:
        """The kernel that computes it, where columns of its form are computed together."""
        return None

    @property
    def strings(self) -> list[str]:
        """The strings beside the numbers."""
        return [] if self.kinds is None else self.kinds.levels[1:]

    @property
    def follows_rows(self) -> bool:
        """Whether it can learn rows one by one, families and bins as they are."""
        return False

    def rescaled(self, factor: float) -> Self:
        """The part with a smoothing `factor` times as strong, where that follows the model's
        alpha."""
        return self

    # ---- scores ----------------------------------------------------------------------------------
    @abstractmethod
    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        """Adds what is computed to `scores` (n_rows, n_classes), contiguous, in place.

        Parameters
        ----------
        x : Table
        scores : float64 array (n_rows, n_classes)
        out : TakenOut, optional
            The rows of `x`, where each is to be taken out.
        """

    def scores(self, x: Table, out: TakenOut | None = None) -> Array:
        """All that it adds, (n_rows, n_classes), in nats; parameters as in :meth:`add`."""
        scores = np.zeros((x.n_rows, self.n_classes))
        self.add(x, scores, out)
        if self.lookup is not None:
            scores += self.lookup.looked_up(x.columns[self.name], out)
        return scores

    def contributions(self, x: Table, out: TakenOut | None = None) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name. Columns that are read
        together add what they do by all rows: their shares without a row are not known apart."""
        return {self.name: self.scores(x, out)}

    @abstractmethod
    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        """What it adds under parameters drawn from their posterior, (n, n_rows, n_classes)."""

    # ---- what it is ------------------------------------------------------------------------------
    @abstractmethod
    def terms(self) -> list[Term]:
        """The score as terms of a formula; of what is computed, where it is not only looked up."""

    @abstractmethod
    def described(self) -> Description:
        """The parameters in words."""

    @abstractmethod
    def evidence(self, grid: GridCounts | None) -> float:
        """log p(columns | labels), in nats, without that of :attr:`kinds`; `grid` are the values of
        a column of numbers. Raises ImproperPrior."""

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        """log p(columns | labels), in nats, of each law that it has; see :meth:`evidence`."""
        return [self.evidence(grid), *([] if self.kinds is None else [self.kinds.evidence(None)])]

    def prior_and_posteriors(self, level: Any) -> Any:
        """The distributions of a parameter, of a level where the column has levels; raises
        ImproperPrior."""
        if level is not None:
            raise ValueError(f"column {self.name!r} has no levels: leave level= out")
        raise ValueError(
            f"column {self.name!r} is {self.how}: parameters are drawn of levels, of Poisson() and "
            "of Gaussian(prior=NormalInverseGamma(…))"
        )

    @abstractmethod
    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """What cells or values add, by column; `values` gives the numbers at which a density is
        shown."""


# ---- columns that are looked up ------------------------------------------------------------------
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
    """

    law: LookupLaw
    has_missing: bool = False
    unseen: Unseen = "smooth"

    @property
    def lookup(self) -> LookupPart | None:
        return self

    @property
    def follows_rows(self) -> bool:
        return True

    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        """Nothing: all of it is looked up."""

    def rescaled(self, factor: float) -> Self:
        return replace(self, law=self.law.scaled(factor)) if self.follows else self

    # ---- the table: an entry for a missing value, then each cell, then each string ---------------
    @cached_property
    def table(self) -> Array:
        """Log-probabilities of each entry, float64 (n_classes, n_entries)."""
        return self.tabled(lambda law: law.log_prob())

    def tabled(self, read: Callable[[LookupLaw], Array]) -> Array:
        """The table of what `read` gives for the cells of a law, (n_classes, n_cells)."""
        table = read(self.law)
        if not self.has_missing:
            table = np.concatenate([np.zeros((len(table), 1)), table], axis=1)
        if self.unseen == "ignore":
            table[:, -1] = 0.0
        if self.kinds is not None:
            kinds = self.kinds.tabled(read)
            parts = [kinds[:, :1], table[:, 1:] + kinds[:, 1:2], kinds[:, 2:]]
            table = np.concatenate(parts, axis=1)
        return np.ascontiguousarray(table)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes the scores of the other classes."""
        return self.law.others_change or (self.kinds is not None and self.kinds.others_change)

    @abstractmethod
    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        """Writes the entry of the table for each row into `entries`, contiguous (n_rows,)."""

    def entries(self, column: Column) -> NDArray[np.int32]:
        """Entry of the table for each row, int32 (n_rows,)."""
        entries = np.empty(column.n_rows, dtype=np.int32)
        self.fill_entries(column, entries)
        return entries

    def cells(self, column: Column) -> list[tuple[LookupPart, Index]]:
        """The laws that the table is made of, that of :attr:`kinds` first, and the cell of each row
        in it: below 0 for none."""
        entries = self.entries(column).astype(np.intp)
        found: list[tuple[LookupPart, Index]] = []
        if self.kinds is not None:
            beyond = entries - (self.table.shape[1] - self.kinds.table.shape[1] + 1)
            kinds = np.where(beyond > 0, beyond + 1, np.minimum(entries, 1))
            entries = np.where(beyond > 0, 0, entries)
            found = [(self.kinds, kinds - (not self.kinds.has_missing))]
        return [*found, (self, entries - (not self.has_missing))]

    def looked_up(self, column: Column, out: TakenOut | None = None) -> Array:
        """What it adds, (n_rows, n_classes), each row taken out where `out` is given."""
        if out is None:
            return self.table.T[self.entries(column)]
        scores = np.zeros((column.n_rows, self.n_classes))
        for part, cells in self.cells(column):
            there = cells >= 0
            if there.all():
                scores += cells_without(part.law, cells, *out)
            elif there.any():
                scores[there] += cells_without(part.law, cells[there], *out.take(there))
        return scores

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        scores = np.zeros((n, x.n_rows, self.n_classes))
        for part, cells in self.cells(x.columns[self.name]):
            there = cells >= 0
            if part.unseen == "ignore":
                there &= cells < part.law.log_prob().shape[1] - 1
            used, at = np.unique(cells[there], return_inverse=True)
            if len(used):
                scores[:, there] += part.law.drawn(used, rng, n)[:, :, at].transpose(0, 2, 1)
        return scores

    def evidence(self, grid: GridCounts | None) -> float:
        """Of a column of bins: of the bin that each value is in, not of its place in the bin."""
        return self.law.log_evidence()

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

        def compute(start: int, law: Any = law, some: list[LookupPart] = some) -> None:
            chunk = some[start : start + MAX_COLUMNS_AT_ONCE]
            laws = [k.law for part in chunk for k in (part, part.kinds) if k is not None]
            table_of = dict(zip(map(id, laws), law.log_probs(laws), strict=True))
            for part in chunk:
                part.__dict__["table"] = part.tabled(lambda law: table_of[id(law)])

        in_threads(compute, list(range(0, len(some), MAX_COLUMNS_AT_ONCE)))
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

    kind = "levels"
    levels: list[str]
    grows: bool = True
    in_effective_rows: bool = False

    @cached_property
    def entry_of_level(self) -> dict[str, int]:
        return {level: i for i, level in enumerate(self.levels, start=1)}

    def fill_entries(self, column: Strings | Empty, entries: NDArray[np.int32]) -> None:
        if isinstance(column, Empty):
            entries[:] = 0
            return
        unseen = len(self.levels) + 1
        at = self.entry_of_level.get
        rank = np.array([*map(at, column.levels, repeat(unseen)), 0], dtype=np.int32)
        # a missing value, code −1, reads the last; without a mode, out= would cost a copy
        np.take(rank, column.codes, out=entries, mode="wrap")
        if self.unseen == "error" and len(entries) and entries.max() == unseen:
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

    def terms(self) -> list[Term]:
        return [_table_of_numbers(self.name, np.empty(0), self.levels[1:], self.table)]

    def fill_entries(self, column: Any, entries: NDArray[np.int32]) -> None:
        strings = column.strings if isinstance(column, Mixed) else Empty(column.n_rows)
        super().fill_entries(strings, entries)
        entries[~np.isnan(values_of(self.name, column))] = 1


def _table_of_numbers(name: str, starts: Array, strings: list[str], table: Array) -> CellTable:
    """The table of a column of numbers, and of the strings beside them."""
    takes_others = bool(strings) and table.shape[1] > len(starts) + 2 + len(strings)
    cells = NumberCells(name, starts, strings, takes_others)
    return CellTable(cells, table[:, : cells.size])


@dataclass(frozen=True, eq=False, kw_only=True)
class BinsPart(LookupPart):
    """A column of numbers in bins. Strings beside the numbers have entries after those of the bins.

    Parameters are those of LookupPart, and:

    edges : float64 array (n_bins − 1,)
    """

    kind = "cells"
    how = "read in bins"
    edges: Array

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

    def terms(self) -> list[Term]:
        return [_table_of_numbers(self.name, self.edges, self.strings, self.table)]

    def described(self) -> Description:
        edges = [f"{edge:.6g}" for edge in self.edges.tolist()]
        names = [f"{a} to {b}" for a, b in zip(["…", *edges], [*edges, "…"], strict=True)]
        names += self.strings
        what = "P(bin | class); a bin has its lower edge"
        return Description(what, names, np.exp(self.table[:, 1 : 1 + len(names)]))


# ---- a column of numbers that is read as a density -----------------------------------------------
CHUNK = 1 << 15  # rows whose intermediate results stay in the cache


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityPart(Part):
    """A column of numbers as a density; with :attr:`kinds` that of a number.

    Parameters are those of Part, and:

    likelihood : NumberDensity
    """

    kind = "density"
    likelihood: NumberDensity

    @property
    def follows_rows(self) -> bool:
        return self.likelihood.follows_rows

    @cached_property
    def pooled(self) -> PooledColumns | None:
        """See :attr:`Part.pooled`; None where its density does not have the form."""
        law = self.likelihood.law
        if law is None or law.pooled() is None:
            return None
        return PooledColumns([self.likelihood], self.n_classes)

    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        """Missing values and strings add nothing; see :meth:`Part.add`."""
        values, density = values_of(self.name, x.columns[self.name]), self.likelihood
        if self.pooled is not None:
            self.pooled.add([values], scores, out)
            return
        left = ~np.isnan(values)
        if out is not None:
            for start in range(0, len(values), CHUNK):
                rows: slice | Index = slice(start, start + CHUNK)
                if not left[rows].all():
                    rows = start + np.flatnonzero(left[rows])
                scores[rows] += density.without(values[rows], *out.take(rows))
            return
        counts = density.of_counts()
        if counts is not None:
            given = np.ascontiguousarray(values)
            _kernels.add_of_counts(given, counts, scores, left.view(np.uint8), get_num_threads())
        if left.all():
            scores += density.log_density(values)
        elif left.any():
            scores[left] += density.log_density(values[left])

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        values = values_of(self.name, x.columns[self.name])
        there = ~np.isnan(values)
        if self.kinds is None:
            scores = np.zeros((n, x.n_rows, self.n_classes))
        else:
            scores = self.kinds.drawn(x, rng, n)
        if there.any():
            scores[:, there] += self.likelihood.drawn(values[there], rng, n)
        return scores

    def terms(self) -> list[Term]:
        return [NumberTerm(self.name, self.likelihood.law, self.likelihood)]

    def described(self) -> Description:
        what, rows, values = self.likelihood.described()
        if self.kinds is not None and self.strings:
            rows = [*rows, *(f"P({name!r})" for name in self.strings)]
            values = np.concatenate([values, self.kinds.described().values[:, 1:]], axis=1)
        return Description(what, rows, values)

    def evidence(self, grid: GridCounts | None) -> float:
        assert grid is not None
        return self.likelihood.log_evidence_of(grid)

    def prior_and_posteriors(self, level: Any) -> Any:
        if level is None:
            return self.likelihood.prior_and_posteriors(self.name)
        return super().prior_and_posteriors(level)

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        numbers, strings = values(self.name), self.strings
        column = numbers_and_strings(numbers, strings)
        entries = [*numbers.tolist(), *strings] if strings else numbers
        x = Table({self.name: column}, len(entries), True)
        return {self.name: Shown(entries, self.scores(x))}


class PooledColumns:
    """Columns whose classes share pooled rows, scored together in one pass over the rows.

    Parameters
    ----------
    densities : sequence of NumberDensity
        Of columns. Their laws have the form of :class:`tallybayes.score.PooledTerms`.
    n_classes : int
    """

    less: _kernels.PooledScorer

    def __init__(self, densities: Sequence[NumberDensity], n_classes: int) -> None:
        self.densities = densities
        self.all: _kernels.PooledScorer = _kernels.PooledScorer(n_classes)
        self.less = _kernels.PooledScorer(n_classes)  # columns that the kernel takes rows out of
        self.by_kernel: list[int] = []
        for j, density in enumerate(densities):
            assert density.law is not None
            terms, less = density.law.pooled(), density.pooled_less()
            assert terms is not None
            self.all.add(*terms)
            if less is not None:
                self.less.add(*terms)
                self.less.add_less(*less)
                self.by_kernel.append(j)

    def add(self, columns: Sequence[Array], scores: Array, out: TakenOut | None = None) -> None:
        """Adds log p(x | c) to `scores` (n_rows, n_classes), contiguous, in place.

        Parameters
        ----------
        columns : sequence of float64 arrays (n_rows,)
            NaN adds nothing.
        scores : float64 array (n_rows, n_classes)
        out : TakenOut, optional
            These rows, where each is to be taken out.
        """
        x = [np.ascontiguousarray(column) for column in columns]
        if out is None:
            self.all.score(x, scores, get_num_threads())
            return
        redo = np.zeros((len(out.own), len(self.by_kernel)), dtype=np.uint8)
        own = np.ascontiguousarray(out.own, dtype=np.int64)
        weight = np.ascontiguousarray(out.weight)
        of_kernel = [x[j] for j in self.by_kernel]
        self.less.score_without(of_kernel, own, weight, scores, redo, get_num_threads())
        at = {j: i for i, j in enumerate(self.by_kernel)}
        for j, density in enumerate(self.densities):
            rows = np.flatnonzero(redo[:, at[j]] if j in at else ~np.isnan(x[j]))
            for start in range(0, len(rows), CHUNK):
                some = rows[start : start + CHUNK]
                scores[some] += density.without(x[j][some], *out.take(some))


# ---- columns that are read together --------------------------------------------------------------
MAX_INTERMEDIATE = 1 << 19  # numbers of the intermediate results of a chunk of rows


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupPart(Part):
    """A group of columns of numbers with one likelihood.

    Parameters are those of Part; likelihood is Correlated or Counts.
    """

    def matrix(self, x: Table) -> Array:
        """Their numbers, float64 (n_rows, n_columns), NaN for missing values and for columns that
        the table lacks.

        Raises
        ------
        ValueError
            For infinity.
        """
        wide = np.empty((x.n_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            wide[:, j] = values_of(name, x.columns.get(name, Empty(x.n_rows)))
        return wide

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        return np.asarray(self.likelihood.drawn(self.matrix(x), rng, n))

    def evidence(self, grid: GridCounts | None) -> float:
        return float(self.likelihood.log_evidence())


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrelatedPart(GroupPart):
    """A group of columns of numbers that are scored together.

    A missing value is left out: of a row with missing values the columns that are there are scored,
    by their own joint distribution. Each column adds its conditional log-density given the columns
    before it in the group.

    Parameters are those of GroupPart, and:

    likelihood : Correlated
    """

    kind = "triangular"
    how = "in a group of numbers"
    likelihood: Correlated

    def scored(self, values: Array, shares: Array | None = None) -> Array:
        """log p(x | c) of rows; see :func:`scored_together`."""
        return scored_together(self.likelihood, values, self.n_classes, shares)

    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        """A row with missing values was not counted and takes nothing out; see :meth:`Part.add`."""
        values = self.matrix(x)
        if out is None:
            scores += self.scored(values)
            return
        missing = np.isnan(values).any(axis=1)
        scores[missing] += self.scored(values[missing])
        whole = np.flatnonzero(~missing)
        step = max(1, MAX_INTERMEDIATE // (self.n_classes * len(self.columns)))
        for start in range(0, len(whole), step):
            rows = whole[start : start + step]
            scores[rows] += self.likelihood.without(values[rows], *out.take(rows))

    def contributions(self, x: Table, out: TakenOut | None = None) -> dict[str, Array]:
        values = self.matrix(x)
        shares = np.zeros((x.n_rows, self.n_classes, len(self.columns)))
        self.scored(values, shares)
        return {name: shares[:, :, j] for j, name in enumerate(self.columns)}

    def terms(self) -> list[Term]:
        return [GroupTerm(self.columns, self.likelihood)]

    def described(self) -> Description:
        return self.likelihood.described()

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """Nothing: what a column adds depends on the columns before it."""
        return {}


def scored_together(
    likelihood: Correlated, values: Array, n_classes: int, shares: Array | None = None
) -> Array:
    """log p(x | c), (n_rows, n_classes), of rows (n_rows, n_columns), NaN for missing values; and
    what each column adds, if there is room for it (n_rows, n_classes, n_columns), of zeros."""
    scores = np.zeros((len(values), n_classes))
    for there, rows in missing_patterns(values):
        terms, whole = likelihood.terms(there), len(rows) == len(values)
        x = values if whole else values[rows]
        x = np.ascontiguousarray(x[:, there]) if len(there) < x.shape[1] else x
        some = scores if whole else np.zeros((len(rows), n_classes))
        each = None if shares is None else np.zeros((*some.shape, len(there)))
        _kernels.score_triangular(x, *terms, some, each, get_num_threads())
        if not whole:
            scores[rows] = some
        if shares is not None and each is not None:
            for i, j in enumerate(there):
                shares[rows, :, j] = each[:, :, i]
    return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class CountsPart(GroupPart):
    """A group of columns that count together. A missing value counts as 0, which adds nothing.

    Parameters are those of GroupPart, and:

    likelihood : Counts
    """

    kind = "counts"
    how = "in a group of counts"
    likelihood: Counts

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

    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        if out is None:
            for share in self.contributions(x).values():
                scores += share
            return
        wide = self.matrix(x)
        step = max(1, (CHUNK << 3) // (self.n_classes * wide.shape[1]))
        for start in range(0, len(wide), step):
            rows = slice(start, start + step)
            scores[rows] += self.likelihood.without(wide[rows], *out.take(rows))

    def contributions(self, x: Table, out: TakenOut | None = None) -> dict[str, Array]:
        shares = self.likelihood.contributions(self.matrix(x))
        return {name: shares[:, :, j] for j, name in enumerate(self.columns)}

    def terms(self) -> list[Term]:
        slopes = self.likelihood.slopes()
        if slopes is None:
            what = self.likelihood.described().what
            reason = (
                f"the columns {list(self.columns)} are read together as {what}, whose terms are "
                "not products of a weight and a count"
            )
            return [OpaqueTerm(self.columns, reason)]
        of_columns = zip(self.columns, np.ascontiguousarray(slopes.T), strict=True)
        return [NumberTerm(name, NumberLaw.of_slopes(slope)) for name, slope in of_columns]

    def described(self) -> Description:
        what, _, values = self.likelihood.described()
        return Description(what, list(self.columns), values)

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """What one unit of each column adds."""
        shares = self.likelihood.contributions(np.eye(len(self.columns)))
        return {name: Shown(["one more"], shares[[j], :, j]) for j, name in enumerate(self.columns)}


# ---- a column of text ----------------------------------------------------------------------------
MAX_SHOWN_TERMS = 100  # terms of a table for people
ALTERNATIVES = "declare Categorical() for it, or leave it out with None"


class DistinctDocuments(NamedTuple):
    """The documents of a column, each once.

    Parameters
    ----------
    documents : list of str
    rows : index array (n_there,)
        The rows that have a text.
    of_row : index array (n_there,)
        Its place.
    """

    documents: list[str]
    rows: Index
    of_row: Index


def distinct_documents(column: Column) -> DistinctDocuments:
    """The documents that rows of a column have; a missing value has none."""
    if not isinstance(column, Strings):
        none = np.zeros(0, dtype=np.intp)
        return DistinctDocuments([], none, none)
    rows = np.flatnonzero(column.codes >= 0)
    used, of_row = np.unique(column.codes[rows], return_inverse=True)
    return DistinctDocuments([column.levels[code] for code in used.tolist()], rows, of_row)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextPart(Part):
    """A column of text. A missing text adds nothing.

    Parameters are those of Part, and:

    likelihood : DocumentLikelihood
    analyzer : Analyzer
    """

    kind = "documents"
    likelihood: DocumentLikelihood
    analyzer: Analyzer

    @cached_property
    def known(self) -> KnownTerms:
        """Documents as rows of the terms that were counted."""
        return KnownTerms(self.analyzer, self.likelihood.counts.held.terms)

    @property
    def follows_rows(self) -> bool:
        return self.analyzer.rules is not None

    def of_terms(self, document: str) -> tuple[list[Any], Array]:
        """The terms of a document that were counted, and what each adds, float64
        (n_terms, n_classes)."""
        rows = self.known.rows([document])
        terms = self.likelihood.counts.held.terms[rows.terms].tolist()
        return terms, self.likelihood.contributions(rows)

    def add(self, x: Table, scores: Array, out: TakenOut | None = None) -> None:
        distinct, rows, of_row = distinct_documents(x.columns[self.name])
        threads = get_num_threads()
        documents = self.known.rows(distinct, threads)
        if out is None:
            scores[rows] += self.likelihood.scores(documents, threads)[of_row]
        else:
            scores[rows] += self.likelihood.without(documents.take(of_row), *out.take(rows))

    def terms(self) -> list[Term]:
        reason = (
            f"column {self.name!r} is read as text, which SQL does not cut into tokens: "
            f"{ALTERNATIVES}"
        )
        held = self.likelihood.counts.held.terms
        return [TextTerm(self.columns, reason, self.analyzer, held, self.likelihood.sums)]

    def described(self) -> Description:
        return self.likelihood.described()

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        """The contributions of the most informative terms, each in a text of this one term."""
        terms = self.likelihood.most_informative(MAX_SHOWN_TERMS)
        one = np.ones(len(terms), dtype=np.int32)
        ends = np.arange(len(terms) + 1, dtype=np.int64)
        rows = Documents(ends, terms.astype(np.int32), one, self.likelihood.counts.held.n_terms)
        names = self.likelihood.counts.held.terms[terms].tolist()
        return {self.name: Shown(names, self.likelihood.scores(rows))}

    # ---- what a text has not ---------------------------------------------------------------------
    def drawn(self, x: Table, rng: Any, n: int) -> Array:
        raise ValueError(
            f"column {self.name!r} is read as text, whose terms have no posterior to draw from: "
            f"{ALTERNATIVES}"
        )

    def evidence(self, grid: GridCounts | None) -> float:
        raise ImproperPrior("is read as text, which has no prior", ALTERNATIVES)

    def prior_and_posteriors(self, level: Any) -> Any:
        raise ValueError(
            f"column {self.name!r} is read as text, which has no prior and no posterior: "
            f"{ALTERNATIVES}"
        )


# ---- the part for each score kind that a likelihood can have -------------------------------------
COMPUTED: dict[str, type[DensityPart | CountsPart | CorrelatedPart]] = {
    "density": DensityPart,
    "counts": CountsPart,
    "triangular": CorrelatedPart,
}


def part_of(
    columns: tuple[str, ...], likelihood: Any, n_classes: int, kinds: KindsPart | None = None
) -> Part:
    """What a column of numbers, or a group of columns, adds to the score.

    Parameters
    ----------
    columns : tuple of str
    likelihood : NumberDensity, BinnedReading or GroupLikelihood
    n_classes : int
    kinds : KindsPart, optional
        The scores of a missing value, of any number and of each string beside the numbers.
    """
    if likelihood.score_kind != "cells":
        of_kind = COMPUTED[likelihood.score_kind]
        return of_kind(columns=columns, n_classes=n_classes, kinds=kinds, likelihood=likelihood)
    return BinsPart(
        columns=columns,
        n_classes=n_classes,
        kinds=kinds,
        follows=likelihood.alpha is not None,
        law=likelihood.law,
        edges=likelihood.edges,
    )
