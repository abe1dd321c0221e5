"""Tables for the speed cases: Adult repeated to a million rows, or one that looks like it.

The same rows as pandas with categories, as pandas with strings, and as polars; labels are int64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.data import NoData, all_data_sets
from benchmarks.speed.case import Dataset

__all__ = ["FORMATS", "table"]

SEED = 20_240_505
GENERATED_ROWS = 50_000
MISSING = 0.05
LEVELS = (8, 16, 7, 14, 6, 5, 2, 41)  # of Adult's strings


def generated() -> tuple[pd.DataFrame, Any]:
    """Eight columns of strings and six of numbers, as Adult has, in two classes."""
    rng = np.random.default_rng(SEED)
    y = (rng.random(GENERATED_ROWS) < 0.24).astype(np.int64)
    X: dict[str, Any] = {}
    for j, n_levels in enumerate(LEVELS):
        share = rng.dirichlet(np.ones(n_levels), 2).cumsum(axis=1)
        code = (rng.random(GENERATED_ROWS)[:, None] > share[y]).sum(axis=1)
        strings = np.array([f"level {k}" for k in range(n_levels)], dtype=object)
        values = strings[code.clip(max=n_levels - 1)]
        values[rng.random(GENERATED_ROWS) < (MISSING if j in (0, 3, 7) else 0.0)] = None
        X[f"text {j}"] = pd.array(values, dtype="str")
    for j in range(6):
        X[f"number {j}"] = rng.normal(40.0 + 5.0 * y, 10.0 + j).round().astype(np.int64)
    return pd.DataFrame(X), y


@cache
def small_table() -> tuple[pd.DataFrame, Any, str]:
    """Adult as it is, or the generated table, and which of them it is."""
    adult = next(data for data in all_data_sets() if data.name == "adult")
    try:
        X, y = adult.table
    except NoData:
        return *generated(), "generated to look like Adult"
    return X, (y == ">50K").astype(np.int64), "Adult"


def as_categories(X: pd.DataFrame) -> Any:
    return X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category"))


def as_polars(X: pd.DataFrame) -> Any:
    import polars as pl

    return pl.from_pandas(X)


FORMATS: dict[str, tuple[Callable[[pd.DataFrame], Any], str]] = {
    "category": (as_categories, "pandas, strings as category"),
    "str": (lambda X: X, "pandas, strings as str"),
    "polars": (as_polars, "polars, strings as String"),
}


def table(rows: int, kind: str) -> Dataset:
    """So many rows in one format."""
    X, y, origin = small_table()
    times = -(-rows // len(X))
    X = pd.concat([X] * times, ignore_index=True).iloc[:rows]
    convert, what = FORMATS[kind]
    note = (
        f"{origin}, repeated to {rows:,} rows of {X.shape[1]} columns, missing values kept; {what}"
    )
    return Dataset(convert(X), np.tile(y, times)[:rows], note)
