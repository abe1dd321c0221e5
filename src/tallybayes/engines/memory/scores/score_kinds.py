"""The part of a table's score for each score kind that a likelihood can have."""

from __future__ import annotations

from typing import Any

from tallybayes.engines.memory.scores.bins import BinsPart
from tallybayes.engines.memory.scores.correlated import CorrelatedPart
from tallybayes.engines.memory.scores.counts import CountsPart
from tallybayes.engines.memory.scores.density import DensityPart
from tallybayes.engines.memory.scores.part import KindsPart, Part
from tallybayes.engines.memory.scores.text import TextPart

__all__ = ["group_part", "number_part", "text_part"]

NUMBERS: dict[str, type[BinsPart | DensityPart]] = {"cells": BinsPart, "density": DensityPart}
GROUPS: dict[str, type[CountsPart | CorrelatedPart]] = {
    "counts": CountsPart,
    "triangular": CorrelatedPart,
}


def number_part(name: str, likelihood: Any, n_classes: int, kinds: KindsPart | None) -> Part:
    """What a column of numbers adds to the score.

    Parameters
    ----------
    name : str
    likelihood : NumberDensity or BinnedReading
    n_classes : int
    kinds : KindsPart, optional
        The scores of a missing value, of any number and of each string beside the numbers.
    """
    return NUMBERS[likelihood.score_kind].of((name,), likelihood, n_classes, kinds)


def group_part(columns: tuple[str, ...], likelihood: Any, n_classes: int) -> Part:
    """What a group of columns adds to the score; `likelihood` is a GroupLikelihood."""
    kind = GROUPS[likelihood.score_kind]
    return kind(columns=columns, likelihood=likelihood, n_classes=n_classes)


def text_part(name: str, likelihood: Any, analyzer: Any, n_classes: int) -> Part:
    """What a column of text adds to the score; `likelihood` is a DocumentLikelihood."""
    return TextPart(columns=(name,), likelihood=likelihood, analyzer=analyzer, n_classes=n_classes)
