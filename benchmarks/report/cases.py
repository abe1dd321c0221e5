"""Models with the rows that their reports judge them by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from benchmarks.accuracy.data import all_data_sets
from benchmarks.text.labelled import SETS
from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes

__all__ = ["CASES", "PICTURED", "Case"]

Fitted = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Case:
    """A report.

    Parameters
    ----------
    name : str
    fitted : callable () -> (model, X, y)
    making, loading : float, optional
        The bars: seconds to make the report, and for the page to be loaded.
    megabytes : float
        The bar of its size.
    lang : str
    """

    name: str
    fitted: Callable[[], Fitted]
    making: float | None = None
    loading: float | None = None
    megabytes: float = 2.0
    lang: str = "en"


def adult(kind: Any) -> Callable[[], Fitted]:
    """Adult's training rows."""

    def fitted() -> Fitted:
        X, y = next(one for one in all_data_sets() if one.name == "adult").table
        X, y = X[:32_561], y[:32_561]
        return kind().fit(X, y), X, y

    return fitted


def wine() -> Fitted:
    """scikit-learn's wine."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    labels = np.array(["Barolo", "Grignolino", "Barbera"])[y]
    return WeightedNaiveBayes().fit(X, labels), X, labels


def corpus(name: str) -> Callable[[], Fitted]:
    """The first fold of a corpus: its learning documents."""

    def fitted() -> Fitted:
        fold = next(iter(next(one for one in SETS if one.name == name).folds()))
        return TextNB().fit(fold.train, fold.y), fold.train, fold.y

    return fitted


def million() -> Fitted:
    """A million rows of numbers and levels."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.choice(["no", "yes"], n, p=[0.8, 0.2])
    yes = y == "yes"
    numbers = {f"x{j}": rng.normal(0.2 * j * yes, 1.0).round(2) for j in range(6)}
    levels = {f"c{j}": pd.Categorical.from_codes(
        rng.integers(0, 8, n) % (8 - yes * j), [f"level {i}" for i in range(8)]
    ) for j in range(4)}  # fmt: skip
    X = pd.DataFrame(numbers | levels)
    return NaiveBayes().fit(X, y), X, y


def wide() -> Fitted:
    """1,000 columns."""
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c"], 3_000)
    shift = (y == "b")[:, None] * (np.arange(1_000) % 10 == 0)
    X = pd.DataFrame(rng.normal(size=(3_000, 1_000)).round(2) + shift).add_prefix("column ")
    X[X.columns[::2]] = X[X.columns[::2]].round().astype(int).astype(str)
    return NaiveBayes().fit(X, y), X, y


def many_classes() -> Fitted:
    """1,000 classes."""
    rng = np.random.default_rng(2)
    k = rng.integers(0, 1_000, 20_000)
    y = np.array([f"class {i}" for i in range(1_000)])[k]
    frame = {f"x{j}": (rng.normal(size=len(k)) + k % (j + 2)).round(2) for j in range(6)}
    frame |= {f"c{j}": [f"level {i % (j + 3)}" for i in k] for j in range(3)}
    X = pd.DataFrame(frame)
    return NaiveBayes().fit(X, y), X, y


CASES = (
    Case("Adult", adult(NaiveBayes), making=5.0),
    Case("Adult, weighted", adult(WeightedNaiveBayes), making=5.0),
    Case("a million rows", million, making=15.0),
    Case("1,000 columns", wide, loading=3.0),
    Case("1,000 classes", many_classes, loading=3.0),
    Case("wine", wine),
    Case("20 Newsgroups", corpus("20 Newsgroups")),
    Case("Chinese titles", corpus("Chinese titles"), lang="zh"),
)
PICTURED = ("Adult, weighted", "wine", "20 Newsgroups", "Chinese titles")
