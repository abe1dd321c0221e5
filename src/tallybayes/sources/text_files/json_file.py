"""JSON lines and arrays as a source: blocks are parsed on threads; each cell is what it is by
itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from tallybayes.errors import LeftOutWarning, SourceError, warn_user
from tallybayes.sources.arrow_types import columns_of
from tallybayes.sources.contract import Part, ReadAgain, RowsKept, SourceColumn
from tallybayes.sources.flattening import Flattening, flatten_hint
from tallybayes.sources.opening.stream import Stream
from tallybayes.sources.text_files import jsonlines
from tallybayes.sources.text_files.cells import Kind, Misfit
from tallybayes.sources.text_files.json_batches import JsonBatches
from tallybayes.sources.text_files.json_blocks import JsonBlock, JsonReader
from tallybayes.sources.text_files.jsonlines import NestedValue
from tallybayes.sources.text_files.options import Spelling
from tallybayes.sources.text_files.text_file import TextFile
from tallybayes.tables import Empty, Table, arrow

__all__ = ["JsonLines"]


class JsonLines(TextFile):
    """A file of JSON lines, or a JSON array.

    Parameters
    ----------
    path : str
    stream : Stream, optional
        The file, where it has been opened already.
    mixed : collection of str
        Columns whose cells are numbers or strings by themselves, and never dates.
    left_out : collection of str
        Columns that are not read, and may hold what cannot be.
    spelling : Spelling
    flatten : bool
        Whether the keys of objects within rows are columns, such as a.b.
    **options
        Of :class:`~tallybayes.sources.text_files.json_batches.JsonBatches`.
    """

    name: str
    once: bool

    keyed: bool = True
    nameless: bool = False

    def __init__(
        self,
        path: str,
        stream: Stream | None = None,
        *,
        mixed: Collection[str] = (),
        left_out: Collection[str] = (),
        spelling: Spelling = Spelling(),  # noqa: B008  # frozen
        flatten: bool = False,
        **options: Any,
    ) -> None:
        options["flattening"] = Flattening() if flatten else None
        self._open: Callable[..., JsonBatches] = partial(JsonBatches, path, **options)
        self.spelling = spelling
        file = self._open(stream=stream)
        self.name, self.once = file.name, file.once
        self._first_keys = file.first_keys
        self._kept: JsonBatches | None = file if file.once else None
        self.kinds: Mapping[str, Kind | None] = {}
        self._columns: dict[str, SourceColumn] | None = None
        self._mixed, self._left_out = set(mixed), frozenset(left_out)
        self._nested: dict[str, str] = {}  # columns of objects or arrays

    @property
    def header(self) -> list[str]:
        return self._first_keys or list(self.columns())

    def columns(self) -> dict[str, SourceColumn]:
        if self._columns is None:
            self._columns = self._look()
        return self._columns

    def _look(self) -> dict[str, SourceColumn]:
        """The columns, of what can be read only once without a look at its rows."""
        if self._kept is not None:
            return {name: SourceColumn(name, "mixed", "text") for name in self._first_keys}
        if self.once:
            raise self._gone()
        file = self._open()
        file.spelling = self.spelling
        kinds: dict[str, Kind | None] = dict.fromkeys(self._mixed, "number or text")
        unread = {*self._left_out, *self._nested}
        batches = file.read(kinds, lambda name: name not in unread)
        try:
            found = columns_of(next(batches).table.schema)
        except NestedValue as nested:
            self._nested[nested.column] = nested.kind
            return self._look()
        finally:
            batches.close()  # and the file
        found |= {name: SourceColumn(name, None, kind) for name, kind in self._nested.items()}
        columns = {n: found.get(n, SourceColumn(n, None, "text")) for n in file.columns}
        if file.text.flattening is not None:
            late = file.text.flattening.without_values()
            columns |= {name: SourceColumn(name, "text", "null") for name in late}
        return columns

    def _gone(self) -> SourceError:
        return SourceError(
            f"{self.name} can be read only once, and has been: save it to a file first"
        )

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        if self.once:
            if self._kept is None:
                raise self._gone()
            self.columns()
        file, self._kept = self._kept or self._open(), None
        file.spelling = self.spelling
        beside = [] if names is None else [name for name in kept if name not in names]
        kinds: dict[str, Kind | None] = dict.fromkeys([*as_written, *beside], "text")
        kinds |= dict.fromkeys(self._mixed - set(as_written), "number or text")
        asked = None if names is None else frozenset([*names, *kept])
        unread = self._left_out if self.once or asked is not None else self._unread(as_written)

        self.kinds = kinds

        def wanted(name: str) -> bool:
            return name not in unread and (asked is None or name in asked)

        for part in (self._once if self.once else self._beside)(file, kinds, wanted, kept):
            yield part._replace(read=partial(_with_all, part, names or (), beside))

    def written(self) -> Iterator[Any]:
        self.columns()  # which of them are nested
        file = self._open()
        with closing(file.opened()) as stream:
            unread = {*self._left_out, *self._nested}
            for batch in jsonlines.batches(
                file.text, stream, file.block, lambda name: name not in unread
            ):
                yield batch.table

    def place(self, row: int) -> str:
        return self._open().where(row)

    def _unread(self, as_written: Collection[str]) -> frozenset[str]:
        """The columns that are not read where all are asked for: those that are left out, and,
        with a warning, those that hold no single values in the first block."""
        self.columns()
        nested = {n: k for n, k in self._nested.items() if n not in {*self._left_out, *as_written}}
        for name, kind in nested.items():
            warn_user(
                f"{self.name}: column {name!r} holds an {kind}, which is not a scalar, and is left "
                f"out{flatten_hint(kind)}",
                LeftOutWarning,
            )
        return self._left_out.union(nested)

    def _once(
        self,
        file: JsonBatches,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool],
        kept: Sequence[str],
    ) -> Iterator[Part]:
        """The rows of a pipe, which are parsed one after another, so that a row has its number."""
        try:
            for batch in file.read(kinds, wanted, kept):
                read = partial(_kept, batch.table, batch.kept)
                yield Part(read, self.name, False, file.where, batch.done)
        except Misfit as misfit:
            raise SourceError(
                f"{self.name}, {file.where(misfit.row)}: column {misfit.column!r} holds "
                f"{misfit.value!r}, which is not a {misfit.kind}, unlike the rows before, and it "
                f"can be read only once: declare the column as Categorical() "
                f"(--column {misfit.column}=categorical on the command line), or save the rows to "
                "a file"
            ) from None

    def _beside(
        self,
        file: JsonBatches,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool],
        kept: Sequence[str],
    ) -> Iterator[Part]:
        """The rows of a file, of which threads parse the blocks."""
        reader = JsonReader(file.text, self.spelling, kinds, wanted)
        begun = False
        with closing(file.opened()) as stream:
            for lines, first in jsonlines.blocks(stream, file.block):
                block = reader.block(lines, first)
                if block is not None:
                    read = partial(self._read, block, file.text.unit, kept)
                    yield Part(read, self.name, False, file.where, stream.done)
                    begun = True
        if not begun:
            raise file.without_rows()

    def _read(self, block: JsonBlock, unit: str, kept: Sequence[str]) -> Table:
        try:
            return _kept(block.read(), block.kept(kept) if kept else None)
        except Misfit as misfit:
            self._mixed.add(misfit.column)
            where = f"{self.name}, {unit} {misfit.row + 1:,}"
            raise ReadAgain(where, misfit.column, misfit.value, misfit.kind) from None


def _kept(rows: Any, written: Any) -> Table:
    table = arrow.read(rows)
    if written is None:
        return table
    return RowsKept(table.columns, table.n_rows, True, arrow.read(written).columns)


def _with_all(part: Part, names: Sequence[str], beside: Sequence[str]) -> Table:
    """The rows of a part: columns without a value in it are there as well, and those `beside` are
    only kept."""
    table = part.read()
    lacking = {n: Empty(table.n_rows) for n in names if n not in table.columns}
    if not lacking and not beside:
        return table
    columns = {n: c for n, c in table.columns.items() if n not in beside}
    return replace(table, columns=columns | lacking)
