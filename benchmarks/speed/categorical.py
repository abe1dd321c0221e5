"""Categorical cases: a table of level codes, of few classes and of very many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import sklearn.naive_bayes as peer

import tallybayes as ours
from benchmarks.speed import actions
from benchmarks.speed.case import Case, Dataset, MemoryBar, Options, Recipe
from benchmarks.speed.checks import same_fit, same_predict
from benchmarks.speed.processes import ProcessCase

__all__ = ["cases", "codes"]

SEED = 20_240_502
LEVELS = 20
COLUMNS = 30


def codes(rows: int, columns: int, classes: int) -> Dataset:
    """Level codes, int64; in a third of the cells a level that the class and the column prefer."""
    rng = np.random.default_rng(SEED)
    y = rng.integers(0, classes, rows)
    X = rng.integers(0, LEVELS, (rows, columns))
    preferred = rng.integers(0, LEVELS, (classes, columns))
    for j in range(columns):
        prefers = rng.random(rows) < 1.0 / 3.0
        X[prefers, j] = preferred[y[prefers], j]
    return Dataset(X, y, f"level codes, int64, {LEVELS} levels, {classes:,} classes")


def cases(options: Options) -> Iterator[Case | ProcessCase]:
    """fit and predict of 10 classes; fit of 10,000, in processes of its own."""
    classes = 10
    rows = 50_000 if options.quick else 500_000
    size = f"{rows:,} × {COLUMNS}, {LEVELS} levels, {classes} classes"
    recipe = Recipe("categorical", partial(codes, rows, COLUMNS, classes))
    pair = (peer.CategoricalNB, ours.CategoricalNB)
    yield Case(
        name="categorical/10-classes/fit",
        what=f"CategoricalNB fit, {size}",
        recipe=recipe,
        peer=actions.fit(peer.CategoricalNB),
        ours=actions.fit(ours.CategoricalNB),
        check=same_fit(*pair),
        bar=60.0,
    )
    yield Case(
        name="categorical/10-classes/predict",
        what=f"CategoricalNB predict, {size}",
        recipe=recipe,
        peer=actions.predict(peer.CategoricalNB),
        ours=actions.predict(ours.CategoricalNB),
        first=actions.first_predict(ours.CategoricalNB),
        check=same_predict(*pair),
        bar=12.0,
    )

    columns = 5
    rows, classes = (20_000, 1_000) if options.quick else (200_000, 10_000)
    yield ProcessCase(
        name="categorical/10000-classes/fit",
        what=f"CategoricalNB fit, {rows:,} × {columns}, {LEVELS} levels, {classes:,} classes",
        data=("benchmarks.speed.categorical", "codes", (rows, columns, classes)),
        peer=("sklearn.naive_bayes", "CategoricalNB"),
        ours=("tallybayes", "CategoricalNB"),
        learned=("classes_", "class_count_", "category_count_", "feature_log_prob_"),
        bar=100.0,
        memory=MemoryBar(10.0),
    )
