"""The score of a model as a formula that depends neither on families nor on how it is evaluated.

    score_c(x) = offset_c + Σ_t term_t(x)_c

A term looks a cell up in a table, or computes with a number. A missing value adds nothing, unless a
table has a score for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.kinds import (
    Linear,
    Lookup,
    Parameters,
    PooledTerms,
    Quadratic,
    QuadraticTerms,
)

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
    "LawMixture",
    "LevelCells",
    "Mixture",
    "NumberCells",
    "NumberLaw",
    "PairedCells",
    "Power",
    "Powers",
    "StudentTerm",
    "Term",
    "Triangular",
    "terms_of",
]


# ---- cells of a formula: the whole number, from 0 on, by which a value is looked up --------------
Array = NDArray[np.float64]


Kind = Literal["text", "number", "integer", "decimal", "boolean", "date", "mixed"]
"""What values of a column are; "mixed" are numbers with strings among them."""


class Inexpressible(ValueError):
    """A part of a model cannot be written with these terms; the message gives the reason."""


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


# ---- terms of a formula: what a cell, or a number, adds to each class ----------------------------
# The terms of a formula: contributions of a cell of a table, or of a number, to each class.
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


# ---- the formula: offset, terms, corrections -----------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Correction:
    """The correction of the probabilities p that the scores give.

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


# ---- densities of one number by their formulas, to be evaluated outside Python -------------------
# For a number x, with g(x) = x, log x or the transform of Yeo and Johnson:
#
#     gaussian   constant − ((g − mean)·scale)² + log g'(x)
#     student    constant − half·log(1 + ((g − mean)·scale)²) + log g'(x)
#     counts     log Γ(r + x) − log Γ(r) − log Γ(x + 1) + x log(m / (r + m)) − r log(1 + m/r)
#
# and, where classes share some rows, with this as log f_c(x),
#
#     log p'(x|c) = log(M_c(x) + share·Σ_c M_c(x)) − shift_c,   log M_c(x) = log f_c(x) + rest_c,
#
# log M_c = atoms[a, c] at an atom, low_a ≤ x < high_a, and 0 in every class where all M_c(x) are
# 0.
class LawMixture(NamedTuple):
    """Rows of all classes that each class has besides its own, and atoms.

    Parameters
    ----------
    low, high : float64 arrays (n_atoms,)
    atoms : float64 array (n_atoms, n_classes)
    rest, shift : float64 arrays (n_classes,)
    share : float
    """

    low: Array
    high: Array
    atoms: Array
    rest: Array
    shift: Array
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberLaw:
    """A density of one number.

    Parameters
    ----------
    kind : {"gaussian", "student", "counts"}
    mean : float64 array (n_classes,)
    constant, scale, half : float64 arrays (n_classes,), optional
        Of a Gaussian and Student-t; half of Student-t only.
    size : float64 array (n_classes,), optional
        r of counts.
    transform : (str, float), optional
        "log" or "yeo-johnson", and its exponent.
    mixture : LawMixture, optional
    """

    kind: Literal["gaussian", "student", "counts"]
    mean: Array
    constant: Array | None = None
    scale: Array | None = None
    half: Array | None = None
    size: Array | None = None
    transform: tuple[str, float] | None = None
    mixture: LawMixture | None = None


# ---- the score kinds of arrays as terms of a formula ---------------------------------------------
def terms_of(
    parameters: Parameters,
    names: Sequence[str],
    levels: Sequence[Sequence[str]] | None = None,
) -> list[Term]:
    """A term for each column.

    Parameters
    ----------
    parameters : Lookup, Linear or Quadratic
    names : sequence of str
        Of the columns.
    levels : sequence of sequences of str, optional
        Of columns whose codes stand for levels.
    """
    if isinstance(parameters, Lookup):
        return [
            _lookup(parameters, j, name, None if levels is None else levels[j])
            for j, name in enumerate(names)
        ]
    if isinstance(parameters, Linear):
        return [_linear(parameters, j, name) for j, name in enumerate(names)]
    return [_quadratic(parameters, j, name) for j, name in enumerate(names)]


def _lookup(lookup: Lookup, j: int, name: str, levels: Sequence[str] | None) -> Term:
    table = lookup.table[:, lookup.start[j] : lookup.start[j + 1]]
    refuses = lookup.unseen == "error"
    if levels is None:
        return CellTable(CodeCells(name, table.shape[1], refuses_others=refuses), table)
    known = list(levels)
    of_levels = [table[:, i] for i in range(len(known))]
    nothing = np.zeros(len(table))  # missing values have no prediction
    scores = np.stack([nothing, *of_levels, table[:, -1]], axis=1)
    return CellTable(LevelCells(name, known, refuses), scores)


def _linear(linear: Linear, j: int, name: str) -> Term:
    weights = np.ascontiguousarray(linear.weights[:, j])
    if linear.threshold is None and linear.required is None:
        nothing = np.zeros(len(weights))
        return Powers(name, QuadraticTerms(nothing, weights, nothing, nothing))
    above = np.nextafter(0.0 if linear.threshold is None else linear.threshold, np.inf)
    absent = np.zeros(len(weights))
    if linear.required is not None:
        absent = np.where(linear.required[:, j], -np.inf, 0.0)
    return CellTable(
        NumberCells(name, np.array([above])), np.stack([absent, absent, weights], axis=1)
    )


def _quadratic(quadratic: Quadratic, j: int, name: str) -> Term:
    mean, scale = quadratic.mean[:, j], quadratic.scale[:, j]
    nothing = np.zeros(len(mean))
    return Powers(name, QuadraticTerms(nothing, nothing, mean, scale))
