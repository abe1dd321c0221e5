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
    "Correction",
    "CountCells",
    "Formula",
    "Inexpressible",
    "Kind",
    "LevelCells",
    "Mixture",
    "NumberCells",
    "PairedCells",
    "Powers",
    "StudentTerm",
    "Term",
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
    """A count: 0 for a missing value or a negative number, else 1 + x. A row with a number that is
    not whole, or not below size − 1, has no prediction.

    Parameters
    ----------
    column : str
    size : int
    """

    column: str
    size: int


Single = LevelCells | NumberCells | CodeCells | CountCells


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
class Powers:
    """A number as :class:`QuadraticTerms`; 0 for a missing value."""

    column: str
    terms: QuadraticTerms


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
    """

    column: str
    constant: Array
    half: Array
    mean: Array
    scale: Array


Term = CellTable | Powers | Mixture | StudentTerm


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
            if not isinstance(term, CellTable):
                found[term.column] = None
            elif isinstance(term.cells, PairedCells):
                found |= {term.cells.first.column: None, term.cells.second.column: None}
            else:
                found[term.cells.column] = None
        return list(found)
