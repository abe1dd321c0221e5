"""A formula as JSON, which a few lines of any language evaluate: on the page of a report, and in
models as Python and JavaScript.

A column has a *reader*, which gives the entry of a value: a number by its interval, a string by a
list. A term has the table of the entries, or the parameters of a law of the number. Arrays of
float64 are base64, bit by bit.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.written import conditionals
from tallybayes.score import (
    CodeCells,
    Formula,
    GroupTerm,
    Inexpressible,
    LevelCells,
    NumberCells,
    NumberTerm,
    OpaqueTerm,
    OwnTerms,
    of_pairs,
    of_single_columns,
)
from tallybayes.tables.columns import entries_of_bits

__all__ = ["exact", "form_of", "json_of"]

Array = NDArray[np.float64]

REFUSED_ENTRY = -2  # of a value that the model does not accept


def exact(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float64 values are read bit by bit; infinities and NaN as they are."""
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "b64": base64.b64encode(data.tobytes()).decode("ascii")}


def json_of(value: Any) -> str:
    """A form, or a name, as JSON in ASCII, which is also a literal of JavaScript and ends no script
    element of HTML."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def form_of(
    formula: Formula,
    points: Callable[[str], Array] | None = None,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The form.

    Parameters
    ----------
    formula : Formula
    points : callable (column), optional
        Where a density without a formula is evaluated, between which it is interpolated. By
        default there is no form of one.
    names : mapping of str to str, optional
        What the form calls columns, where that is not their name.

    Raises
    ------
    ValueError
        If two columns have one name.
    Inexpressible
        For what Python alone computes.
    """
    for term in formula.terms:
        if isinstance(term, OpaqueTerm):
            raise Inexpressible(term.reason)
    single, correction = of_single_columns(formula.terms), formula.correction
    groups = [term for term in formula.terms if isinstance(term, GroupTerm)]
    read = {*formula.columns}
    columns = [name for name in formula.kinds if name in read]
    place = {name: j for j, name in enumerate(columns)}
    has_term = {
        term.columns[0]
        for term in formula.terms
        if len(term.columns) == 1 and not isinstance(term, GroupTerm)
    }
    called = {name: (names or {}).get(name, name) for name in columns}
    if len({*called.values()}) < len(called):
        raise ValueError(f"names= gives two columns one name: {sorted(called.values())}")
    terms = [_of_column(place[name], single[name], points) for name in columns if name in has_term]
    terms += [_group(group, [place[name] for name in group.columns]) for group in groups]
    for cells, scores in of_pairs(formula.terms):
        terms.append(
            {
                "kind": "pair",
                "columns": [place[cells.first.column], place[cells.second.column]],
                "maps": [coarse.tolist() for coarse in cells.maps],
                "sizes": list(cells.sizes),
                "table": exact(scores.T),
            }
        )
    refused = {name for term in terms if term.get("every") for name in term["columns"]}
    return {
        "base": exact(formula.offset),
        "columns": [
            _reader(name, formula, single.get(name), place[name] in refused) | {"name": own}
            for name, own in called.items()
        ],
        "terms": terms,
        "link": {
            "ruledOut": exact(formula.ruled_out),
            "fallback": formula.fallback,
            "beta": correction.beta,
            "knots": [exact(knots) for knots in correction.knots],
            "values": [exact(values) for values in correction.values],
            "share": correction.share,
            "prior": exact(correction.prior),
            "priorShare": correction.prior_share,
            "most": correction.most,
        },
    }


# ---- terms ---------------------------------------------------------------------------------------
def _of_column(place: int, own: OwnTerms, points: Callable[[str], Array] | None) -> dict[str, Any]:
    """The table of a column, or its density and what the kind of a value adds beside it."""
    number, table = own.number, exact(own.scores.T)
    if number is None:
        return {"kind": "cells", "columns": [place], "table": table}
    found: dict[str, Any] = {"columns": [place], "beside": table}
    law = number.law
    if law is None:
        if points is None:
            raise _without_law(number)
        at = points(number.column)
        return {"kind": "curve", **found, "at": exact(at), "values": exact(number.of_numbers(at))}
    found |= {"kind": "law", "law": law.kind}
    for name in ("mean", "constant", "slope", "scale", "half", "size"):
        parameter = getattr(law, name)
        if parameter is not None:
            found[name] = exact(parameter)
    if law.power is not None:
        found["transform"] = {"kind": law.power.kind, "exponent": law.power.exponent}
    if law.mixture is not None:
        arrays = {name: exact(np.asarray(v)) for name, v in law.mixture._asdict().items()}
        found["pooled"] = arrays | {"share": float(law.mixture.share)}
    return found


def _without_law(number: NumberTerm) -> Inexpressible:
    what = "a density of another package" if number.density is None else number.density.what
    return Inexpressible(
        f"column {number.column!r} is read as {what}, which is neither a table of cells nor a law "
        "by a formula: declare another family for it, such as Binned()"
    )


def _group(group: GroupTerm, places: list[int]) -> dict[str, Any]:
    """Numbers that are scored together: each given those before it that have a value."""
    term = conditionals(group)
    n_classes, d = term.mean.shape
    steps = []
    for j, of_column in enumerate(term.steps):
        weights = np.zeros((len(of_column), n_classes, d))
        for of_step, step in zip(weights, of_column, strict=True):
            of_step[:, [*step.given, j]] = step.weights
        constants = np.stack([step.constant for step in of_column])
        steps.append({"weights": exact(weights), "constants": exact(constants)})
    return {
        "kind": "group",
        "columns": places,
        "mean": exact(term.mean),
        "steps": steps,
        "freedom": None if term.freedom is None else exact(term.freedom),
        "every": term.every,
    }


# ---- readers of columns --------------------------------------------------------------------------
def _reader(name: str, formula: Formula, own: OwnTerms | None, needs_value: bool) -> dict[str, Any]:
    """How the values of a column are read; `own` is None in a group, which may need every value."""
    found: dict[str, Any] = {
        "dates": formula.kinds[name] == "date",
        "missing": 0 if formula.takes_missing and not needs_value else REFUSED_ENTRY,
        "starts": exact(np.zeros(0)),
        "firstNumber": 1,
        "levels": [],
        "entries": [],
        "other": REFUSED_ENTRY,
        "least": formula.least.get(name, 0),
    }
    cells = None if own is None else own.cells
    if isinstance(cells, CodeCells):
        starts = np.arange(1, cells.size, dtype=np.float64)
        found |= {"starts": exact(starts), "firstNumber": 0}
        found["codes"] = "truncated" if cells.truncates else "whole"
        found["refusedFrom"] = cells.size - 1 if cells.refuses_others else None
    elif isinstance(cells, NumberCells):
        found |= {
            "starts": exact(cells.starts),
            "levels": list(cells.strings),
            "entries": cells.of_strings(cells.strings).tolist(),
            "other": cells.size - 1 if cells.takes_others else REFUSED_ENTRY,
        }
    elif isinstance(cells, LevelCells):
        entry = {level: 1 + i for i, level in enumerate(cells.levels)}
        entry |= entries_of_bits(entry)  # a number 0 is its digit
        found |= {
            "starts": None,
            "levels": list(entry),
            "entries": list(entry.values()),
            "other": REFUSED_ENTRY if cells.refuses_others else cells.size - 1,
        }
    return found
