"""Forty tables on which calibration must do no harm: real, bundled, generated, and small parts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

from benchmarks.accuracy.data import FOLDER, DataSet, NoData
from benchmarks.accuracy.readers import arff_with_class

__all__ = ["Case", "forty_cases"]

MAX_ROWS = 1500
MIN_ROWS_OF_CLASS = 5
BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "cancer": load_breast_cancer,
    "digits": load_digits,
}
SMALL = {"cancer": 40, "wine": 30, "digits": 100}


class Case(NamedTuple):
    """A table and its classes."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]


def _kept(X: pd.DataFrame, y: NDArray[Any]) -> tuple[pd.DataFrame, NDArray[Any]]:
    """At most MAX_ROWS rows, of classes that have MIN_ROWS_OF_CLASS then."""
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    often = Counter(y[rows].tolist())
    rows = np.sort([i for i in rows if often[y[i]] >= MIN_ROWS_OF_CLASS])
    return X.iloc[rows].reset_index(drop=True), y[rows]


def _generated() -> Iterator[Case]:
    """Columns that say everything, much, little and nothing, independent and repeated."""
    for n, rare in ((200, 0.5), (1500, 0.95)):
        X, y = make_classification(n, 8, weights=[rare], random_state=0)
        yield Case(f"generated {n} × 8, {rare:g}", pd.DataFrame(X).add_prefix("x"), y)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    yield Case("separated 60 × 3", pd.DataFrame(8.0 * y[:, None] + rng.normal(size=(60, 3))), y)
    y = rng.integers(0, 3, 300)
    x = y + rng.normal(size=300)
    yield Case("one column ten times", pd.DataFrame({f"x{j}": x for j in range(10)}), y)
    y = rng.integers(0, 2, 150)
    yield Case("labels of a coin 150 × 20", pd.DataFrame(rng.normal(size=(150, 20))), y)


def _named(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X).rename(columns=str)


def forty_cases(data_sets: list[DataSet], missing: list[str]) -> Iterator[Case]:
    """The cases whose data is there; the names of others go to `missing`.

    Parameters
    ----------
    data_sets : list of DataSet
        Of ``datasets.toml``.
    missing : list of str
    """
    for data in data_sets:
        try:
            X, y = data.table
        except NoData:
            missing.append(data.name)
            continue
        yield Case(data.name, *_kept(X, np.asarray(y).astype(str)))
    root = Path(os.environ.get(FOLDER, "."))
    folder = root / "arff-more"
    for path in [*root.glob("labor.arff"), *sorted(folder.glob("*.arff"))]:
        X, y = arff_with_class(path)
        yield Case(path.stem, *_kept(X, np.asarray(y).astype(str)))
    if not folder.exists():
        missing.append("arff-more")
    for name, load in BUNDLED.items():
        X, y = load(return_X_y=True, as_frame=True)
        yield Case(f"{name} (bundled)", *_kept(_named(X), y.to_numpy()))
        if name in SMALL:
            rows = np.random.default_rng(1).permutation(len(y))[: SMALL[name]]
            part = _kept(_named(X.iloc[rows]), y.to_numpy()[rows])
            yield Case(f"{name}, {SMALL[name]} rows", *part)
    yield from (Case(case.name, _named(case.X), case.y) for case in _generated())
