"""The terms of a formula: contributions of a cell of a table, or of a number, to each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.columns import PooledTerms, QuadraticTerms
from tallybayes.parameters.formula_cells import Cells, CountCells

__all__ = [
    "CellTable",
    "Conditional",
    "CountTail",
    "CountTerm",
    "Mixture",
    "Power",
    "Powers",
    "StudentTerm",
    "Term",
    "Triangular",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellTable:
    """term_c = scores[c, cell].

    Parameters
    ----------
    cells : cells
    scores : float64 array (n_classes, size)
        In nats; finite or −inf.
    """

    cells: Cells
    scores: Array


@dataclass(frozen=True, eq=False)
class Power:
    """The number g(x) in place of x: its logarithm, or its power by Yeo and Johnson (2000),
    equation (2.1),

        g(x) = sign(x)·((|x| + 1)^e − 1) / e,   e = λ for x ≥ 0, 2 − λ for x < 0

    with sign(x)·log(|x| + 1) where e is 0.

    Parameters
    ----------
    kind : {"log", "yeo-johnson"}
    exponent : float
        λ.
    """

    kind: Literal["log", "yeo-johnson"]
    exponent: float


@dataclass(frozen=True, eq=False)
class Powers:
    """A number, or its `power`, as :class:`QuadraticTerms`; 0 for a missing value."""

    column: str
    terms: QuadraticTerms
    power: Power | None = None


@dataclass(frozen=True, eq=False)
class Mixture:
    """A number as :class:`PooledTerms`; 0 for a missing value."""

    column: str
    terms: PooledTerms


@dataclass(frozen=True, eq=False)
class StudentTerm:
    """term_c = constant − half·log(1 + ((x − mean)·scale)²); 0 for a missing value.

    Parameters
    ----------
    column : str
    constant, half, mean, scale : float64 arrays (n_classes,)
    power : Power, optional
        x is the `power` of the number.
    """

    column: str
    constant: Array
    half: Array
    mean: Array
    scale: Array
    power: Power | None = None


@dataclass(frozen=True, eq=False)
class CountTail:
    """The score of a count x > 0 beyond a table: M_c, or log(M_c + share·Σ M) − shift_c,

        log M_c = constant + x·log((size + x)·mean / ((size + mean)·x))
                  + (size − ½)·log(1 + x / size) − ½·log x + c(size + x) − c(x)

    with c(z) = 1/(12 z) − 1/(360 z³) + 1/(1260 z⁵): a negative binomial, its gamma functions by
    Stirling's series, arranged so that nothing large cancels.

    Parameters
    ----------
    constant, mean, size : float64 arrays (n_classes,)
    share : float, optional
        None where every class is by itself.
    shift : float64 array (n_classes,)
    """

    constant: Array
    mean: Array
    size: Array
    share: float | None
    shift: Array


@dataclass(frozen=True, eq=False)
class CountTerm:
    """term_c = scores[c, cell], and `tail` beyond the cells; a row with a number above `most` has
    no prediction.

    Parameters
    ----------
    cells : CountCells
    scores : float64 array (n_classes, size)
    tail : CountTail
    most : float
    """

    cells: CountCells
    scores: Array
    tail: CountTail
    most: float

    @property
    def column(self) -> str:
        return self.cells.column


@dataclass(frozen=True, eq=False)
class Conditional:
    """The conditional density of a column given some of the columns before it:

        r_c = Σ_i weights_ci·(x_i − mean_ci),   i over those columns and, last, the column

    Parameters
    ----------
    given : tuple of int
        Places of the columns before it that have a value.
    constant : float64 array (n_classes,)
    weights : float64 array (n_classes, len(given) + 1)
    """

    given: tuple[int, ...]
    constant: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Triangular:
    """Columns together: term_c = Σ_j constant_cj − ½·Σ_j r_cj² over the columns that have a value,
    or, with degrees of freedom ν, − ½(ν + number of these)·log(1 + Σ_j r_cj² / ν).

    Parameters
    ----------
    columns : list of str
    mean : float64 array (n_classes, n_columns)
    steps : list of lists of Conditional
        Of each column, for every set of columns before it that can have values.
    freedom : float64 array (n_classes,), optional
        ν.
    every : bool
        Whether a row with missing values among the columns has no prediction.
    """

    columns: list[str]
    mean: Array
    steps: list[list[Conditional]]
    freedom: Array | None
    every: bool


Term = CellTable | Powers | Mixture | StudentTerm | CountTerm | Triangular
