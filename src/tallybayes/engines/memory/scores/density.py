"""The contribution of a column of numbers that is read as a density to the score of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.scores.bins import strings_beside
from tallybayes.engines.memory.scores.part import (
    ComputedPart,
    Distributions,
    KindsPart,
    LookupPart,
    Shown,
    need_no_level,
    values_of,
)
from tallybayes.engines.memory.scores.pooled_columns import CHUNK, PooledColumns
from tallybayes.parameters import Density, Description, Term
from tallybayes.tables import Numbers, Table
from tallybayes.tables.columns import numbers_and_strings
from tallybayes.tally import GridCounts
from tallybayes.threads import get_num_threads

__all__ = ["DensityPart"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


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
        return None if self.density.pooled() is None else self.density

    @property
    def follows_rows(self) -> bool:
        return self.density.follows_rows

    def terms(self) -> list[Term]:
        """Of the numbers; those of :attr:`kinds` are its lookup's."""
        return [self.density.term(self.name)]

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

    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        missing, there = self.missing_scores
        beside = np.stack([missing, there])
        if self.kinds is not None:
            beside = np.ascontiguousarray(self.kinds.table.T)
        more = missing, least(self.name), strings_beside(self.kinds, 2), beside
        pooled = self.density.pooled()
        terms = self.density.quadratic()
        if pooled is not None:
            scorer.add_pooled(self.name, *pooled, missing, there, *more[1:])
        elif terms is None:
            scorer.add_function(self.name, self.of_number, *more, self.counts)
        else:
            constant, slope, mean, scale = terms
            scorer.add_quadratic(self.name, constant + there, slope, mean, scale, *more)
        return True

    @cached_property
    def pooled(self) -> PooledColumns | None:
        """The kernel that scores the column, where its density has the form for it."""
        if self.density.pooled() is None:
            return None
        return PooledColumns([self.density], self.n_classes)

    @cached_property
    def missing_scores(self) -> tuple[Array, Array]:
        """The scores of a missing value and of any number, float64 (n_classes,) each."""
        if self.kinds is None:
            return np.zeros(self.n_classes), np.zeros(self.n_classes)
        missing, there = np.ascontiguousarray(self.kinds.table.T[:2])
        return missing, there

    @property
    def counts(self) -> Array:
        """What 0, 1, … add as far as a table holds them, float64 (n, n_classes)."""
        scores = self.density.of_counts()
        return np.zeros((0, self.n_classes)) if scores is None else scores + self.missing_scores[1]

    def of_number(self, value: float) -> list[float]:
        """What one number adds to the score of each class."""
        column = Numbers(np.array([value]), "float")
        return self.contribution(column)[0].tolist()  # type: ignore[no-any-return]

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
