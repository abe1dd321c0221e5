"""The chosen families of columns of numbers in a model file: one array for each field.

A file without them, such as one of 0.1.0, can be read: the choices are then made again, with the
same result.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.choice import ReadAs
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.persistence import array, need

__all__ = ["plain_choices", "restore_choices"]

FAMILIES: tuple[Literal["gaussian", "atoms", "bins", "smooth", "counts"], ...]
FAMILIES = ("gaussian", "atoms", "bins", "smooth", "counts")
PREFIX = "choices."
TYPES = {
    "column": "i8",
    "family": "i8",
    "likelihood": "f8",
    "bins": "i8",
    "width": "i8",
    "strength": "f8",
}


def plain_choices(model: TableModel) -> dict[str, NDArray[Any]]:
    """The choices of a table's model as arrays: the place of each column among all, and what it is
    read as."""
    if isinstance(model, WeightedModel) or not len(model.schema.classes):
        return {}
    place = {name: i for i, name in enumerate(model.seen.seen)}
    made = [
        (place[name], FAMILIES.index(c.family), c.likelihood, c.bins, c.width, c.strength)
        for name, c in model.choices.items()
        if np.isfinite(c.likelihood)
    ]
    made.sort()
    return {
        PREFIX + name: np.array([one[i] for one in made], dtype=kind)
        for i, (name, kind) in enumerate(TYPES.items())
        if made
    }


def restore_choices(model: TableModel, arrays: dict[str, Any]) -> None:
    """The inverse of :func:`plain_choices`.

    Raises
    ------
    Unfit
        For what no choice is, or that of no such column.
    """
    held = {name.removeprefix(PREFIX): a for name, a in arrays.items() if name.startswith(PREFIX)}
    if not held:
        return
    need(not isinstance(model, WeightedModel), "a weighted model has no choices of families")
    need(held.keys() == TYPES.keys(), "choices have a value of each kind")
    n = len(
        array("i8", -1, minimum=0, maximum=len(model.seen.seen) - 1)(
            held["column"], "choices.column"
        )
    )
    for name, kind in TYPES.items():
        array(kind, n)(held[name], PREFIX + name)
    column, family = held["column"], held["family"]
    need(bool((column[1:] > column[:-1]).all()), "choices name each column once, in order")
    array("i8", n, minimum=0, maximum=len(FAMILIES) - 1)(family, "choices.family")
    choices = {
        model.seen.seen[j]: ReadAs(FAMILIES[kind], *rest)
        for j, kind, *rest in zip(*(held[name].tolist() for name in TYPES), strict=True)
    }
    fits = len(model.schema.classes) > 0 and model.take_choices(choices)
    need(fits, "choices are what columns of numbers can be read as")
