"""Ten tables with what breaks models: missing values, twins, constants, weights, rare classes, odd
values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

__all__ = ["Rows", "all_rows"]


@dataclass(frozen=True)
class Rows:
    """A table, its labels and weights.

    Parameters
    ----------
    X : DataFrame
    y : array (n_rows,)
    weight : float64 array (n_rows,), optional
    """

    X: pd.DataFrame
    y: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any] | None = None

    @property
    def holds(self) -> set[str]:
        """What the table is to classifiers of arrays: numbers, counts, whole numbers, or nothing
        of these."""
        if any(kind.kind not in "iuf" for kind in self.X.dtypes) or self.X.isna().any(axis=None):
            return set()
        x = self.X.to_numpy(dtype=np.float64)
        counts = bool((x >= 0.0).all())
        whole = counts and bool((x == np.floor(x)).all())
        return {"numbers", *["counts"] * counts, *["whole"] * whole}


def _of_scikit_learn(load: Any) -> Rows:
    given = load(as_frame=True)
    return Rows(given.data, given.target.to_numpy())


def _mixed(rng: np.random.Generator, n: int) -> Rows:
    """Numbers, whole numbers, strings, booleans and dates, with missing values and strings among
    numbers."""
    y = rng.choice(["no", "perhaps", "yes"], n, p=[0.6, 0.1, 0.3])
    yes = y == "yes"
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0 + 9.0 * yes, 8.0).round(),
            "fee": np.where(yes, rng.normal(5.0, 1.0, n), 0.0),
            "visits": rng.poisson(1.0 + 2.0 * yes),
            "job": rng.choice(["cook", "clerk", "nurse", "ﬁsher"], n),
            "member": rng.random(n) < 0.3 + 0.3 * yes,
            "since": np.datetime64("2020-01-01") + rng.integers(0, 900, n) * np.timedelta64(1, "D"),
            "same": 7,
            "sensor": rng.normal(0.0, 1.0 + yes),
        }
    )
    X.loc[rng.random(n) < 0.1, ["age", "job"]] = np.nan
    X["sensor"] = X["sensor"].astype(object)
    X.loc[rng.random(n) < 0.05, "sensor"] = "off"
    return Rows(X, y)


def all_rows() -> dict[str, Rows]:
    """By name."""
    rng = np.random.default_rng(0)
    mixed = _mixed(rng, 900)
    few = _mixed(rng, 40)
    wide = rng.normal(size=(60, 200))
    labels = rng.integers(0, 2, 60)
    words = rng.poisson(0.4, (400, 50)) + (np.arange(400)[:, None] % 4 == np.arange(50) % 4)
    many = rng.integers(0, 60, 3000)
    levels = (many[:, None] + rng.integers(0, 4, (3000, 6))) % 9
    far = rng.normal(size=(300, 3)) + labels[rng.integers(0, 60, 300), None]
    far[0] = 1e9
    twins = pd.concat([few.X] * 5, ignore_index=True)
    return {
        "iris": _of_scikit_learn(load_iris),
        "wine": _of_scikit_learn(load_wine),
        "breast cancer": _of_scikit_learn(load_breast_cancer),
        "digits": _of_scikit_learn(load_digits),
        "mixed": mixed,
        "mixed, weighted": Rows(mixed.X, mixed.y, rng.integers(0, 4, 900) * 0.7),
        "twins": Rows(twins, np.tile(few.y, 5)),
        "wide": Rows(pd.DataFrame(wide + 0.3 * labels[:, None]), labels),
        "words": Rows(pd.DataFrame(words), np.arange(400) % 4),
        "many classes": Rows(pd.DataFrame(levels), many),
        "a far value": Rows(pd.DataFrame(far), (far[:, 0] > 0.5).astype(int)),
    }
