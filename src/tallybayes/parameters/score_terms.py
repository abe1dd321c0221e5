"""The score kinds of arrays as terms of a formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.parameters.columns import QuadraticTerms
from tallybayes.parameters.formula_cells import CodeCells, LevelCells, NumberCells
from tallybayes.parameters.formula_terms import CellTable, Powers, Term
from tallybayes.parameters.scores import Linear, Lookup, Parameters, Quadratic

__all__ = ["terms_of"]


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
