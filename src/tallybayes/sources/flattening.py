"""Objects within rows as columns: the key b of an object in column a is the column a.b."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tallybayes.sources.arrow_types import is_mixed

__all__ = ["Flattening", "SameName", "flat", "flat_schema", "flatten_hint", "flattened"]

Path = tuple[str, ...]
"""The keys of a value, from the outermost on."""

HINT = "; --flatten (in Python, tallybayes.files(path, flatten=True)) reads its keys as columns"


def flatten_hint(kind: str) -> str:
    """What reads a column of this type, where it holds objects; else nothing."""
    return HINT if kind == "object" or kind.startswith("struct<") else ""


def flat(row: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The values of a row that are no objects, with the keys of each; None for null and for an
    object without keys."""
    waiting: list[tuple[Path, Any]] = [
        ((key,), value) for key, value in reversed(list(row.items()))
    ]
    while waiting:  # and no recursion: objects may be deep
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [((*path, key), inner) for key, inner in reversed(list(value.items()))]
        else:
            yield path, value or None if isinstance(value, dict) else value


class SameName(ValueError):
    """Two keys that would be one column."""


class Flattening:
    """The columns of a file whose objects are flattened; they may come late, and on any thread."""

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}
        self._null: dict[Path, None] = {}  # where null stood, perhaps for an object

    def without_values(self) -> list[str]:
        """The columns that have had no value so far, and no object in their place."""
        within = {path[:i] for path in self._paths.values() for i in range(len(path))}
        names = [".".join(path) for path in self._null if path not in within]
        return [name for name in names if name not in self._paths]

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with the keys of its objects as columns; nulls are left out.

        Raises
        ------
        SameName
        """
        found: dict[str, Any] = {}
        for path, value in flat(row):
            if value is None:
                self._null[path] = None
            else:
                found[self.name(path)] = value
        return found

    def name(self, path: Path) -> str:
        """The name of the column of a path.

        Raises
        ------
        SameName
            If keys by other paths have this name.
        """
        name = ".".join(path)
        known = self._paths.setdefault(name, path)
        if known != path:
            first, second = sorted([known, path], key=len)
            raise SameName(
                f"{_shown(first)} and {_shown(second)} would both be the column {name!r}: rename "
                "one of them, or read the file without --flatten (flatten=True in Python)"
            )
        return name

    def table(self, table: Any) -> tuple[Any, dict[str, Path]]:
        """A table of Arrow, flattened, and the path of each of its columns; columns without a value
        are left out.

        Raises
        ------
        SameName
        """
        columns: dict[str, Any] = {}
        paths: dict[str, Path] = {}
        waiting: list[tuple[Path, Any]] = [
            ((name,), table.column(name)) for name in reversed(table.column_names)
        ]
        while waiting:
            path, column = waiting.pop()
            if pa.types.is_struct(column.type) and column.type.num_fields:
                inner = zip([field.name for field in column.type], column.flatten(), strict=True)
                waiting += [((*path, key), values) for key, values in reversed(list(inner))]
            elif pa.types.is_struct(column.type) or column.null_count == len(column):
                self._null[path] = None
            else:
                name = self.name(path)
                columns[name], paths[name] = column, path
        if not columns:
            return table.select([]), {}
        return pa.table(columns), paths


def _shown(path: Path) -> str:
    """A key, for messages."""
    *outer, key = path
    return f"the key {key!r}" + (f" within {'.'.join(outer)!r}" if outer else "")


# ---- Arrow ---------------------------------------------------------------------------------------
def flattened(table: Any) -> Any:
    """A table of a typed file with the fields of its structs as columns; a struct of a number and a
    text is one column."""
    names: list[str] = []
    columns: list[Any] = []
    waiting = [(name, table.column(i)) for i, name in enumerate(table.column_names)][::-1]
    while waiting:
        name, column = waiting.pop()
        if pa.types.is_struct(column.type) and not is_mixed(column.type):
            inner = zip([field.name for field in column.type], column.flatten(), strict=True)
            waiting += [(f"{name}.{key}", values) for key, values in reversed(list(inner))]
        else:
            names.append(name)
            columns.append(column)
    return pa.table(columns, names=names)


def flat_schema(schema: Any) -> Any:
    """The schema of a flattened table."""
    return flattened(schema.empty_table()).schema
