"""What a shell completes: the names of columns, read from the header of the data."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["column_families_of", "columns_of"]


def columns_of(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the data on the line so far that begin with what was typed."""
    from tallybayes.sources.files import header_of, source_of_paths

    names: list[str] = []
    how = {"sheet": ctx.params.get("sheet"), "flatten": bool(ctx.params.get("flatten"))}
    given = [ctx.params.get("train"), ctx.params.get("data"), ctx.args]
    for path in [path for paths in given for path in paths or []]:
        if not os.path.exists(path):
            continue
        try:
            names += header_of(source_of_paths([path], **how))
        except Exception:
            continue
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def column_families_of(ctx: Any, incomplete: str) -> list[str]:
    """NAME= for the columns, and NAME=FAMILY once a name is complete."""
    name, equals, _ = incomplete.rpartition("=")
    if not equals:
        return [f"{column}=" for column in columns_of(ctx, incomplete)]
    from tallybayes.cli.arguments.families import named_families

    return [f"{name}={family}" for family in named_families() if f"{name}={family}" != incomplete]
