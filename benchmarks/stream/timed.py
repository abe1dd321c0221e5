"""Calls of a stream, each timed by itself."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["BAR_RARE", "BAR_WORST", "quantiles", "timed", "verdict", "verdicts_on_spikes"]

BAR_RARE, BAR_WORST = 2.0, 20.0  # milliseconds


def timed(
    stream: Sequence[tuple[Any, Any]],
    predict: Callable[[Any], Any],
    learn: Callable[[Any, Any], Any],
    *,
    collecting: bool = False,
) -> tuple[dict[str, np.ndarray], list[dict[str, float]]]:
    """Milliseconds of each prediction and of each row learned; some of the probabilities.

    Parameters
    ----------
    stream : sequence of (row, label)
    predict, learn : callable
    collecting : bool
        Whether Python's garbage collector goes on.
    """
    predicted, learned, said = [], [], []
    gc.collect()
    if not collecting:
        gc.disable()
    for i, (row, label) in enumerate(stream):
        begin = time.thread_time()
        found = predict(row)
        between = time.thread_time()
        learn(row, label)
        end = time.thread_time()
        predicted.append(between - begin)
        learned.append(end - between)
        if i % 100 == 0:
            said.append(found)
    gc.enable()
    times = {"predict": np.array(predicted) * 1e3, "learn": np.array(learned) * 1e3}
    return times, said


def quantiles(values: np.ndarray) -> dict[str, float]:
    """The median, 99.9 % and the slowest."""
    return {
        "median": float(np.median(values)),
        "p99.9": float(np.quantile(values, 0.999)),
        "worst": float(values.max()),
    }


def verdict(met: bool, about: str) -> str:
    """A line about a bar."""
    return f"- {'met' if met else 'MISSED'}: {about}"


def verdicts_on_spikes(about: str, values: np.ndarray) -> list[str]:
    """Lines about the slowest calls."""
    found = quantiles(values)
    rare, worst = found["p99.9"], found["worst"]
    return [
        verdict(rare <= BAR_RARE, f"{about}: p99.9 {rare:.2f} ms (≤ {BAR_RARE:g})"),
        verdict(worst <= BAR_WORST, f"{about}: worst {worst:.2f} ms (≤ {BAR_WORST:g})"),
    ]
