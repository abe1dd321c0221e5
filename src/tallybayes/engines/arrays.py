"""Arrays and sparse matrices in memory: counted and scored by the compiled kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes import _kernels
from tallybayes.engines.contract import Counted
from tallybayes.errors import UnseenLevel
from tallybayes.schema import Columns
from tallybayes.score import Linear, Lookup, Parameters, Quadratic
from tallybayes.tally import ClassCounts, CrossMoments, FeatureSums, LevelCounts, Moments, Tally
from tallybayes.tally.base import is_residue
from tallybayes.threads import get_num_threads

__all__ = [
    "CompiledScore",
    "canonical",
    "class_counts",
    "collect_array",
    "collect_into",
    "compiled",
    "raise_fault",
    "raise_not_binary",
    "readable",
    "triple",
    "within",
]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]


# ---- counting ------------------------------------------------------------------------------------
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


def class_counts(codes: Codes, n_classes: int, weights: Array | None) -> ClassCounts:
    """The weight of the rows of each class; `codes` are the places of their classes."""
    classes = ClassCounts.zeros(n_classes)
    _count_classes(classes, codes, weights, get_num_threads())
    return classes


def _count_classes(
    classes: ClassCounts, codes: Codes, weights: Array | None, threads: int
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


def collect_array(
    columns: Columns,
    x: Any,
    codes: Codes,
    n_classes: int,
    weights: Array | None,
    *,
    whose: str,
) -> Counted:
    """Counts the rows of an array or sparse matrix.

    Parameters
    ----------
    columns : Columns
        What is counted of them; further levels are added.
    x : array or sparse matrix (n_rows, n_features)
    codes : int32 array (n_rows,)
        The place of each row's class.
    n_classes : int
    weights : float64 array (n_rows,), optional
    whose : str
        The estimator's name, for messages.

    Raises
    ------
    ValueError
        For values that the columns do not admit.
    """
    classes = class_counts(codes, n_classes, weights)
    tally: Tally
    if columns.kind == "sums":
        tally = FeatureSums.zeros(n_classes, columns.n_features)
        fault = _sums(columns, x, codes, weights, tally, whose)
        if not fault and _overflows(tally, x, weights, non_negative=columns.non_negative):
            fault = _kernels.NOT_FINITE
    elif columns.kind == "moments":
        assert columns.origin is not None
        tally = Moments.zeros(n_classes, columns.origin)
        fault = _moments(columns, x, codes, weights, classes, tally, whose)
    elif columns.kind == "cross":
        assert columns.origin is not None
        tally = CrossMoments.zeros(n_classes, columns.origin)
        wide = np.ascontiguousarray(x.toarray() if sparse.issparse(x) else x, dtype=np.float64)
        threads = get_num_threads()
        fault = _kernels.cross_dense(wide, codes, weights, tally.origin, *tally.totals, threads)
        if not fault and not (np.isfinite(tally.s1_hi).all() and np.isfinite(tally.s2_hi).all()):
            fault = _kernels.NOT_FINITE
    else:
        return _levels(columns, x, codes, weights, classes, whose)
    if fault:
        raise_fault(fault, x, columns, whose)
    return Counted(columns, classes, tally)


def collect_into(
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
        fault = _sums(columns, x, codes, weights, tally, whose)
    elif isinstance(tally, Moments):
        fault = _kernels.moments_dense(x, codes, weights, tally.origin, *tally.sums, 1)
    else:
        assert isinstance(tally, LevelCounts)
        highest = np.empty(x.shape[1], dtype=np.int64)
        fault = _kernels.highest_codes(x, highest, 1)
        if fault or (highest >= tally.n_levels).any():
            return False
        _kernels.levels_dense(x, codes, weights, tally.start, tally.counts, 1)
        _count_classes(classes, codes, weights, 1)
        return True
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
    rows = _count_classes(classes, codes, weights, 1)
    if isinstance(tally, Moments):
        # here every feature has the same n
        if rows is not None and all(map(float.is_integer, tally.n[:, 0].tolist())):
            tally.n += rows[:, None]
        else:
            _add_weights(tally, codes, weights, 1)
    return True


def _add_weights(tally: Moments, codes: Codes, weights: Array | None, threads: int) -> None:
    """Adds the weight of the rows to n, with its rounding error."""
    weight, rest = np.zeros(tally.n_classes), np.zeros(tally.n_classes)
    _kernels.count_classes(codes, weights, weight, threads, rest)
    tally.add_weight(weight[:, None], rest[:, None])


def _sums(
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
        _add_weights(tally, codes, weights, threads)
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


def _levels(
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
        counted = _levels_at_once(columns, x, codes, weights, classes)
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
    fault = _kernels.levels_dense(x, codes, weights, tally.start, tally.counts, get_num_threads())
    return None if fault else Counted(columns, classes, tally)


# ---- as the kernels can read them ----------------------------------------------------------------
def readable(x: Any) -> Any:
    """x as the kernels can read it, copied only where its type or memory layout needs it.

    Dense: real numbers of 8 to 64 bits, native and aligned, any strides. Sparse: CSR or CSC with
    one index type.
    """
    if sparse.issparse(x):
        if x.format not in ("csr", "csc"):
            x = x.tocsr()
        data = np.ascontiguousarray(_readable_array(x.data))
        indptr, indices = np.ascontiguousarray(x.indptr), np.ascontiguousarray(x.indices)
        if indptr.dtype != indices.dtype or indices.dtype.kind != "i" or indices.dtype.itemsize < 4:
            indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
        if data is x.data and indices is x.indices and indptr is x.indptr:
            return x
        return type(x)((data, indices, indptr), shape=x.shape)
    return _readable_array(x)


def _readable_array(x: NDArray[Any]) -> NDArray[Any]:
    kind, size = x.dtype.kind, x.dtype.itemsize
    if kind == "f" and size not in (4, 8):
        x = x.astype(np.float32 if size < 4 else np.float64)
    elif not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if not x.flags.aligned or any(s % x.dtype.itemsize for s in x.strides):
        x = np.ascontiguousarray(x)
    return x


def within(x: Any, columns: Columns, whose: str) -> Any:
    """A sparse matrix whose indices lie inside its shape: SciPy would follow others."""
    minor = x.shape[1] if x.format == "csr" else x.shape[0]
    if x.indices.size and (x.indices.min() < 0 or x.indices.max() >= minor):
        raise_fault(_kernels.OUT_OF_RANGE, x, columns, whose)
    return x


def canonical(x: Any, columns: Columns, whose: str) -> Any:
    """CSR without repeated entries: x² and [x > t] are not additive over them."""
    if x.format != "csr":
        x = within(x, columns, whose).tocsr()
    if not x.has_canonical_format:
        x = within(x, columns, whose).copy()
        x.sum_duplicates()
    return x


def triple(x: Any) -> tuple[Any, Any, Any, int, int]:
    """The arrays of a sparse matrix, and its shape."""
    return x.indptr, x.indices, x.data, x.shape[0], x.shape[1]


# ---- scores: score kinds packed for the kernels --------------------------------------------------
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
        offset = self.offset - p.offset
        free = _Products(replace(p, required=None), offset, self.columns, self.fallback, self.whose)
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


# ---- messages for values that the kernels refuse: the rule, row, column, value, and what to do ---
def _stored(x: Any, wrong: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and values of the stored entries of a sparse matrix where `wrong` holds."""
    at = np.flatnonzero(wrong(x.data))
    major = np.searchsorted(x.indptr, at, side="right") - 1
    minor = x.indices[at]
    rows, columns = (major, minor) if x.format == "csr" else (minor, major)
    return rows, columns, x.data[at]


def _first(x: Any, wrong: Any) -> tuple[int, int, Any]:
    """Row, column and value of the first entry where `wrong(values)` holds, row by row."""
    if sparse.issparse(x):
        rows, columns, values = _stored(x, wrong)
        if len(rows):
            i = np.lexsort((columns, rows))[0]
            return int(rows[i]), int(columns[i]), values[i].item()
        raise AssertionError("the kernels reported a fault that is not in the data")
    step = max(1, (1 << 20) // max(1, x.shape[1]))
    for start in range(0, x.shape[0], step):
        found = np.argwhere(wrong(np.asarray(x[start : start + step])))
        if len(found):
            row, column = start + int(found[0, 0]), int(found[0, 1])
            return row, column, x[row, column].item()
    raise AssertionError("the kernels reported a fault that is not in the data")


def _is_sparse_broken(x: Any) -> bool:
    if not sparse.issparse(x):
        return False
    minor = x.shape[1] if x.format == "csr" else x.shape[0]
    return bool(x.indices.size) and bool((x.indices < 0).any() or (x.indices >= minor).any())


def raise_fault(fault: int, x: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises the ValueError that describes the first faulty value of x.

    Parameters
    ----------
    fault : int
        Flags returned by a kernel.
    x : array or sparse matrix (n_rows, n_features)
        The rows as the kernel saw them.
    columns : Columns
    whose : str
        The estimator that reads them.
    """
    if _is_sparse_broken(x):
        raise ValueError(
            f"the sparse matrix passed to {whose} is malformed: an index lies outside its shape "
            f"{x.shape}; build it again, for example with scipy.sparse.csr_array((data, indices, "
            "indptr), shape) and check_format()"
        )

    def place(row: int, column: int, value: Any) -> str:
        return f"row {row}, column {columns.name_of(column)} holds {value!r}"

    if fault & _kernels.NOT_FINITE:
        try:
            row, column, value = _first(x, lambda v: ~np.isfinite(v))
        except AssertionError:
            raise ValueError(
                f"a column of X is too large for {whose}: the squares of its differences exceed "
                "float64 (about 1e308). Rescale the column, for example with StandardScaler."
            ) from None
        kind = "NaN" if np.isnan(value) else "infinity"
        advice = (
            f"{whose} does not accept missing values encoded as NaN: drop such rows, or fill them "
            "with an imputer, before training and predicting."
            if kind == "NaN"
            else "Replace it by a finite value."
        )
        raise ValueError(f"Input X contains {kind}: {place(row, column, value)}. {advice}")
    if fault & _kernels.NEGATIVE:
        row, column, value = _first(x, lambda v: v < 0)
        advice = (
            "Level codes count from 0; encode categories with OrdinalEncoder."
            if columns.kind == "levels"
            else "Counts and frequencies cannot be negative."
        )
        raise ValueError(
            f"Negative values in data passed to {whose} (input X): {place(row, column, value)}. "
            + advice
        )
    if fault & _kernels.NOT_INTEGER:
        row, column, value = _first(x, lambda v: v != np.floor(v))
        raise ValueError(
            f"{whose} reads X as level codes, whole numbers from 0 on: "
            f"{place(row, column, value)}. Encode categories with OrdinalEncoder, declare them "
            "with levels=, or bin numbers first."
        )
    row, column, value = _first(x, lambda v: np.abs(np.asarray(v, dtype=float)) >= 2.0**31)
    raise ValueError(
        f"{whose} reads X as level codes and keeps a cell for each up to the largest: "
        f"{place(row, column, value)}. Encode the column with OrdinalEncoder first."
    )


def raise_not_binary(x: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises the ValueError for the first value that is neither 0 nor 1."""
    row, column, value = _first(x, lambda v: (v != 0) & (v != 1))
    if not np.isfinite(value):
        raise_fault(_kernels.NOT_FINITE, x, columns, whose)
    raise ValueError(
        f"with binarize=None, {whose} reads X as 0 and 1: row {row}, column "
        f"{columns.name_of(column)} holds {value!r}. Set binarize to the threshold above which a "
        "feature counts as present."
    )


def raise_unseen(x: Any, n_levels: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises :class:`UnseenLevel` for the first code at or beyond its column's levels."""
    if sparse.issparse(x):
        beyond = x.data >= n_levels[x.indices]
        rows, cells, values = _stored(x, lambda _: beyond)
    else:
        rows, cells = np.nonzero(x >= n_levels)
        values = x[rows, cells]
    row, column, value = int(rows[0]), int(cells[0]), values[0].item()
    raise UnseenLevel(
        f"row {row}, column {columns.name_of(column)} holds the level {value!r}, which "
        f"{whose} did not see in training (it knows the codes 0 to {int(n_levels[column]) - 1}). "
        "Declare it before training (min_categories= or levels=), or choose "
        'unseen="smooth" or "ignore".'
    )
