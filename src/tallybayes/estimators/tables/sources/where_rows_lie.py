"""Rows of a distributed source are counted, scored and predicted where they are; only tallies and a
sample come to this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import sampled_marks
from tallybayes.estimators.tables.sources.counted_rows import (
    Counted,
    CountedRows,
    HowToCount,
    Kept,
    joined_rows,
    labelled,
    sample_of,
)
from tallybayes.sources.contract import Distributed, Folded
from tallybayes.tables import Table
from tallybayes.threads import on_one_thread

__all__ = ["count_where_rows_lie", "hits_of", "predicted_where_rows_lie", "right_where_rows_lie"]

Array = NDArray[np.float64]


def count_where_rows_lie(
    source: Distributed, names: Sequence[str] | None, how: HowToCount, max_rows: int | None
) -> Counted:
    """The tally of a source's rows, and a sample of them.

    Parameters
    ----------
    source : Distributed
    names : sequence of str, optional
        The columns that are read; None: all that hold scalars.
    how : HowToCount
        It is sent to the rows.
    max_rows : int or None
        How many rows the sample has at most; None: all.
    """
    found = source.fold(names, partial(_counted, how), partial(joined_rows, fading=how.fading))
    if found is None:
        raise ValueError(f"{source.name} has no rows: there is nothing to learn from")
    counted = found.result
    tally, _ = counted.tallies.read()
    kept = [] if max_rows == 0 else _kept(source, how, found, max_rows)
    sample = sample_of(kept, None, tally.schema.classes)
    return Counted(tally, counted.first, counted.n_rows, sample)


def _counted(how: HowToCount, table: Table) -> CountedRows:
    with on_one_thread():  # a task has one core
        rows, labels = how.read(table)
        return CountedRows.of(rows, how.count(rows, labels), True)


def _kept(
    source: Distributed,
    how: HowToCount,
    found: Folded[CountedRows],
    max_rows: int | None,
) -> list[Kept]:
    whole = max_rows is None or found.n_rows <= max_rows
    marks = None if max_rows is None or whole else sampled_marks(found.rows, max_rows)
    table = source.take(found.names, marks)
    if table is None:
        return []
    rows, labels = how.read(table)
    x = Table(rows.columns, rows.n_rows, True)
    return [Kept(x, labels, True, how.groups(table))]


# ---- scores and predictions ----------------------------------------------------------------------
def hits_of(model: Any, x: Table, labels: list[Any], weights: Array | None) -> tuple[float, float]:
    """The weight of the rows that are predicted as they are labelled, and that of all."""
    predicted = model.predict(x).tolist()
    hits = np.array([label == p for label, p in zip(labels, predicted, strict=True)])
    if weights is None:
        return float(hits.sum()), float(len(hits))
    return float(weights[hits].sum()), float(weights.sum())


def right_where_rows_lie(
    model: Any, source: Distributed, names: Sequence[str], target: str, weight: str | None
) -> tuple[float, float]:
    """The weight of a source's rows that are predicted as they are labelled, and that of all."""
    found = source.fold(list(dict.fromkeys(names)), partial(_right, model, target, weight), _added)
    return (0.0, 0.0) if found is None else found.result


def _right(model: Any, target: str, weight: str | None, table: Table) -> tuple[float, float]:
    with on_one_thread():
        return hits_of(model, *labelled(table, target, weight, {}))


def _added(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]


def predicted_where_rows_lie(model: Any, source: Distributed, names: Sequence[str]) -> Any:
    """The rows with the columns ``prediction`` and, for each class, ``p(label)``."""
    labels = model.classes_.tolist()
    new = {"prediction": type(labels[0])} | {f"p({label})": float for label in labels}
    return source.with_columns(names, partial(_predicted, model), new)


def _predicted(model: Any, table: Table) -> list[Any]:
    """The labels of rows, and the probability of each class."""
    with on_one_thread():
        labels, proba = model.predict(table), model.predict_proba(table)
    return [labels.tolist(), *np.ascontiguousarray(proba.T)]
