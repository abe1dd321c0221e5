"""Which declarations let the counts of two models of tables be added."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.errors import IncompatibleTallies
from tallybayes.models.columns.declarations import Declared
from tallybayes.models.columns.mixed import Held
from tallybayes.models.table import TableModel
from tallybayes.tally import GridCounts

__all__ = ["need_same_declarations"]

UNDECLARED = "no family"


def need_same_declarations(mine: TableModel, theirs: TableModel) -> None:
    """Raises IncompatibleTallies where a column is declared in two ways, or where what one model
    has counted of it is not what the other declares.

    Two families of one type may differ in their hyperparameters: these are read, not counted.
    """
    here, there = mine.reading.declared, theirs.reading.declared
    names = dict.fromkeys([*_named(here), *_named(there)])
    for name in names:
        one, other = _family(here, name), _family(there, name)
        if one == UNDECLARED:
            wrong = _misfit(there, name, mine)
        elif other == UNDECLARED:
            wrong = _misfit(here, name, theirs)
        else:
            wrong = "" if _alike(here, there, name) else "declare the same columns= for all parts"
        if wrong:
            raise IncompatibleTallies(
                f"column {name!r} is declared as {_shown(one)} in one model and as "
                f"{_shown(other)} in the other: {wrong}. Nothing was changed"
            )


def _named(what: Declared) -> list[str]:
    return [*what.families, *(name for names in what.groups for name in names)]


def _family(what: Declared, name: str) -> Any:
    """The family that is declared for a column, by name; that of its type is not."""
    for names, family in what.groups.items():
        if name in names:
            return family
    if name not in what.families:
        return UNDECLARED
    family = what.families[name]
    by_type = any(repr(family) == repr(given) for _, given in what.by_type)
    return UNDECLARED if by_type else family


def _shown(family: Any) -> str:
    return family if isinstance(family, str) else "left out" if family is None else repr(family)


def _group(what: Declared, name: str) -> tuple[str, ...]:
    return next((names for names in what.groups if name in names), ())


def _alike(here: Declared, there: Declared, name: str) -> bool:
    """Whether two declared families count, and read, the same thing."""
    one, other = _family(here, name), _family(there, name)
    return (
        type(one) is type(other)
        and _group(here, name) == _group(there, name)
        and here.levels(name) == there.levels(name)
        and here.least(name) == there.least(name)
    )


def _misfit(what: Declared, name: str, model: TableModel) -> str:
    """What a model that does not declare a column has counted of it that its family elsewhere
    cannot read; empty where there is nothing."""
    held = model.counted.get(name, Held())
    if not held.strings and not held.numbers:
        return ""
    if what.left_out(name):
        return "its values are counted in one of them only; leave it out of both"
    if name in what.grouped:
        return "it is counted by itself in one of them; declare the group in both"
    if what.is_text(name):
        if held.numbers:
            return "numbers were learned as such, which are not levels"
        declared = what.levels(name)
        unknown = [] if declared is None else sorted(_levels(model, name) - set(declared))
        return f"{unknown[0]!r} was learned, which is not declared" if unknown else ""
    if held.strings:
        return "strings were learned, which are not numbers"
    lowest = _lowest(model, name)
    least = what.least(name)
    if least and (lowest < 0.0 or (least == 2 and lowest == 0.0)):
        return f"{lowest:.17g} was learned, which the family does not take"
    return ""


def _levels(model: TableModel, name: str) -> set[str]:
    found: set[str] = set()
    for group in model.schema.groups:
        if group.key == ((name,), "levels") and group.levels is not None:
            found = set(group.levels[0].tolist())
    return found


def _lowest(model: TableModel, name: str) -> float:
    """The lowest number of a column, or a little less."""
    for group, tally in zip(model.schema.groups, model.tally.groups, strict=True):
        if group.key == ((name,), "grid") and isinstance(tally, GridCounts):
            return float(tally.values().min(initial=np.inf))
    return np.inf
