"""Mixed rows of two classes whose true probabilities are known: numbers, levels, missing values,
pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["WHAT", "Mixed", "mixed"]

Array = NDArray[np.float64]

WORLD = 20_261  # the seed of the truth, which is the same however many rows are drawn
LEVELS = (2, 3, 4, 6, 8, 12, 16, 25, 40, 100)
MISSING = 0.05
EVERY = 3  # each third column has missing values

WHAT = (
    "generated rows of two classes: half the columns numbers (normal, lognormal, mostly 0, whole, "
    "and one that nearly repeats another), half strings of 2 to 100 levels, as pandas' str; each "
    f"third column has {MISSING:.0%} missing values; three true pairs: "
    "number × number, number × string, string × string; a third of the columns say nothing"
)


@dataclass(frozen=True)
class Mixed:
    """Rows, and the probability of "yes" that each was drawn with, before missing values."""

    X: pd.DataFrame
    y: Any
    p: Array

    @property
    def floor(self) -> float:
        """The log-loss of the truth, in nats a row: of the values before missing values."""
        right = np.where(self.y == "yes", self.p, 1.0 - self.p)
        return float(-np.log(right).mean())


def _numbers(rng: np.random.Generator, n: int, n_columns: int) -> list[Array]:
    """Columns of numbers in five shapes, in turn."""
    found: list[Array] = []
    for j in range(n_columns):
        kind = j % 5
        x = rng.normal(size=n)
        if kind == 1:
            x = np.exp(x)
        elif kind == 2:
            x = np.where(rng.random(n) < 0.85, 0.0, np.round(50.0 * np.abs(x), 1))
        elif kind == 3:
            x = np.floor(40.0 + 12.0 * x)
        elif kind == 4:
            x = found[j - 4] + 0.3 * x
        found.append(x)
    return found


def _codes(rng: np.random.Generator, n: int, size: int) -> NDArray[np.intp]:
    """Levels that are the rarer the later they come."""
    share = 1.0 / np.arange(1.0, size + 1.0)
    return np.searchsorted((share / share.sum()).cumsum()[:-1], rng.random(n)).astype(np.intp)


def _standard(x: Array) -> Array:
    """Ranks would do as well; a shape that keeps outliers from deciding."""
    return np.arctan((x - np.median(x)) / (np.std(x) + 1e-12))


def mixed(rows: int, columns: int = 20, seed: int = 0) -> Mixed:
    """Rows drawn from a truth that depends on the number of columns only.

    Parameters
    ----------
    rows, columns : int
    seed : int
        Of the rows.
    """
    world, rng = np.random.default_rng(WORLD), np.random.default_rng(seed)
    n_numbers = columns // 2
    sizes = [LEVELS[j % len(LEVELS)] for j in range(columns - n_numbers)]
    numbers = _numbers(rng, rows, n_numbers)
    codes = [_codes(rng, rows, size) for size in sizes]

    logit = np.full(rows, -1.0)
    for j, x in enumerate(numbers):
        slope, bend = world.normal(0.0, 0.8), world.normal(0.0, 0.5)
        if j % EVERY != 2:
            logit += slope * _standard(x) + bend * np.sin(2.0 * _standard(x))
    for j, (code, size) in enumerate(zip(codes, sizes, strict=True)):
        effect = world.normal(0.0, 0.5, size)
        if j % EVERY != 2:
            logit += effect[code]
    logit += 0.9 * np.sign(numbers[0]) * np.sign(numbers[3] - 40.0)
    logit += world.normal(0.0, 0.7, sizes[3])[codes[3]] * _standard(numbers[1])
    logit += world.normal(0.0, 0.8, (sizes[4], sizes[1]))[codes[4], codes[1]]

    p = 1.0 / (1.0 + np.exp(-logit))
    y = np.where(rng.random(rows) < p, "yes", "no").astype(object)
    table: dict[str, Any] = {}
    for j, x in enumerate(numbers):
        if j % EVERY == 1:
            x[rng.random(rows) < MISSING] = np.nan
        table[f"number {j}"] = x
    for j, (code, size) in enumerate(zip(codes, sizes, strict=True)):
        if j % EVERY == 1:
            code[rng.random(rows) < MISSING] = -1
        names = pd.Index([f"level {k:02d}" for k in range(size)], dtype="str")
        table[f"text {j}"] = pd.Series(pd.Categorical.from_codes(code, names)).astype("str")
    return Mixed(pd.DataFrame(table), y, p)
