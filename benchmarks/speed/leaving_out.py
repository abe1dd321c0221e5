"""Exact leave-one-out beside the ordinary prediction of the same rows by the same model.

The promise is a cost of at most 2.5 predictions: a ratio of at least 0.4 in the terms of the
report, whose peer is ``predict_log_proba``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tallybayes as ours
from benchmarks.speed import categorical, gaussian, table_data, text
from benchmarks.speed.case import Call, Case, Dataset, Options, Recipe
from benchmarks.speed.checks import close

__all__ = ["cases"]

COST = 2.5  # predictions
ROWS = 3  # that are checked by fitting the others


def predict(kind: type) -> Callable[[Dataset], Call]:
    """``predict_log_proba(X)`` of the training rows."""

    def prepare(data: Dataset) -> Call:
        return partial(data.fitted(kind).predict_log_proba, data.X)

    return prepare


def leave_out(kind: type) -> Callable[[Dataset], Call]:
    """``leave_one_out`` of the training rows."""

    def prepare(data: Dataset) -> Call:
        return partial(ours.leave_one_out, data.fitted(kind), data.X, data.y)

    return prepare


def rows_of(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def is_refitting(kind: type) -> Callable[[Dataset], None]:
    """A check: some rows are predicted as by fitting all the others."""

    def check(data: Dataset) -> None:
        y = np.asarray(data.y)
        found = ours.leave_one_out(data.fitted(kind), data.X, y)
        for i in np.linspace(0, len(y) - 1, ROWS).astype(int):
            rest = np.flatnonzero(np.arange(len(y)) != i)
            others = kind().fit(rows_of(data.X, rest), y[rest])
            expected = others.predict_log_proba(rows_of(data.X, [i]))
            close(f"leave_one_out, row {i}", expected, found[[i]], 1e-9)

    return check


def cases(options: Options) -> Iterator[Case]:
    """A table of numbers, strings, level codes and a mixed table."""
    small = options.quick
    n = {
        "gaussian": 100_000 if small else 1_000_000,
        "text": 20_000 if small else 200_000,
        "categorical": 50_000 if small else 500_000,
        "tables": 50_000 if small else 1_000_000,
    }
    terms = 10_000 if small else 100_000
    numbers = Recipe("gaussian/float64", partial(gaussian.numbers, n["gaussian"], "float64"))
    strings = Recipe("text/20", partial(text.strings, n["text"], terms, 20, options.terms))
    codes = Recipe("categorical", partial(categorical.codes, n["categorical"], 30, 10))
    table = Recipe("tables/category", partial(table_data.table, n["tables"], "category"))
    sizes = {
        "gaussian": (numbers, ours.GaussianNB, f"{n['gaussian']:,} × 50, 10 classes"),
        **{
            name: (strings, kind, f"CSR {n['text']:,} × {terms:,}, 20 classes")
            for name, kind in (
                ("multinomial", ours.MultinomialNB),
                ("bernoulli", ours.BernoulliNB),
                ("complement", ours.ComplementNB),
            )
        },
        "categorical": (codes, ours.CategoricalNB, f"{n['categorical']:,} × 30, 20 levels"),
        "table": (table, ours.NaiveBayes, f"{n['tables']:,} × 14, pandas with categories"),
    }
    for name, (recipe, kind, size) in sizes.items():
        yield Case(
            name=f"leave-one-out/{name}",
            what=f"{kind.__name__}, leave_one_out of {size}: at most {COST} × predict_log_proba",
            recipe=recipe,
            peer=predict(kind),
            peer_name="predict_log_proba",
            ours=leave_out(kind),
            check=is_refitting(kind),
            bar=1.0 / COST,
        )
