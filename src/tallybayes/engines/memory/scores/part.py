"""The contract of a part of a table's score: what a column, or a group, adds to each class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.groups import raise_infinite
from tallybayes.parameters import Density, Description, Term
from tallybayes.tables import Empty, Mixed, Numbers, Table
from tallybayes.tally import GridCounts

if TYPE_CHECKING:
    from tallybayes.engines.memory.scores.lookup import KindsPart, LookupPart

__all__ = [
    "NO_PARAMETER",
    "ComputedPart",
    "Distributions",
    "Part",
    "Shown",
    "need_no_level",
    "values_of",
]

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

    @abstractmethod
    def add_to_rows(self, scorer: _kernels.RowScorer, least: Callable[[str], int]) -> bool:
        """Adds itself to what scores one row as a dict; returns whether it could.

        Parameters
        ----------
        scorer : RowScorer
        least : callable
            Of a column: what its numbers may be; 0 anything, 1 not negative, 2 positive.
        """

    # ---- what it is ------------------------------------------------------------------------------
    @abstractmethod
    def terms(self) -> list[Term]:
        """The score as terms of a formula; raises Inexpressible."""

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
