"""Arrow's types as columns, objects within objects as columns, and groups of record batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.errors import LeftOutWarning, SourceError, warn_user
from tallybayes.sources.contract import Part, RowsKept, Source, SourceColumn
from tallybayes.tables import Column, Empty, Numbers, Strings, Table
from tallybayes.tables.columns import strings_of

__all__ = [
    "Flattening",
    "SameName",
    "arrow_of",
    "chunk_of",
    "columns_of",
    "explained",
    "flat",
    "flat_schema",
    "flatten_hint",
    "flattened",
    "grouped",
    "names_read",
    "parts_kept",
    "readable",
]


# ---- Arrow's types, as the readers of tables treat them ------------------------------------------
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


# ---- objects within rows as columns: the key b of an object in column a is the column a.b --------
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


# ---- structs as columns --------------------------------------------------------------------------
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


# ---- small batches in groups, which makes the fixed cost of a batch negligible -------------------
def grouped(batches: Iterable[Any], cells: int) -> Iterator[list[Any]]:
    """Record batches in lists that have at least so many cells, but for the last list."""
    waiting: list[Any] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows * max(1, batch.num_columns)
        if held >= cells:
            yield waiting
            waiting, held = [], 0
    if waiting:
        yield waiting


# ---- columns that stay as they are, beside those that are read -----------------------------------
def parts_kept(
    source: Source, names: Sequence[str] | None, as_written: Collection[str], kept: Sequence[str]
) -> Iterator[Part]:
    """The rows of a source in their order, with columns that are kept, as :class:`RowsKept`.

    A source with the attribute `keeps` reads them beside `names`; the columns of others are made
    Arrow's.
    """
    if not kept:
        return source.parts(names, as_written)
    if getattr(source, "keeps", False):
        return source.parts(names, as_written, kept)  # type: ignore[call-arg]  # it `keeps`
    both = None if names is None else list(dict.fromkeys([*names, *kept]))

    def read(part: Part) -> Table:
        table = part.read()
        rows = pa.table({name: arrow_of(table.columns[name]) for name in kept})
        return RowsKept(table.columns, table.n_rows, True, rows)

    return (part._replace(read=partial(read, part)) for part in source.parts(both, as_written))


def chunk_of(column: Any) -> Any:
    """A column of a table as one array."""
    column = column.combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def arrow_of(column: Column) -> Any:
    """A column as an Arrow array; numbers and strings beside each other are strings."""
    if isinstance(column, Empty):
        return pa.nulls(column.n_rows, pa.string())
    if isinstance(column, Numbers):
        values = np.asarray(column.values)
        if column.what != "date":
            return pa.array(values, from_pandas=True)
        micros = np.where(np.isnan(values), 0.0, values * 86_400e6).round().astype(np.int64)
        return pa.array(micros, pa.timestamp("us"), mask=np.isnan(values))
    strings = column if isinstance(column, Strings) else strings_of(column)
    codes = pa.array(strings.codes, mask=strings.codes < 0)
    levels = pa.array(strings.levels, pa.string())
    return pa.DictionaryArray.from_arrays(codes, levels).cast(pa.string())


# ---- errors of Arrow as errors that name the file ------------------------------------------------
@contextmanager
def explained(name: str, format: str) -> Iterator[None]:
    """Errors of Arrow, and of the system, become SourceError.

    Parameters
    ----------
    name : str
        The file or source.
    format : str
        What it is read as.
    """
    try:
        yield
    except FileNotFoundError:
        raise SourceError(f"{name}: there is no such file") from None
    except PermissionError:
        raise SourceError(f"{name}: no permission to read it") from None
    except OSError as error:
        if not isinstance(error, pa.ArrowException) and error.errno is not None:
            raise SourceError(f"{name}: {error.strerror}") from None
        raise _damaged(name, format, error) from None
    except pa.ArrowException as error:
        raise _damaged(name, format, error) from None


def _damaged(name: str, format: str, error: Exception) -> SourceError:
    reason = " ".join(str(error).split())  # on one line
    return SourceError(f"{name} is a damaged or incomplete {format} file ({reason})")
