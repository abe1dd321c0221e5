"""Reading X: scikit-learn's rules, without its second pass over the data.

Whether values are finite, negative or whole is checked by the kernels while they count or score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from tallybayes.engines.memory.array_layout import readable
from tallybayes.estimators.array_api import as_numpy

__all__ = ["read_rows"]

PLAIN_DTYPES = frozenset("dfbhilqBHILQ?")


def read_rows(estimator: Any, x: Any, *, reset: bool, dtype: Any = "numeric") -> Any:
    """X as an array, CSR or CSC matrix (n_rows, n_features) that the kernels can read.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if `reset`, else is held to them.
    x : array-like or sparse matrix
    reset : bool
        Whether this is the first batch.
    dtype : str or None
        As in :func:`sklearn.utils.validation.validate_data`.

    Raises
    ------
    ValueError
        If x is empty, not two-dimensional, or has another number of features or other names.
    """
    if type(x) is np.ndarray and x.ndim == 2 and _is_readable(x):
        known, (n_rows, n_features) = estimator.__dict__, x.shape
        if n_rows and n_features and "feature_names_in_" not in known:
            if reset:
                estimator.n_features_in_ = n_features
                return x
            if n_features == known.get("n_features_in_"):
                return x
    try:
        x = validate_data(
            estimator,
            as_numpy(x),
            accept_sparse=("csr", "csc"),
            accept_large_sparse=True,
            dtype=dtype,
            ensure_all_finite=False,
            reset=reset,
        )
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise _text_among_numbers(estimator, x, error) from None
    return readable(x)


def _is_readable(x: NDArray[Any]) -> bool:
    """Whether the kernels read an array as it is."""
    dtype, flags = x.dtype, x.flags
    return dtype.char in PLAIN_DTYPES and dtype.isnative and flags.c_contiguous and flags.aligned


def _text_among_numbers(estimator: Any, x: Any, error: ValueError) -> ValueError:
    """The error of a conversion, with its place and with what reads strings."""
    where = ""
    for j, column in enumerate(np.asarray(x, dtype=object).T):
        row = next((i for i, value in enumerate(column) if not _is_number(value)), None)
        if row is not None:
            names = getattr(x, "columns", None)
            name = "" if names is None else f" ({str(names[j])!r})"
            where = f"row {row}, column {j}{name} holds {column[row]!r}. "
            break
    advice = "NaiveBayes and WeightedNaiveBayes take tables with strings."
    if hasattr(estimator, "levels"):
        advice += " This class takes them as levels that are declared: levels=[...]."
    kind = type(estimator).__name__
    return ValueError(f"{error}: {where}{kind} takes numbers. {advice}")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
