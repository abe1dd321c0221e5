"""Schema and tally in files, checked completely when they are loaded."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.persistence import (
    Arrays,
    Ascending,
    Shape,
    Sizes,
    Tree,
    Unfit,
    Within,
    distinct,
    fit,
    need,
)
from tallybayes.schema import Columns, Schema
from tallybayes.tally.base import RESIDUE, ClassCounts, FeatureSums, LevelCounts, Tally
from tallybayes.tally.numbers import CrossMoments, GridCounts, Moments
from tallybayes.tally.terms import TermCounts, TextCounts, terms_ascend

__all__ = [
    "Labels",
    "is_tally",
    "plain_arrays",
    "plain_groups",
    "plain_terms",
    "restored_parts",
    "restored_schema",
    "restored_terms",
    "tally_header",
    "term_counts",
]


# ---- terms: one text in UTF-8 and the end of each term in it, or the numbers of hash buckets -----
ROUNDING = 1e-6  # by which more documents may hold a term than there are


class _Text(NamedTuple):
    text: Annotated[NDArray[np.uint8], Shape(None)]
    end: Annotated[NDArray[np.int64], Shape(None), Within(0), Ascending(strictly=False)]


class _Buckets(NamedTuple):
    buckets: Annotated[NDArray[np.int64], Shape(None), Within(0), Ascending()]


def plain_terms(terms: NDArray[Any], buckets: bool) -> Tree:
    """Terms as arrays by name; `buckets`: whether they are numbers of hash buckets."""
    if buckets:
        return {"buckets": terms.astype(np.int64) if len(terms) else np.zeros(0, np.int64)}
    text, ends = _kernels.read_terms(terms)
    return {"text": text, "end": ends[1:]}


def restored_terms(given: Any, n_features: int | None, where: str) -> NDArray[Any]:
    """The inverse of :func:`plain_terms`; raises Unfit for what is not distinct and in order."""
    if n_features is not None:
        (terms,) = fit(_Buckets, given, where)
        need(not len(terms) or terms[-1] < n_features, f"{where}.buckets is below {n_features}")
        found: NDArray[Any] = terms
        return found
    text, end = fit(_Text, given, where)
    need(int(end[-1] if len(end) else 0) == len(text), f"{where}.end ends with the text")
    terms = np.empty(len(end), dtype=np.dtypes.StringDType())
    try:
        _kernels.write_terms(np.ascontiguousarray(text), np.append(np.int64(0), end), terms)
    except ValueError:
        raise Unfit(f"{where}.text is UTF-8") from None
    need(terms_ascend(terms), f"{where} are distinct and in order")
    return terms


def term_counts(
    terms: NDArray[Any], labels: NDArray[Any], held: Tree, where: str, pruned: float = 0.0
) -> TermCounts:
    """A tally of terms from its arrays, checked.

    Parameters
    ----------
    terms : array (n_terms,)
    labels : array (n_classes,)
        In order.
    held : dict
        documents, start, classes, counts, and sums if there are any.
    where : str
        What they are called.
    pruned : float
        See :class:`TermCounts`.
    """
    given = {**held, "terms": terms, "labels": labels, "pruned": pruned}
    sizes = {"n_classes": len(labels), "n_starts": len(terms) + 1}
    tally: TermCounts = fit(TermCounts, given, where, sizes)
    start, classes = tally.start, tally.classes
    fits = start[0] == 0 and start[-1] == len(classes)
    need(fits, f"{where}.start goes from 0 to the number of pairs")
    known = (classes >= 0) & (classes < len(labels))
    need(bool(known.all()), f"{where}.classes are classes")
    rising = classes[1:] > classes[:-1]
    rising[start[1:-1] - 1] = True  # where another term begins
    need(bool(rising.all()), f"{where}.classes ascend within a term")
    return tally


def _text_counts(held: Tree, n_classes: int, where: str) -> TextCounts:
    """The tally of a column of text."""
    given = dict(held)
    terms = given.pop("terms", {})
    n_features = 2**31 - 1 if isinstance(terms, dict) and "buckets" in terms else None
    terms = restored_terms(terms, n_features, f"{where}.terms")
    counted = term_counts(terms, np.arange(n_classes), given, where)
    most = counted.documents[counted.classes] * (1.0 + ROUNDING)
    fits = bool((counted.counts <= most).all())
    need(fits, f"{where} has no more documents with a term than all")
    return TextCounts(n_classes, counted * 1.0)


# ---- to a file -----------------------------------------------------------------------------------
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
    if schema.public:
        header["public"] = True
    return header


def is_tally(header: Any) -> bool:
    """Whether a file holds a tally without a model."""
    return isinstance(header, dict) and "tally" in header and "estimator" not in header


def plain_groups(schema: Schema) -> list[dict[str, Any]]:
    """The groups of columns of a schema as plain values."""
    names = [field.name for field in fields(Columns)]
    groups = [{name: getattr(group, name) for name in names} for group in schema.groups]
    for group in groups:
        for name in ("terms", "zone"):
            if not group[name]:  # so that earlier versions read the file
                del group[name]
    return groups


def plain_arrays(arrays: Arrays) -> Tree:
    """The arrays of a tally by their names, as a file can hold them."""
    tree: Tree = dict(arrays)
    for name, terms in arrays.items():
        if name.endswith(".terms"):
            tree[name] = plain_terms(terms, terms.dtype.kind == "i")
    return tree


# ---- from a file ---------------------------------------------------------------------------------
SPREAD = 2.0**-20
"""What rounding may make of a sum of squares that is 0, relative to that about the origin."""

INFINITY_BITS = 0x7FF0_0000_0000_0000
"""The bits of the float64 infinity: those of every number are less."""


def in_order(value: Any, where: str, sizes: Sizes) -> None:
    """Class labels: distinct, in order, without missing values. A model that holds no rows may have
    none."""
    items = value.tolist()
    need(all(v is not None and v == v for v in items), f"{where} has no missing values")
    try:
        ascending = all(a < b for a, b in pairwise(items))
    except TypeError:
        ascending = False
    need(ascending, f"{where} are distinct and in order")


Labels = Annotated[NDArray[Any], Shape(None), in_order]


class _Header(NamedTuple):
    classes: Labels
    groups: list[Columns]
    by_name: bool
    column_names: Annotated[tuple[str, ...], distinct] = ()
    public: bool = False


def restored_schema(header: Any) -> Schema:
    """The schema from the header of a file; raises Unfit for one that no columns have."""
    has_columns = isinstance(header, dict) and {"classes", "groups", "by_name"} <= header.keys()
    need(has_columns, "it has no counts of columns, as files of tallies and of tables have")
    given = {name: header[name] for name in _Header._fields if name in header}
    classes, groups, by_name, column_names, public = fit(_Header, given, "the header")
    schema = Schema(classes, tuple(groups), by_name, column_names, public)
    for i, columns in enumerate(schema.groups):
        _need_columns(columns, f"groups[{i}]")
    if schema.by_name:
        _need_names(schema)
    else:
        need(len(schema.groups) == 1, "a model of an array has one group of columns")
    return schema


def restored_parts(
    header: dict[str, Any], tree: Tree
) -> tuple[Schema, ClassCounts, tuple[Tally, ...]]:
    """The schema, the class counts and the tally of each group of columns, from a file.

    Parameters
    ----------
    header : dict
        classes, groups and by_name, which the file of a model has too.
    tree : dict
        The arrays by the parts of their names.

    Raises
    ------
    Unfit
        For anything that counting rows cannot give.
    """
    schema = restored_schema(header)
    held, k, tallies = tree.get("group", {}), len(schema.classes), []
    need(isinstance(held, dict), "the file has the counts of each group")
    for i, columns in enumerate(schema.groups):
        tallies.append(_tally(columns, held.get(i, {}), k, f"group{i}"))
    count = fit(OfClasses, tree.get("class_count"), "class_count", {"n_classes": k})
    need(bool(np.isfinite(count.sum())), "class_count sums to a number")
    squares = tree.get("class_squared_weights")  # files of 0.1.0 lack them: their rows weigh 1
    if isinstance(squares, np.ndarray) and squares.dtype == np.float64:
        beyond = squares == np.inf  # which they are where they have left the range of float64
        fit(OfClasses, np.where(beyond, 0.0, squares), "class_squared_weights", {"n_classes": k})
    else:
        need(squares is None, "class_squared_weights is an array of float64")
    return schema, ClassCounts(count, squares), tuple(tallies)


OfClasses = Annotated[NDArray[np.float64], Shape("n_classes"), Within(0.0)]
Single = Annotated[NDArray[np.int64], Shape(1)]


def _need_columns(columns: Columns, where: str) -> None:
    """Raises where the parts of a run of columns do not fit each other."""
    kind, d = columns.kind, columns.n_features
    need(columns.names is None or len(columns.names) == d, f"{where} has a name for each column")
    if kind in ("moments", "cross"):
        need(columns.origin is not None, f"{where}.origin is an array")
    if kind == "levels":
        n_levels, levels = columns.n_levels, columns.levels
        fits = n_levels is not None
        if n_levels is not None and levels is not None:
            fits = list(map(len, levels)) == n_levels.tolist()
        need(fits, f"{where} has as many levels as it says")
    need(kind not in ("grid", "terms") or d == 1, f"{where}: {kind} are of one column")
    need((kind == "terms") == bool(columns.terms), f"{where} says which terms are counted")
    if columns.open:
        fits = kind == "levels" and d == 1 and columns.levels is not None
        need(fits, f"{where}: only a single column of levels is open")
        assert columns.levels is not None
        fit(list[str], columns.levels[0].tolist(), f"{where}.levels")


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


COUNTED: dict[str, type[LevelCounts | FeatureSums | Moments | CrossMoments | GridCounts]] = {
    "levels": LevelCounts,
    "sums": FeatureSums,
    "moments": Moments,
    "cross": CrossMoments,
    "grid": GridCounts,
}


def _tally(columns: Columns, given: Any, k: int, where: str) -> Tally:
    """The tally of a run of columns."""
    need(isinstance(given, dict), f"{where} has arrays")
    if columns.kind == "terms":
        return _text_counts(given, k, where)
    d, n_levels = columns.n_features, columns.n_levels
    if columns.kind == "sums" and "indptr" in given:
        return _sparse_sums(given, k, d, where)
    if columns.kind == "grid":
        for name in ("shift", "budget"):
            given = {**given, name: fit(Single, given.get(name), f"{where}.{name}").item()}
    sizes = {"n_classes": k, "n_features": d, "n_starts": d + 1, "n_products": d * (d + 1) // 2}
    tally: Tally = fit(COUNTED[columns.kind], given, where, sizes)
    for name in tally.additive:
        total = getattr(tally, name).sum()
        need(bool(np.isfinite(total)), f"{where}.{name} sums to a number")
    if isinstance(tally, LevelCounts):
        start = np.concatenate([[0], np.cumsum(n_levels)])  # type: ignore[arg-type]
        fits = np.array_equal(tally.start, start) and tally.counts.shape[1] == start[-1]
        need(fits, f"{where}: cells begin where levels end")
    elif isinstance(tally, GridCounts):
        need(len(tally.keys) <= tally.budget, f"{where} has cells for its budget")
        highest = (INFINITY_BITS - 1) >> tally.shift
        ends = tally.keys[[0, -1]].tolist() if len(tally.keys) else []
        within = all(-highest - 1 <= key <= highest for key in ends)
        need(within, f"{where}: cells hold finite numbers")
    elif isinstance(tally, Moments | CrossMoments):
        same = np.array_equal(tally.origin, columns.origin)  # type: ignore[arg-type]
        need(same, f"{where} has the origin that its schema says")
        small = bool((np.abs(tally.n_lo) <= RESIDUE * tally.n).all())
        need(small, f"{where}: n_lo is the rounding of n")
        _need_spread(tally, where)
    return tally


class _Csr(NamedTuple):
    data: Annotated[NDArray[np.float64], Shape("n_cells"), Within(0.0)]
    indices: Annotated[NDArray[np.int64], Shape("n_cells"), Within(0)]
    indptr: Annotated[NDArray[np.int64], Shape("n_starts"), Within(0), Ascending(strictly=False)]


def _sparse_sums(given: Tree, k: int, d: int, where: str) -> Tally:
    """Feature sums of which most are 0."""
    from scipy import sparse  # slow to import, for what few files hold

    from tallybayes.tally.sparse import SparseSums

    data, indices, indptr = fit(_Csr, given, where, {"n_starts": k + 1})
    fits = indptr[0] == 0 and indptr[-1] == len(data)
    need(fits, f"{where}.indptr goes from 0 to the number of sums")
    need(indices.max(initial=-1) < d, f"{where}.indices are columns")
    rising = indices[1:] > indices[:-1]
    ends = indptr[1:-1]
    rising[ends[(ends > 0) & (ends < len(data))] - 1] = True  # where another class begins
    need(bool(rising.all()), f"{where}.indices ascend within a class")
    need(bool(np.isfinite(data.sum())), f"{where}.data sums to a number")
    return SparseSums(sparse.csr_array((data, indices, indptr), shape=(k, d)))


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
