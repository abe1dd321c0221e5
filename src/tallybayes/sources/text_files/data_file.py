"""A data file, or standard input, as batches of columns whose kinds do not change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from tallybayes.errors import SourceError
from tallybayes.sources.opening.foreign import need_readable
from tallybayes.sources.opening.sniffing import Format, format_of, need_text
from tallybayes.sources.opening.stream import Stream, read_once
from tallybayes.sources.text_files import columnar, delimited, jsonlines
from tallybayes.sources.text_files.batch import Batch
from tallybayes.sources.text_files.cells import (
    MISSING,
    Kind,
    Misfit,
    Spelling,
    cells,
    first_infinite,
    first_text,
    settled,
)

__all__ = ["BLOCK", "DataFile"]

BLOCK = 1 << 20  # bytes that are parsed at a time
ROW = 64  # bytes that a row of a columnar format is taken to have


class DataFile:
    """One input.

    Parameters
    ----------
    path : str
        "-" is standard input, which can be read once, as pipes can.
    format : {"csv", "jsonl", "parquet", "arrow"}, optional
        Found by the first bytes and the suffix by default.
    delimiter : str, optional
        Found by a look at the first lines by default.
    missing : tuple of str
        Strings that are missing values.
    decimal : {".", ","}
        Of numbers in CSV.
    encoding : str
    block : int
        Bytes of a batch.
    missing_of : dict
        More strings that are missing values, by column.
    skip_unlabelled : bool
        Whether rows without a label are left out; by default they are an error.
    stream : Stream, optional
        The file, where it has been opened already.
    """

    has_names = False  # rows have numbers

    def __init__(
        self,
        path: str,
        *,
        format: Format | None = None,
        delimiter: str | None = None,
        missing: tuple[str, ...] = MISSING,
        decimal: str = ".",
        encoding: str = "utf-8",
        block: int = BLOCK,
        missing_of: dict[str, tuple[str, ...]] | None = None,
        skip_unlabelled: bool = False,
        stream: Stream | None = None,
    ) -> None:
        self.path = path
        self.name = "standard input" if path == "-" else path
        self.once = read_once(path)
        self.block = block
        self._delimiter, self._encoding = delimiter, encoding
        self._dialect: delimited.Dialect | None = None
        self._columns: list[str] = []
        self._first_keys: list[str] = []
        self.first_strings: dict[str, tuple[int, str]] = {}
        self._stream: Stream | None = Stream(path) if stream is None else stream
        self.skip_unlabelled, self.unlabelled = skip_unlabelled, 0
        self.spelling = Spelling(missing, missing_of=missing_of or {})
        try:
            self._look(self._stream.head, format)
        except BaseException:
            self._stream.close()
            raise
        if self.format == "csv":
            self.spelling = replace(self.spelling, decimal=decimal)
        if not self.once:  # it is opened again to be read
            self._stream.close()
            self._stream = None

    def _look(self, head: bytes, format: Format | None) -> None:
        """Finds format, delimiter and header."""
        need_readable(self.name, head)
        self.format: Format = format or format_of(self.name, head)
        if self.format == "csv":
            self._dialect = delimited.dialect_of(self.name, head, self._delimiter, self._encoding)
        elif self.format == "jsonl":
            need_text(self.name, head)
            self._first_keys = jsonlines.first_keys(head)
        elif self.once:
            raise SourceError(
                f"{self.name} can be read only once, which {self.format} does not allow: save it "
                "to a file first"
            )

    @property
    def header(self) -> list[str] | None:
        """The names of the columns, where the file has them apart from its rows."""
        if self._dialect is not None:
            return self._dialect.named
        if self.format in ("parquet", "arrow"):
            return columnar.names(self.path, self.format)
        return None

    @property
    def first_keys(self) -> list[str]:
        """The keys of the first rows of JSON lines; nothing where one is longer than a first
        look."""
        return self._first_keys

    @property
    def nameless(self) -> bool:
        """Whether a column of a CSV file has no name, and so is not read."""
        dialect = self._dialect
        return dialect is not None and len(dialect.named) < len(dialect.header)

    def raw(self, wanted: Callable[[str], bool]) -> Iterator[Batch]:
        """The batches as the format has them; of JSON lines only columns that are wanted have
        values."""
        if self.format == "parquet":
            yield from columnar.parquet(self.path, max(1, self.block // ROW))
        elif self.format == "arrow":
            yield from columnar.arrow(self.path, max(1, self.block // ROW))
        else:
            stream, self._stream = self._stream or Stream(self.path), None
            try:
                if self._dialect is not None:
                    name = self.path if not self.once else self.name
                    yield from delimited.batches(name, stream, self._dialect, self.block)
                else:
                    yield from jsonlines.batches(self.name, stream, self.block, wanted)
            finally:
                stream.close()

    def batches(
        self,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool] = lambda _: True,
        widen: Callable[[Misfit], None] | None = None,
    ) -> Iterator[Batch]:
        """Batches whose columns are float64, timestamps, levels, structs of a number and a level,
        or (nothing known yet) null.

        `first_strings` then has the first row that holds a string, and the string, of each column
        whose cells are numbers or strings by themselves.

        Parameters
        ----------
        kinds : dict
            The kind of each column. Where it is None or not given, the first batch with a value
            decides, and is entered here.
        wanted : callable
            Says whether a column is read.
        widen : callable, optional
            Is called with a cell that does not fit, whose column's cells are numbers or strings
            from there on; by default such a cell is an error.

        Raises
        ------
        Misfit
            For a cell that is not of its column's kind; `row` is one of the file.
        SourceError
            For a file that cannot be read.
        """
        rows = self.unlabelled = 0
        self.first_strings = {}
        for batch in self.raw(wanted):
            columns = {}
            self._columns = batch.table.column_names
            for name in filter(wanted, batch.table.column_names):
                column = batch.table.column(name).combine_chunks()
                if isinstance(column, pa.ChunkedArray):
                    column = pa.concat_arrays(column.chunks)
                spelling = self.spelling.of(name)
                try:
                    kinds[name] = settled(column, kinds.get(name), spelling)
                    columns[name] = cells(column, kinds[name], name, spelling)
                except Misfit as misfit:
                    misfit.row += batch.first
                    if widen is None:
                        raise
                    widen(misfit)
                    kinds[name] = "number or text"
                    columns[name] = cells(column, kinds[name], name, spelling)
                except pa.ArrowException:
                    raise SourceError(
                        f"{self.name}: column {name!r} is of the type {column.type}; columns hold "
                        "numbers, strings, booleans or dates. Unpack it or leave it out"
                    ) from None
                if kinds[name] == "number or text" and name not in self.first_strings:
                    text = first_text(columns[name])
                    if text is not None:
                        self.first_strings[name] = batch.first + text[0], text[1]
                infinite = first_infinite(columns[name])
                if infinite is not None:
                    raise self.infinite(name, batch.first + infinite)
            rows += batch.table.num_rows
            yield replace(batch, table=pa.table(columns))
        if not rows:
            raise SourceError(f"{self.name} has no rows below the header")

    @property
    def columns(self) -> list[str]:
        """The names of all columns of the file (of JSON lines, of the batch read last)."""
        return self._columns

    def where(self, row: int) -> str:
        """A row (from 0) as people find it: its line, where rows are lines."""
        line = None
        if self._dialect is not None:
            line = delimited.line_of_row(self.path, self._dialect, row)
        elif self.format == "jsonl" and not self.once:
            stream = Stream(self.path)
            for i, (number, _, _) in enumerate(jsonlines._rows(self.name, stream)):
                if i == row:
                    line = number
                    break
            stream.close()
        return f"row {row:,}" if line is None else f"line {line:,}"

    def place(self, row: int) -> str:
        """A row by its number (from 0) and, where it has one, by its line."""
        where = self.where(row)
        return f"Row {row:,}" + (f" ({where})" if where.startswith("line") else "")

    def misfit(self, misfit: Misfit) -> SourceError:
        """A cell that does not fit, as an error for a model whose kinds stand."""
        return SourceError(
            f"{self.name}, {self.where(misfit.row)}: column {misfit.column!r} holds "
            f"{misfit.value!r}, which is not a {misfit.kind}, unlike the training data: correct "
            "it, leave it empty, or train with "
            f"the column as categorical (--column {misfit.column}=categorical on the command line)"
        )

    def infinite(self, column: str, row: int) -> SourceError:
        """An infinite number, as an error."""
        return SourceError(
            f"{self.name}, {self.where(row)}: column {column!r} is infinite: give a finite number, "
            "or leave it empty (on the command line, --null inf reads it as missing)"
        )

    @contextmanager
    def locating(self, batch: Batch) -> Iterator[None]:
        """Errors about "row N" of the batch become errors about the line of the file."""
        try:
            yield
        except ValueError as error:
            found = re.search(r"\brow (\d+)", str(error))
            row = int(batch.numbers[int(found[1])]) if found else 0
            where = f", {self.where(row)}" if found else ""
            raise SourceError(f"{self.name}{where}: {error}") from error
