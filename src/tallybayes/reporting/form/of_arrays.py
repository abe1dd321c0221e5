"""Models of arrays in the neutral form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.array import ArrayModel
from tallybayes.parameters import Linear, Lookup, Quadratic
from tallybayes.reporting.form.form import Form, Link
from tallybayes.reporting.form.readers import REFUSED, ColumnReader
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
    parameters, names = model.parameters, names_of_array(model)
    n_classes, base = len(model.log_prior), model.prior_in_score() + parameters.offset
    link = Link(model.log_prior.copy())
    columns: list[ColumnReader] = []
    terms: list[Term] = []
    for j, name in enumerate(names):
        if isinstance(parameters, Lookup):
            first, end = parameters.start[j : j + 2].tolist()
            codes = np.arange(1, end - first, dtype=np.float64)
            columns.append(_codes(name, codes))
            terms.append(CellTerm((j,), np.ascontiguousarray(parameters.table[:, first:end].T)))
            continue
        if isinstance(parameters, Linear) and parameters.threshold is not None:
            start = np.nextafter([parameters.threshold], np.inf)
            columns.append(_codes(name, start))
            terms.append(
                CellTerm((j,), np.stack([_absent(parameters, j), parameters.weights[:, j]]))
            )
            continue
        columns.append(_codes(name, np.zeros(0)))
        none, nothing = np.zeros(n_classes), np.zeros((1, n_classes))
        if isinstance(parameters, Quadratic):
            mean, scale = parameters.mean[:, j], parameters.scale[:, j]
            terms.append(QuadraticTerm((j,), none, none, mean, scale, nothing))
        else:
            terms.append(QuadraticTerm((j,), none, parameters.weights[:, j], none, none, nothing))
    return Form(base, columns, terms, link)


def _absent(parameters: Linear, j: int) -> Array:
    """What a feature that is not there adds: −inf in classes that require it."""
    absent = np.zeros(len(parameters.offset))
    if parameters.required is not None:
        absent[parameters.required[:, j]] = -np.inf
    return absent


def _codes(name: str, starts: Array) -> ColumnReader:
    return ColumnReader(name=name, missing=REFUSED, starts=starts, other=REFUSED)
