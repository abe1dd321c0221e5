"""Models of tables in the neutral form.

Each part of a model can add itself to a scorer of single rows. The scorer here records the parts
instead of scoring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.table import TableModel
from tallybayes.parameters import PooledTerms, TriangularTerms
from tallybayes.reporting.form.form import Form, Link
from tallybayes.reporting.form.laws import LawTerm
from tallybayes.reporting.form.readers import REFUSED_ENTRY, ColumnReader
from tallybayes.reporting.form.terms import (
    CellTerm,
    CurveTerm,
    GroupTerm,
    PooledTerm,
    QuadraticTerm,
    Term,
)
from tallybayes.tally import GridCounts

__all__ = ["form_of_table"]

Array = NDArray[np.float64]

N_POINTS = 400  # of a density that is interpolated


def form_of_table(model: TableModel) -> Form:
    """The form of a :class:`tallybayes.NaiveBayes`."""
    noted = _NotedParts(model)
    declared = model.reading.declared
    without_form: list[str] = []
    for part in model.score.parts:
        before = len(noted.columns), len(noted.terms)
        noted.part = part
        if not part.add_to_rows(cast(Any, noted), declared.least):
            del noted.columns[before[0] :], noted.terms[before[1] :]
            without_form += part.columns
    log_prior = model.log_prior.copy()
    link = Link(log_prior, model.chosen.calibration)
    return Form(log_prior, noted.columns, noted.terms, link, without_form)


class _NotedParts:
    """Takes parts as the compiled scorer of rows does; the methods are that scorer's."""

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.part: Any = None
        self.columns: list[ColumnReader] = []
        self.terms: list[Term] = []

    def _place(self, reader: ColumnReader) -> tuple[int]:
        self.columns.append(reader)
        return (len(self.columns) - 1,)

    def _number(self, name: str, strings: dict[str, int], beside: Array, least: int) -> tuple[int]:
        """A column of numbers: a missing value has entry 0, a number 1, strings those given."""
        other = len(beside) - 1 if len(beside) > 2 + len(strings) else REFUSED_ENTRY
        reader = ColumnReader(
            name=name,
            missing=0,
            starts=np.zeros(0),
            first_number=1,
            levels=strings,
            other=other,
            least=least,
        )
        return self._place(reader)

    def add_levels(
        self,
        name: str,
        entry: dict[str, int],
        unseen: int,
        table: Array,
        numbers: dict[str, int],
    ) -> None:
        """A column of levels; an `unseen` of −1 refuses others. A page does not distinguish the
        number 0 from its digit."""
        other = REFUSED_ENTRY if unseen < 0 else unseen
        reader = ColumnReader(name=name, missing=0, levels=entry | numbers, other=other)
        place = self._place(reader)
        self.terms.append(CellTerm(place, _with_entry(table, other)))

    def add_bins(self, name: str, edges: Array, table: Array, strings: dict[str, int]) -> None:
        """A column of bins, and strings beside the numbers."""
        last = len(edges) + 2 + len(strings)
        other = last if len(table) > last else REFUSED_ENTRY
        reader = ColumnReader(
            name=name,
            missing=0,
            starts=np.asarray(edges, dtype=np.float64),
            first_number=1,
            levels=strings,
            other=other,
        )
        self.terms.append(CellTerm(self._place(reader), table))

    def add_quadratic(
        self,
        name: str,
        constant: Array,
        slope: Array,
        mean: Array,
        scale: Array,
        missing: Array,
        least: int,
        strings: dict[str, int],
        beside: Array,
    ) -> None:
        """A Gaussian or a slope; `constant` has the score of a present number."""
        place, beside = self._number(name, strings, beside, least), _without_number(beside)
        self.terms.append(QuadraticTerm(place, constant, slope, mean, scale, beside))

    def add_pooled(self, name: str, *more: Any) -> None:
        """A density whose classes share some rows."""
        *pooled, _missing, _there, least, strings, beside = more
        place = self._number(name, strings, beside, least)
        self.terms.append(PooledTerm(place, PooledTerms(*pooled), beside))

    def add_function(
        self,
        name: str,
        of_number: Callable[[float], list[float]],
        missing: Array,
        least: int,
        strings: dict[str, int],
        beside: Array,
        _counts: Array,
    ) -> None:
        """Another density, with the scores of a number that is present."""
        place, kinds = (
            self._number(name, strings, beside, least),
            np.array(beside, dtype=np.float64),
        )
        law = self.part.density.law()
        if law is not None:
            self.terms.append(LawTerm(place, self.part.density, law, kinds))
            return
        beside = _without_number(kinds)
        at = _points(self.model, name)
        values = np.array([of_number(x) for x in at.tolist()])
        self.terms.append(CurveTerm(place, at, values, beside))

    def add_group(
        self,
        names: list[str],
        mean: Array,
        rotation: Array,
        constant: Array,
        freedom: Array | None,
        slowly: Any,
    ) -> None:
        """Correlated columns, which lack something without one of them."""
        nothing = np.zeros(0)
        places = tuple(
            self._place(
                ColumnReader(name=n, missing=REFUSED_ENTRY, starts=nothing, other=REFUSED_ENTRY)
            )[0]
            for n in names
        )
        self.terms.append(GroupTerm(places, TriangularTerms(mean, rotation, constant, freedom)))


def _with_entry(table: Array, entry: int) -> Array:
    """A table that has an entry: what is beyond it adds nothing."""
    lacking = entry + 1 - len(table)
    return table if lacking <= 0 else np.pad(table, ((0, lacking), (0, 0)))


def _without_number(beside: Array) -> Array:
    """What kinds of values add, where a number's share is part of its density."""
    found = np.array(beside, dtype=np.float64)
    found[1] = 0.0
    return found


def _points(model: TableModel, name: str) -> Array:
    """Where a density is evaluated that the page interpolates: at counted values and between."""
    pairs = zip(model.tally_read.schema.groups, model.tally_read.groups, strict=True)
    for columns, group in pairs:
        if columns.names == (name,) and isinstance(group, GridCounts) and len(group.values()):
            values = np.unique(group.values())
            some = values[
                np.linspace(0, len(values) - 1, min(N_POINTS, len(values))).astype(np.intp)
            ]
            return np.union1d(some, np.linspace(values[0], values[-1], N_POINTS))
    return np.linspace(-1.0, 1.0, 3)
