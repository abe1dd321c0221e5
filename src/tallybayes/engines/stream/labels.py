"""Labels of text files, which have no types: all labels together determine the type.

So the tallies of typed and untyped rows are kept separately until all rows are counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.groups import merged_tables
from tallybayes.tally import TableTally

__all__ = ["TalliesByType"]

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH = {"False": False, "True": True}


def _labels_read(labels: NDArray[Any]) -> dict[str, Any] | None:
    """By label as it is written, what it is: a whole number where all are written as such, a
    boolean where all are True or False. None where they are the strings that they are."""
    written = labels.tolist()
    if all(label in TRUTH for label in written):
        return {label: TRUTH[label] for label in written}
    if all(isinstance(label, str) and WHOLE.fullmatch(label) for label in written):
        return {label: int(label) for label in written}
    return None


def _with_labels(tally: TableTally, read: Mapping[str, Any]) -> TableTally:
    """A tally under other labels, in their order."""
    labels = np.array([read[label] for label in tally.schema.classes.tolist()])
    order = np.argsort(labels)
    schema = replace(tally.schema, classes=labels[order])
    groups = tuple(group.take(order) for group in tally.groups)
    return TableTally(schema, tally.classes.take(order), groups)


@dataclass(frozen=True, eq=False)
class TalliesByType:
    """The tallies of the parts of a source, by the type of their labels.

    Parameters
    ----------
    tallies : dict
        Of the rows that have types (True), and of those that have none (False).
    """

    tallies: dict[bool, TableTally]

    def column_names(self) -> set[str]:
        """The columns that hold values."""
        groups = [group for tally in self.tallies.values() for group in tally.schema.groups]
        return {name for group in groups for name in group.names or ()}

    def joined(self, later: TalliesByType, factor: float | None = None) -> TalliesByType:
        """With those of later rows, for which these are multiplied by the factor."""
        both = self.tallies
        if factor is not None:
            both = {typed: tally * factor for typed, tally in both.items()}
        both = dict(both)
        for typed, tally in later.tallies.items():
            both[typed] = merged_tables(both[typed], tally) if typed in both else tally
        return TalliesByType(both)

    def read(self) -> tuple[TableTally, dict[str, Any] | None]:
        """The tally of all rows; and by label of a text file as it is written, what it is, None
        where labels are as they are written."""
        tallies, labels = dict(self.tallies), None
        if False in tallies:
            labels = _labels_read(tallies[False].schema.classes)
            if labels is not None:
                tallies[False] = _with_labels(tallies[False], labels)
        return reduce(merged_tables, tallies.values()), labels
