"""Sufficient statistics: exactly what was counted, and nothing else."""

from __future__ import annotations

from tallybayes.tally.base import (
    UNIT_ROWS,
    ClassCounts,
    FeatureSums,
    LevelCounts,
    RowWeights,
    Tally,
    effective_row_weight,
    effective_rows,
)
from tallybayes.tally.numbers import CrossMoments, GridCounts, Moments
from tallybayes.tally.table import TableTally
from tallybayes.tally.terms import TermCounts, TextCounts

__all__ = [
    "UNIT_ROWS",
    "ClassCounts",
    "CrossMoments",
    "FeatureSums",
    "GridCounts",
    "LevelCounts",
    "Moments",
    "RowWeights",
    "TableTally",
    "Tally",
    "TermCounts",
    "TextCounts",
    "effective_row_weight",
    "effective_rows",
]
