"""A model as a page evaluates it: how values of columns are read, terms, and corrections, as JSON.

A form is made of the formula of any model of arrays or tables; nothing in it depends on the kind of
model. What has no form for a page, a column of text, is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.form import form_of
from tallybayes.score import (
    CellTable,
    GroupTerm,
    NumberTerm,
    OpaqueTerm,
    of_joint_tables,
    of_single_columns,
)
from tallybayes.tally import GridCounts

__all__ = ["Form", "rounded"]

Array = NDArray[np.float64]


# ---- the form ------------------------------------------------------------------------------------
N_POINTS = 400  # of a density without a formula, which the page interpolates


class Form:
    """A model as a page evaluates it.

    Parameters
    ----------
    model : ArrayModel or TableModel
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.formula = model.formula()
        self._single = of_single_columns(self.formula.terms)
        alone = [t for t in self.formula.terms if isinstance(t, CellTable | NumberTerm)]
        self._alone = {term.columns[0] for term in alone if len(term.columns) == 1}
        self.pairs = of_joint_tables(self.formula.terms)
        self.groups = [term for term in self.formula.terms if isinstance(term, GroupTerm)]

    @property
    def base(self) -> Array:
        """What every row has, float64 (n_classes,), in nats."""
        offset: Array = self.formula.offset
        return offset

    @cached_property
    def without_form(self) -> list[str]:
        """Columns that add to the score but have no form: columns of text."""
        opaque = [term for term in self.formula.terms if isinstance(term, OpaqueTerm)]
        return [name for term in opaque for name in term.columns]

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are read, in the order of the model."""
        read = {*self.formula.columns} - {*self.without_form}
        return [name for name in self.formula.kinds if name in read]

    def has_term(self, column: str) -> bool:
        """Whether a column adds something by itself."""
        return column in self._alone

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""
        n_classes, size = len(self.base), 0
        for term in self.formula.terms:
            if isinstance(term, CellTable):
                size += term.scores.size
            elif isinstance(term, NumberTerm):
                law = term.law
                atoms = 0 if law is None or law.mixture is None else law.mixture.atoms.size
                size += 2 * N_POINTS * (n_classes + 1) if law is None else 6 * n_classes + atoms
            elif isinstance(term, GroupTerm):
                size += n_classes * len(term.columns) * (len(term.columns) + 2)
        return size

    def scores_of(self, column: str, numbers: Array, levels: Sequence[str], missing: bool) -> Array:
        """What values of one column add: numbers, then levels, then a missing value if `missing`,
        float64 (n, n_classes); zeros where the column has no term by itself."""
        n_numbers = len(numbers)
        found = np.zeros((n_numbers + len(levels) + missing, len(self.base)))
        own = self._single.get(column)
        if own is not None and own.cells is not None:
            entries = np.zeros(len(found), dtype=np.intp)
            entries[:n_numbers] = own.cells.of_numbers(numbers)
            if len(levels):
                entries[n_numbers : n_numbers + len(levels)] = own.cells.of_strings(levels)
            found += own.scores.T[entries]
        if own is not None and own.number is not None:
            found[:n_numbers] += own.number.of_numbers(numbers)
        return found

    # ---- as JSON ---------------------------------------------------------------------------------
    def document(self) -> dict[str, Any]:
        """The form as JSON, with the words of pairs."""
        terms = [term for term in self.formula.terms if not isinstance(term, OpaqueTerm)]
        found = form_of(replace(self.formula, terms=terms), self._points)
        pairs = [term for term in found["terms"] if term["kind"] == "joint"]
        for term, (cells, _) in zip(pairs, self.pairs, strict=True):
            words = self.model.words_of_pair(cells.columns)
            term["labels"] = [list(of_one) for of_one in words]
        return found

    def _points(self, name: str) -> Array:
        """Where a density is evaluated that the page interpolates: at counted values and
        between."""
        _, grid = self.model.tally_read.by_key.get(((name,), "grid"), (None, None))
        if not isinstance(grid, GridCounts) or not len(grid.keys):
            return np.linspace(-1.0, 1.0, 3)
        values = np.unique(grid.values())
        places = np.linspace(0, len(values) - 1, min(N_POINTS, len(values)))
        between = np.linspace(values[0], values[-1], N_POINTS)
        return np.union1d(values[places.astype(np.intp)], between)


# ---- short numbers as decimal digits -------------------------------------------------------------
SIGNIFICANT_DIGITS = 7  # significant, of a number that is shown


def rounded(value: Any) -> Any:
    """Numbers of nested lists to 7 significant digits, but whole numbers as they are; None for what
    is not finite."""
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    if value.is_integer():
        return value
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
