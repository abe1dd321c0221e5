"""Arrays and sparse matrices as the kernels can read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes import _kernels
from tallybayes.engines.memory.value_errors import raise_fault
from tallybayes.schema import Columns

__all__ = ["canonical", "readable", "triple", "within"]


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
