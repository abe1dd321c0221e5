"""Sufficient statistics: exactly what was counted, and nothing else."""

from __future__ import annotations

from tallybayes.tally.base import Tally
from tallybayes.tally.classes import ClassCounts
from tallybayes.tally.cross import CrossMoments
from tallybayes.tally.effective import UNIT_ROWS, RowWeights, effective_row_weight, effective_rows
from tallybayes.tally.grid import GridCounts
from tallybayes.tally.levels import LevelCounts
from tallybayes.tally.moments import Moments
from tallybayes.tally.sums import FeatureSums
from tallybayes.tally.table import TableTally
from tallybayes.tally.terms import TermCounts
from tallybayes.tally.text import TextCounts

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
