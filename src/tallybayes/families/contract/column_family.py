"""The contract of the family of a column of levels or of numbers.

A family is an immutable value that holds hyperparameters: a frozen dataclass, whose fields are
numbers, strings, lists or priors, so that it can be saved. It declares what it
reads, and makes a likelihood from the counts of a column; the likelihood answers everything else.
:func:`tallybayes.register_family` registers a new family under a name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.cells import CellLaw
from tallybayes.families.contract.density import NumberDensity
from tallybayes.schema import Kind
from tallybayes.tally import GridCounts, Moments, RowWeights

if TYPE_CHECKING:
    from tallybayes.families.contract.density import Tuning

__all__ = [
    "BinnedReading",
    "ColumnFamily",
    "Context",
    "CountedLevels",
    "LevelFamily",
    "LevelReading",
    "NumberCounts",
    "NumberFamily",
]

Array = NDArray[np.float64]


class Context(NamedTuple):
    """The context in which a column is read, beside its counts.

    Parameters
    ----------
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
        The model's smoothing of levels, in rows of weight 1.
    alpha_of_bins : float
        The model's smoothing of bins, in effective rows.
    row_weights : RowWeights
    """

    classes: Array
    alpha: float
    alpha_of_bins: float
    row_weights: RowWeights


class ColumnFamily:
    """A family of columns of a table. These are the answers of most families.

    Attributes
    ----------
    reads : {"levels", "numbers", "documents"}
        What a value of the column is.
    alone : bool
        Whether it can be the family of one column by itself.
    together : {"sums", "cross"} or None
        What is counted of columns that it reads together.
    whole : bool
        Whether values are counts, so that a fraction is warned of.
    needs_squares : bool
        Whether it reads variances, which underflow where numbers are tiny.
    levels : sequence or None
        The levels that a column may have, where they are declared.
    """

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "numbers"
    alone: ClassVar[bool] = True
    whole: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False
    levels: Any = None

    @property
    def together(self) -> Kind | None:
        """The kind of tally of a group of columns; None where columns are read one by one."""
        return None

    @property
    def least(self) -> int:
        """What its numbers may be: 0 anything, 1 not negative, 2 positive."""
        return 0

    @property
    def most_levels(self) -> int | None:
        """How many levels a column may have, where that is limited."""
        return None if self.levels is None else len(self.levels)

    @property
    def needs_values(self) -> bool:
        """Whether it needs more than moments, or than the counts of the levels to predict."""
        return True

    @property
    def needs_levels(self) -> bool:
        """Whether it needs all levels of a column, which are not declared."""
        return False

    @property
    def follows(self) -> bool:
        """Whether the model's alpha is what smooths it."""
        return False

    @property
    def names_levels_only(self) -> bool:
        """Whether it declares the levels only, and not their smoothing."""
        return False

    def of_one_column(self) -> Self:
        """The family of each of several columns by itself."""
        return self

    def check(self, key: Any) -> None:
        """Raise ValueError where it cannot be the family of the columns that `key` names.

        Parameters
        ----------
        key : str
            The key of `columns` that names it, for messages.
        """

    def check_group(self, n_columns: int) -> None:
        """Raise ValueError where it cannot be the family of a group of so many columns.

        Parameters
        ----------
        n_columns : int
            How many columns the group has.
        """


# ---- columns of levels ---------------------------------------------------------------------------
class CountedLevels(NamedTuple):
    """The counts of a column of levels.

    Parameters
    ----------
    levels : list of str
        Those that are declared, or that occurred.
    counts : float64 array (n_classes, n_levels)
    n_levels : int
        N, of levels that are named and others.
    missing : float64 array (n_classes,), optional
        The weight of missing values, where they are a level.
    """

    levels: list[str]
    counts: Array
    n_levels: int
    missing: Array | None

    def cells(self) -> Array:
        """Counts with a cell for missing values, where they are a level, before the others, and one
        for levels never seen after them: float64 (n_classes, n_cells)."""
        cells = np.concatenate([self.counts, np.zeros((len(self.counts), 1))], axis=1)
        return (
            cells
            if self.missing is None
            else np.concatenate([self.missing[:, None], cells], axis=1)
        )


class LevelReading(NamedTuple):
    """A column of levels as its family reads it.

    Parameters
    ----------
    levels : list of str
        The cells of the law, after one for missing values where they are a level and before one
        for levels never seen.
    law : CellLaw
    what : str
        The family, for the schema.
    grows : bool
        Whether a further level would be smoothed as the others are and leave their smoothing as it
        is; under a prior it takes some of theirs.
    """

    levels: list[str]
    law: CellLaw
    what: str
    grows: bool


class LevelFamily(ColumnFamily, ABC):
    """A family of columns of levels."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "levels"

    @abstractmethod
    def likelihood(self, counted: CountedLevels, context: Context) -> LevelReading:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counted : CountedLevels
            Level counts of the column.
        context : Context
            Smoothing, estimate and weights of rows.
        """


# ---- columns of numbers --------------------------------------------------------------------------
class NumberCounts(NamedTuple):
    """The tallies of one column of numbers.

    Parameters
    ----------
    moments : Moments
    grid : GridCounts
        How often each value, or each cell of the grid, occurred.
    """

    moments: Moments
    grid: GridCounts


@dataclass(frozen=True, eq=False)
class BinnedReading:
    """A column of numbers as bins and their law.

    Parameters
    ----------
    edges : float64 array (n_bins − 1,)
        x is in the bin that counts the edges at or below it.
    law : CellLaw
    likelihood : float
        L of :mod:`tallybayes.families.lookup.leave_one_out`.
    what : str
        The family, for the schema.
    alpha : float, optional
        The smoothing that the law has, in rows of weight 1, where that follows the model's.
    brief : str
        The family in fewer words, where `what` is long.
    """

    score_kind = "cells"

    edges: Array
    law: CellLaw
    likelihood: float
    what: str
    alpha: float | None = None
    brief: str = ""

    def tuned(self, tuning: Tuning, grid: GridCounts) -> tuple[BinnedReading, float | None]:
        """The bins with a prior as strong as it is to be, and the smoothing where it follows the
        model's or was chosen; `grid` are the column's values."""
        law, alpha = tuning.of_law(self.law, self.alpha)
        if law is self.law and alpha == self.alpha:
            return self, alpha
        return replace(self, law=law, alpha=alpha), alpha


class NumberFamily(ColumnFamily, ABC):
    """A family of columns of numbers."""

    reads: ClassVar[Literal["levels", "numbers", "documents"]] = "numbers"

    @abstractmethod
    def likelihood(self, counts: NumberCounts, context: Context) -> NumberDensity | BinnedReading:
        """The likelihood of the column, from its counts.

        Parameters
        ----------
        counts : NumberCounts
            Moments and grid counts of the column.
        context : Context
            Smoothing, estimate and weights of rows.
        """
