"""The score of a model as a formula that depends neither on families nor on how it is evaluated.

    score_c(x) = offset_c + Σ_t term_t(x)_c

A term looks a cell up in a table, or computes with a number. A missing value adds nothing, unless a
table has a score for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.formula_cells import CodeCells, Kind, PairedCells
from tallybayes.parameters.formula_terms import CellTable, Term, Triangular

__all__ = ["Correction", "Formula"]

Array = NDArray[np.float64]


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
