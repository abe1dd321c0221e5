"""Reading X: scikit-learn's rules, without its second pass over the data.

Whether values are finite, negative or whole is checked by the kernels while they count or score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from tallybayes.engines.arrays import readable
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, read_table
from tallybayes.tables.columns import BITS
from tallybayes.tables.read import is_arrow, is_frame
from tallybayes.tables.values import TIMES, is_missing
from tallybayes.threads import get_num_threads
from tallybayes.validation import as_numpy

__all__ = ["read_rows"]

PLAIN_DTYPES = frozenset("dfbhilqBHILQ?")
NUMBERS_OF_POLARS = {f"{s}{b}" for s in ("Int", "UInt") for b in (8, 16, 32, 64)} | {
    "Float32",
    "Float64",
}
NOT_NUMBERS = ("date", "duration", "time")


def read_rows(estimator: Any, x: Any, *, reset: bool) -> Any:
    """X as an array, CSR or CSC matrix (n_rows, n_features) that the kernels can read.

    Strings that are numbers are numbers, and booleans are 0 and 1. A missing value of any kind is
    NaN, which the kernels refuse.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if `reset`, else is held to them.
    x : array-like, frame or sparse matrix
    reset : bool
        Whether this is the first batch.

    Raises
    ------
    ValueError
        If x is empty, not two-dimensional, has another number of features or other names, or holds
        what is not a number.
    TypeError
        If an array holds objects that are not numbers.
    """
    if type(x) is np.ndarray and x.ndim == 2 and _is_readable(x):
        known, (n_rows, n_features) = estimator.__dict__, x.shape
        if n_rows and n_features and "feature_names_in_" not in known:
            if reset:
                estimator.n_features_in_ = n_features
                return x
            if n_features == known.get("n_features_in_"):
                return x
    x = as_numpy(x)
    if is_frame(x) and not _is_plain(x):
        return _rows_of_frame(estimator, x, reset=reset)
    if isinstance(x, list | tuple) and len(x) and isinstance(x[0], Mapping):
        raise TypeError(
            f"X is a list of dicts, and {type(estimator).__name__} takes columns of numbers: give "
            "pandas.DataFrame(X), or use NaiveBayes, which takes rows as dicts"
        )
    if isinstance(x, np.ndarray) and x.dtype.names:  # a structured array: its fields are columns
        x = np.array(x.tolist(), dtype=object)
    x = validate_data(
        estimator,
        x,
        accept_sparse=("csr", "csc"),
        accept_large_sparse=True,
        dtype=None,
        ensure_all_finite=False,
        reset=reset,
    )
    if not sparse.issparse(x) and x.dtype.kind not in "biuf":
        x = _floats(estimator, x)
    return readable(x)


def _is_readable(x: NDArray[Any]) -> bool:
    """Whether the kernels read an array as it is."""
    dtype, flags = x.dtype, x.flags
    return dtype.char in PLAIN_DTYPES and dtype.isnative and flags.c_contiguous and flags.aligned


def _is_plain(frame: Any) -> bool:
    """Whether NumPy makes an array of numbers of a frame of pandas or polars, or SciPy a sparse
    matrix."""
    if not hasattr(frame, "iloc"):
        polars = type(frame).__module__.startswith("polars.")
        return polars and all(str(dtype) in NUMBERS_OF_POLARS for dtype in frame.dtypes)
    dtypes = set(frame.dtypes)
    return all(isinstance(d, np.dtype) and d.kind in "biufc" for d in dtypes) or all(
        type(d).__name__ == "SparseDtype" and d.fill_value == 0 for d in dtypes
    )


def _rows_of_frame(estimator: Any, frame: Any, *, reset: bool) -> Any:
    """The columns of a frame as numbers, each by its own type."""
    if is_arrow(frame):
        from tallybayes.tables.arrow import as_table

        frame = as_table(frame)
    validate_data(estimator, frame, reset=reset, skip_check_array=True)  # names, and their number
    names = None
    if hasattr(frame, "iloc"):  # whose names may be of any type, and repeat
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            frame = frame.set_axis(range(len(names)), axis=1)
    table = read_table(frame, get_num_threads())
    names = [*table.columns] if names is None else names
    columns = [
        _numbers(estimator, column, f"column {j} ({name!r})")
        for j, (name, column) in enumerate(zip(names, table.columns.values(), strict=True))
    ]
    dtype = np.result_type(*columns) if columns else np.float64
    x = np.empty(table.shape, dtype=dtype, order="F")
    for j, values in enumerate(columns):
        x[:, j] = values
    check_array(x, ensure_all_finite=False, estimator=estimator)  # that there are some
    return readable(x)


def _numbers(estimator: Any, column: Column, where: str) -> NDArray[Any]:
    """A column as numbers, NaN for a missing value."""
    if isinstance(column, Empty):
        return np.full(column.n_rows, np.nan)
    if isinstance(column, Numbers):
        if column.what in NOT_NUMBERS:
            row = int(np.argmax(~np.isnan(column.values)))
            held = f"row {row}, {where} holds a {column.what}"
            raise ValueError(f"{held}. {_advice(estimator)}")
        return column.values
    if isinstance(column, Mixed):
        numbers = np.asarray(column.numbers.values, dtype=np.float64)
        strings = _numbers(estimator, column.strings, where)
        return np.where(np.isnan(numbers), strings, numbers)
    assert isinstance(column, Strings)
    values = [_float_of(level) for level in column.levels]
    others = np.array([*(v is None for v in values), False])[column.codes]
    if others.any():
        row = int(np.argmax(others))
        level = column.levels[column.codes[row]]
        raise ValueError(
            f"could not convert string to float: {level!r}: row {row}, {where} holds {level!r}. "
            f"{_advice(estimator)}"
        )
    return np.array([*(np.nan if v is None else v for v in values), np.nan])[column.codes]


def _float_of(text: str) -> float | None:
    """The number that a string stands for; True is 1 and False is 0."""
    if text in BITS.values():
        return float(text == "True")
    try:
        return float(text)
    except ValueError:
        return None


def _floats(estimator: Any, x: NDArray[Any]) -> NDArray[np.float64]:
    """An array of strings or objects as numbers, NaN for a missing value.

    Raises
    ------
    ValueError, TypeError
        Naming the place of what is not a number.
    """
    types = map(type, x.ravel().tolist()) if x.dtype.kind == "O" else [x.dtype.type]
    if not any(issubclass(kind, TIMES) for kind in set(types)):
        try:
            return x.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass  # found below, value by value
    found = np.empty(x.shape)
    for (row, j), value in np.ndenumerate(x):
        try:
            found[row, j] = np.nan if is_missing(value) else _float_of_any(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            names = getattr(estimator, "feature_names_in_", None)
            name = "" if names is None else f" ({str(names[j])!r})"
            raise kind(
                f"{error}: row {row}, column {j}{name} holds {value!r}. {_advice(estimator)}"
            ) from None
    return found


def _float_of_any(value: Any) -> float:
    if isinstance(value, TIMES):
        raise TypeError(
            f"float() argument must be a string or a real number, not {type(value).__name__!r}"
        )
    return float(value)


def _advice(estimator: Any) -> str:
    """What to do with what is not a number."""
    advice = (
        f"{type(estimator).__name__} takes numbers. NaiveBayes and WeightedNaiveBayes take tables "
        "with strings, dates and times."
    )
    if hasattr(estimator, "levels"):
        advice += " This class takes them as levels that are declared: levels=[...]."
    return advice
