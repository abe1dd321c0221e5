"""Parameters in a model file: families, types and NumPy types by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from tallybayes import families
from tallybayes.families.registry import family_of_class, is_family, name_of_family
from tallybayes.models.declarations import KINDS
from tallybayes.persistence import Unfit, need, text

__all__ = ["field_values", "plain", "restored"]

PRIORS = {
    prior.__name__: prior
    for prior in (
        families.Beta,
        families.Complement,
        families.Dirichlet,
        families.Gamma,
        families.NormalInverseGamma,
        families.NormalInverseWishart,
    )
}
"""What a file can name besides the families of columns; nothing else is looked up by a name."""

FAMILY = "tallybayes.family"  # the key that marks a family among parameters
TYPE = "tallybayes.type"  # marks a type among the keys of columns=
TYPES = {t.__name__: t for t in KINDS}
DTYPE = "tallybayes.dtype"  # marks a NumPy type among them


def field_values(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def plain(value: Any) -> Any:
    """Parameters with each family as a dict of its name and fields."""
    if type(value) in PRIORS.values() or name_of_family(type(value)) is not None:
        return {FAMILY: type(value).__name__, **plain(field_values(value))}
    if is_family(value):
        raise TypeError(
            f"the family {type(value).__name__} has no name that a model file could hold: give it "
            "one with tallybayes.register_family, here and where the file is read"
        )
    if isinstance(value, dict):
        return {plain(key): plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, type) and value in TYPES.values():
        return (TYPE, value.__name__)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return (DTYPE, np.dtype(value).str)
    return value


def restored(value: Any, where: str) -> Any:
    """The inverse of :func:`plain`.

    Raises
    ------
    Unfit
        For a family, a type or a field that this version does not have.
    """
    if isinstance(value, dict) and FAMILY in value:
        return _family(value, where)
    if isinstance(value, dict):
        pairs = [(restored(k, where), restored(v, f"{where}[{k!r}]")) for k, v in value.items()]
        return dict(pairs)
    if isinstance(value, list):
        return [restored(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == TYPE:
        need(text(value[1], where) in TYPES, f"{where} names the type {value[1]!r}")
        return TYPES[value[1]]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == DTYPE:
        return constructed(np.dtype, where, text(value[1], where)[:32])
    return value


def constructed(make: Callable[..., Any], where: str, *args: Any, **kwargs: Any) -> Any:
    """``make(...)``, which checks what it takes; a file that holds what it refuses is damaged."""
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"{where}: {error}") from error


def _family(given: dict[str, Any], where: str) -> Any:
    held = dict(given)
    name = text(held.pop(FAMILY), f"the family of {where}")
    family: Any = PRIORS.get(name) or family_of_class(name)
    need(family is not None, f"{where} names the family {name!r}, which this version does not have")
    known = {field.name for field in fields(family)}
    for key in held:
        need(key in known, f"{where}: {name} has no {key!r}")
    values = {key: restored(v, f"{where}.{key}") for key, v in held.items()}
    return constructed(family, where, **values)
