"""Scores of arrays and sparse matrices: score kinds packed for the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.array_layout import canonical, triple, within
from tallybayes.engines.memory.value_errors import raise_fault, raise_unseen
from tallybayes.parameters import Linear, Lookup, Parameters, Quadratic
from tallybayes.schema import Columns
from tallybayes.threads import get_num_threads

__all__ = ["CompiledScore", "compiled"]

Array = NDArray[np.float64]

MAX_DENSE_CELLS = 1 << 22  # cells of a sparse chunk that is scored as dense
MAX_SQUARED_MEANS = 1e6
"""Σ (μ/σ)² beyond which terms in x² and x would cancel: rows are then scored as dense."""


class CompiledScore:
    """Parameters packed for the kernels. Packs are made when rows of their kind first arrive."""

    def __init__(
        self, parameters: Any, log_prior: Array, columns: Columns, fallback: int, whose: str
    ) -> None:
        self.parameters = parameters
        self.columns = columns
        self.whose = whose
        self.offset: Array = np.ascontiguousarray(parameters.offset + log_prior)
        self.fallback = fallback
        self.n_classes: int = len(log_prior)
        self._dense: _kernels.DenseScorer | None = None
        self._lanes: _kernels.LaneScorer | None = None

    def joint(self, x: Any) -> Array:
        joint = np.empty((x.shape[0], self.n_classes))
        self._run(x, joint, None)
        return joint

    def best(self, x: Any) -> tuple[NDArray[np.int64], int]:
        best = np.empty(x.shape[0], dtype=np.int64)
        return best, self._run(x, None, best)

    def _run(self, x: Any, joint: Array | None, best: NDArray[np.int64] | None) -> int:
        raise NotImplementedError

    def _checked(self, reply: tuple[int, bool, int], x: Any) -> int:
        fault, _, ruled_out = reply
        if fault:
            raise_fault(fault, x, self.columns, self.whose)
        return ruled_out

    def _as_dense(self, x: Any, joint: Array | None, best: NDArray[np.int64] | None) -> int:
        """Sparse rows scored as dense ones, a chunk at a time."""
        if not np.isfinite(x.data).all():  # said here, where the row numbers are right
            raise_fault(_kernels.NOT_FINITE, x, self.columns, self.whose)
        step = max(1, MAX_DENSE_CELLS // max(1, x.shape[1]))
        ruled_out = 0
        for i in range(0, x.shape[0], step):
            rows = slice(i, i + step)
            ruled_out += self._run(
                x[rows].toarray(),
                None if joint is None else joint[rows],
                None if best is None else best[rows],
            )
        return ruled_out


class _Codes(CompiledScore):
    parameters: Lookup

    def _run(self, x: Any, joint: Array | None, best: NDArray[np.int64] | None) -> int:
        threads, p = get_num_threads(), self.parameters
        if not isinstance(x, np.ndarray):
            x = canonical(within(x, self.columns, self.whose), self.columns, self.whose)
            if x.nnz:
                fault = _kernels.highest_codes(x.data[:, None], np.empty(1, dtype=np.int64), 1)
                if fault:
                    raise_fault(fault, x, self.columns, self.whose)
                n_levels = np.diff(p.start) - 1
                if p.unseen == "error" and (x.data >= n_levels[x.indices]).any():
                    raise_unseen(x, n_levels, self.columns, self.whose)
            return self._as_dense(x, joint, best)
        if self._lanes is None:
            self._lanes = _kernels.LaneScorer(p.table, None, self.offset, self.fallback, threads)
        reply = self._lanes.score_codes(x, p.start, joint, best, threads)
        if reply[1] and p.unseen == "error" and not reply[0]:
            raise_unseen(x, np.diff(p.start) - 1, self.columns, self.whose)
        return self._checked(reply, x)


class _Products(CompiledScore):
    parameters: Linear

    def _run(self, x: Any, joint: Array | None, best: NDArray[np.int64] | None) -> int:
        p = self.parameters
        if p.required is not None:
            return self._with_required(x, p.required, joint, best)
        threads = get_num_threads()
        if not isinstance(x, np.ndarray):
            if p.threshold is not None or x.format != "csr":
                x = canonical(x, self.columns, self.whose)
            if self._lanes is None:
                self._lanes = _kernels.LaneScorer(
                    p.weights, None, self.offset, self.fallback, threads
                )
            reply = self._lanes.score_sparse(
                *triple(x), p.threshold, p.non_negative, joint, best, threads
            )
            return self._checked(reply, x)
        if self._dense is None:
            self._dense = _kernels.DenseScorer(
                p.weights, None, self.offset, self.fallback, p.threshold, p.non_negative
            )
        return self._checked(self._dense.score(x, joint, best, threads), x)

    def _with_required(
        self,
        x: Any,
        required: NDArray[np.bool_],
        joint: Array | None,
        best: NDArray[np.int64] | None,
    ) -> int:
        """Rows that lack a feature some class always has (α = 0) rule that class out."""
        p = self.parameters
        free = _Products(
            Linear(
                weights=p.weights,
                offset=p.offset,
                threshold=p.threshold,
                non_negative=p.non_negative,
            ),
            self.offset - p.offset,
            self.columns,
            self.fallback,
            self.whose,
        )
        step = max(1, MAX_DENSE_CELLS // max(1, self.n_classes))
        if not isinstance(x, np.ndarray):
            x = canonical(within(x, self.columns, self.whose), self.columns, self.whose)
        ruled_out = 0
        need = required.sum(axis=1)
        for i in range(0, x.shape[0], step):
            part = x[i : i + step]
            scores = free.joint(part)
            present = part > (0.0 if p.threshold is None else p.threshold)
            held = present.astype(np.float64) @ required.T.astype(np.float64)
            scores[np.asarray(held) < need] = -np.inf
            if joint is not None:
                joint[i : i + step] = scores
            if best is not None:
                out = np.isneginf(scores).all(axis=1)
                best[i : i + step] = np.where(out, self.fallback, scores.argmax(axis=1))
                ruled_out += int(out.sum())
        return ruled_out


class _Squares(CompiledScore):
    parameters: Quadratic

    def _run(self, x: Any, joint: Array | None, best: NDArray[np.int64] | None) -> int:
        threads, p = get_num_threads(), self.parameters
        if isinstance(x, np.ndarray):
            if self._dense is None:
                self._dense = _kernels.DenseScorer(
                    p.mean, p.scale, self.offset, self.fallback, None, False
                )
            return self._checked(self._dense.score(x, joint, best, threads), x)
        x = canonical(within(x, self.columns, self.whose), self.columns, self.whose)
        if self._lanes is None:
            # −((x−μ)s)² = −(μs)² + x·2μs² − x²s²: absent entries cost nothing
            at_zero = ((p.mean * p.scale) ** 2).sum(axis=1)
            if not at_zero.max(initial=0.0) < MAX_SQUARED_MEANS:
                return self._as_dense(x, joint, best)
            squares = p.scale**2
            self._lanes = _kernels.LaneScorer(
                2.0 * p.mean * squares, -squares, self.offset - at_zero, self.fallback, threads
            )
        return self._checked(
            self._lanes.score_sparse(*triple(x), None, False, joint, best, threads), x
        )


def compiled(
    parameters: Parameters,
    log_prior: Array,
    columns: Columns,
    *,
    whose: str,
    fallback: int | None = None,
) -> CompiledScore:
    """What scores rows by these parameters; rows that every class rules out get class `fallback`,
    by default the one of the highest prior."""
    kinds = {Lookup: _Codes, Linear: _Products, Quadratic: _Squares}
    if fallback is None:
        fallback = int(np.argmax(log_prior))
    return kinds[type(parameters)](parameters, log_prior, columns, fallback, whose)
