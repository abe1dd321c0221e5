"""A whole model in the neutral form: readers of columns, terms, and the calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.calibration import Calibration, Isotonic, Temperature
from tallybayes.reporting.form.encoding import exact
from tallybayes.reporting.form.laws import LawTerm
from tallybayes.reporting.form.readers import ColumnReader
from tallybayes.reporting.form.terms import (
    CellTerm,
    CurveTerm,
    DensityTerm,
    PooledTerm,
    QuadraticTerm,
    Term,
)

__all__ = ["Form", "Link"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Link:
    """From scores to probabilities: softmax, then a calibration, then a share of the class prior.

    Parameters
    ----------
    fallback : float64 array (n_classes,)
        The scores of a row that every class rules out: log P(c).
    calibration : Temperature or Isotonic, optional
    prior : float64 array (n_classes,), optional
        The class prior that has a share in each probability.
    prior_share : float
    """

    fallback: Array
    calibration: Calibration | None = None
    prior: Array | None = None
    prior_share: float = 0.0

    def document(self) -> dict[str, Any]:
        """The link as JSON."""
        found: dict[str, Any] = {"fallback": exact(self.fallback), "priorShare": self.prior_share}
        if self.prior is not None:
            found["prior"] = exact(self.prior)
        if isinstance(self.calibration, Temperature):
            found["calibration"] = {"kind": "temperature", "beta": self.calibration.beta}
        if isinstance(self.calibration, Isotonic):
            found["calibration"] = {
                "kind": "isotonic",
                "knots": [exact(knots) for knots in self.calibration.knots],
                "values": [exact(values) for values in self.calibration.values],
                "share": self.calibration.share,
                "beta": self.calibration.beta,
            }
        return found


@dataclass(frozen=True, eq=False)
class Form:
    """A model as a page evaluates it.

    Parameters
    ----------
    base : float64 array (n_classes,)
        What every row has, in nats.
    columns : list of ColumnReader
    terms : list of Term
    link : Link
    without_form : list of str
        Columns that add to the score but have no such form: columns of text.
    """

    base: Array
    columns: list[ColumnReader]
    terms: list[Term]
    link: Link
    without_form: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""
        return sum(term.size for term in self.terms)

    def term_of(self, column: int) -> CellTerm | DensityTerm | None:
        """The term of a single column; None where it has none."""
        return self._of_single_columns.get(column)

    @cached_property
    def _of_single_columns(self) -> dict[int, CellTerm | DensityTerm]:
        single = (CellTerm, QuadraticTerm, PooledTerm, CurveTerm, LawTerm)
        return {term.columns[0]: term for term in self.terms if isinstance(term, single)}

    def scores_of(self, column: int, numbers: Array, levels: list[str], missing: bool) -> Array:
        """What values of one column add: numbers, then levels, then a missing value if `missing`,
        float64 (n, n_classes); zeros where the column has no term by itself."""
        reader, term = self.columns[column], self.term_of(column)
        n = len(numbers) + len(levels) + missing
        if term is None:
            return np.zeros((n, len(self.base)))
        entries = np.array([reader.entry_of_level(level) for level in levels], dtype=np.intp)
        if len(numbers):
            entries = np.concatenate([reader.entries_of_numbers(numbers), entries])
        entries = np.append(entries, [reader.missing] * missing).astype(np.intp)
        if isinstance(term, CellTerm):
            return term.of_entries(entries)
        found = CellTerm(term.columns, term.beside).of_entries(entries)
        found[: len(numbers)] += term.of_numbers(numbers)
        return found

    def document(self) -> dict[str, Any]:
        """The form as JSON."""
        return {
            "base": exact(self.base),
            "columns": [column.document() for column in self.columns],
            "terms": [term.document() for term in self.terms],
            "link": self.link.document(),
        }
