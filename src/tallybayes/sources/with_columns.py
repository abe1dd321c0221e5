"""A file with columns that it does not hold: keys that the names of its folders give, and columns
of other files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from tallybayes.errors import SourceError, listed
from tallybayes.sources.contract import Part, RowsKept, Source, SourceColumn, parts_kept
from tallybayes.tables import Column, Empty, Numbers, Strings, Table
from tallybayes.tables.values import days_of_text

__all__ = ["WithColumns", "inner_of", "keys_of", "kinds_of_keys"]

MISSING = "__HIVE_DEFAULT_PARTITION__"
"""The value of a key that is missing, as Hive, Spark and DuckDB write it."""

WHOLE = re.compile(r"[+-]?\d{1,15}")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def keys_of(folder: str, path: str) -> dict[str, str | None]:
    """The keys and values in the names of the folders between a folder and a file in it, such as
    year=2020; None for a missing value."""
    found: dict[str, str | None] = {}
    for part in Path(path).relative_to(folder).parts[:-1]:
        key, equals, value = part.partition("=")
        if equals:
            found[unquote(key)] = None if value == MISSING else unquote(value)
    return found


def kinds_of_keys(files: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """What the values of each key are in all files: "integer", "date" or "text"."""
    kinds = {}
    for key in files[0]:
        values = [value for keys in files if (value := keys.get(key)) is not None]
        kinds[key] = "text"
        if values and all(map(WHOLE.fullmatch, values)):
            kinds[key] = "integer"
        elif values and all(DAY.fullmatch(v) and days_of_text(v) is not None for v in values):
            kinds[key] = "date"
    return kinds


def inner_of(source: Any) -> Any:
    """The file that a source reads, without the columns that are added to it."""
    return source.source if isinstance(source, WithColumns) else source


class WithColumns:
    """A source with more columns, each of one value.

    Parameters
    ----------
    source : Source
    keys : mapping of str to (str or None)
        The value of each key.
    kinds : mapping of str to str
        What the keys hold.
    lacking : sequence of SourceColumn
        Columns that the file does not have; they are missing in each of its rows.
    """

    keeps = True

    def __init__(
        self,
        source: Source,
        keys: Mapping[str, str | None],
        kinds: Mapping[str, str],
        lacking: Sequence[SourceColumn] = (),
    ) -> None:
        self.source, self.name, self.once = source, source.name, source.once
        self._keys, self._kinds = keys, kinds
        self._lacking = {column.name: column for column in lacking}
        both = [key for key in keys if key in source.columns()]
        if both:
            raise SourceError(
                f"{self.name} holds the column {listed(map(repr, both))}, which the name of its "
                "folder gives as well: rename one of them"
            )

    def columns(self) -> dict[str, SourceColumn]:
        keys = {key: SourceColumn(key, kind, kind) for key, kind in self._kinds.items()}
        return {**self.source.columns(), **self._lacking, **keys}

    @property
    def schema(self) -> Any:
        """The columns in Arrow; of a source of Arrow batches."""
        import pyarrow as pa

        found = self.source.schema  # type: ignore[attr-defined]
        types = {"integer": pa.int64(), "date": pa.date32()}
        for name in self._lacking:
            found = found.append(pa.field(name, pa.null()))
        for key, kind in self._kinds.items():
            found = found.append(pa.field(key, types.get(kind, pa.string())))
        return found

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns or all."""
        import pyarrow as pa

        schema = self.schema
        wanted = list(schema.names if names is None else names)
        own = [name for name in wanted if name not in self._keys and name not in self._lacking]
        for batch in self.source.record_batches(own):  # type: ignore[attr-defined]
            columns = []
            for name in wanted:
                if name in own:
                    columns.append(batch.column(name))
                    continue
                value = pa.scalar(self._keys.get(name), pa.string())
                type = schema.field(name).type
                columns.append(pa.repeat(value.cast(type), batch.num_rows))
            yield pa.record_batch(columns, names=wanted)

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        more = [*self._lacking, *self._kinds]
        added = more if names is None else [name for name in names if name in more]
        own = None if names is None else [name for name in names if name not in more]
        written = [name for name in as_written if name not in more]
        own_kept = [name for name in kept if name not in more]
        for part in parts_kept(self.source, own, written, own_kept):
            read = partial(self._read, part, added, as_written, [n for n in kept if n in more])
            yield part._replace(read=read)

    def _read(
        self, part: Part, added: Sequence[str], as_written: Collection[str], kept: Sequence[str]
    ) -> Table:
        table = part.read()
        columns = dict(table.columns)
        for name in added:
            written = name in as_written and not part.typed
            columns[name] = self._column(name, table.n_rows, written)
        beside = dict(table.kept) if isinstance(table, RowsKept) else {}
        beside |= {name: self._column(name, table.n_rows, not part.typed) for name in kept}
        if beside:
            return RowsKept(columns, table.n_rows, True, beside)
        return Table(columns, table.n_rows, True)

    def _column(self, name: str, n_rows: int, written: bool) -> Column:
        value = self._keys.get(name)
        if value is None:
            return Empty(n_rows)
        kind = "text" if written else self._kinds[name]
        if kind == "integer":
            return Numbers(np.full(n_rows, int(value)), "integer")
        if kind == "date":
            return Numbers(np.full(n_rows, days_of_text(value)), "date")
        return Strings(np.zeros(n_rows, dtype=np.int32), [value], "text")
