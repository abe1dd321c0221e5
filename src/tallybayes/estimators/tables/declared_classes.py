"""Declared classes: they may occur even if no row has them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tallybayes.schema import Schema
from tallybayes.tally import TableTally
from tallybayes.validation import label_array, labels_and_codes

__all__ = ["labels_named", "with_classes"]


def with_classes(tally: TableTally, classes: Any) -> TableTally:
    """A tally with classes that may occur, beside its own."""
    if classes is None:
        return tally
    more = labels_named(classes)
    return tally.aligned(tally.schema.join(Schema(more, (), by_name=True)))


def labels_named(classes: Any) -> NDArray[Any]:
    """The labels that ``classes=`` names, sorted."""
    return labels_and_codes(label_array(classes).ravel())[0]
