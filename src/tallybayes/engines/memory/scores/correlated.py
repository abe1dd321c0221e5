"""The contribution of a group of correlated columns to the score of each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from tallybayes.parameters import (
    Correlated,
    Description,
    Term,
    missing_patterns,
)
from tallybayes.parameters.formula import Conditional, Triangular
from tallybayes.tables import Table
from tallybayes.threads import get_num_threads

__all__ = ["CorrelatedPart"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_INTERMEDIATE = 1 << 19  # numbers of the intermediate results of a chunk of rows
MAX_PATTERN_COLUMNS = 8  # columns up to which a formula has every pattern of missing values


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
        n, every = len(self.columns), len(self.columns) > MAX_PATTERN_COLUMNS
        whole = self.likelihood.terms(tuple(range(n)))
        steps = []
        for j in range(n):
            sets = [range(j)] if every else subsets(j)
            steps.append([self._conditional(tuple(given), j) for given in sets])
        return [Triangular(list(self.columns), whole.mean, steps, whole.freedom, every)]

    def _conditional(self, given: tuple[int, ...], j: int) -> Conditional:
        of_these = self.likelihood.terms((*given, j))
        return Conditional(given, of_these.constant[:, -1], of_these.rotation[:, -1])

    def described(self) -> Description:
        return self.likelihood.described()

    def scored(self, values: Array, shares: Array | None = None) -> Array:
        """log p(x | c), (n_rows, n_classes), of rows (n_rows, n_columns), NaN for missing values;
        and what each column adds, if there is room for it (n_rows, n_classes, n_columns), of
        zeros."""
        scores = np.zeros((len(values), self.n_classes))
        for there, rows in missing_patterns(values):
            terms, whole = self.likelihood.terms(there), len(rows) == len(values)
            x = values if whole else values[rows]
            x = np.ascontiguousarray(x[:, there]) if len(there) < x.shape[1] else x
            some = scores if whole else np.zeros((len(rows), self.n_classes))
            each = None if shares is None else np.zeros((*some.shape, len(there)))
            _kernels.score_triangular(x, *terms, some, each, get_num_threads())
            if not whole:
                scores[rows] = some
            if shares is not None and each is not None:
                for i, j in enumerate(there):
                    shares[rows, :, j] = each[:, :, i]
        return scores

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

    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        terms = self.likelihood.terms(tuple(range(len(self.columns))))

        def slowly(values: list[float]) -> list[float]:
            return self.scored(np.array([values]))[0].tolist()  # type: ignore[no-any-return]

        scorer.add_group(list(self.columns), *terms, slowly)
        return True


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    """Every set of 0 … n − 1, in the order of the binary numbers whose digits they are."""
    for number in range(1 << n):
        yield tuple(i for i in range(n) if number >> i & 1)
