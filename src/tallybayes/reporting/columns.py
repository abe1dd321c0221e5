"""The columns of a report: how each is read, its values by class, and their contributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.form import Form
from tallybayes.tables.columns import text_of_days

__all__ = ["MAX_CELLS", "Bin", "ColumnFacts", "Values", "added", "against_others", "bins_of"]

Array = NDArray[np.float64]

MAX_CELLS = 24
"""Bins of numbers, and levels, that are shown of a column."""
MAX_NATS = 50.0  # nats: what a class that is ruled out is shown as


@dataclass(frozen=True, eq=False)
class Values:
    """The counted values of a column.

    Parameters
    ----------
    numbers : float64 array (n_numbers,)
        Distinct, ascending.
    of_numbers : float64 array (n_classes, n_numbers)
    levels : list of str
    of_levels : float64 array (n_classes, n_levels)
    missing : float64 array (n_classes,)
    dates : bool
        Whether the numbers are days since 1970.
    """

    numbers: Array
    of_numbers: Array
    levels: list[str]
    of_levels: Array
    missing: Array
    dates: bool = False

    @property
    def n_rows(self) -> float:
        return float(self.of_numbers.sum() + self.of_levels.sum() + self.missing.sum())


@dataclass(eq=False)
class Bin:
    """Values that are shown together.

    Parameters
    ----------
    label : str
    counts : float64 array (n_classes,)
    low, high : float, optional
        Of numbers.
    value : float or str or None
        The value by which the bin is judged; None is the missing value.
    """

    label: str
    counts: Array
    low: float | None = None
    high: float | None = None
    value: Any = None


@dataclass(eq=False)
class ColumnFacts:
    """A column as the report shows it.

    Parameters
    ----------
    name, holds, family, why : str
    used : bool
    weight : float, optional
    importance : float
        How far it separates the classes, in nats a row.
    missing : float
        Share of the rows without a value.
    bins : list of Bin
    nats : float64 array (n_bins, n_classes), optional
        What the value of each bin adds to each class, against the mean of the others.
    hidden_levels : int
        Levels that are shown together as the last bin.
    dates : bool
        Whether its numbers are days since 1970.
    terms : list of (str, str, float)
        Of a text: class, term, and what one occurrence adds.
    """

    name: str
    holds: str
    family: str
    why: str
    used: bool
    importance: float = 0.0
    weight: float | None = None
    missing: float = 0.0
    bins: list[Bin] = field(default_factory=list)
    nats: Array | None = None
    hidden_levels: int = 0
    dates: bool = False
    terms: list[tuple[str, str, float]] = field(default_factory=list)


def against_others(scores: Array) -> Array:
    """Scores (n, n_classes) less the mean score of the other classes; of two classes, log-odds."""
    k = scores.shape[1]
    held = np.clip(np.nan_to_num(scores, nan=0.0, neginf=-MAX_NATS), -MAX_NATS, MAX_NATS)
    if k < 2:
        return np.zeros_like(held)
    return np.asarray(held - (held.sum(axis=1, keepdims=True) - held) / (k - 1))


def number_text(value: float) -> str:
    """A number in few digits."""
    return f"{value:.6g}"


def _text_of(value: float, dates: bool) -> str:
    return text_of_days(value) if dates else number_text(value)


def bins_of(values: Values) -> tuple[list[Bin], int]:
    """The bins of a column, and how many levels the last one joins."""
    found = _number_bins(values.numbers, values.of_numbers, values.dates)
    room = MAX_CELLS - 1 if len(values.levels) > MAX_CELLS else MAX_CELLS
    order = np.argsort(-values.of_levels.sum(axis=0), kind="stable")
    for j in order[:room].tolist():
        level = values.levels[j]
        found.append(Bin(level, values.of_levels[:, j], value=level))
    rest = order[room:]
    if len(rest):
        found.append(Bin("", values.of_levels[:, rest].sum(axis=1), value=values.levels[rest[0]]))
    if values.missing.sum() > 1e-9 * values.n_rows:
        found.append(Bin("", values.missing))
    return found, len(rest)


def _number_bins(numbers: Array, counts: Array, dates: bool) -> list[Bin]:
    if not len(numbers):
        return []
    if len(numbers) <= MAX_CELLS:
        return [
            Bin(_text_of(x, dates), counts[:, j], x, x, x) for j, x in enumerate(numbers.tolist())
        ]
    weight = counts.sum(axis=0)
    share = np.cumsum(weight) / max(float(weight.sum()), 1e-300)
    low, high = numbers[np.searchsorted(share, [0.005, 0.995]).clip(0, len(numbers) - 1)]
    if high <= low:
        low, high = numbers[0], numbers[-1]
    edges = _round_edges(float(low), float(high))
    place = np.searchsorted(edges, numbers, side="right")
    found = []
    for i in range(len(edges) + 1):
        inside = np.flatnonzero(place == i)
        if not len(inside):
            continue
        a, b = numbers[inside[0]], numbers[inside[-1]]
        of_bin = weight[inside]
        middle = numbers[inside[np.searchsorted(np.cumsum(of_bin), 0.5 * of_bin.sum())]]
        shown_low = edges[i - 1] if i else a
        shown_high = edges[i] if i < len(edges) else b
        label = f"{_text_of(shown_low, dates)} – {_text_of(shown_high, dates)}"
        found.append(
            Bin(
                label, counts[:, inside].sum(axis=1), float(shown_low), float(shown_high),
                float(middle),
            )
        )  # fmt: skip
    return found


def _round_edges(low: float, high: float) -> Array:
    """Even edges at round numbers."""
    step = (high - low) / (MAX_CELLS - 4)
    if not np.isfinite(step) or step <= 0.0:
        return np.array([low])
    magnitude = 10.0 ** np.floor(np.log10(step))
    nice = next(m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * magnitude >= step * 0.999)
    step = nice * magnitude
    first = np.ceil(low / step) * step
    return np.asarray(first + step * np.arange(int((high - first) / step) + 1))


def added(form: Form, column: str, bins: list[Bin]) -> Array:
    """What the value of each bin adds, float64 (n_bins, n_classes), against the other classes."""
    numbers = [b.value for b in bins if b.low is not None]
    levels = [b.value for b in bins if b.low is None and b.value is not None]
    missing = bool(bins) and bins[-1].value is None
    return against_others(form.scores_of(column, np.array(numbers, float), levels, missing))
