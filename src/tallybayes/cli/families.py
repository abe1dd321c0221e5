"""``--column NAME=FAMILY`` and ``--column NAME=FAMILY(parameter=value, …)``."""

from __future__ import annotations

import ast
import re
import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tallybayes.cli.messages import USAGE, Failure
from tallybayes.errors import listed, suggestion
from tallybayes.families import family_names, family_of_name

__all__ = ["column_families", "is_text", "named_families"]


MINIMUM = {"bins": 1}
SHAPE = re.compile(r"(?P<name>.+?)=\s*(?P<family>[\w-]+)\s*(?:\((?P<given>.*)\))?\s*", re.DOTALL)


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
    families, known = {}, named_families()
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
        families[found["name"]] = _family(text, family, found["given"])
    return families


def _family(text: str, name: str, given: str | None) -> Any:
    """One family with its parameters."""
    kind = None if name == "none" else family_of_name(name)
    if kind is None:
        if given:
            raise Failure(f"--column {text!r}: none has no parameters", USAGE)
        return None
    known = _parameters(kind)
    values = _values(text, name, given or "", known)
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise Failure(f"--column {text!r}: {error}", USAGE) from None


def _parameters(kind: Any) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each parameter of a family."""
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f.default) for f in fields(kind) if f.init}


def _values(text: str, name: str, given: str, known: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The values in the parentheses; nothing is executed."""
    has = f"{name} has " + ", ".join(f"{k}={default!r}" for k, (_, default) in known.items())
    try:
        call = ast.parse(f"f({given})", mode="eval").body
        assert isinstance(call, ast.Call)
        values = {word.arg: _value(word.value) for word in call.keywords}
        if call.args or None in values or len(values) < len(call.keywords):
            raise ValueError
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        raise Failure(
            f"--column {text!r}: in parentheses are parameters as name=value, with commas between "
            f"them; {has}",
            USAGE,
        ) from None
    for key, value in values.items():
        if key not in known:
            hint = suggestion(str(key), known)
            raise Failure(
                f"--column {text!r}: {name} has no parameter {key!r}; {has}.{hint}", USAGE
            )
        if key in MINIMUM and isinstance(value, int) and value < MINIMUM[key]:
            raise Failure(
                f"--column {text!r}: {key} is at least {MINIMUM[key]}, not {value}", USAGE
            )
        if not _fits(value, known[str(key)][0]):
            allowed = _allowed_values(known[str(key)][0])
            raise Failure(f"--column {text!r}: {key} is {allowed}, not {value!r}; {has}", USAGE)
    return {str(key): value for key, value in values.items()}


def _value(node: ast.expr) -> Any:
    """A literal; a bare word is a string, for a shell takes quotes away."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    return ast.literal_eval(node)


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value can be of a type; types that are not simple are left to the family."""
    for option in _options(hint):
        if get_origin(option) is Literal:
            fits = value in get_args(option)
        elif option is float:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        elif option is int:
            fits = isinstance(value, int) and not isinstance(value, bool)
        elif option in (str, bool, type(None)):
            fits = isinstance(value, option)
        else:
            fits = isinstance(value, list)
        if fits:
            return True
    return False


def _allowed_values(hint: Any) -> str:
    """A type in words."""
    words = {int: "a whole number", float: "a number", str: "a string", bool: "True or False"}
    allowed: list[str] = []
    for option in _options(hint):
        if get_origin(option) is Literal:
            allowed += map(repr, get_args(option))
        else:
            allowed.append(words.get(option, "None" if option is type(None) else "a list"))
    return " or ".join(allowed)
