"""Scoring rows by counts that the rows themselves are taken out of, in memory.

Only what changes is computed: the score in a row's own class, beside the ordinary score in the
others. A class that has nothing counted is scored by all classes together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.engines.cells import cells_without
from tallybayes.engines.memory import readable
from tallybayes.parameters import (
    CellsWithout,
    ComplementWithout,
    MomentsWithout,
    PresenceWithout,
    SumsWithout,
    Without,
)

__all__ = ["scores_without"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CELLS = 1 << 20  # of a chunk
RESIDUE = 2.0**-40  # of a difference of weights: what is less than this share is rounding


class Entries(NamedTuple):
    """The entries of some rows that are not 0."""

    rows: slice
    row: Index  # from 0 in each chunk
    column: Index
    value: Array
    n: int

    def sums(self, each: Array) -> Array:
        """Σ over the entries of each row, (n,) or (n, …)."""
        if each.ndim == 1:
            return np.bincount(self.row, weights=each, minlength=self.n).astype(np.float64)
        columns = [np.bincount(self.row, weights=part, minlength=self.n) for part in each.T]
        return np.stack(columns, axis=1)


def _chunks(x: Any, width: int) -> Iterator[slice]:
    step = max(1, CELLS // max(1, width))
    for start in range(0, x.shape[0], step):
        yield slice(start, min(start + step, x.shape[0]))


def _entries(x: Any, threshold: float | None, width: int) -> Iterator[Entries]:
    """The entries of x, chunk by chunk; with a threshold each one above it, as 1."""
    if sparse.issparse(x):
        x = x.tocsr()
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        per_row = max(1, x.nnz // max(1, x.shape[0])) * width
    else:
        per_row = x.shape[1] * width
    for rows in _chunks(x, per_row):
        part = x[rows]
        if sparse.issparse(part):
            row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            column, value = part.indices.astype(np.intp), part.data.astype(np.float64)
        else:
            row, column = np.nonzero(part if threshold is None else part > threshold)
            value = part[row, column].astype(np.float64)
        if threshold is not None:
            kept = value > threshold
            row, column, value = row[kept], column[kept], np.ones(int(kept.sum()))
        elif (value == 0.0).any():
            kept = value != 0.0
            row, column, value = row[kept], column[kept], value[kept]
        yield Entries(rows, row, column, value, part.shape[0])


def _log_less(whole: Array, part: Array) -> Array:
    """log(whole − part) of weights; what can only be rounding is 0, whose logarithm is −inf."""
    rest = np.asarray(whole - part)
    rest[rest <= RESIDUE * np.abs(whole)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(rest)


def _sums_own(kind: SumsWithout, x: Any, own: Index, weight: Array) -> tuple[Array, Array]:
    scores, left = np.empty(len(own)), np.empty(len(own))
    even = -np.log(max(kind.part.shape[1], 1))
    for e in _entries(x, None, 1):
        c, w = own[e.rows], weight[e.rows]
        length = e.sums(e.value)
        each = _log_less(kind.part[c[e.row], e.column], w[e.row] * e.value)
        whole = _log_less(kind.whole[c], w * length)
        with np.errstate(invalid="ignore"):
            found = e.sums(e.value * each) - np.where(length > 0.0, length * whole, 0.0)
        # nothing is left, and no smoothing: every feature alike
        scores[e.rows] = np.where(np.isneginf(whole), length * even, found)
        rest = kind.counted[c] - w * length
        left[e.rows] = np.where(rest <= RESIDUE * kind.counted[c], 0.0, rest)
    return scores, left


def _presence_own(kind: PresenceWithout, x: Any, own: Index, weight: Array) -> tuple[Array, Array]:
    d = kind.present.shape[1]
    scores, left = np.empty(len(own)), np.empty(len(own))
    base: dict[tuple[int, float], tuple[float, float]] = {}
    for e in _entries(x, kind.threshold, 1):
        c, w = own[e.rows], weight[e.rows]
        # all features absent, then the present ones in their place
        for key in set(zip(c.tolist(), w.tolist(), strict=True)) - base.keys():
            absent = _log_less(kind.absent[key[0]], np.asarray(key[1]))
            whole = _log_less(kind.whole[key[0]], np.asarray(key[1]))
            whole = np.where(np.isneginf(whole), -np.log(0.5), whole)
            ruled = np.isneginf(absent)
            base[key] = float((np.where(ruled, 0.0, absent) - whole).sum()), float(ruled.sum())
        found = np.array([base[key] for key in zip(c.tolist(), w.tolist(), strict=True)])
        there = _log_less(kind.present[c[e.row], e.column], w[e.row])
        gone = _log_less(kind.absent[c[e.row], e.column], w[e.row])
        ruled = np.isneginf(gone)
        score = found[:, 0] + e.sums(there - np.where(ruled, 0.0, gone))
        out = found[:, 1] - e.sums(ruled.astype(np.float64)) > 0.5  # an absent one that cannot be
        scores[e.rows] = np.where(out, -np.inf, score)
        rest = kind.counted[c] - w
        left[e.rows] = np.where(rest <= RESIDUE * kind.counted[c], 0.0, rest)
    assert d or not scores.any()
    return scores, left


def _complement(kind: ComplementWithout, x: Any, own: Index, weight: Array, scores: Array) -> Array:
    """Scores with those of the classes that a row is not of replaced."""
    n_classes, d = kind.part.shape
    log_part = _log_less(kind.part, np.asarray(0.0))
    for e in _entries(x, None, n_classes):
        c, w = own[e.rows], weight[e.rows]
        length = e.sums(e.value)
        taken = (w[e.row] * e.value)[:, None]
        # the row is not in its own class's complement: what is computed there is not used
        each = _log_less(kind.part.T[e.column], taken)  # (entries, n_classes)
        whole = _log_less(kind.whole[None, :], (w * length)[:, None])
        with np.errstate(invalid="ignore"):
            raw = np.where(length[:, None] > 0.0, length[:, None] * whole, 0.0)
            raw = e.sums(e.value[:, None] * each) - raw
            if kind.norm:
                changed = e.sums(each - log_part.T[e.column])
                total = log_part.sum(axis=1)[None, :] + changed - d * whole
                raw = raw / np.where(total == 0.0, 1.0, total)
            else:
                raw = -raw
        rows = np.arange(e.n)
        raw[rows, c] = scores[e.rows][rows, c]
        scores[e.rows] = raw
    return scores


def _moments(kind: MomentsWithout, x: Any, own: Index, weight: Array, scores: Array) -> Array:
    for rows in _chunks(x, kind.mean.size):
        part = x[rows].toarray() if sparse.issparse(x) else x[rows]
        scores[rows] = kind.exact(np.asarray(part, dtype=np.float64), own[rows], weight[rows])
    return scores


def _own(kind: Without, x: Any, own: Index, weight: Array) -> tuple[Array, Array]:
    """The score in each row's own class, and what is left counted there."""
    if isinstance(kind, SumsWithout):
        return _sums_own(kind, x, own, weight)
    assert isinstance(kind, PresenceWithout)
    return _presence_own(kind, x, own, weight)


def scores_without(
    kind: Without, together: Without, x: Any, own: Index, weight: Array, scores: Array
) -> Array:
    """log p(x | c), or a score in its place, after each row itself is taken out.

    Parameters
    ----------
    kind, together : Without
        Of each class, and of all classes together.
    x : array or sparse matrix (n_rows, n_features)
        Rows that were counted.
    own : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    scores : float64 array (n_rows, n_classes)
        The ordinary scores, without the class prior; they are replaced in place.
    """
    x = readable(x)
    if isinstance(kind, ComplementWithout):
        return _complement(kind, x, own, weight, scores)
    if isinstance(kind, MomentsWithout):
        return _moments(kind, x, own, weight, scores)
    if isinstance(kind, CellsWithout):
        scores[:] = 0.0
        for j, law in enumerate(kind.laws):
            scores += cells_without(law, np.asarray(x[:, j], dtype=np.intp), own, weight)
        return scores
    assert isinstance(kind, SumsWithout | PresenceWithout)
    mine, left = _own(kind, x, own, weight)
    blank = kind.counted == 0.0
    gone = left == 0.0
    if blank.any() or gone.any():
        pooled, _ = _own(together, x, np.zeros_like(own), weight)
        mine = np.where(gone, pooled, mine)
        scores[:, blank] = pooled[:, None]
    scores[np.arange(len(own)), own] = mine
    return scores
