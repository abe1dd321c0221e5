"""The same matrix in every memory layout that the kernels read without a copy."""

import numpy as np


def spaced(x):
    """Every second row and third column of something larger."""
    large = np.full((2 * x.shape[0], 3 * x.shape[1]), 77, dtype=x.dtype)
    large[::2, ::3] = x
    return large[::2, ::3]


def inside(x):
    """A rectangle within something larger: rows that are not adjacent."""
    large = np.full((x.shape[0] + 2, x.shape[1] + 5), 77, dtype=x.dtype)
    large[1:-1, 2:-3] = x
    return large[1:-1, 2:-3]


def backwards(x):
    """Both strides negative."""
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def rows_backwards(x):
    """The stride of the rows negative."""
    return np.ascontiguousarray(x[::-1])[::-1]


def spaced_fortran(x):
    """Every second row of a Fortran array."""
    large = np.full((2 * x.shape[0], x.shape[1]), 77, dtype=x.dtype, order="F")
    large[::2] = x
    return large[::2]


def read_only(x):
    """Not writable."""
    frozen = np.array(x, order="C")
    frozen.flags.writeable = False
    return frozen


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "spaced": spaced,
    "inside": inside,
    "backwards": backwards,
    "rows_backwards": rows_backwards,
    "spaced_fortran": spaced_fortran,
    "read_only": read_only,
}
