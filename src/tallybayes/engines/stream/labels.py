"""Labels of text files, which have no types: what they are, all of them say together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally import TableTally

__all__ = ["labels_read", "with_labels", "with_labels_read"]

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH = {"False": False, "True": True}


def labels_read(labels: NDArray[Any]) -> dict[str, Any] | None:
    """By label as it is written, what it is: a whole number where all are written as such, a
    boolean where all are True or False. None where they are the strings that they are."""
    written = labels.tolist()
    if all(label in TRUTH for label in written):
        return {label: TRUTH[label] for label in written}
    if all(isinstance(label, str) and WHOLE.fullmatch(label) for label in written):
        return {label: int(label) for label in written}
    return None


def with_labels(tally: TableTally, read: Mapping[str, Any]) -> TableTally:
    """A tally under other labels, in their order."""
    labels = np.array([read[label] for label in tally.schema.classes.tolist()])
    order = np.argsort(labels)
    schema = replace(tally.schema, classes=labels[order])
    groups = tuple(group.take(order) for group in tally.groups)
    return TableTally(schema, tally.classes.take(order), groups)


def with_labels_read(tally: TableTally) -> TableTally:
    """A tally whose classes are what :func:`labels_read` says."""
    read = labels_read(tally.schema.classes)
    return tally if read is None else with_labels(tally, read)
