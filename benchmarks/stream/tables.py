"""Tables as streams: each row is predicted, and then learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.accuracy.data import all_data_sets
from benchmarks.bayes.page import Page
from benchmarks.stream.timed import quantiles, timed, verdicts_on_spikes
from tallybayes import NaiveBayes

__all__ = ["tables_page"]

LEVELS = (40_000, 100_000)
EXPONENT = 1.3  # of Zipf's law, by which every second row draws its level
FIRST = 20  # rows that are learned before the first question

Rows = list[tuple[dict[str, Any], str]]


def of_levels(n: int, n_levels: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Rows of a column with many levels, one with seven, and one of numbers."""
    rng = np.random.default_rng(0)
    often = rng.zipf(EXPONENT, n) % n_levels
    even, x, yes = rng.integers(0, n_levels, n), rng.normal(size=n), rng.random(n) < 0.4
    for i in range(n):
        level = even[i] if i % 2 else often[i]
        yield {"id": f"v{level}", "kind": f"k{i % 7}", "x": float(x[i])}, "ab"[int(yes[i])]


def of_adult() -> Rows:
    """The training rows of Adult, without the values that are missing."""
    X, y = next(one for one in all_data_sets() if one.name == "adult").table
    rows = X.astype(object).to_dict(orient="records")
    held = [{k: v for k, v in row.items() if v is not None and v == v} for row in rows]
    return list(zip(held, map(str, y), strict=True))


def tables_page(most: int) -> Page:
    """The page of the results.

    Parameters
    ----------
    most : int
        Rows of a table.
    """
    streams: dict[str, Rows] = {"Adult": of_adult()[:most]}
    streams |= {f"{n:,} levels": list(of_levels(most, n)) for n in LEVELS}
    rows, verdicts, record = [], [], {}
    for name, stream in streams.items():
        model = NaiveBayes()
        for row, label in stream[:FIRST]:
            model.learn_one(row, label)
        times, _ = timed(stream[FIRST:], model.predict_one, model.learn_one, collecting=True)
        record[name] = {step: quantiles(values) for step, values in times.items()}
        cells = [f"{v:.3f}" for values in record[name].values() for v in values.values()]
        rows.append([name, f"{len(stream):,}", *cells])
        for step, values in times.items():
            verdicts += verdicts_on_spikes(f"{name}, {step}", values)
    head = ["table", "rows", "predict", "p99.9", "worst", "learn", "p99.9", "worst"]
    about = (
        "Milliseconds of the processor for a row, each predicted and then learned, while Python's "
        "garbage collector goes on: medians, 99.9 % of them, and the slowest"
    )
    return Page("stream-tables", "Tables as streams", verdicts, [(about, head, rows)], record)
