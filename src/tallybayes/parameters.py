"""What a family compiles to: few score kinds, each with an offset per class, in nats.

An engine evaluates score kinds and knows no family; a family compiles to a score kind and knows no
engine. Parameters do not hold the class prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Cells",
    "Counts",
    "Density",
    "Description",
    "Linear",
    "Lookup",
    "Parameters",
    "Quadratic",
    "QuadraticTerms",
    "Unseen",
]

Array = NDArray[np.float64]
Unseen = Literal["smooth", "ignore", "error"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup:
    """score_c(x) = offset_c + Σ_j table[c, start_j + x_j], x_j a level code.

    Parameters
    ----------
    table : float64 array (n_classes, entries)
        Log-probabilities. Column j has the entries ``start[j] … start[j+1]−1``: one for each level,
        and a last one that serves every code beyond them.
    start : int64 array (n_features + 1,)
    offset : float64 array (n_classes,)
    unseen : {"smooth", "ignore", "error"}
        Whether a code beyond the levels is an error; the last entries already say the rest.
    """

    table: Array
    start: NDArray[np.int64]
    offset: Array
    unseen: Unseen = "smooth"


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear:
    """score_c(x) = offset_c + Σ_j weights[c, j]·x_j; x_j = 0 contributes 0, whatever the weight.

    Parameters
    ----------
    weights : float64 array (n_classes, n_features)
        Finite, or −inf.
    offset : float64 array (n_classes,)
    threshold : float, optional
        x_j is read as [x_j > threshold].
    non_negative : bool
        Negative values are refused.
    required : bool array (n_classes, n_features), optional
        Features that must be present: a row without one scores −inf in that class.
    """

    weights: Array
    offset: Array
    threshold: float | None = None
    non_negative: bool = False
    required: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Quadratic:
    """score_c(x) = offset_c − Σ_j ((x_j − mean[c, j])·scale[c, j])².

    Parameters
    ----------
    mean, scale : float64 arrays (n_classes, n_features)
    offset : float64 array (n_classes,)
    """

    mean: Array
    scale: Array
    offset: Array


class QuadraticTerms(NamedTuple):
    """score_c(x) = constant + slope·x − ((x − mean)·scale)², float64 (n_classes,) each; x = 0 has
    no slope, which may be −inf."""

    constant: Array
    slope: Array
    mean: Array
    scale: Array


class Description(NamedTuple):
    """Parameters in words.

    Parameters
    ----------
    what : str
    rows : list of str
        What each value is.
    values : float64 array (n_classes, n_values)
    """

    what: str
    rows: list[str]
    values: Array


class Cells(Protocol):
    """A column of a table read as a lookup: log-probabilities of its cells, with every row or
    without one; see :class:`tallybayes.families.cells.CellLaw`."""

    def log_prob(self) -> Array:
        """float64 (n_classes, n_cells)."""

    def other_without(self, weight: Array | float) -> Array:
        """The same in the classes that a row in the cell is not of, after it is taken out."""

    def own_without(self, weight: Array | float) -> Array:
        """The same in the row's class."""

    def take(self, cells: NDArray[np.integer[Any]]) -> Self:
        """Some cells, which may repeat."""


class Density(Protocol):
    """A column of numbers of a table read as an expression: log p(x | c), in nats."""

    @property
    def what(self) -> str:
        """The family, for the schema."""

    def log_density(self, x: Array) -> Array:
        """float64 (n_rows, n_classes) of values (n_rows,)."""

    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """The same after each row itself is taken out; `own` is its class, `weight` its weight."""

    def quadratic(self) -> QuadraticTerms | None:
        """log p(x | c) up to a term that all classes share, if it has that form."""

    def described(self) -> Description:
        """The parameters in words."""


class Counts(Protocol):
    """A group of columns of a table that count together."""

    def contributions(self, x: Array) -> Array:
        """What each column adds, float64 (n_rows, n_classes, n_columns), of x (n_rows,
        n_columns)."""

    def without(self, x: Array, own: NDArray[np.intp], weight: Array) -> Array:
        """Σ of contributions over columns, (n_rows, n_classes), after each row itself is taken
        out."""

    def slopes(self) -> Array | None:
        """w (n_classes, n_columns) where a contribution is w·x, 0 for x = 0; else None."""

    def described(self) -> Description:
        """The parameters in words; a value a column."""


Parameters = Lookup | Linear | Quadratic


def n_classes(parameters: Parameters) -> int:
    """The number of classes that the parameters score."""
    return len(parameters.offset)
