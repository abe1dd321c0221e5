"""A formula as JSON, which a few lines of any language evaluate: on the page of a report, and in
models as Python and JavaScript.

A column has a *reader*, which gives the entry of a value: a number by its interval, a string by a
list. A term has the table of the entries, or the parameters of a law of the number. Arrays of
float64 are base64, bit by bit.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.written import conditionals
from tallybayes.score import (
    CellTable,
    CodeCells,
    Formula,
    GroupTerm,
    Inexpressible,
    LevelCells,
    NumberCells,
    NumberTerm,
    OpaqueTerm,
    OwnTerms,
    TermSums,
    TextTerm,
    of_joint_tables,
    of_single_columns,
)
from tallybayes.tables.columns import entries_of_bits
from tallybayes.tokens.analyzer import (
    CJK,
    CJK_BLOCKS,
    MARKS,
    WHITE_SPACE,
    WORDS,
    Analyzer,
    is_word,
    marked,
)

__all__ = [
    "characters",
    "compact",
    "exact",
    "form_of",
    "front_coded",
    "json_of",
    "need_names",
    "need_rules",
    "splitting",
    "sums_form",
    "whole",
]

Array = NDArray[np.float64]

REFUSED_ENTRY = -2  # of a value that the model does not accept


def exact(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float64 values are read bit by bit; infinities and NaN as they are."""
    data = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(data.shape), "b64": base64.b64encode(data.tobytes()).decode("ascii")}


def exact_single(values: NDArray[Any]) -> dict[str, Any]:
    """An array whose float32 values are read bit by bit."""
    data = np.ascontiguousarray(values, dtype="<f4")
    return {"single": base64.b64encode(data.tobytes()).decode("ascii")}


def whole(values: NDArray[Any]) -> dict[str, Any]:
    """Whole numbers from 0 on, seven bits a byte, the lowest first; the eighth bit is set if
    more follow."""
    left = np.ascontiguousarray(values, dtype=np.uint64).ravel()
    n_bytes = np.ones(len(left), dtype=np.int64)
    for bits in range(7, 64, 7):
        n_bytes += left >= np.uint64(1 << bits)
    end = np.cumsum(n_bytes)
    data = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.uint8)
    start = end - n_bytes
    for i in range(int(n_bytes.max(initial=0))):
        on = np.flatnonzero(n_bytes > i)
        seven = (left[on] >> np.uint64(7 * i)) & np.uint64(127)
        data[start[on] + i] = seven + np.where(n_bytes[on] > i + 1, 128, 0).astype(np.uint64)
    return {"whole": base64.b64encode(data.tobytes()).decode("ascii")}


def front_coded(strings: list[str]) -> dict[str, Any]:
    """Sorted strings, each as the number of characters that it shares with the one before, and the
    rest."""
    shared, rest, before = [], [], ""
    for string in strings:
        pairs = zip(before, string, strict=False)
        n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        shared.append(n)
        rest.append(string[n:])
        before = string
    return {"shared": whole(np.array(shared, dtype=np.int64)), "rest": rest}


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
        if isinstance(term, OpaqueTerm) and not isinstance(term, TextTerm):
            raise Inexpressible(term.reason)
    documents = [term for term in formula.terms if isinstance(term, TextTerm)]
    single, correction = of_single_columns(formula.terms), formula.correction
    groups = [term for term in formula.terms if isinstance(term, GroupTerm)]
    read = {*formula.columns}
    columns = [name for name in formula.kinds if name in read]
    place = {name: j for j, name in enumerate(columns)}
    has_term = {
        term.columns[0]
        for term in formula.terms
        if isinstance(term, CellTable | NumberTerm) and len(term.columns) == 1
    }
    called = {name: (names or {}).get(name, name) for name in columns}
    if len({*called.values()}) < len(called):
        raise ValueError(f"names= gives two columns one name: {sorted(called.values())}")
    terms = [_of_column(place[name], single[name], points) for name in columns if name in has_term]
    terms += [_group(group, [place[name] for name in group.columns]) for group in groups]
    terms += [text_form(text, place[text.columns[0]], len(formula.offset)) for text in documents]
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
    text_columns = {text.columns[0] for text in documents}
    refused = {name for term in terms if term.get("every") for name in term["columns"]}
    return {
        "base": exact(formula.offset),
        "columns": [
            (
                TEXT
                if name in text_columns
                else _reader(name, formula, single.get(name), place[name] in refused)
            )
            | {"name": own}
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
    one another are one array. A missing value that is refused has no row in a table; of two rows,
    finite ones, the base has the first and the table their difference."""
    columns, base = [dict(column) for column in form["columns"]], _array(form["base"]).copy()
    paired = {j for term in form["terms"] if term["kind"] != "cells" for j in term["columns"]}
    terms = []
    for term in form["terms"]:
        column = columns[term["columns"][0]]
        needless = column["missing"] == REFUSED_ENTRY and column["firstNumber"] == 1
        if term["kind"] == "cells" and needless and term["columns"][0] not in paired:
            table, less = _array(term["table"])[1:], 1
            if len(table) == 2 and not column["levels"] and np.isfinite(table).all():
                base += table[0]
                table, less = table[1:] - table[:1], 2
            column["firstNumber"] -= less
            column["entries"] = [entry - less for entry in column["entries"]]
            column["other"] = max(column["other"] - less, REFUSED_ENTRY)
            term = term | {"table": exact(table)}
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
    return form | {"base": exact(base), "common": common, "columns": rest, "terms": runs}


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
TEXT: dict[str, Any] = {
    "dates": False,
    "missing": 0,
    "starts": None,
    "firstNumber": 1,
    "levels": [],
    "entries": [],
    "other": 0,
    "least": 0,
}
"""A column of text, whose values are strings and have one entry."""


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


# ---- documents -----------------------------------------------------------------------------------
MAX_EXACT_COUNT = 512
"""Counts whose log(1 + count) in single precision travels, for NumPy's rounding of it."""


def text_form(term: TextTerm, place: int, n_classes: int) -> dict[str, Any]:
    """The terms of a text: how it is cut into them, and what these add."""
    analyzer = need_rules(term)
    names = need_names(term)
    return {
        "kind": "text",
        "columns": [place],
        "split": splitting(analyzer),
        "terms": front_coded(names),
        "nClasses": n_classes,
        "sums": [sums_form(sums) for sums in term.sums()],
    }


def need_names(term: TextTerm) -> list[str]:
    """The terms of a text by name; raises Inexpressible where they are hashed."""
    if term.terms.dtype.kind in "iu":
        raise Inexpressible(
            f"the terms of {term.columns[0]!r} are hashed into buckets, which are not hashed "
            "elsewhere: leave n_features out, so that the model has their names"
        )
    names: list[str] = term.terms.tolist()
    return names


def need_rules(term: TextTerm) -> Analyzer:
    """How a text is cut; raises Inexpressible where a function of Python does it."""
    if term.analyzer is None:
        raise Inexpressible(
            f"the terms of {term.columns[0]!r} are made by a function of Python (analyzer, "
            "tokenizer, preprocessor or strip_accents), which is not written: use the rules that "
            "the other parameters have, such as token_pattern"
        )
    return term.analyzer


def sums_form(sums: TermSums) -> dict[str, Any]:
    """See TermSums. Each distinct number stands once; of two classes with opposite numbers the
    second alone."""
    common, cell = sums.common, sums.cell
    mirrored = common.shape[1] == 2 and bool((common[:, 0] == -common[:, 1]).all())
    own = np.array_equal(cell[cell >= 0], np.arange(len(common)))  # a row for each that has one
    common = common[:, 1:] if mirrored else common
    found: dict[str, Any] = {
        "frequency": sums.frequency,
        "length": sums.length,
        "mean": float(sums.mean_length),
        "power": float(sums.power),
        "shortest": float(sums.shortest),
        "mirrored": mirrored,
        "own": own,
        "cell": whole(cell >= 0 if own else cell + 1),
        "common": exact_single(common) if common.dtype == np.float32 else exact(common),
    }
    if sums.frequency == "single":
        found["tf"] = exact_single(np.log1p(np.arange(MAX_EXACT_COUNT), dtype=np.float32))
    if sums.by is not None:
        distinct, index = np.unique(sums.by, return_inverse=True)
        found |= {"by": whole(index), "bys": exact(distinct)}
    if sums.start is not None and sums.classes is not None and sums.pair is not None:
        values, index = np.unique(sums.pair, return_inverse=True)
        found |= {
            "pairs": whole(np.diff(sums.start)),
            "classes": whole(sums.classes),
            "value": whole(index),
            "values": exact(values),
        }
    return found


def splitting(analyzer: Analyzer) -> dict[str, Any]:
    """The rules as JSON, with a pattern of Python's `re`."""
    words = analyzer.analyzer in ("word", "cjk")
    return {
        "unit": analyzer.analyzer,
        "pattern": CJK if analyzer.analyzer == "cjk" else analyzer.token_pattern,
        "lowercase": analyzer.lowercase,
        "accents": analyzer.strip_accents,
        "stop": list(analyzer.stop_words) if words else [],
        "ngrams": list(analyzer.ngram_range),
    }


PATTERNS = {WORDS: "words", MARKS: "marks", CJK: "marks"}


def characters(split: dict[str, Any]) -> dict[str, Any]:
    """The rules for a language without such patterns, with this Python's tables of characters.

    Raises
    ------
    Inexpressible
        For a pattern that is neither of those of this package.
    """
    pattern = "marks" if split["unit"] in ("char", "char_wb") else PATTERNS.get(split["pattern"])
    if pattern is None:
        raise Inexpressible(
            f"token_pattern {split['pattern']!r} is a regular expression of Python, of which "
            f"JavaScript has another meaning: use {MARKS!r} or {WORDS!r}"
        )
    return split | {
        "pattern": pattern,
        "word": _ranges(is_word()),
        "space": _ranges((marked() & WHITE_SPACE) > 0),
        "alone": [list(block) for block in CJK_BLOCKS] if split["unit"] == "cjk" else [],
        "combining": _ranges(_combining()) if split["accents"] == "unicode" else None,
    }


def _ranges(there: NDArray[np.bool_]) -> dict[str, Any]:
    """Where runs of code points begin and end, each as the distance from the one before."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return whole(np.diff(np.concatenate([[0], edges])))


@cache
def _combining() -> NDArray[np.bool_]:
    """The code points that are dropped with accents."""
    return np.array([unicodedata.combining(chr(c)) > 0 for c in range(0x110000)])
