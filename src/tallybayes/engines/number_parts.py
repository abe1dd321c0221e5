"""Parts of a table's score that are computed: from numbers, groups of columns, and documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.lookup_parts import (
    NO_PARAMETER,
    BinsPart,
    ComputedPart,
    Distributions,
    KindsPart,
    LookupPart,
    Part,
    Shown,
    need_no_level,
    values_of,
)
from tallybayes.score import (
    Correlated,
    Counts,
    Density,
    Description,
    GroupTerm,
    ImproperPrior,
    NumberLaw,
    NumberTerm,
    OpaqueTerm,
    Term,
    TermScores,
    missing_patterns,
)
from tallybayes.tables import Column, Numbers, Strings, Table
from tallybayes.tables.columns import numbers_and_strings
from tallybayes.tally import GridCounts
from tallybayes.tally.live_terms import LiveTermCounts
from tallybayes.threads import get_num_threads
from tallybayes.tokens.analyzer import Analyzer, KnownTerms
from tallybayes.tokens.counting import Documents

__all__ = [
    "CHUNK",
    "CorrelatedPart",
    "CountsPart",
    "DensityPart",
    "DistinctDocuments",
    "GroupPart",
    "PooledColumns",
    "TextPart",
    "distinct_documents",
    "group_part",
    "number_part",
    "scored_together",
    "text_part",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- a column of numbers that is read as a density -----------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class DensityPart(ComputedPart):
    """A column of numbers as a density.

    Parameters are those of ComputedPart, and:

    density : Density
    kinds : KindsPart, optional
        Where missing values are evidence, or the column holds strings: the probabilities that a
        value is a missing value, a number or a string; the density is that of a number.
    """

    density: Density
    kinds: KindsPart | None = None

    @classmethod
    def of(
        cls, columns: tuple[str, ...], likelihood: Any, n_classes: int, kinds: KindsPart | None
    ) -> Self:
        """The part of a column of numbers that is read as a density."""
        return cls(columns=columns, density=likelihood, n_classes=n_classes, kinds=kinds)

    @property
    def lookup(self) -> LookupPart | None:
        return self.kinds

    @property
    def pooled_density(self) -> Density | None:
        return None if self.pooled is None else self.density

    @property
    def follows_rows(self) -> bool:
        return self.density.follows_rows

    def terms(self) -> list[Term]:
        """Of the numbers; those of :attr:`kinds` are its lookup's."""
        return [NumberTerm(self.name, self.density.law, self.density)]

    def described(self) -> Description:
        what, rows, values = self.density.described()
        if self.kinds is None or not self.kinds.strings:
            return Description(what, rows, values)
        kinds = self.kinds.described()
        names = [f"P({name!r})" for name in self.kinds.strings]
        shares = kinds.values[:, 1:]
        return Description(what, [*rows, *names], np.concatenate([values, shares], axis=1))

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        assert grid is not None
        kinds = [] if self.kinds is None else self.kinds.log_evidence(None)
        return [self.density.log_evidence_of(grid), *kinds]

    def prior_and_posteriors(self, level: Any) -> Any:
        need_no_level(self.name, level)
        return self.density.prior_and_posteriors(self.name)

    def distribution(self, made: Distributions) -> Any:
        return made.numbers(self, made.law_of(self.density))

    def shown(self, values: Callable[[str], Array]) -> dict[str, Shown]:
        numbers = values(self.name)
        strings = [] if self.kinds is None else self.kinds.strings
        entries = [*numbers.tolist(), *strings] if strings else numbers
        return {self.name: Shown(entries, self.contribution(numbers_and_strings(numbers, strings)))}

    @cached_property
    def pooled(self) -> PooledColumns | None:
        """The kernel that scores the column, where its density has the form for it."""
        law = self.density.law
        if law is None or law.pooled() is None:
            return None
        return PooledColumns([self.density], self.n_classes)

    def contribution(self, column: Any) -> Array:
        """(n_rows, n_classes) of a column."""
        scores = np.zeros((column.n_rows, self.n_classes))
        self._add_numbers(column, scores)
        if self.kinds is not None:
            scores += self.kinds.table.T[self.kinds.entries(column)]
        return scores

    def add(self, x: Table, scores: Array) -> None:
        """Adds what the column's numbers contribute to `scores` (n_rows, n_classes), contiguous, in
        place; missing values and strings add nothing."""
        self._add_numbers(x.columns[self.name], scores)

    def _add_numbers(self, column: Any, scores: Array) -> None:
        values = values_of(self.name, column)
        if self.pooled is not None:
            self.pooled.add([values], scores)
            return
        counts = self.density.of_counts()
        if counts is None:
            left = ~np.isnan(values)
        else:
            left = np.empty(len(values), dtype=np.bool_)
            x = np.ascontiguousarray(values)
            _kernels.add_of_counts(x, counts, scores, left.view(np.uint8), get_num_threads())
        if left.all():
            scores += self.density.log_density(values)
        elif left.any():
            scores[left] += self.density.log_density(values[left])

    def contributions(self, x: Table) -> dict[str, Array]:
        return {self.name: self.contribution(x.columns[self.name])}

    def drawn(self, x: Table, rng: Any, n: int) -> Array:
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
        scores = np.zeros((x.n_rows, self.n_classes))
        self.add_without(x, own, weight, scores)
        if self.kinds is not None:
            scores += self.kinds.without(x, own, weight)
        return scores

    def add_without(self, x: Table, own: Index, weight: Array, scores: Array) -> None:
        values = values_of(self.name, x.columns[self.name])
        if self.pooled is not None:
            self.pooled.add_without([values], own, weight, scores)
            return
        there = ~np.isnan(values)
        for start in range(0, len(values), CHUNK):
            rows: slice | Index = slice(start, start + CHUNK)
            if not there[rows].all():
                rows = start + np.flatnonzero(there[rows])
            scores[rows] += self.density.without(values[rows], own[rows], weight[rows])


# ---- such columns whose classes share pooled rows, scored together in one pass over the rows -----
CHUNK = 1 << 15  # rows whose intermediate results stay in the cache


class PooledColumns:
    """Densities whose laws have the form of :class:`tallybayes.score.PooledTerms`.

    Parameters
    ----------
    densities : sequence of Density
        Of columns; the ``pooled()`` of their laws is not None.
    n_classes : int
    """

    less: _kernels.PooledScorer

    def __init__(self, densities: Sequence[Density], n_classes: int) -> None:
        self.densities = densities
        self.all: _kernels.PooledScorer = _kernels.PooledScorer(n_classes)
        self.less = _kernels.PooledScorer(n_classes)  # columns that the kernel takes rows out of
        self.by_kernel: list[int] = []
        for j, density in enumerate(densities):
            terms, less = density.law.pooled(), density.pooled_less()
            assert terms is not None
            self.all.add(*terms)
            if less is not None:
                self.less.add(*terms)
                self.less.add_less(*less)
                self.by_kernel.append(j)

    def add(self, columns: Sequence[Array], scores: Array) -> None:
        """Adds log p(x | c) to `scores` (n_rows, n_classes), contiguous, in place.

        Parameters
        ----------
        columns : sequence of float64 arrays (n_rows,)
            NaN adds nothing.
        """
        x = [np.ascontiguousarray(column) for column in columns]
        self.all.score(x, scores, get_num_threads())

    def add_without(
        self, columns: Sequence[Array], own: Index, weight: Array, scores: Array
    ) -> None:
        """The same after each row itself is taken out; `own` is its class, `weight` its weight."""
        x = [np.ascontiguousarray(column) for column in columns]
        redo = np.zeros((len(own), len(self.by_kernel)), dtype=np.uint8)
        self.less.score_without(
            [x[j] for j in self.by_kernel],
            np.ascontiguousarray(own, dtype=np.int64),
            np.ascontiguousarray(weight),
            scores,
            redo,
            get_num_threads(),
        )
        at = {j: i for i, j in enumerate(self.by_kernel)}
        for j, density in enumerate(self.densities):
            rows = np.flatnonzero(redo[:, at[j]] if j in at else ~np.isnan(x[j]))
            for start in range(0, len(rows), CHUNK):
                some = rows[start : start + CHUNK]
                scores[some] += density.without(x[j][some], own[some], weight[some])


# ---- columns that are read together --------------------------------------------------------------
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


# ---- a group of correlated columns ---------------------------------------------------------------
MAX_INTERMEDIATE = 1 << 19  # numbers of the intermediate results of a chunk of rows


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrelatedPart(GroupPart):
    """A group of columns of numbers that are scored together.

    A missing value is left out: of a row with missing values the columns that are there are scored,
    by their own joint distribution. Each column adds its conditional log-density given the columns
    before it in the group.

    Parameters are those of GroupPart, and:

    likelihood : Correlated
    """

    holds = "numbers"
    likelihood: Correlated

    def terms(self) -> list[Term]:
        return [GroupTerm(self.columns, self.likelihood)]

    def described(self) -> Description:
        return self.likelihood.described()

    def scored(self, values: Array, shares: Array | None = None) -> Array:
        """log p(x | c) of rows; see :func:`scored_together`."""
        return scored_together(self.likelihood, values, self.n_classes, shares)

    def add(self, x: Table, scores: Array) -> None:
        scores += self.scored(self.matrix(x))

    def contributions(self, x: Table) -> dict[str, Array]:
        values = self.matrix(x)
        shares = np.zeros((x.n_rows, self.n_classes, len(self.columns)))
        self.scored(values, shares)
        return {name: shares[:, :, j] for j, name in enumerate(self.columns)}

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """What they add after each row itself is taken out; a row with missing values was not
        counted and takes nothing out."""
        values = self.matrix(x)
        whole = np.flatnonzero(~np.isnan(values).any(axis=1))
        missing = np.flatnonzero(np.isnan(values).any(axis=1))
        scores = np.zeros((x.n_rows, self.n_classes))
        scores[missing] = self.scored(values[missing])
        step = max(1, MAX_INTERMEDIATE // (self.n_classes * len(self.columns)))
        for start in range(0, len(whole), step):
            rows = whole[start : start + step]
            scores[rows] = self.likelihood.without(values[rows], own[rows], weight[rows])
        return scores

    def distribution(self, made: Distributions) -> Any:
        return made.correlated(self)

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


# ---- a group of columns of counts ----------------------------------------------------------------
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
class TextPart(ComputedPart):
    """A column of text. A missing text adds nothing.

    Parameters are those of ComputedPart, and:

    likelihood : TermScores
    analyzer : Analyzer
    """

    likelihood: TermScores
    analyzer: Analyzer

    @cached_property
    def known(self) -> KnownTerms:
        """Documents as rows of the terms that were counted."""
        return KnownTerms(self.analyzer, self.likelihood.counts.held.terms)

    @property
    def reads_documents(self) -> bool:
        return True

    @property
    def follows_rows(self) -> bool:
        return self.analyzer.rules is not None

    def following(self) -> LiveTermCounts | None:
        """The counts as ones that change in place; None where they cannot follow rows."""
        return self.likelihood.following(self.analyzer)

    def of_terms(self, document: str) -> tuple[list[Any], Array]:
        """The terms of a document that were counted, and what each adds, float64
        (n_terms, n_classes)."""
        rows = self.known.rows([document])
        terms = self.likelihood.counts.held.terms[rows.terms].tolist()
        return terms, self.likelihood.contributions(rows)

    def documents(self, column: Column) -> tuple[Documents, Index]:
        """The documents of the rows that have one, and these rows."""
        documents, rows, of_row = distinct_documents(column)
        return self.known.rows(documents, get_num_threads()).take(of_row), rows

    def contribution(self, column: Column) -> Array:
        """(n_rows, n_classes) of a column."""
        scores = np.zeros((column.n_rows, self.n_classes))
        documents, rows, of_row = distinct_documents(column)
        threads = get_num_threads()
        scores[rows] = self.likelihood.scores(self.known.rows(documents, threads), threads)[of_row]
        return scores

    def add(self, x: Table, scores: Array) -> None:
        scores += self.contribution(x.columns[self.name])

    def add_without(self, x: Table, own: Index, weight: Array, scores: Array) -> None:
        documents, rows = self.documents(x.columns[self.name])
        scores[rows] += self.likelihood.without(documents, own[rows], weight[rows])

    def contributions(self, x: Table) -> dict[str, Array]:
        return {self.name: self.contribution(x.columns[self.name])}

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        scores = np.zeros((x.n_rows, self.n_classes))
        self.add_without(x, own, weight, scores)
        return scores

    def terms(self) -> list[Term]:
        reason = (
            f"column {self.name!r} is read as text, whose tokens only tallybayes cuts: "
            f"{ALTERNATIVES}"
        )
        return [OpaqueTerm(self.columns, reason)]

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

    def log_evidence(self, grid: GridCounts | None) -> list[float]:
        raise ImproperPrior("is read as text, which has no prior", ALTERNATIVES)

    def prior_and_posteriors(self, level: Any) -> Any:
        raise ValueError(
            f"column {self.name!r} is read as text, which has no prior and no posterior: "
            f"{ALTERNATIVES}"
        )

    def distribution(self, made: Distributions) -> Any:
        raise ValueError(
            f"column {self.name!r} is read as text, and there is no distribution of documents: "
            f"{ALTERNATIVES}"
        )


# ---- the part for each score kind that a likelihood can have -------------------------------------
NUMBERS: dict[str, type[BinsPart | DensityPart]] = {"cells": BinsPart, "density": DensityPart}
GROUPS: dict[str, type[CountsPart | CorrelatedPart]] = {
    "counts": CountsPart,
    "triangular": CorrelatedPart,
}


def number_part(name: str, likelihood: Any, n_classes: int, kinds: KindsPart | None) -> Part:
    """What a column of numbers adds to the score.

    Parameters
    ----------
    name : str
    likelihood : NumberDensity or BinnedReading
    n_classes : int
    kinds : KindsPart, optional
        The scores of a missing value, of any number and of each string beside the numbers.
    """
    return NUMBERS[likelihood.score_kind].of((name,), likelihood, n_classes, kinds)


def group_part(columns: tuple[str, ...], likelihood: Any, n_classes: int) -> Part:
    """What a group of columns adds to the score; `likelihood` is a GroupLikelihood."""
    kind = GROUPS[likelihood.score_kind]
    return kind(columns=columns, likelihood=likelihood, n_classes=n_classes)


def text_part(name: str, likelihood: Any, analyzer: Any, n_classes: int) -> Part:
    """What a column of text adds to the score; `likelihood` is a DocumentLikelihood."""
    return TextPart(columns=(name,), likelihood=likelihood, analyzer=analyzer, n_classes=n_classes)
