"""Which reader a table needs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tallybayes.tables import arrays, records
from tallybayes.tables.columns import Table

__all__ = ["read_table"]


def _is(x: Any, library: str, name: str) -> bool:
    """Whether x is an instance of library.name, without importing the library."""
    module = sys.modules.get(library)
    return module is not None and isinstance(x, getattr(module, name))


def read_table(x: Any, threads: int = 1) -> Table:
    """A table as plain columns.

    Parameters
    ----------
    x : pandas, polars or pyarrow table, anything with ``__arrow_c_stream__``, list of dicts, or
        array-like (n_rows, n_columns)
    threads : int, default=1
        How many may be used; the table does not depend on it.

    Returns
    -------
    Table
        Columns of an array have the names "0", "1", ….

    Raises
    ------
    ValueError
        If two columns have one name, a column holds lists or other nested values, or x has no
        columns.
    TypeError
        If x is none of the above.
    """
    if _is(x, "pandas", "DataFrame"):
        from tallybayes.tables import pandas

        return pandas.read(x, threads)
    if _is(x, "polars", "LazyFrame"):
        raise TypeError("X is a polars LazyFrame: collect() it first")
    if _is(x, "polars", "DataFrame"):
        from tallybayes.tables import polars

        return polars.read(x, threads)
    if hasattr(x, "__arrow_c_stream__") and not isinstance(x, np.ndarray):
        from tallybayes.tables import arrow

        return arrow.read(x, threads)
    if isinstance(x, list | tuple) and len(x) and isinstance(x[0], dict):
        return records.read(x)
    return arrays.read(x)
