"""The families of columns by name: for declarations, the command line and model files.

A built-in family is one line here. Other packages register theirs with :func:`register_family`, or
name them in the entry-point group ``tallybayes.families``:

    [project.entry-points."tallybayes.families"]
    von-mises = "angles:VonMises"
"""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.binned import Binned, Smooth
from tallybayes.families.categorical import Categorical
from tallybayes.families.contract import ColumnFamily
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.negative_binomial import NegativeBinomial
from tallybayes.families.poisson import Poisson
from tallybayes.families.text import Text

__all__ = [
    "family_names",
    "family_of_class",
    "family_of_name",
    "is_family",
    "name_of_family",
    "register_family",
]

GROUP = "tallybayes.families"

_FAMILIES: dict[str, type[ColumnFamily]] = {
    "gaussian": Gaussian,
    "categorical": Categorical,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "negative-binomial": NegativeBinomial,
    "binned": Binned,
    "smooth": Smooth,
    "multinomial": Multinomial,
    "text": Text,
}


def register_family(name: str, family: type[ColumnFamily]) -> type[ColumnFamily]:
    """Make a family known by a name, to the command line and to model files.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and hyphens: "von-mises".
    family : type
        A frozen dataclass that is a ``LevelFamily`` or a ``NumberFamily``, see
        :mod:`tallybayes.families.contract`. Its fields are what a user sets; they are
        numbers, strings, lists or priors, so that a model file can hold them.

    Returns
    -------
    type
        The family.

    Raises
    ------
    TypeError
        For something that is not such a class.
    ValueError
        For a name of another form, or one that another family has.
    """
    _checked(family)
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(
            "a family's name has lower-case letters, digits and hyphens, as in 'von-mises'; got "
            f"{name!r}"
        )
    if name == "none" or family_of_name(name) not in (None, family):
        raise ValueError(f"the name {name!r} is taken: choose another one")
    twin = next((f for f in _FAMILIES.values() if f.__name__ == family.__name__), family)
    if twin is not family:
        raise ValueError(
            f"another family is called {twin.__name__}, which is its name in model files: call "
            "this class something else"
        )
    _FAMILIES[name] = family
    return family


def _checked(family: type[ColumnFamily]) -> type[ColumnFamily]:
    """A family, or a TypeError."""
    if not (isinstance(family, type) and issubclass(family, ColumnFamily)):
        raise TypeError(
            "a family of columns is a class derived from LevelFamily or NumberFamily, got "
            f"{family!r}"
        )
    if not is_dataclass(family) or not family.__dataclass_params__.frozen:
        raise TypeError(
            f"{family.__name__} is not a frozen dataclass: put @dataclass(frozen=True) before the "
            "class, so that models and their files can hold it"
        )
    return family


@cache
def _others() -> dict[str, EntryPoint]:
    """The families that installed packages name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def family_names(*, alone: bool = False) -> list[str]:
    """List the names of all families.

    Parameters
    ----------
    alone : bool, default=False
        Whether those of groups of columns only are left out.

    Returns
    -------
    list of str
        The names, those of other packages last.
    """
    mine = [name for name, family in _FAMILIES.items() if family.alone or not alone]
    return [*mine, *(name for name in _others() if name not in _FAMILIES)]


def family_of_name(name: str) -> type[ColumnFamily] | None:
    """Find the family of a name.

    Parameters
    ----------
    name : str
        As the command line and model files call it.

    Returns
    -------
    type or None
        Its class; None where there is none.

    Raises
    ------
    ImportError, AttributeError, TypeError, ValueError
        Where an installed package names a family that it does not have, or that is not one.
    """
    if name not in _FAMILIES and name in _others():
        _FAMILIES[name] = _checked(_others()[name].load())
    return _FAMILIES.get(name)


def family_of_class(name: str) -> type[ColumnFamily] | None:
    """The family whose class has this name, as a model file names it; None where there is none.

    Families that installed packages name are loaded for it.
    """
    for known in family_names():
        family = family_of_name(known)
        if family is not None and family.__name__ == name:
            return family
    return None


def is_family(value: object) -> bool:
    """Whether something is a family of columns, registered or not."""
    return isinstance(value, ColumnFamily)


def name_of_family(family: type) -> str | None:
    """The name that a family is registered by; None where it is not."""
    found = [name for name, known in _FAMILIES.items() if known is family]
    return found[0] if found else None
