"""JSON lines as batches of columns whose kinds do not change."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tallybayes.errors import SourceError
from tallybayes.sources.flattening import Flattening
from tallybayes.sources.opening.foreign import need_readable
from tallybayes.sources.opening.sniffing import need_text
from tallybayes.sources.opening.stream import Stream, read_once
from tallybayes.sources.text_files import jsonlines
from tallybayes.sources.text_files.batch import Batch
from tallybayes.sources.text_files.cells import (
    Kind,
    Misfit,
    cells,
    first_infinite,
    settled,
)
from tallybayes.sources.text_files.json_array import ElementLines, first_elements, is_array
from tallybayes.sources.text_files.jsonlines import JsonText
from tallybayes.sources.text_files.options import Spelling

__all__ = ["BLOCK", "Infinite", "JsonBatches", "as_cells", "settle"]

BLOCK = 1 << 21  # bytes that are parsed at a time


class Infinite(Exception):
    """An infinite number in a `row` of the batch."""

    column: str
    row: int

    def __init__(self, column: str, row: int) -> None:
        super().__init__(column, row)
        self.column, self.row = column, row

    def error(self, name: str, where: str) -> SourceError:
        """The same for people."""
        return SourceError(
            f"{name}, {where}: column {self.column!r} is infinite: give a finite number, or leave "
            "it empty (on the command line, --null inf reads it as missing)"
        )


def settle(
    table: Any, kinds: dict[str, Kind | None], wanted: Callable[[str], bool], spelling: Spelling
) -> None:
    """Enters the kinds of columns whose first values these rows have."""
    for name in filter(wanted, table.column_names):
        kinds[name] = settled(_array(table, name), kinds.get(name), spelling.of(name))


def as_cells(
    table: Any, kinds: dict[str, Kind | None], wanted: Callable[[str], bool], spelling: Spelling
) -> Any:
    """The wanted columns as their kinds.

    Raises
    ------
    Misfit
        For a cell that is not of its column's kind.
    Infinite
    """
    columns = {}
    for name in filter(wanted, table.column_names):
        columns[name] = cells(_array(table, name), kinds[name], name, spelling.of(name))
        infinite = first_infinite(columns[name])
        if infinite is not None:
            raise Infinite(name, infinite)
    return pa.table(columns) if columns else table.select([])  # which knows how many rows it has


def _array(table: Any, name: str) -> Any:
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    return column


class JsonBatches:
    """One input.

    Parameters
    ----------
    path : str
        "-" is standard input, which can be read once, as pipes can.
    spelling : Spelling
    block : int
        Bytes of a batch.
    stream : Stream, optional
        The file, where it has been opened already.
    flattening : Flattening, optional
        Of objects; without it, columns do not hold any.
    """

    path: str
    block: int
    text: JsonText

    def __init__(
        self,
        path: str,
        *,
        spelling: Spelling = Spelling(),  # noqa: B008  # frozen
        block: int = BLOCK,
        stream: Stream | None = None,
        flattening: Flattening | None = None,
    ) -> None:
        self.path, self.block = path, block
        self.name: str = "standard input" if path == "-" else path
        self.once: bool = read_once(path)
        self.columns: list[str] = []
        """The names of all columns of the batch read last."""
        self.spelling = spelling
        self._stream: Stream | None = Stream(path) if stream is None else stream
        try:
            head = self._stream.look(_has_row)
            need_readable(self.name, head)
            need_text(self.name, head)
            self._is_array = is_array(head)
            self.text = JsonText(self.name, "element" if self._is_array else "line", flattening)
            self.first_keys: list[str] = jsonlines.first_keys(
                first_elements(head) if self._is_array else head, flattening is not None
            )
        except BaseException:
            self._stream.close()
            raise
        if not self.once:  # it is opened again to be read
            self._stream.close()
            self._stream = None

    def _raw(self, wanted: Callable[[str], bool], kept: Sequence[str]) -> Iterator[Batch]:
        """The batches as the file has them; only columns that are wanted have values."""
        with closing(self.opened()) as stream:
            yield from jsonlines.batches(self.text, stream, self.block, wanted, kept)

    def opened(self) -> Stream | ElementLines:
        """The lines, from the first on."""
        stream, self._stream = self._stream or Stream(self.path), None
        return ElementLines(self.name, stream) if self._is_array else stream

    def without_rows(self) -> SourceError:
        """What is said of an input that has none."""
        return SourceError(f"{self.name} has no rows")

    def read(
        self,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool] = lambda _: True,
        kept: Sequence[str] = (),
    ) -> Generator[Batch, None, None]:
        """Batches, one after another, whose columns are float64, timestamps, levels, structs of a
        number and a level, or (nothing known yet) null.

        Parameters
        ----------
        kinds : dict
            The kind of each column. Where it is None or not given, the first batch with a value
            decides, and is entered here.
        wanted : callable
            Says whether a column is read.
        kept : sequence of str
            Columns that are read as they are written, too.

        Raises
        ------
        Misfit
            For a cell that is not of its column's kind; `row` is one of the file.
        SourceError
            For a file that cannot be read.
        """
        rows = 0
        for batch in self._raw(wanted, kept):
            self.columns = batch.table.column_names
            settle(batch.table, kinds, wanted, self.spelling)
            try:
                table = as_cells(batch.table, kinds, wanted, self.spelling)
            except Misfit as misfit:
                misfit.row += batch.first
                raise
            except Infinite as found:
                raise found.error(self.name, self.where(batch.first + found.row)) from None
            rows += batch.n_rows
            yield replace(batch, table=table)
        if not rows:
            raise self.without_rows()

    def where(self, row: int) -> str:
        """A row (from 0) as people find it: its line, where the file can be read again."""
        if not self.once:
            with closing(self.opened()) as stream:
                for i, line in enumerate(jsonlines.lines_of_rows(self.text, stream)):
                    if i == row:
                        return f"{self.text.unit} {line:,}"
        return f"row {row:,}"


def _has_row(head: bytes) -> bool:
    """Whether the first bytes of a file hold its first row."""
    return bool(first_elements(head)) if is_array(head) else b"\n" in head.lstrip()
