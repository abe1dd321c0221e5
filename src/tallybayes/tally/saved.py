"""Schema and tally in files, checked completely when they are loaded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import (
    Check,
    Unfit,
    array,
    each,
    flag,
    need,
    number,
    one_of,
    optional,
    record,
    text,
    unique,
    whole,
)
from tallybayes.schema import Columns, Schema
from tallybayes.tally.base import RESIDUE, ClassCounts, Tally
from tallybayes.tally.counts import FeatureSums, LevelCounts
from tallybayes.tally.grid import GridCounts
from tallybayes.tally.moments import CrossMoments, Moments
from tallybayes.tally.terms import TermCounts, TextCounts, terms_ascend

__all__ = [
    "MAX_TERM_WEIGHT",
    "MIN_TERM_WEIGHT",
    "is_tally",
    "labels",
    "plain_arrays",
    "plain_groups",
    "plain_terms",
    "restored_parts",
    "restored_terms",
    "restored_text",
    "tally_header",
    "term_counts",
]


# ---- terms as bytes ------------------------------------------------------------------------------
# Terms in a model file: one text in UTF-8 and the end of each term in it, or the numbers of hash
# buckets.
Arrays = dict[str, NDArray[Any]]

MIN_TERM_WEIGHT, MAX_TERM_WEIGHT = 1e-30, 1e30
"""Of counted terms: bins are of the binary logarithm in a byte."""

ROUNDING = 1e-6  # by which more documents may hold a term than there are
TEXT, END, BUCKETS = "terms.text", "terms.end", "terms.buckets"


def plain_terms(terms: NDArray[Any], buckets: bool) -> Arrays:
    """Terms as arrays by name; `buckets`: whether they are numbers of hash buckets."""
    if buckets:
        return {BUCKETS: terms.astype(np.int64) if len(terms) else np.zeros(0, np.int64)}
    text, ends = _kernels.read_terms(terms)
    return {TEXT: text, END: ends[1:]}


def restored_terms(held: Arrays, n_features: int | None) -> NDArray[Any]:
    """The inverse of :func:`plain_terms`; raises Unfit for what is not distinct and in order."""
    for name in (BUCKETS,) if n_features is not None else (TEXT, END):
        need(name in held, f"the file lacks {name}")
    if n_features is not None:
        terms = array("i8", -1, minimum=0, maximum=n_features - 1)(held[BUCKETS], BUCKETS)
    else:
        content = np.ascontiguousarray(array("u1", -1)(held[TEXT], TEXT))
        end = array("i8", -1, minimum=0, maximum=len(content))(held[END], END)
        need(bool((end[1:] >= end[:-1]).all()), f"{END} ascends")
        need(int(end[-1] if len(end) else 0) == len(content), f"{END} ends with the text")
        terms = _decoded(content, np.append(np.int64(0), end))
    need(terms_ascend(terms), "terms are distinct and in order")
    found: NDArray[Any] = terms
    return found


def _decoded(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Terms from a text."""
    terms = np.empty(len(ends) - 1, dtype=np.dtypes.StringDType())
    try:
        _kernels.write_terms(content, ends, terms)
    except ValueError:
        raise Unfit(f"{TEXT} is UTF-8") from None
    return terms


def term_counts(terms: NDArray[Any], classes: NDArray[Any], held: Arrays, where: str) -> TermCounts:
    """A tally of terms from its arrays, checked.

    Parameters
    ----------
    terms : array (n_terms,)
    classes : array (n_classes,)
        Labels, in order.
    held : dict
        documents, start, classes and counts.
    where : str
        What they are called.
    """
    names = ("documents", "start", "classes", "counts")
    for name in names:
        need(name in held, f"the file lacks {where}.{name}")
    documents, start, of_pair, counts = (held[name] for name in names)
    array("f8", len(classes), minimum=0.0, maximum=MAX_TERM_WEIGHT)(documents, f"{where}.documents")
    array("i8", len(terms) + 1, minimum=0)(start, f"{where}.start")
    array("i4", -1, minimum=0, maximum=len(classes) - 1)(of_pair, f"{where}.classes")
    n_pairs = len(of_pair)
    need(
        start[0] == 0 and start[-1] == n_pairs,
        f"{where}.start goes from 0 to the number of pairs",
    )
    need(bool((start[1:] > start[:-1]).all()), f"{where}.start ascends: each term has a pair")
    rising = of_pair[1:] > of_pair[:-1]
    rising[start[1:-1] - 1] = True  # where another term begins
    need(bool(rising.all()), f"{where}.classes ascend within a term")
    array("f8", n_pairs, minimum=MIN_TERM_WEIGHT, maximum=MAX_TERM_WEIGHT)(
        counts, f"{where}.counts"
    )
    return TermCounts(terms, classes, documents, start, of_pair, counts)


def restored_text(held: Arrays, n_classes: int, where: str) -> TextCounts:
    """The tally of a column of text from its arrays."""
    known = {TEXT, END, BUCKETS, "documents", "start", "classes", "counts"}
    for name in held:
        need(name in known, f"{where} has {name[:100]!r}, which a column of text does not have")
    n_features = None if BUCKETS not in held else 2**31 - 1
    terms = restored_terms(held, n_features)
    counted = term_counts(terms, np.arange(n_classes), held, where)
    most = counted.documents[counted.classes] * (1.0 + ROUNDING)
    need(
        bool((counted.counts <= most).all()), f"{where} has no more documents with a term than all"
    )
    return TextCounts(n_classes, counted * 1.0)


# ---- the arrays of a tally file ------------------------------------------------------------------
MAX_BUDGET = 1 << 20
"""Cells that a grid may have in a file."""

SPREAD = 2.0**-20
"""What rounding may make of a sum of squares that is 0, relative to that about the origin."""

INFINITY_BITS = 0x7FF0_0000_0000_0000
"""The bits of the float64 infinity: those of every number are less."""


def labels(value: Any, where: str) -> NDArray[Any]:
    """Class labels: distinct, in order, without missing values. A model that holds no rows may have
    none."""
    fits = isinstance(value, np.ndarray) and value.ndim == 1
    need(fits, f"{where} is an array of labels")
    items = value.tolist()
    need(all(v is not None and v == v for v in items), f"{where} has no missing values")
    try:
        ascending = all(a < b for a, b in pairwise(items))
    except TypeError:
        ascending = False
    need(ascending, f"{where} are distinct and in order")
    found: NDArray[Any] = value
    return found


def _level_array(value: Any, where: str) -> NDArray[Any]:
    need(isinstance(value, np.ndarray) and value.ndim == 1, f"{where} is an array of levels")
    items = value.tolist()
    need(len(set(items)) == len(items), f"{where} names no level twice")
    found: NDArray[Any] = value
    return found


def tally_header(schema: Schema) -> dict[str, Any]:
    """What the file of a tally holds beside its arrays."""
    header = {
        "tally": "TableTally",
        "classes": schema.classes,
        "groups": plain_groups(schema),
        "by_name": schema.by_name,
    }
    if schema.column_names:
        header["column_names"] = schema.column_names
    return header


def is_tally(header: Any) -> bool:
    """Whether a file holds a tally without a model."""
    return isinstance(header, dict) and "tally" in header and "estimator" not in header


COLUMNS = record(
    {
        "kind": one_of("levels", "sums", "moments", "grid", "cross", "terms"),
        "n_features": whole(1),
        "names": optional(unique(each(text, of=tuple))),
        "threshold": optional(number()),
        "non_negative": flag,
        "n_levels": optional(array("i8", -1, minimum=0, maximum=2**31)),
        "levels": optional(each(_level_array, of=tuple)),
        "origin": optional(array("f8", -1)),
        "open": flag,
        "dates": flag,
        "terms": text,
    },
    {"dates": False, "terms": ""},
)


def plain_groups(schema: Schema) -> list[dict[str, Any]]:
    """The groups of columns of a schema as plain values."""
    names = Columns.__dataclass_fields__
    groups = [{name: getattr(group, name) for name in names} for group in schema.groups]
    for group in groups:
        if not group["terms"]:  # so that earlier versions read the file
            del group["terms"]
    return groups


def plain_arrays(arrays: Arrays) -> Arrays:
    """The arrays of a tally by their names, as a file can hold them."""
    arrays = dict(arrays)
    for name in [name for name in arrays if name.endswith(".terms")]:
        terms = arrays.pop(name)
        found = plain_terms(terms, terms.dtype.kind == "i")
        arrays |= {f"{name.removesuffix('.terms')}.{field}": a for field, a in found.items()}
    return arrays


def _columns(given: Any, where: str) -> Columns:
    """A run of columns whose parts fit each other."""
    columns = Columns(**COLUMNS(given, where))
    kind, d = columns.kind, columns.n_features
    need(columns.names is None or len(columns.names) == d, f"{where} has a name for each column")
    if kind in ("moments", "cross"):
        array("f8", d)(columns.origin, f"{where}.origin")
    if kind == "levels":
        array("i8", d)(columns.n_levels, f"{where}.n_levels")
        assert columns.n_levels is not None
        if columns.levels is not None:
            found = [len(levels) for levels in columns.levels]
            need(found == columns.n_levels.tolist(), f"{where} has as many levels as it says")
    need(kind != "grid" or d == 1, f"{where}: a grid is of one column")
    need((kind == "terms") == bool(columns.terms), f"{where} says which terms are counted")
    need(kind != "terms" or d == 1, f"{where}: terms are of one column")
    if columns.open:
        fits = kind == "levels" and d == 1 and columns.levels is not None
        need(fits, f"{where}: only a single column of levels is open")
        assert columns.levels is not None
        for level in columns.levels[0].tolist():
            text(level, f"a level of {where}")
    return columns


def _checks(columns: Columns, k: int) -> dict[str, Check]:
    """The arrays of a tally of k classes: their types, shapes and signs, by kind."""
    d = columns.n_features
    counts = {"minimum": 0.0}
    if columns.kind == "levels":
        assert columns.n_levels is not None
        width = int(columns.n_levels.sum())
        return {"start": array("i8", d + 1), "counts": array("f8", k, width, **counts)}
    if columns.kind == "sums":
        return {"sums": array("f8", k, d, **counts)}
    if columns.kind == "grid":
        return {
            "shift": array("i8", 1, minimum=0, maximum=62),
            "keys": array("i8", -1),
            "counts": array("f8", k, -1, **counts),
            "budget": array("i8", 1, minimum=1, maximum=MAX_BUDGET),
        }
    sums = ("s1_hi", "s1_lo", "s2_hi", "s2_lo")
    if columns.kind == "moments":
        shapes = {name: array("f8", k, d) for name in (*sums, "n_lo")}
        return {"origin": array("f8", d), "n": array("f8", k, d, **counts), **shapes}
    half = d * (d + 1) // 2
    shapes = {name: array("f8", k, d if name.startswith("s1") else half) for name in sums}
    n = {"n": array("f8", k, **counts), "n_lo": array("f8", k)}
    return {"origin": array("f8", d), **n, **shapes}


def _tally(columns: Columns, given: Arrays, k: int, where: str) -> Tally:
    """The tally of a run of columns."""
    if columns.kind == "terms":
        return restored_text(given, k, where)
    defaults = {"n_lo": np.zeros((k, columns.n_features))} if columns.kind == "moments" else {}
    held = record(_checks(columns, k), defaults)(given, where)
    tally: Tally
    if columns.kind == "levels":
        assert columns.n_levels is not None
        start = np.concatenate([[0], np.cumsum(columns.n_levels)])
        need(np.array_equal(held["start"], start), f"{where}: cells begin where levels end")
        tally = LevelCounts(**held)
    elif columns.kind == "sums":
        tally = FeatureSums(**held)
    elif columns.kind == "grid":
        tally = _grid(held, where)
    else:
        assert columns.origin is not None
        same = np.array_equal(held["origin"], columns.origin)
        need(same, f"{where} has the origin that its schema says")
        small = bool((np.abs(held["n_lo"]) <= RESIDUE * held["n"]).all())
        need(small, f"{where}: n_lo is the rounding of n")
        tally = Moments(**held) if columns.kind == "moments" else CrossMoments(**held)
    for name in tally.additive:
        total = getattr(tally, name).sum()
        need(bool(np.isfinite(total)), f"{where}.{name} sums to a number")
    if isinstance(tally, Moments | CrossMoments):
        _need_spread(tally, where)
    return tally


def _need_spread(tally: Moments | CrossMoments, where: str) -> None:
    """Raises where sums of squares are negative by more than rounding."""
    columns = tally.columns() if isinstance(tally, CrossMoments) else tally
    empty = columns.n == 0.0
    stray = empty & ((columns.s1_hi != 0.0) | (columns.s2_hi != 0.0))
    need(not stray.any(), f"{where} has sums without rows")
    squares = columns.mean_and_squares()[1]
    rounding = SPREAD * np.abs(columns.s2_hi)
    need(bool((columns.s2_hi >= 0.0).all()), f"{where} has negative squares about its origin")
    need(bool((squares >= -rounding).all()), f"{where} has negative squares about its mean")
    if isinstance(tally, CrossMoments):
        scatter = tally.mean_and_scatter()[1]
        scale = np.sqrt(np.maximum(np.diagonal(scatter, axis1=1, axis2=2), 0.0))
        scale = np.where(scale > 0.0, scale, 1.0)
        least = np.linalg.eigvalsh(scatter / scale[:, :, None] / scale[:, None, :]).min()
        need(bool(least >= -SPREAD * scatter.shape[1]), f"{where} has products beyond its squares")


def _grid(held: dict[str, Any], where: str) -> GridCounts:
    shift, budget = int(held["shift"][0]), int(held["budget"][0])
    keys, counts = held["keys"], held["counts"]
    need(counts.shape[1] == len(keys) <= budget, f"{where} has a column for each cell")
    need(bool((keys[1:] > keys[:-1]).all()), f"{where}: cells ascend")
    lowest = -((INFINITY_BITS - 1) >> shift) - 1
    highest = (INFINITY_BITS - 1) >> shift
    within = not len(keys) or (int(keys[0]) >= lowest and int(keys[-1]) <= highest)
    need(within, f"{where}: cells hold finite numbers")
    return GridCounts(shift, keys, counts, budget)


def _class_counts(arrays: Arrays, k: int) -> ClassCounts:
    need("class_count" in arrays, "the file lacks the class counts")
    count = array("f8", k, minimum=0.0)(arrays["class_count"], "class_count")
    need(bool(np.isfinite(count.sum())), "class_count sums to a number")
    squares = arrays.get("class_squared_weights")
    if squares is not None:  # they may have left the range of float64, and are then infinite
        capped = np.where(squares == np.inf, 0.0, squares)
        array("f8", k, minimum=0.0)(capped, "class_squared_weights")
    return ClassCounts(count, squares)  # files of 0.1.0 lack them: their rows are taken to weigh 1


def restored_parts(
    header: dict[str, Any], arrays: Arrays
) -> tuple[Schema, ClassCounts, tuple[Tally, ...]]:
    """The schema, the class counts and the tally of each group of columns, from a file.

    Parameters
    ----------
    header : dict
        classes, groups and by_name, which the file of a model has too.
    arrays : dict

    Raises
    ------
    Unfit
        For anything that counting rows cannot give.
    """
    has_columns = isinstance(header, dict) and {"classes", "groups", "by_name"} <= header.keys()
    need(has_columns, "it has no counts of columns, as files of tallies and of tables have")
    classes = labels(header["classes"], "classes")
    by_name = flag(header["by_name"], "by_name")
    given = each(lambda value, where: value)(header["groups"], "groups")
    held: dict[str, Arrays] = {}
    for name, values in arrays.items():
        whose, _, field = name.partition(".")
        held.setdefault(whose, {})[field] = values
    groups, tallies = [], []
    for i, one in enumerate(given):
        columns = _columns(one, f"groups[{i}]")
        groups.append(columns)
        tallies.append(_tally(columns, held.get(f"group{i}", {}), len(classes), f"group{i}"))
    column_names = header.get("column_names", ())
    unique(each(text, of=tuple))(column_names, "column_names")
    schema = Schema(classes, tuple(groups), by_name, column_names)
    if by_name:
        _need_names(schema)
    else:
        need(len(groups) == 1, "a model of an array has one group of columns")
    return schema, _class_counts(arrays, len(classes)), tuple(tallies)


def _need_names(schema: Schema) -> None:
    """Raises where the groups of a table are not distinguished, or do not fit each other."""
    for group in schema.groups:
        need(group.names is not None, "each group of a table names its columns")
        single = group.kind in ("levels", "moments", "grid", "terms")
        need(not single or group.n_features == 1, f"columns of {group.kind} are by themselves")
        need(group.kind != "levels" or group.open, "the levels of a table are open")
    keys = [group.key for group in schema.groups]
    need(len(set(keys)) == len(keys), "no group of columns is there twice")
    dates = {group.names: group.dates for group in schema.groups if group.kind == "moments"}
    for group in schema.groups:
        if group.kind == "grid":
            need(
                dates.get(group.names) == group.dates,
                "the cells of a column of numbers stand beside its moments",
            )
