"""Arrow's types, as the readers of tables treat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tallybayes.errors import LeftOutWarning, SourceError, warn_user
from tallybayes.sources.contract import SourceColumn

__all__ = ["columns_of", "is_mixed", "is_text", "names_read", "readable"]


def is_text(kind: Any) -> bool:
    """Whether a type is that of strings."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _kind(kind: Any) -> str | None:
    if pa.types.is_dictionary(kind):
        return None if _kind(kind.value_type) is None else "category"
    if pa.types.is_interval(kind):  # of months and days, which have no common length
        return None
    if pa.types.is_nested(kind):
        return "mixed" if is_mixed(kind) else None
    tests = {
        "boolean": pa.types.is_boolean,
        "integer": pa.types.is_integer,
        "float": lambda t: any(
            f(t) for f in (pa.types.is_floating, pa.types.is_duration, pa.types.is_time)
        ),
        "decimal": pa.types.is_decimal,
        "date": lambda t: pa.types.is_date(t) or pa.types.is_timestamp(t),
    }
    return next((name for name, test in tests.items() if test(kind)), "text")


def is_mixed(kind: Any) -> bool:
    """Whether a type is that of numbers beside strings: struct<number, text>."""
    return bool(pa.types.is_struct(kind)) and {field.name for field in kind} == {"number", "text"}


def _no_hint(kind: str) -> str:
    return ""


def columns_of(schema: Any) -> dict[str, SourceColumn]:
    """The columns of an Arrow schema by name."""
    return {
        field.name: SourceColumn(field.name, _kind(field.type), str(field.type)) for field in schema
    }


def names_read(
    schema: Any, names: Sequence[str] | None, where: str, hint: Callable[[str], str] = _no_hint
) -> list[str]:
    """The columns to read of an Arrow schema; see :func:`readable`."""
    columns = [SourceColumn(field.name, _kind(field.type), str(field.type)) for field in schema]
    return readable(columns, names, where, hint)


def readable(
    columns: Sequence[SourceColumn],
    names: Sequence[str] | None,
    where: str,
    hint: Callable[[str], str] = _no_hint,
) -> list[str]:
    """The columns to read.

    Without `names`, columns that hold no scalars are left out, with a warning. `hint` says what
    reads a column of a type.

    Raises
    ------
    SourceError
        If two columns have one name, or one of `names` is not there or holds no scalars.
    """
    there = [column.name for column in columns]
    by_name = dict(zip(there, columns, strict=True))
    if len(by_name) < len(there):
        twice = next(name for name in there if there.count(name) > 1)
        raise SourceError(f"{where}: two columns are named {twice!r}: rename or remove one")
    if names is None:
        nested = {name: column.type for name, column in by_name.items() if column.kind is None}
        for name, kind in nested.items():
            warn_user(
                f"{where}: column {name!r} is of the type {kind}, which is not a scalar, and is "
                f"left out{hint(kind)}",
                LeftOutWarning,
            )
        return [name for name in there if name not in nested]
    for name in names:
        if name not in by_name:
            raise SourceError(f"{where} has no column {name!r}; its columns are {there}")
        kind = by_name[name].type
        if by_name[name].kind is None:
            raise SourceError(
                f"{where}: column {name!r} is of the type {kind}; columns hold numbers, strings, "
                f"booleans or dates: unpack it or leave it out{hint(kind)}"
            )
    return list(names)
