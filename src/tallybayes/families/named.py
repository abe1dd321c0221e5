"""A family by its name and parameters, as people write it: ``binned(bins=16)``."""

from __future__ import annotations

import ast
import re
import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tallybayes.errors import listed, suggestion
from tallybayes.families.registry import family_names, family_of_name

__all__ = ["family_of_text"]

MINIMUM = {"bins": 1}
SHAPE = re.compile(r"(?P<name>[\w-]+)\s*(?:\((?P<given>.*)\))?\s*", re.DOTALL)


def family_of_text(text: str) -> Any:
    """Make the family that a text names, with its parameters. Nothing is executed.

    Parameters
    ----------
    text : str
        A name as :func:`family_names` gives it, and parameters in parentheses, such as
        "binned(bins=16)"; a bare word is a string.

    Returns
    -------
    Family
        With these parameters.

    Raises
    ------
    ValueError
        If there is no such family or parameter, or a value does not fit.

    Examples
    --------
    >>> from tallybayes.families import family_of_text
    >>> family_of_text("binned(bins=16)").bins
    16
    """
    found = SHAPE.fullmatch(text)
    kind: Any = None if found is None else family_of_name(found["name"].lower())
    if found is None or kind is None:
        known = family_names(alone=True)
        raise ValueError(f"{text!r} is not a family: {listed(known)}.{suggestion(text, known)}")
    hints = get_type_hints(kind)
    known_parameters = {f.name: (hints[f.name], f.default) for f in fields(kind) if f.init}
    try:
        return kind(**_values(found["name"].lower(), found["given"] or "", known_parameters))
    except TypeError as error:
        raise ValueError(str(error)) from None


def _values(name: str, given: str, known: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The values in the parentheses; nothing is executed."""
    has = f"{name} has " + ", ".join(f"{k}={default!r}" for k, (_, default) in known.items())
    try:
        call = ast.parse(f"f({given})", mode="eval").body
        assert isinstance(call, ast.Call)
        values = {word.arg: _value(word.value) for word in call.keywords}
        if call.args or None in values or len(values) < len(call.keywords):
            raise ValueError
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        raise ValueError(
            f"in parentheses are parameters as name=value, with commas between them; {has}"
        ) from None
    for key, value in values.items():
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}; {has}.{suggestion(str(key), known)}"
            )
        if key in MINIMUM and isinstance(value, int) and value < MINIMUM[key]:
            raise ValueError(f"{key} is at least {MINIMUM[key]}, not {value}")
        if not _fits(value, known[str(key)][0]):
            allowed = _allowed_values(known[str(key)][0])
            raise ValueError(f"{key} is {allowed}, not {value!r}; {has}")
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
