"""``--column NAME=FAMILY`` and ``--column NAME=FAMILY(parameter=value, …)``."""

from __future__ import annotations

import re
from typing import Any

from tallybayes.cli.messages import USAGE, Failure
from tallybayes.errors import listed, suggestion
from tallybayes.families import family_names, family_of_text

__all__ = ["column_families", "is_text", "named_families"]

SHAPE = re.compile(r"(?P<name>.+?)=\s*(?P<family>[\w-]+)\s*(?P<given>\(.*\))?\s*", re.DOTALL)


def named_families() -> list[str]:
    """The names that a column can be given."""
    return [*family_names(alone=True), "none"]


def is_text(family: Any) -> bool:
    """Whether a column is declared as documents."""
    return getattr(family, "reads", "") == "documents"


def column_families(given: list[str] | None) -> dict[str, Any]:
    """Families by column name.

    Raises
    ------
    Failure
        With the code for usage, naming the families, or the parameters of the family.
    """
    families: dict[str, Any] = {}
    known = named_families()
    for text in given or []:
        found = SHAPE.fullmatch(text)
        family = "" if found is None else found["family"].lower()
        if found is None or family not in known:
            hint = suggestion(family, known) if family else ""
            raise Failure(
                f"--column {text!r} is not NAME=FAMILY, or NAME=FAMILY(parameter=value), with a "
                f"family of {listed(known)} (none leaves the column out).{hint}",
                USAGE,
            )
        if found["name"] in families:
            raise Failure(f"--column names {found['name']!r} twice: keep one", USAGE)
        parameters = found["given"] or ""
        if family == "none" and parameters.strip("() "):
            raise Failure(f"--column {text!r}: none has no parameters", USAGE)
        try:
            made = None if family == "none" else family_of_text(family + parameters)
        except ValueError as error:
            raise Failure(f"--column {text!r}: {error}", USAGE) from None
        families[found["name"]] = made
    return families
