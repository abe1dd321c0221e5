"""Check the docstrings of every public name with numpydoc's validator.

Public names are those in ``__all__`` of the modules in `PUBLIC`, with the public methods and
properties of their classes. ``[tool.numpydoc_validation]`` in pyproject.toml says which checks are
made. Two rules of the project are added:

- A method inherits the sections of the same method of a base class, or all of its docstring, so a
  shared parameter is described once.
- A method without parameters, and a method of a family, prior or distribution, needs no section
  ``Returns``: it is named after its value, and the summary gives dtype and shape.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.validate import ERROR_MSGS, validate

PUBLIC = (
    "tallybayes",
    "tallybayes.bayes",
    "tallybayes.distributions",
    "tallybayes.errors",
    "tallybayes.families",
    "tallybayes.model_files",
    "tallybayes.plots",
    "tallybayes.sources",
    "tallybayes.testing",
    "tallybayes.store",
    "tallybayes.text",
)
VALUES = ("tallybayes.families", "tallybayes.distributions")
SECTION = re.compile(r"^ *-{3,}$", re.MULTILINE)


def checks() -> set[str]:
    """The codes of the checks that pyproject.toml asks for."""
    root = Path(__file__).resolve().parents[1]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    named = set(settings["tool"]["numpydoc_validation"]["checks"])
    return set(ERROR_MSGS) - named if "all" in named else named


def function_of(value: Any) -> Any:
    """The function of a method or a property; None for other attributes."""
    found = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    return found if inspect.isfunction(found) else None


def public_names() -> dict[str, tuple[type | None, str]]:
    """Dotted names of public objects; of a method, its class and its own name as well."""
    found: dict[str, tuple[type | None, str]] = {}
    for module in map(importlib.import_module, PUBLIC):
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{value.__module__}.{value.__qualname__}"] = (None, name)
            if inspect.isclass(value):
                found.update(methods(value))
    return {name: of for name, of in found.items() if name.startswith("tallybayes.")}


def methods(cls: type) -> Iterator[tuple[str, tuple[type, str]]]:
    """The public methods and properties of a class, by the class that defines each."""
    for name in dir(cls):
        if not name.startswith("_") and function_of(inspect.getattr_static(cls, name)):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            yield f"{owner.__module__}.{owner.__qualname__}.{name}", (owner, name)


def inherited(owner: type, name: str) -> set[str]:
    """The checks that a method needs not pass by itself."""
    function = function_of(vars(owner)[name])
    if len(inspect.signature(function).parameters) <= 1 or owner.__module__.startswith(VALUES):
        left_out = {"RT01"}
    else:
        left_out = set()
    bases = [function_of(vars(base).get(name)) for base in owner.__mro__[1:]]
    documented = [base.__doc__ for base in bases if base is not None and base.__doc__]
    if documented and not SECTION.search(function.__doc__ or ""):
        left_out |= {"PR01", "RT01"} if function.__doc__ else {"GL08"}
    return left_out


def faults() -> Iterator[str]:
    """A line for each fault."""
    asked = checks()
    for name, (owner, own) in sorted(public_names().items()):
        left_out = set() if owner is None else inherited(owner, own)
        for code, message in validate(name)["errors"]:
            undocumented = re.findall(r"'([^']*)'", message) if code == "PR01" else ["x"]
            private = all(parameter.startswith(("_", "*")) for parameter in undocumented)
            if code in asked - left_out and not private:
                yield f"{name}: {code} {message}"


def main() -> int:
    """Print the faults, and return 1 if there are any, else 0."""
    found = list(faults())
    print(*found, sep="\n")
    print(f"{len(public_names())} public names, {len(found)} faults in docstrings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
