"""Data-quality findings about the data behind a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.columns import ColumnFacts
from tallybayes.reporting.subjects.contract import Subject

__all__ = ["Finding", "findings_of"]

Array = NDArray[np.float64]

MIN_CLASS_ROWS = 10  # rows of a rare class
MAX_MISSING_SHARE = 0.4
MIN_LEAK_ACCURACY = 0.98  # of the rows a single column classifies right
MIN_ROWS_PER_CELL = 2.0  # rows a cell that may tell a class


@dataclass(frozen=True)
class Finding:
    """Something to look at.

    Parameters
    ----------
    kind : {"stale", "rare", "leak", "missing", "left_out", "copy"}
        What it is about; the page has the words.
    about : str
        A class or a column.
    value : float or str
    """

    kind: str
    about: str = ""
    value: float | str = ""


def findings_of(
    subject: Subject, columns: list[ColumnFacts], copies: list[tuple[str, str]]
) -> list[Finding]:
    """The findings to read before trusting the figures.

    Parameters
    ----------
    subject : Subject
    columns : list of ColumnFacts
    copies : list of (str, str)
        Near-copies.
    """
    found = [Finding("stale")] if subject.stale else []
    rows = subject.class_rows
    for label, count in zip(subject.classes.tolist(), rows.tolist(), strict=True):
        if count < MIN_CLASS_ROWS:
            found.append(Finding("rare", str(label), count))
    largest = float(rows.max(initial=0.0)) / max(float(rows.sum()), 1e-300)
    for column in columns:
        if not column.used:
            found.append(Finding("left_out", column.name, column.why))
            continue
        if column.missing >= MAX_MISSING_SHARE:
            found.append(Finding("missing", column.name, column.missing))
        right = _classified(column)
        if right >= MIN_LEAK_ACCURACY and largest <= 1.0 - 2.5 * (1.0 - MIN_LEAK_ACCURACY):
            found.append(Finding("leak", column.name, right))
    return found + [Finding("copy", a, b) for a, b in copies]


def _classified(column: ColumnFacts) -> float:
    """The share of rows whose class is the most frequent one among the other rows of their
    bin."""
    if not column.bins:
        return 0.0
    counts = np.stack([b.counts for b in column.bins])
    total = float(counts.sum())
    enough = counts.sum(axis=1) > MIN_ROWS_PER_CELL
    return float(counts[enough].max(axis=1, initial=0.0).sum()) / max(total, 1e-300)
