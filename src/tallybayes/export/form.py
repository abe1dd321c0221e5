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
from itertools import groupby
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
    of_joint_tables,
    of_single_columns,
)
from tallybayes.tables.columns import entries_of_bits

__all__ = ["compact", "exact", "form_of", "json_of"]

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
    for cells, scores in of_joint_tables(formula.terms):
        terms.append(
            {
                "kind": "joint",
                "columns": [place[name] for name in cells.columns],
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


# ---- the same in fewer letters -------------------------------------------------------------------
def compact(form: dict[str, Any]) -> dict[str, Any]:
    """A form whose columns share what all of them have, and whose terms of one kind that follow
    one another are one array; a missing value that is refused has no row in a table."""
    columns = [dict(column) for column in form["columns"]]
    paired = {j for term in form["terms"] if term["kind"] != "cells" for j in term["columns"]}
    terms = []
    for term in form["terms"]:
        column = columns[term["columns"][0]]
        needless = column["missing"] == REFUSED_ENTRY and column["firstNumber"] == 1
        if term["kind"] == "cells" and needless and term["columns"][0] not in paired:
            column["firstNumber"] = 0
            column["entries"] = [entry - 1 for entry in column["entries"]]
            column["other"] = max(column["other"] - 1, REFUSED_ENTRY)
            term = term | {"table": exact(_array(term["table"])[1:])}
        terms.append(term)
    common = {
        key: value
        for key, value in (columns[0].items() if columns else ())
        if all(key in column and column[key] == value for column in columns)
    }
    runs: list[dict[str, Any]] = []
    for kind, run in groupby(terms, _kind_of_run):
        found = list(run)
        runs += found if kind is None or len(found) == 1 else [_run(kind, found)]
    rest = [{k: v for k, v in column.items() if k not in common} for column in columns]
    return form | {"common": common, "columns": rest, "terms": runs}


def _array(packed: dict[str, Any]) -> Array:
    values = np.frombuffer(base64.b64decode(packed["b64"]), dtype="<f8")
    return values.reshape(packed["shape"])


def _kind_of_run(term: dict[str, Any]) -> str | None:
    """What terms that are one array have in common; None of others."""
    if term["kind"] == "cells":
        return "cells"
    is_plain = term["kind"] == "law" and not {"transform", "pooled"} & term.keys()
    if is_plain and term["law"] == "quadratic" and not _array(term["beside"]).any():
        return "quadratic"
    return None


def _run(kind: str, terms: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "run",
        "of": kind,
        "columns": [term["columns"][0] for term in terms],
    }
    if kind == "cells":
        tables = [_array(term["table"]) for term in terms]
        return found | {"sizes": list(map(len, tables)), "table": exact(np.concatenate(tables))}
    for name in ("mean", "constant", "slope", "scale"):
        none = exact(np.zeros_like(_array(terms[0]["mean"])))
        values = np.stack([_array(term.get(name, none)) for term in terms])
        if values.any():
            found[name] = exact(values)
    return found


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
