"""The calls that are timed. The same function prepares the peer's call and ours.

Each takes an estimator class and gives a function from the data to a call without arguments. Whole
public calls are timed: validation and label handling are part of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed.case import Call, Dataset

__all__ = [
    "first_one_row_predict",
    "first_predict",
    "fit",
    "one_row_partial_fit",
    "one_row_predict",
    "predict",
]

Prepare = Callable[[Dataset], Call]


def fit(kind: type) -> Prepare:
    """``fit(X, y)`` of a new estimator: a model fitted before would keep its memory meanwhile."""

    def prepare(data: Dataset) -> Call:
        def call() -> Any:
            return kind().fit(data.X, data.y)

        return call

    return prepare


def predict(kind: type) -> Prepare:
    """``predict(X)`` of the training rows, by a model that has predicted before."""

    def prepare(data: Dataset) -> Call:
        return partial(data.fitted(kind).predict, data.X)

    return prepare


def first_predict(kind: type) -> Prepare:
    """The first ``predict(X)`` after fit, in which our estimators read the tally."""

    def prepare(data: Dataset) -> Call:
        return partial(kind().fit(data.X, data.y).predict, data.X)

    return prepare


def one_row_predict(kind: type) -> Prepare:
    """``predict`` of one row."""

    def prepare(data: Dataset) -> Call:
        return partial(data.fitted(kind).predict, data.X[:1])

    return prepare


def first_one_row_predict(kind: type) -> Prepare:
    """The first ``predict`` of one row after fit."""

    def prepare(data: Dataset) -> Call:
        return partial(kind().fit(data.X, data.y).predict, data.X[:1])

    return prepare


def one_row_partial_fit(kind: type) -> Prepare:
    """``partial_fit`` of one row, by a model that has learned all rows before."""

    def prepare(data: Dataset) -> Call:
        model = kind().partial_fit(data.X, data.y, classes=np.unique(data.y))
        return partial(model.partial_fit, data.X[:1], data.y[:1])

    return prepare
