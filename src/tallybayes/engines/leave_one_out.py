"""Scoring each row by counts without the row, with the compiled kernels.

Only changes are computed: mostly the score in a row's own class; the other classes keep their
ordinary scores. A class without counts is scored by all classes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes import _kernels
from tallybayes.engines.arrays import raise_fault, readable
from tallybayes.errors import NegativeTally
from tallybayes.schema import Columns
from tallybayes.score import (
    CellsWithout,
    ComplementWithout,
    LookupLaw,
    MomentsWithout,
    PresenceWithout,
    SumsWithout,
    Without,
)
from tallybayes.tally.base import RESIDUE
from tallybayes.tally.numbers import VANISHING
from tallybayes.threads import get_num_threads

__all__ = ["CompiledWithout", "cells_without", "compile_without", "raise_unlearned"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


# ---- arrays: the score of a row's own class without the row, for each score kind -----------------
MAX_DENSE_CELLS = 1 << 20  # of a chunk of sparse rows that are read as dense, or scored by NumPy


class CompiledWithout(Protocol):
    """Leave-one-out scores, ready to be evaluated on rows that were counted."""

    def scores(self, x: Any, own: Index, weight: Array, ordinary: Callable[[], Array]) -> Array:
        """log p(x | c), or a score in its place, after each row itself is taken out, (n_rows,
        n_classes).

        Parameters
        ----------
        x : array or sparse matrix (n_rows, n_features)
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
        ordinary : callable
            The same scores with every row counted, for the caller to change.
        """


def compile_without(
    kind: Without, together: Without, columns: Columns, whose: str
) -> CompiledWithout:
    """Leave-one-out score kinds, of each class and of all classes together, for the kernels."""
    if isinstance(kind, SumsWithout):
        assert isinstance(together, SumsWithout)
        return _Sums(kind, together)
    if isinstance(kind, PresenceWithout):
        assert isinstance(together, PresenceWithout)
        return _Presence(kind, together)
    if isinstance(kind, ComplementWithout):
        return _Complement(kind, columns, whose)
    if isinstance(kind, MomentsWithout):
        return _Moments(kind)
    return _Cells(kind)


def _less(whole: Array, part: Array) -> Array:
    """whole − part of weights; what can only be rounding is 0."""
    rest: Array = whole - part
    rest[rest <= RESIDUE * np.abs(whole)] = 0.0
    return rest


def _less_of(difference: Array, part: float, whole: float) -> Array:
    """The same where `difference` is itself what is left of `whole`, and so rounded beside it."""
    rest: Array = difference - part
    rest[(rest <= 0.0) | ((rest <= RESIDUE * whole) & (rest < 0.5))] = 0.0
    return rest


def _entries(x: Any, threshold: float | None) -> _kernels.RowEntries:
    """The entries of x that are not 0; with a threshold each one above it, as 1."""
    x = readable(x)
    if not sparse.issparse(x):
        return _kernels.RowEntries.dense(x, threshold)
    x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return _kernels.RowEntries.csr(x.indptr, x.indices, x.data, x.shape[0], x.shape[1], threshold)


def _dense_chunks(x: Any, width: int) -> Iterator[tuple[slice, Any]]:
    """Some rows of x at a time, as an array."""
    step = max(1, MAX_DENSE_CELLS // max(1, width))
    for start in range(0, x.shape[0], step):
        rows = slice(start, min(start + step, x.shape[0]))
        yield rows, x[rows].toarray() if sparse.issparse(x) else x[rows]


class _OwnClass:
    """A score that changes in the row's own class only, or as all classes together where nothing is
    left of a class."""

    def __init__(self, counted: Array) -> None:
        self.blank = counted == 0.0

    def mine(self, x: Any, own: Index, weight: Array, *, pooled: bool) -> tuple[Array, Array]:
        """The score of each row in the class `own`, and what is left counted there."""
        raise NotImplementedError

    def scores(self, x: Any, own: Index, weight: Array, ordinary: Callable[[], Array]) -> Array:
        scores = ordinary()
        mine, left = self.mine(x, own, weight, pooled=False)
        gone = left == 0.0
        rows = np.arange(len(own)) if self.blank.any() else np.flatnonzero(gone)
        if len(rows):
            some = x if len(rows) == len(own) else x[rows]
            together, _ = self.mine(some, np.zeros_like(rows), weight[rows], pooled=True)
            mine[gone] = together[gone[rows]]
            scores[np.ix_(rows, self.blank)] = together[:, None]
        scores[np.arange(len(own)), own] = mine
        return scores


class _Sums(_OwnClass):
    def __init__(self, kind: SumsWithout, together: SumsWithout) -> None:
        self.kind = kind, together
        self.counted = kind.part.sum(axis=1), together.part.sum(axis=1)
        self.alpha_sum = kind.alpha.sum() * (kind.part.shape[1] if len(kind.alpha) == 1 else 1)
        super().__init__(self.counted[0])

    def mine(self, x: Any, own: Index, weight: Array, *, pooled: bool) -> tuple[Array, Array]:
        kind, counted = self.kind[pooled], self.counted[pooled]
        score, length = np.empty(len(own)), np.empty(len(own))
        _kernels.sums_without(
            _entries(x, None), own, weight, kind.part, kind.alpha, score, length, get_num_threads()
        )
        left = _less(counted[own], weight * length)
        whole = left + self.alpha_sum
        nothing = whole == 0.0  # nothing is left, and no smoothing: every feature alike
        whole[nothing] = kind.part.shape[1]
        score[nothing] = 0.0
        score -= length * np.log(whole)
        return score, left


class _Presence(_OwnClass):
    def __init__(self, kind: PresenceWithout, together: PresenceWithout) -> None:
        self.kind = kind, together
        super().__init__(kind.rows)
        self._alike: dict[bool, tuple[float, Array | None, Array]] = {}
        self._pairs: dict[bool, Array] = {}

    def mine(self, x: Any, own: Index, weight: Array, *, pooled: bool) -> tuple[Array, Array]:
        kind = self.kind[pooled]
        left = _less(kind.rows[own], weight)
        if len(own) and weight.min() == weight.max():
            table, base = self._of_weight(float(weight[0]), pooled=pooled)
            if table is not None:
                score, length = np.empty(len(own)), np.empty(len(own))
                entries = _entries(x, kind.threshold)
                _kernels.own_sums(entries, own, weight, table, score, length, get_num_threads())
                return score + base[own], left
        if pooled not in self._pairs:
            self._pairs[pooled] = np.stack((kind.present, kind.absent), axis=-1)
        score, ruled = np.empty(len(own)), np.empty(len(own))
        _kernels.presence_without(
            _entries(x, kind.threshold),
            own,
            weight,
            self._pairs[pooled],
            kind.rows,
            kind.yes,
            kind.no,
            score,
            ruled,
            get_num_threads(),
        )
        base, zeros = self._none_present(own, weight, kind)
        score += base
        score[zeros - ruled > 0.5] = -np.inf  # an absent one that cannot be
        return score, left

    def _none_present(
        self, own: Index, weight: Array, kind: PresenceWithout
    ) -> tuple[Array, Array]:
        """The score of rows that have no feature, without terms log 0, and how many those are."""
        d, threads = kind.present.shape[1], get_num_threads()
        score, zeros, ignored = np.zeros(len(own)), np.zeros(len(own)), np.zeros(len(own))
        both = kind.yes + kind.no
        scale = kind.rows + both.mean()  # shares of it are near 1, and so not lost in a long sum
        rule = 1.0, score, zeros, threads
        _kernels.shifted_logs(kind.absent, own, weight, kind.no, kind.rows, scale, *rule)
        if len(both) > 1:
            rows = np.broadcast_to(kind.rows[:, None], kind.present.shape)
            rule = -1.0, score, ignored, threads
            _kernels.shifted_logs(rows, own, weight, both, kind.rows, scale, *rule)
            score -= (zeros - ignored) * np.log(np.where(scale > 0.0, scale, 1.0))[own]
            return score, zeros
        before = scale[own]
        whole = _less(kind.rows[own], weight) + both[0]
        nothing = whole == 0.0  # both levels alike
        whole[nothing], before[nothing] = 2.0, 1.0
        score[nothing] = zeros[nothing] = 0.0
        return score - d * np.log1p((whole - before) / before) - zeros * np.log(before), zeros

    def _of_weight(self, weight: float, *, pooled: bool) -> tuple[Array | None, Array]:
        """For rows of this weight what each feature adds where it is present, (n_classes,
        n_features), and the score of rows that have none; no table where a term is log 0."""
        if pooled in self._alike and self._alike[pooled][0] == weight:
            return self._alike[pooled][1:]
        kind = self.kind[pooled]
        each = np.empty_like(kind.present)
        certain = False
        for present, absent, rows, out in zip(
            kind.present, kind.absent, kind.rows.tolist(), each, strict=True
        ):
            gone = _less_of(absent, weight, rows) + kind.no
            certain = not gone.all()
            if certain:
                break
            with np.errstate(divide="ignore"):
                np.log((_less(present, np.asarray(weight)) + kind.yes) / gone, out=out)
        table = None if certain else each
        every = np.arange(len(kind.rows))
        base, _ = self._none_present(every, np.full(len(every), weight), kind)
        self._alike[pooled] = weight, table, base
        return table, base


class _Complement:
    def __init__(self, kind: ComplementWithout, columns: Columns, whose: str) -> None:
        self.columns, self.whose = columns, whose
        self.n_classes = len(kind.part)
        smoothed = kind.part + kind.alpha
        some = smoothed > 0.0
        self.scorer = _kernels.ComplementScorer(
            np.ascontiguousarray(kind.part),
            kind.part.sum(axis=1),
            kind.everything,
            np.log(np.where(some, smoothed, 1.0)).sum(axis=1),
            some.sum(axis=1).astype(np.float64),
            kind.alpha,
            kind.norm,
            get_num_threads(),
        )

    def scores(self, x: Any, own: Index, weight: Array, ordinary: Callable[[], Array]) -> Array:
        scores = np.empty((x.shape[0], self.n_classes))
        fault = self.scorer.score(_entries(x, None), own, weight, scores, get_num_threads())
        if fault:
            raise_fault(fault, x, self.columns, self.whose)
        return scores


class _Replaced:
    """Ordinary scores that are replaced in place, of sparse rows a chunk at a time."""

    def replace(self, x: Any, own: Index, weight: Array, scores: Array) -> None:
        """Replaces the scores of dense rows by those without the row."""
        raise NotImplementedError

    def scores(self, x: Any, own: Index, weight: Array, ordinary: Callable[[], Array]) -> Array:
        scores = ordinary()
        if not sparse.issparse(x):
            self.replace(readable(x), own, weight, scores)
            return scores
        for rows, part in _dense_chunks(x, x.shape[1]):
            self.replace(readable(part), own[rows], weight[rows], scores[rows])
        return scores


class _Moments(_Replaced):
    def __init__(self, kind: MomentsWithout) -> None:
        self.kind = kind

    def replace(self, x: Any, own: Index, weight: Array, scores: Array) -> None:
        kind = self.kind
        redo = np.ones(len(own), dtype=np.uint8)
        if kind.plain:
            _kernels.moments_without(
                x,
                own,
                weight,
                kind.tally.totals,
                kind.everyone.totals,
                kind.tally.origin,
                kind.tally.rest,
                VANISHING,
                kind.tally.rounding,
                kind.var_smoothing,
                kind.each,
                scores,
                redo,
                get_num_threads(),
            )
        again = np.flatnonzero(redo)
        for part, _ in _dense_chunks(again, kind.tally.n.size):
            rows = again[part]
            scores[rows] = kind.exact(np.asarray(x[rows], np.float64), own[rows], weight[rows])


MAX_WEIGHT_TABLES = 16  # different weights for each of which tables of all cells are made


class _Cells(_Replaced):
    """Level codes, looked up by the kernels for rows of one weight."""

    def __init__(self, kind: CellsWithout) -> None:
        self.laws = kind.laws
        self.others_change: bool = any(law.others_change for law in kind.laws)

    def replace(self, x: Any, own: Index, weight: Array, scores: Array) -> None:
        if len(weight) and weight.min() == weight.max():
            self._replace_alike(x, own, float(weight[0]), scores)
            return
        weights, which = np.unique(weight, return_inverse=True)
        if len(weights) <= MAX_WEIGHT_TABLES:
            for i, one in enumerate(weights.tolist()):
                rows = np.flatnonzero(which == i)
                part = np.ascontiguousarray(scores[rows])
                self._replace_alike(np.ascontiguousarray(x[rows]), own[rows], one, part)
                scores[rows] = part
        else:
            scores[:] = 0.0
            for j, law in enumerate(self.laws):
                codes = np.asarray(x[:, j], dtype=np.intp)
                if codes.max() >= law.log_prob().shape[1]:
                    raise_unlearned(x, _stacked([law.log_prob() for law in self.laws], 0)[1])
                scores += cells_without(law, codes, own, weight)

    def _replace_alike(self, x: Any, own: Index, weight: float, scores: Array) -> None:
        """:meth:`replace` of rows of one weight."""
        n_classes, threads = scores.shape[1], get_num_threads()
        if self.others_change:
            # a column of the kernel ends with an entry for codes beyond it, which never count
            tables = [np.pad(law.other_without(weight), ((0, 0), (0, 1))) for law in self.laws]
            table, start = _stacked(tables, n_classes)
            scorer = _kernels.LaneScorer(table, None, np.zeros(n_classes), 0, threads)
            scorer.score_codes(x, start, scores, None, threads)
        mine, start = _stacked([law.own_without(weight) for law in self.laws], n_classes)
        if _kernels.codes_without(x, start, mine, own, scores, threads):
            raise_unlearned(x, start)


def _stacked(tables: Sequence[Array], n_classes: int) -> tuple[Array, NDArray[np.int64]]:
    """Tables (n_classes, cells) side by side, and where each begins."""
    start = np.cumsum([0, *(table.shape[1] for table in tables)], dtype=np.int64)
    whole = np.concatenate(tables, axis=1) if tables else np.empty((n_classes, 0))
    return np.ascontiguousarray(whole), start


def raise_unlearned(codes: Any, start: NDArray[np.int64]) -> NoReturn:
    """Raises for the first code that its column does not have."""
    beyond = np.argwhere(np.asarray(codes) >= np.diff(start))
    row, column = beyond[0].tolist()
    raise NegativeTally(
        f"row {row}, column {column} holds the level {codes[row, column].item()!r}, which was not "
        "learned: leave-one-out takes the rows that were learned"
    )


def cells_without(law: LookupLaw, cells: NDArray[np.intp], own: Index, weight: Array) -> Array:
    """log-probabilities (n_rows, n_classes) of rows in these cells of a column, each after it is
    taken out.

    Rows of one weight share a table of all cells; rows of different weight are cells themselves.

    Parameters
    ----------
    law : LookupLaw
    cells, own : index arrays (n_rows,)
        The cell and the class of each row.
    weight : float64 array (n_rows,)
    """
    rows = np.arange(len(cells))
    if len(cells) and (weight == weight[0]).all():
        scores: Array = law.other_without(float(weight[0])).T[cells]
        scores[rows, own] = law.own_without(float(weight[0]))[own, cells]
        return scores
    taken = law.take(cells)
    scores = np.ascontiguousarray(taken.other_without(weight).T)
    scores[rows, own] = taken.own_without(weight)[own, rows]
    return scores
