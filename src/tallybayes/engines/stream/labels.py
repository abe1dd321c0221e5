"""Labels of text files, which have no types: what they are, all of them say together."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from tallybayes.tally import TableTally

__all__ = ["with_labels_read"]

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH = {"False": False, "True": True}


def with_labels_read(tally: TableTally) -> TableTally:
    """A tally whose classes are whole numbers where all labels are written as such, booleans where
    all are True or False, else the strings that they are."""
    labels = tally.schema.classes.tolist()
    if all(label in TRUTH for label in labels):
        read = np.array([TRUTH[label] for label in labels])
    elif all(isinstance(label, str) and WHOLE.fullmatch(label) for label in labels):
        read = np.array([int(label) for label in labels])
    else:
        return tally
    order = np.argsort(read)
    schema = replace(tally.schema, classes=read[order])
    groups = tuple(group.take(order) for group in tally.groups)
    return TableTally(schema, tally.classes.take(order), groups)
