"""Models of arrays in the neutral form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.array import ArrayModel
from tallybayes.parameters import Lookup, Parameters, Quadratic
from tallybayes.reporting.form.form import Form, Link
from tallybayes.reporting.form.readers import REFUSED_ENTRY, ColumnReader
from tallybayes.reporting.form.terms import CellTerm, QuadraticTerm, Term

__all__ = ["form_of_array", "names_of_array"]

Array = NDArray[np.float64]


def names_of_array(model: ArrayModel) -> list[str]:
    """What the columns are called: their names, else their numbers."""
    columns = model.columns
    if columns.names is not None:
        return [str(name) for name in columns.names]
    return [f"x{j}" for j in range(columns.n_features)]


def form_of_array(model: ArrayModel) -> Form:
    """The form of a classifier of arrays."""
    parameters = model.parameters
    columns: list[ColumnReader] = []
    terms: list[Term] = []
    base = model.prior_in_score() + parameters.offset
    for j, name in enumerate(names_of_array(model)):
        reader, term, constant = _column(parameters, j, name)
        columns.append(reader)
        terms.append(term)
        base -= constant
    return Form(base, columns, terms, Link(model.log_prior.copy()))


def _column(parameters: Parameters, j: int, name: str) -> tuple[ColumnReader, Term, Array]:
    """How a column is read, what it adds, and what of the offset is part of that."""
    n_classes = len(parameters.offset)
    none, nothing = np.zeros(n_classes), np.zeros((1, n_classes))
    if isinstance(parameters, Lookup):
        first, end = parameters.start[j : j + 2].tolist()
        table = np.ascontiguousarray(parameters.table[:, first:end].T)
        return (
            _codes(name, np.arange(1, end - first, dtype=np.float64)),
            CellTerm((j,), table),
            none,
        )
    if isinstance(parameters, Quadratic):
        mean, scale = parameters.mean[:, j], parameters.scale[:, j]
        log_scale = np.log(scale)  # of a density, the part that depends on the class
        term = QuadraticTerm((j,), log_scale, none, mean, scale, nothing)
        return _codes(name, np.zeros(0)), term, log_scale
    weights = parameters.weights[:, j]
    if parameters.threshold is None:
        term = QuadraticTerm((j,), none, weights, none, none, nothing)
        return _codes(name, np.zeros(0)), term, none
    absent, constant = none.copy(), none
    if parameters.required is None:  # the offset has log P(x_j = 0 | c) of each feature
        absent = constant = -np.logaddexp(0.0, weights)
    else:
        absent[parameters.required[:, j]] = -np.inf
    reader = _codes(name, np.nextafter([parameters.threshold], np.inf))
    return reader, CellTerm((j,), np.stack([absent, constant + weights])), constant


def _codes(name: str, starts: Array) -> ColumnReader:
    return ColumnReader(name=name, missing=REFUSED_ENTRY, starts=starts, other=REFUSED_ENTRY)
