"""Gaussian cases: a table of numbers, and the bandwidth of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import sklearn.naive_bayes as peer
from numpy.typing import NDArray

import tallybayes as ours
from benchmarks.machine import usable_cores
from benchmarks.speed import actions
from benchmarks.speed.case import Call, Case, Dataset, Options, Recipe
from benchmarks.speed.checks import same_fit, same_predict
from benchmarks.timing import best_of

__all__ = ["cases"]

SEED = 20_240_501
CLASSES = 10
COLUMNS = 50

# scikit-learn averages float32 in float32, over 100,000 rows of a class: its own error
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}


def numbers(rows: int, dtype: str) -> Dataset:
    """Normal columns of unit variance around class means of standard deviation ½."""
    rng = np.random.default_rng(SEED)
    y = rng.integers(0, CLASSES, rows)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.dtype(dtype))
    means = rng.normal(0.0, 0.5, (CLASSES, COLUMNS)).astype(dtype)
    step = 100_000  # the means of all rows at once would be a second table
    for i in range(0, rows, step):
        X[i : i + step] += means[y[i : i + step]]
    return Dataset(X, y, f"normal numbers, {dtype}, {CLASSES} classes")


# ---- the bandwidth of memory -------------------------------------------------------------------
READERS = (np.sum, np.max)


def read_by_threads(data: Dataset) -> Call:
    """A read of X by two Python threads, each a half; numpy releases the lock of the interpreter.

    Of two ways to read the faster is taken. Products by BLAS are not among them: they were slower
    whenever measured, and threads of BLAS can stay awake afterwards, beside the fit that follows.
    """
    threads = min(2, usable_cores())
    pool = ThreadPoolExecutor(threads)
    parts = np.array_split(data.X, threads)

    def read(how: Callable[[NDArray[np.float64]], Any]) -> list[Any]:
        return list(pool.map(how, parts))

    calls = [partial(read, how) for how in READERS]
    return min(calls, key=best_of)


# ---- the cases ---------------------------------------------------------------------------------
def cases(options: Options) -> Iterator[Case]:
    """fit and predict of float64 and float32, and fit as a share of the bandwidth of memory."""
    rows = 100_000 if options.quick else 1_000_000
    size = f"{rows:,} × {COLUMNS}"
    pair = (peer.GaussianNB, ours.GaussianNB)
    for dtype, tolerance in TOLERANCE.items():
        recipe = Recipe(f"gaussian/{dtype}", partial(numbers, rows, dtype))
        yield Case(
            name=f"gaussian/{dtype}/fit",
            what=f"GaussianNB fit, {size} {dtype}, {CLASSES} classes",
            recipe=recipe,
            peer=actions.fit(peer.GaussianNB),
            ours=actions.fit(ours.GaussianNB),
            check=same_fit(*pair, tolerance),
            bar=30.0,
        )
        yield Case(
            name=f"gaussian/{dtype}/predict",
            what=f"GaussianNB predict, {size} {dtype}, {CLASSES} classes",
            recipe=recipe,
            peer=actions.predict(peer.GaussianNB),
            ours=actions.predict(ours.GaussianNB),
            first=actions.first_predict(ours.GaussianNB),
            check=same_predict(*pair, tolerance),
            bar=30.0,
        )
        if dtype == "float64":
            yield Case(
                name="gaussian/float64/bandwidth",
                what=f"GaussianNB fit, {size} float64, as a share of the speed of a read of X",
                recipe=recipe,
                peer=read_by_threads,
                peer_name="two-thread read",
                ours=actions.fit(ours.GaussianNB),
                check=same_fit(*pair, tolerance),
                bar=0.7,
            )
