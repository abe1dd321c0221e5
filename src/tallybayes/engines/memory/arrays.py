"""The engine for arrays and sparse matrices in memory: the compiled kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes import _kernels
from tallybayes.engines.contract import Counted
from tallybayes.engines.memory.array_layout import canonical, triple, within
from tallybayes.engines.memory.array_scores import CompiledScore, compiled
from tallybayes.engines.memory.value_errors import raise_fault
from tallybayes.parameters import Parameters
from tallybayes.schema import Columns
from tallybayes.tally import ClassCounts, CrossMoments, FeatureSums, LevelCounts, Moments, Tally
from tallybayes.tally.base import is_residue
from tallybayes.threads import get_num_threads

__all__ = ["ArrayEngine"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

ONE_TASK = (8192, 256)  # rows and columns that one kernel task counts: nothing is added on a fault


def _largest(values: NDArray[Any], *, non_negative: bool = False) -> float:
    """The largest absolute value, without an array of absolute values; 0 of none."""
    top = float(values.max(initial=0))
    return top if non_negative else max(top, -float(values.min(initial=0)))


def _overflows(tally: FeatureSums, x: Any, weights: Array | None, *, non_negative: bool) -> bool:
    """Whether a sum has left the range of float64."""
    if tally.sums.size > 1 << 22:  # then the largest possible sum is sooner known
        values = x.data if sparse.issparse(x) else x
        top = _largest(values, non_negative=non_negative) * x.shape[0]
        if weights is not None:
            top *= _largest(weights)
        if np.isfinite(top):
            return False
    return not np.isfinite(tally.sums).all()


class ArrayEngine:
    """Counts and scores arrays and sparse matrices in memory."""

    # ---- counting ------------------------------------------------------------------------------
    def class_counts(self, codes: Codes, n_classes: int, weights: Array | None) -> ClassCounts:
        classes = ClassCounts.zeros(n_classes)
        self._count_classes(classes, codes, weights, get_num_threads())
        return classes

    def _count_classes(
        self, classes: ClassCounts, codes: Codes, weights: Array | None, threads: int
    ) -> Array | None:
        """Adds the rows, or their weights and the squares of them, to the class counts; returns
        the rows of each class, None if they are weighted."""
        if weights is None:
            rows = np.empty(len(classes.count))
            _kernels.count_rows(codes, rows, classes.count, classes.squared_weights, threads)
            return rows
        _kernels.count_classes(codes, weights, classes.count, threads)
        with np.errstate(over="ignore"):  # then the weight of an effective row is not known
            squares = weights * np.abs(weights)
        _kernels.count_classes(codes, squares, classes.squared_weights, threads)
        return None

    def collect(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        n_classes: int,
        weights: Array | None,
        *,
        whose: str,
    ) -> Counted:
        classes = self.class_counts(codes, n_classes, weights)
        tally: Tally
        if columns.kind == "sums":
            tally = FeatureSums.zeros(n_classes, columns.n_features)
            fault = self._sums(columns, x, codes, weights, tally, whose)
            if not fault and _overflows(tally, x, weights, non_negative=columns.non_negative):
                fault = _kernels.NOT_FINITE
        elif columns.kind == "moments":
            assert columns.origin is not None
            tally = Moments.zeros(n_classes, columns.origin)
            fault = self._moments(columns, x, codes, weights, classes, tally, whose)
        elif columns.kind == "cross":
            assert columns.origin is not None
            tally = CrossMoments.zeros(n_classes, columns.origin)
            fault = self._cross(x, codes, weights, tally)
        else:
            return self._levels(columns, x, codes, weights, classes, whose)
        if fault:
            raise_fault(fault, x, columns, whose)
        return Counted(columns, classes, tally)

    def collect_into(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        weights: Array | None,
        classes: ClassCounts,
        tally: Tally,
        *,
        whose: str,
    ) -> bool:
        """Counts a small dense batch straight into a tally; False, doing nothing, if it is not one.

        Raises ValueError, leaving the tally as it was, for values that the columns do not admit.
        """
        if sparse.issparse(x) or x.shape[0] > ONE_TASK[0] or x.shape[1] > ONE_TASK[1]:
            return False
        if isinstance(tally, FeatureSums):
            # sums that may overflow are not for the short way
            if not float(np.maximum.reduce(x, axis=None)) < 1e290:
                return False
            fault = self._sums(columns, x, codes, weights, tally, whose)
        elif isinstance(tally, Moments):
            fault = _kernels.moments_dense(x, codes, weights, tally.origin, *tally.sums, 1)
        else:
            return self._levels_into(x, codes, weights, classes, tally)
        if fault:
            raise_fault(fault, x, columns, whose)
        if len(codes) == 1:
            weight = 1.0 if weights is None else weights[0]
            k = codes[0]
            classes.count[k] += weight
            classes.squared_weights[k] += weight * abs(weight)
            if isinstance(tally, Moments):
                if weights is None and float(tally.n[k, 0]).is_integer():
                    tally.n[k] += 1.0
                else:
                    tally.add_weight(weight, rows=k)
            return True
        rows = self._count_classes(classes, codes, weights, 1)
        if isinstance(tally, Moments):
            # here every feature has the same n
            if rows is not None and all(map(float.is_integer, tally.n[:, 0].tolist())):
                tally.n += rows[:, None]
            else:
                self._add_weights(tally, codes, weights, 1)
        return True

    def _add_weights(
        self, tally: Moments, codes: Codes, weights: Array | None, threads: int
    ) -> None:
        """Adds the weight of the rows to n, with its rounding error."""
        weight, rest = np.zeros(tally.n_classes), np.zeros(tally.n_classes)
        _kernels.count_classes(codes, weights, weight, threads, rest)
        tally.add_weight(weight[:, None], rest[:, None])

    def _levels_into(
        self, x: Any, codes: Codes, weights: Array | None, classes: ClassCounts, tally: Tally
    ) -> bool:
        assert isinstance(tally, LevelCounts)
        highest = np.empty(x.shape[1], dtype=np.int64)
        fault = _kernels.highest_codes(x, highest, 1)
        if fault or (highest >= tally.n_levels).any():
            return False
        _kernels.levels_dense(x, codes, weights, tally.start, tally.counts, 1)
        self._count_classes(classes, codes, weights, 1)
        return True

    def _sums(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        weights: Array | None,
        tally: FeatureSums,
        whose: str,
    ) -> int:
        rule = (columns.threshold, columns.non_negative, tally.sums, get_num_threads())
        if not sparse.issparse(x):
            return _kernels.sums_dense(x, codes, weights, *rule)
        if columns.threshold is not None:
            if columns.threshold < 0.0:  # then absent entries count, too
                return _kernels.sums_dense(x.toarray(), codes, weights, *rule)
            if not x.has_canonical_format:
                x = canonical(x, columns, whose)
        by_column = x.format == "csc"
        return _kernels.sums_sparse(*triple(x), by_column, codes, weights, *rule)

    def _moments(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        weights: Array | None,
        classes: ClassCounts,
        tally: Moments,
        whose: str,
    ) -> int:
        threads = get_num_threads()
        if weights is None:
            tally.n += classes.count[:, None]  # whole, so without a rounding error
        else:
            self._add_weights(tally, codes, weights, threads)
        if not sparse.issparse(x):
            fault = _kernels.moments_dense(x, codes, weights, tally.origin, *tally.sums, threads)
        else:
            # absent entries are zeros: they add nothing to sums about 0
            if not x.has_canonical_format:
                x = canonical(x, columns, whose)
            fault = _kernels.moments_sparse(
                *triple(x), x.format == "csc", codes, weights, *tally.sums, threads
            )
            if not fault:
                _kernels.rebase_moments(*tally.totals, np.zeros_like(tally.origin), tally.origin)
        if not fault and not all(np.isfinite(a).all() for a in (tally.s1_hi, tally.s2_hi)):
            fault = _kernels.NOT_FINITE
        return int(fault)

    def _cross(self, x: Any, codes: Codes, weights: Array | None, tally: CrossMoments) -> int:
        dense = x.toarray() if sparse.issparse(x) else x
        wide = np.ascontiguousarray(dense, dtype=np.float64)
        threads = get_num_threads()
        fault = _kernels.cross_dense(wide, codes, weights, tally.origin, *tally.totals, threads)
        if not fault and not (np.isfinite(tally.s1_hi).all() and np.isfinite(tally.s2_hi).all()):
            fault = _kernels.NOT_FINITE
        return int(fault)

    def _levels(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        weights: Array | None,
        classes: ClassCounts,
        whose: str,
    ) -> Counted:
        assert columns.n_levels is not None
        threads = get_num_threads()
        if sparse.issparse(x):
            x = canonical(within(x, columns, whose), columns, whose)
            highest = np.zeros(x.shape[1], dtype=np.int64)
            if x.nnz:
                stored = np.empty(1, dtype=np.int64)
                fault = _kernels.highest_codes(x.data[:, None], stored, threads)
                if fault:
                    raise_fault(fault, x, columns, whose)
                highest = x.max(axis=0).toarray().ravel().astype(np.int64)
        else:
            counted = self._levels_at_once(columns, x, codes, weights, classes)
            if counted is not None:
                return counted
            highest = np.empty(x.shape[1], dtype=np.int64)
            fault = _kernels.highest_codes(x, highest, threads)
            if fault:
                raise_fault(fault, x, columns, whose)
        if highest.size and highest.max() >= 2**31:
            raise_fault(_kernels.OUT_OF_RANGE, x, columns, whose)
        n_levels = np.maximum(columns.n_levels, highest + 1)
        columns = replace(columns, n_levels=n_levels)
        tally = LevelCounts.zeros(len(classes.count), n_levels)
        if sparse.issparse(x):
            fault = _kernels.levels_csr(*triple(x), codes, weights, tally.start, tally.counts)
            if not fault:  # absent entries have the code 0
                first = tally.start[:-1][n_levels > 0]
                everyone = np.broadcast_to(classes.count[:, None], (len(classes.count), x.shape[1]))
                absent = everyone - tally.totals()
                absent[is_residue(absent, everyone)] = 0.0
                tally.counts[:, first] += absent[:, n_levels > 0]
        else:
            fault = _kernels.levels_dense(x, codes, weights, tally.start, tally.counts, threads)
        if fault:
            raise_fault(fault, x, columns, whose)
        return Counted(columns, classes, tally)

    def _levels_at_once(
        self,
        columns: Columns,
        x: Any,
        codes: Codes,
        weights: Array | None,
        classes: ClassCounts,
    ) -> Counted | None:
        """Counts as if the first rows had every level; None where they have not, or something is
        wrong. It spares large tables a pass over the data."""
        first = x[: ONE_TASK[0]]
        if len(first) == len(x):
            return None
        highest = np.empty(x.shape[1], dtype=np.int64)
        fault = _kernels.highest_codes(first, highest, 1)
        if fault or highest.max() >= 2**20:
            return None
        assert columns.n_levels is not None
        n_levels = np.maximum(columns.n_levels, highest + 1)
        columns = replace(columns, n_levels=n_levels)
        tally = LevelCounts.zeros(len(classes.count), n_levels)
        fault = _kernels.levels_dense(
            x, codes, weights, tally.start, tally.counts, get_num_threads()
        )
        return None if fault else Counted(columns, classes, tally)

    # ---- scoring -------------------------------------------------------------------------------
    def compile(
        self,
        parameters: Parameters,
        log_prior: Array,
        columns: Columns,
        *,
        whose: str,
        fallback: int | None = None,
    ) -> CompiledScore:
        return compiled(parameters, log_prior, columns, whose=whose, fallback=fallback)
