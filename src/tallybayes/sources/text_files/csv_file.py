"""CSV as a source: blocks are parsed on threads; the type of each cell depends on that cell
only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from tallybayes.errors import SourceError, listed
from tallybayes.sources.arrow_types import columns_of
from tallybayes.sources.contract import Part, ReadAgain, RowsKept, SourceColumn
from tallybayes.sources.opening.stream import Stream, read_once
from tallybayes.sources.text_files.blocks import Block, blocks
from tallybayes.sources.text_files.cells import Kind, Misfit
from tallybayes.sources.text_files.csv_columns import CsvColumns
from tallybayes.sources.text_files.delimited import dialect_of, has_header, line_of_row
from tallybayes.sources.text_files.options import Layout, Spelling
from tallybayes.sources.text_files.text_file import TextFile
from tallybayes.tables import Table, arrow

__all__ = ["CsvFile"]

BLOCK_BYTES = 1 << 23  # bytes of a block: enough that what a part costs by itself does not matter


class _Found(NamedTuple):
    """A block, and the share of the file that has been read with it, where that is known."""

    block: Block
    done: float | None


class CsvFile(TextFile):
    """A CSV file.

    Parameters
    ----------
    path : str
        "-" is standard input, which can be read once, as pipes can.
    stream : Stream, optional
        The file, where it has been opened already.
    layout : Layout
    spelling : Spelling
    block : int
        Bytes of a part, but for the first.
    mixed : collection of str
        Columns whose cells are numbers or strings by themselves, and never dates.
    left_out : collection of str
        Columns that are not read.
    reopen : callable, optional
        Gives the text from the first byte on; by default that of the path.

    Raises
    ------
    SourceError
        If it is not a CSV file.
    """

    once: bool
    nameless: bool

    keyed = False

    def __init__(
        self,
        path: str,
        stream: Stream | None = None,
        *,
        layout: Layout = Layout(),  # noqa: B008  # frozen
        spelling: Spelling = Spelling(),  # noqa: B008  # frozen
        block: int = BLOCK_BYTES,
        mixed: Collection[str] = (),
        left_out: Collection[str] = (),
        reopen: Callable[[], Any] | None = None,
    ) -> None:
        self.name: str = "standard input" if path == "-" else path
        self.once = reopen is None and read_once(path)
        self._reopen: Callable[[], Any] = reopen or partial(Stream, path)
        self.block = block
        self.spelling = spelling
        self._mixed, self._left_out = set(mixed), frozenset(left_out)
        stream = stream or self._reopen()
        try:
            head = stream.look(partial(has_header, layout=layout))
            self._dialect = dialect_of(self.name, head, layout)
        except BaseException:
            stream.close()
            raise
        self.nameless = len(self._dialect.named) < len(self._dialect.header)
        self.kinds: Mapping[str, Kind | None] = {}
        self._columns: dict[str, SourceColumn] | None = None
        self._rest: Iterator[_Found] | None = self._blocks_of(stream) if self.once else None
        if not self.once:  # it is opened again to be read
            stream.close()

    @property
    def header(self) -> list[str]:
        return list(self._dialect.named)

    @property
    def levels(self) -> tuple[str, ...]:
        """The columns that ARFF declares as levels."""
        return self._dialect.levels

    def columns(self) -> dict[str, SourceColumn]:
        if self._columns is None:
            each = self._blocks()
            first = next(each)
            if self.once:
                self._rest = chain([first], each)
            reader = self._reader(None, ())
            table = reader.read(first.block, reader.settle(first.block))
            found = columns_of(table.schema)
            self._columns = {
                name: found.get(name, SourceColumn(name, None, "text"))
                for name in self._dialect.named
            }
        return self._columns

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        reader = self._reader(names, as_written)
        self._need(kept)
        self.kinds = reader.kinds
        for block, done in self._blocks():
            read = partial(self._read, reader, block, reader.settle(block), kept)
            yield Part(read, self.name, typed=False, place=self.place, done=done)

    def written(self) -> Iterator[Any]:
        reader = self._reader(None, ())
        for block, _ in self._blocks():
            yield reader.as_written(block)

    def _reader(self, names: Sequence[str] | None, as_written: Collection[str]) -> CsvColumns:
        named, asked = self._dialect.named, None if names is None else set(names)
        self._need(names or ())
        wanted = [
            name
            for name in named
            if name not in self._left_out and (asked is None or name in asked)
        ]
        kinds: dict[str, Kind] = dict.fromkeys(self._mixed, "number or text")
        kinds |= dict.fromkeys([*as_written, *self._dialect.levels], "text")
        return CsvColumns(self.name, self._dialect, self.spelling, wanted, kinds)

    def _need(self, names: Sequence[str]) -> None:
        """Raises for a name that no column has."""
        there = set(self._dialect.named) if names else set()
        for name in names:
            if name not in there:
                raise SourceError(
                    f"{self.name} has no column {name!r}; its columns are "
                    f"{listed(self._dialect.named)}"
                )

    def place(self, row: int) -> str:
        line = None if self.once else line_of_row(self._reopen(), self._dialect, row)
        return f"row {row:,}" if line is None else self._line(line)

    def _line(self, line: int) -> str:
        """A line as people find it."""
        return f"line {line:,}"

    def _blocks(self) -> Iterator[_Found]:
        """All records."""
        if not self.once:
            return self._blocks_of(self._reopen())
        rest, self._rest = self._rest, None
        if rest is None:
            raise SourceError(
                f"{self.name} can be read only once, and has been: save it to a file first"
            )
        return rest

    def _blocks_of(self, stream: Any) -> Iterator[_Found]:
        with closing(stream):
            each = blocks(self.name, stream.read, self._dialect, self.block)
            reader = CsvColumns(self.name, self._dialect, self.spelling, [], {})
            first = next(each, None)
            while first is None or not reader.n_rows(first):  # the header alone
                more = next(each, None)
                if first is None or more is None:
                    raise SourceError(f"{self.name} has no rows below the header")
                first = first._replace(data=first.data + more.data)
            for block in chain([first], each):
                yield _Found(block, stream.done)

    def _read(
        self,
        reader: CsvColumns,
        block: Block,
        kinds: Mapping[str, Kind | None],
        kept: Sequence[str],
    ) -> Table:
        try:
            table = arrow.read(reader.read(block, kinds))
            if not kept:
                return table
            written = arrow.read(reader.kept(block, kept))
            return RowsKept(table.columns, written.n_rows, True, written.columns)
        except Misfit as misfit:
            if self.once:
                raise reader.unfit(block, misfit) from None
            self._mixed.add(misfit.column)
            where = f"{self.name}, {self._line(reader.line_of(block, misfit.row))}"
            raise ReadAgain(where, misfit.column, misfit.value, misfit.kind) from None
