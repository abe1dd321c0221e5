"""One row at a time: how a dict is read, which labels are allowed, and how it is counted.

Rows learned one by one are counted into a separate tally, which is merged into the model's when the
model is next read. So learning does not read the model, and reading sees every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.engines.table_score import (
    ANY,
    DATES,
    EITHER,
    IGNORED,
    NUMBERS,
    PLAIN,
    STRINGS,
    UNDECIDED,
    UNKNOWN,
    Counter,
    empty_counter,
)
from tallybayes.models.declarations import Declared
from tallybayes.models.rows import held_values
from tallybayes.schema import Schema
from tallybayes.validation import (
    is_missing_label,
    label_array,
    labels_and_codes,
    read_labels,
)

__all__ = ["LabelRule", "as_row", "row_counter"]


def as_row(x: Any) -> dict[Any, Any]:
    """A row as a dict: one as it is, or what another mapping or a series holds by name.

    Raises
    ------
    TypeError
        For what has no names, or has two dimensions.
    """
    if isinstance(x, dict):
        return x
    if not hasattr(x, "keys") or getattr(x, "ndim", 1) != 1:
        raise TypeError(
            f"a row is a dict of values by column, or a series with their names, got a "
            f"{type(x).__name__}: of several rows, use the methods for tables"
        )
    return dict(x)


class LabelRule:
    """Refuses a label with which waiting rows could not be merged. Asked about new labels only.

    Parameters
    ----------
    classes : array-like or None
        The classes that the model has, or declares.
    max_levels : int or None
        How many classes there may be, where their prior is given.
    """

    known: set[Any]

    def __init__(self, classes: Any, max_levels: int | None) -> None:
        self.known = set() if classes is None else set(label_array(classes).ravel().tolist())
        self.max_levels = max_levels

    def __call__(self, label: Any) -> None:
        if label in self.known:
            return
        if is_missing_label(label):
            raise ValueError(f"a row to learn has a label, got {label!r}")
        array = np.asarray([label])
        if array.ndim != 1:
            raise TypeError(f"a label is a string, a number or a boolean, got {label!r}")
        labels_and_codes(read_labels(array, array, "learn_one"))
        other = next(iter(self.known), label)
        if isinstance(label, str) != isinstance(other, str) or array.tolist() != [label]:
            raise ValueError(f"the label {label!r} is of another type than {other!r}")
        if self.max_levels is not None and len(self.known) >= self.max_levels:
            raise ValueError(f"the label {label!r} has no place in the class prior that is given")
        self.known.add(label)


def row_counter(
    names: list[str], schema: Schema | None, what: Declared, rule: LabelRule
) -> Counter:
    """An empty counter of rows with these columns."""
    held = {} if schema is None else held_values(schema)
    holds, dates = [], []
    correlated = what.correlated
    for name in names:
        if what.is_text(name):
            dates.append(ANY)
        elif name in correlated:
            dates.append(PLAIN)
        elif name in held:
            dates.append(DATES if held[name].dates else PLAIN)
        else:
            dates.append(UNKNOWN)
        if what.left_out(name):
            holds.append(IGNORED)
        elif what.is_text(name):
            holds.append(STRINGS)
        elif what.is_number(name):
            holds.append(NUMBERS)
        else:  # a type as a key of columns= has to see the first value
            holds.append(UNDECIDED if what.by_type and name not in held else EITHER)
    least = [what.least(name) for name in names]
    others = UNDECIDED if what.by_type else EITHER
    counter = empty_counter(names, holds, least, dates, others, rule)
    for j, name in enumerate(names):
        max_levels = what.most_levels(name)
        if max_levels is not None:
            levels = what.levels(name)
            if levels is None:
                levels = _levels_of(schema, name)
            counter.declare(j, levels, max_levels)
        elif name in held and held[name].numbers and not held[name].strings:
            counter.declare(j, [], 0)  # its first string is read as a table: it may be infinite
    at = {name: j for j, name in enumerate(names)}
    for members, kind in what.together.items():
        if kind == "cross":
            counter.add_group([at[name] for name in members])
    return counter


def _levels_of(schema: Schema | None, name: str) -> list[str]:
    """The levels that a column has so far."""
    for group in () if schema is None else schema.groups:
        if group.key == ((name,), "levels") and group.levels is not None:
            return group.levels[0].tolist()  # type: ignore[no-any-return]
    return []
