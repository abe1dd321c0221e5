"""Arrays of other libraries, where scikit-learn's array API dispatch is on.

The kernels read memory of the host, so rows, labels and weights are moved to NumPy, and predictions
are moved back to the library and the device of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace

__all__ = ["as_numpy", "like", "model_array"]


def _is_array(x: Any) -> bool:
    """Whether x's class offers its memory; for attributes of its own a frame may look among its
    columns, which of Spark Connect are on a server."""
    return hasattr(type(x), "__dlpack__")


def _library(x: Any) -> Any:
    """The array API namespace of x; None for NumPy, for no array, and where dispatch is off."""
    if isinstance(x, np.ndarray) or not _is_array(x):
        return None
    if not get_config()["array_api_dispatch"]:
        return None
    try:
        return get_namespace(x)[0]
    except TypeError:  # a column of a table that only offers its memory
        return None


def as_numpy(x: Any) -> Any:
    """x, or the same values in NumPy where it is an array that scikit-learn dispatches on; what a
    masked array hides is a missing value."""
    if not _is_array(x):  # frames and lists
        return x
    if isinstance(x, np.ma.MaskedArray):
        return _unmasked(x)
    library = _library(x)
    return x if library is None else _convert_to_numpy(x, library)


def _unmasked(x: Any) -> NDArray[Any]:
    held = np.ma.getdata(x)
    if not np.ma.getmaskarray(x).any():
        return held
    if held.dtype.kind in "fmM":
        filled: NDArray[Any] = x.filled(np.nan if held.dtype.kind == "f" else "NaT")
        return filled
    objects = np.array(held, dtype=object)
    objects[np.ma.getmaskarray(x)] = None
    return objects


def like(x: Any, values: NDArray[Any]) -> Any:
    """The values in the library and on the device of x; in NumPy where x is not such array, and
    for strings, which array libraries do not hold."""
    if type(x) is np.ndarray:  # nearly all are
        return values
    library = _library(x)
    if library is None or values.dtype.kind not in "biufc":
        return values
    return library.asarray(values, device=x.device)


def model_array(x: Any) -> Any:
    """An empty array of the library and device of x, which a model can keep; None for NumPy."""
    library = _library(x)
    return None if library is None else library.empty((0,), device=x.device)
