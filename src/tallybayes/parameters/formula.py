"""The score of a model as a formula, which says nothing of families or of who evaluates it.

    score_c(x) = offset_c + Σ_t term_t(x)_c

A term looks a cell up in a table, or computes with a number. What is missing in a row adds nothing,
unless a table has a score for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.columns import PooledTerms, QuadraticTerms

__all__ = [
    "CellTable",
    "Cells",
    "CodeCells",
    "Conditional",
    "Correction",
    "CountCells",
    "CountTail",
    "CountTerm",
    "Formula",
    "Inexpressible",
    "Kind",
    "LevelCells",
    "Mixture",
    "NumberCells",
    "PairedCells",
    "Power",
    "Powers",
    "StudentTerm",
    "Term",
    "Triangular",
]

Array = NDArray[np.float64]

Kind = Literal["text", "number", "integer", "decimal", "boolean", "date", "mixed"]
"""What values of a column are; "mixed" are numbers with strings among them."""


class Inexpressible(ValueError):
    """A part of a model that no formula of these terms says, and why."""


# ---- cells: whole numbers from 0 -----------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class LevelCells:
    """The level of a value: 0 for a missing value, 1 + i for levels[i], the last for any other.

    Parameters
    ----------
    column : str
    levels : list of str
    refuses_others : bool
        Whether a row with any other level has no prediction.
    """

    column: str
    levels: list[str]
    refuses_others: bool = False

    @property
    def size(self) -> int:
        return len(self.levels) + 2


@dataclass(frozen=True, eq=False)
class NumberCells:
    """The interval of a number: 0 for a missing value, else 1 + the number of starts ≤ x.

    Parameters
    ----------
    column : str
    starts : float64 array (size − 2,)
        Ascending, finite.
    """

    column: str
    starts: Array

    @property
    def size(self) -> int:
        return len(self.starts) + 2


@dataclass(frozen=True, eq=False)
class CodeCells:
    """A whole number from 0 as it is; size − 1 for those beyond. A row with another value has no
    prediction.

    Parameters
    ----------
    column : str
    size : int
    truncates : bool
        Whether other numbers are cut to whole ones first.
    refuses_others : bool
        Whether a row with a number beyond has no prediction.
    """

    column: str
    size: int
    truncates: bool = False
    refuses_others: bool = False


@dataclass(frozen=True, eq=False)
class CountCells:
    """A count: 0 for a missing value or a negative number, else 1 + x as far as the cells go. A row
    with a number that is not whole has no prediction.

    Parameters
    ----------
    column : str
    size : int
    """

    column: str
    size: int


Single = LevelCells | NumberCells | CodeCells


@dataclass(frozen=True, eq=False)
class PairedCells:
    """Two cells together: a·width + b, where a and b are coarser cells of the two.

    Parameters
    ----------
    first, second : cells of single columns
    maps : two int arrays (size of the single cells,)
        a and b of each.
    width : int
        How many b there are.
    size : int
    """

    first: Single
    second: Single
    maps: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
    width: int
    size: int


Cells = Single | PairedCells


# ---- terms ---------------------------------------------------------------------------------------
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
    """What a count x > 0 beyond a table says: M_c, or log(M_c + share·Σ M) − shift_c,

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
    """term_c = scores[c, cell], and beyond the cells what `tail` says; a row with a number above
    `most` has no prediction.

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
    """What a column says given some of the columns before it:

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


# ---- the whole -----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Correction:
    """What is done to the probabilities p that the scores give.

    Parameters
    ----------
    beta : float
        p' ∝ p^β. The most probable class stays the same.
    knots, values : tuples of float64 arrays
        p'_c ∝ the piecewise linear function of the log-odds of c, or of the last of two classes
        alone, mixed with p^β by `share`; none where empty.
    share : float
        Of the piecewise linear functions.
    prior_share : float
        p' = (1 − ε)·p + ε·prior.
    prior : float64 array (n_classes,)
        Probabilities of the classes in that mixture.
    most : float
        The largest probability of that mixture.
    """

    beta: float = 1.0
    knots: tuple[Array, ...] = ()
    values: tuple[Array, ...] = ()
    share: float = 1.0
    prior_share: float = 0.0
    prior: Array = field(default_factory=lambda: np.empty(0))
    most: float = 1.0

    @property
    def moves_labels(self) -> bool:
        """Whether another class than that of the best score can become the most probable one."""
        return bool(self.knots) or self.prior_share > 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Formula:
    """A model that predicts.

    Parameters
    ----------
    classes : array (n_classes,)
        Labels.
    offset : float64 array (n_classes,)
    terms : list of terms
        In the order in which they are added.
    ruled_out : float64 array (n_classes,)
        The probabilities, after corrections, of a row whose scores are all −inf.
    fallback : int
        The class of such a row, by its place.
    kinds : mapping of str to Kind
        What the columns hold.
    least : mapping of str to int
        Columns whose numbers are not negative (1), or positive (2): rows with other numbers have no
        prediction.
    takes_missing : bool
        Whether a row with a missing value has a prediction.
    has_names : bool
        Whether the columns' names are the data's own.
    correction : Correction
    """

    classes: NDArray[Any]
    offset: Array
    terms: list[Term]
    ruled_out: Array
    fallback: int
    kinds: Mapping[str, Kind]
    least: Mapping[str, int] = field(default_factory=dict)
    takes_missing: bool = True
    has_names: bool = True
    correction: Correction = Correction()

    @property
    def may_rule_out(self) -> bool:
        """Whether all scores of a row may be −∞."""
        tables = [term.scores for term in self.terms if isinstance(term, CellTable)]
        computed = len(tables) < len(self.terms)
        return computed or bool(any(np.isneginf(t).any() for t in [self.offset, *tables]))

    def truncating(self) -> Formula:
        """The same, whose columns of codes cut numbers to whole ones."""
        terms: list[Term] = []
        for term in self.terms:
            if isinstance(term, CellTable) and isinstance(term.cells, CodeCells):
                term = CellTable(replace(term.cells, truncates=True), term.scores)
            terms.append(term)
        return replace(self, terms=terms)

    @property
    def columns(self) -> list[str]:
        """The columns that are read, in order of appearance."""
        found: dict[str, None] = {}
        for term in self.terms:
            if isinstance(term, Triangular):
                found |= dict.fromkeys(term.columns)
            elif not isinstance(term, CellTable):
                found[term.column] = None
            elif isinstance(term.cells, PairedCells):
                found |= {term.cells.first.column: None, term.cells.second.column: None}
            else:
                found[term.cells.column] = None
        return list(found)
