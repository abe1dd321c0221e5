"""CSV as a source: blocks are parsed on threads; the type of each cell depends on that cell alone.

Cells are parsed with the type of the cells before them or, if that fails, as strings one by one.
The result is the same.

"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from tallybayes._kernels import last_record_end
from tallybayes.errors import SourceError, listed
from tallybayes.sources.arrow import chunk_of, columns_of
from tallybayes.sources.cells import (
    Kind,
    Misfit,
    TextFile,
    cells,
    encoded_cells,
    is_plain,
    parsed_as,
    settled,
)
from tallybayes.sources.contract import Part, RowsKept, SourceColumn
from tallybayes.sources.opening import (
    HEAD_BYTES,
    MAX_RECORD_BYTES,
    Stream,
    arff_of,
    delimiter_of,
    has_data,
    header_hint,
    is_arff,
    need_header,
    need_no_sparse,
    need_text,
    read_once,
)
from tallybayes.sources.options import BLANKS, Layout, Spelling
from tallybayes.tables import Table, arrow

__all__ = ["CsvFile", "blocks", "dialect_of", "tabbed"]


# ---- columns delimited by runs of blanks, rewritten to columns delimited by tabs -----------------
EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?\n|\r?\Z)", re.MULTILINE)
RUN = re.compile(rb"[ \t]+")
PIECES = re.compile(
    rb'(?P<quoted>(?:^|(?<=[ \t\r\n]))"(?:[^"]|"")*")'
    rb"|(?P<edge>^[ \t]+|[ \t]+(?=\r?\n|\r?\Z))|(?P<run>[ \t]+)",
    re.MULTILINE,
)


def tabbed(data: bytes) -> bytes:
    """Whole lines with one tab for each run of spaces and tabs between fields, and none at either
    end; what stands in quotes stays."""
    if b'"' not in data:
        return RUN.sub(b"\t", EDGES.sub(b"", data))
    return PIECES.sub(_piece, data)


def _piece(found: re.Match[bytes]) -> bytes:
    if found.lastgroup == "quoted":
        return found[0]
    return b"" if found.lastgroup == "edge" else b"\t"


# ---- rows of ARFF, rewritten to those of CSV -----------------------------------------------------
COMMENT = re.compile(rb"^[ \t]*%[^\r\n]*", re.MULTILINE)
QUOTED = re.compile(
    rb"(?P<before>^|,)[ \t]*(?P<sign>['\"])(?P<text>(?:\\.|(?!(?P=sign))[^\\\r\n])*)(?P=sign)"
    rb"[ \t]*(?=,|\r?$)",
    re.MULTILINE,
)


def as_csv(data: bytes) -> bytes:
    """Whole lines with comments as blank lines, and quotes of either kind as those of CSV."""
    if b"%" in data:
        data = COMMENT.sub(b"", data)
    return QUOTED.sub(_requoted, data) if b"'" in data or b"\\" in data else data


def _requoted(found: re.Match[bytes]) -> bytes:
    text = re.sub(rb"\\(.)", rb"\1", found["text"])
    return found["before"] + b'"' + text.replace(b'"', b'""') + b'"'


def without_comment(line: str) -> str:
    """A line, blank where it is a comment."""
    return "\n" if line.lstrip().startswith("%") else line


# ---- CSV with any delimiter: its first lines, and the line numbers of its records ----------------
csv.field_size_limit(2**31 - 1)

UNEVEN = "correct it, or name the delimiter (--delimiter on the command line)"


class Dialect(NamedTuple):
    """The layout that the first lines of a file show.

    Parameters
    ----------
    delimiter : str
        Of blocks: a tab where the file has blanks.
    encoding : str
    header : list of str
        A name for each column; those of columns without a name begin with NUL.
    named : list of str
        The names.
    titled : bool
        Whether the first record is a header.
    skip : int
        How many lines come before it.
    blanks : bool
        Whether fields are parted by runs of blanks.
    arff : bool
        Whether the rows are those of ARFF.
    levels : tuple of str
        Columns whose values are levels as they are written.
    """

    delimiter: str
    encoding: str
    header: list[str]
    named: list[str]
    titled: bool = True
    skip: int = 0
    blanks: bool = False
    arff: bool = False
    levels: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The delimiter, for messages."""
        return BLANKS if self.blanks else repr(self.delimiter)

    @property
    def in_file(self) -> str:
        """The delimiter by which a record of the file is distinguished from the next."""
        return " " if self.blanks else self.delimiter


def _decoded(head: bytes, layout: Layout) -> str:
    """The first bytes as text. A character that the look cuts in two is left out; any other fault
    is found in place."""
    decoder = codecs.getincrementaldecoder(layout.encoding)("replace")
    return decoder.decode(head).removeprefix("\ufeff")


def _below(text: str, n_lines: int) -> str:
    """A text without its first lines."""
    lines = io.StringIO(text, newline="")  # which ends lines where bytes do
    return "".join(itertools.islice(lines, n_lines, None))


def _below_skipped(text: str, layout: Layout) -> tuple[str, int]:
    """What is below the lines that are skipped, and how many lines come before it: these, and blank
    ones."""
    text = _below(text, layout.skip)
    rows = text.lstrip("\r\n")
    blank = text[: len(text) - len(rows)]
    return rows, layout.skip + (blank.count("\n") or blank.count("\r"))


def has_header(head: bytes, layout: Layout) -> bool:
    """Whether the first bytes of a file hold its first record as a whole."""
    if b"\n" not in head and b"\r" in head:
        return True  # which is refused
    text, _ = _below_skipped(_decoded(head, layout), layout)
    if is_arff(text):
        return has_data(text)
    delimiter = layout.delimiter or delimiter_of(text[:HEAD_BYTES])
    sign = " " if delimiter == BLANKS else delimiter
    return last_record_end(text.encode("utf-8", "replace"), sign.encode()) > 0


def dialect_of(path: str, head: bytes, layout: Layout = Layout()) -> Dialect:  # noqa: B008  # frozen
    """Delimiter and header of a file that begins so."""
    encoding = layout.encoding
    if encoding.lower() in ("utf-8", "utf8"):
        need_text(path, head)
    text = _decoded(head, layout)
    if "\0" in text:
        raise SourceError(f"{path} is a binary file, or not {encoding} text")
    text, before = _below_skipped(text, layout)
    if not text:
        raise SourceError(f"{path} has nothing below the {layout.skip} lines that are skipped")
    levels: tuple[str, ...] = ()
    if arff := arff_of(path, text) if is_arff(text) else None:
        names = tuple(arff.names) if layout.names is None else layout.names
        before += arff.n_lines
        layout = replace(layout, delimiter=",", header=False, names=names, skip=before)
        text = as_csv(_below(text, arff.n_lines).encode()).decode().lstrip("\r\n")
        levels = tuple(arff.levels)
    elif layout.delimiter is None:
        need_no_sparse(path, text)
    blanks = layout.delimiter == BLANKS
    if blanks:
        text = tabbed(text.encode()).decode()
    delimiter = "\t" if blanks else layout.delimiter or delimiter_of(text)
    try:
        first = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    except csv.Error as error:
        if "\r" in text and "\n" not in text:
            raise SourceError(
                f"{path} has classic Mac line endings (CR alone): convert it with "
                f"tr '\\r' '\\n' < {path}"
            ) from None
        raise SourceError(f"{path} does not begin with a header line of CSV ({error})") from None
    if layout.header and layout.names is None:
        need_header(path, text, delimiter, before)
    found = Dialect(delimiter, encoding, [], [], layout.header, layout.skip, blanks)
    found = found._replace(arff=arff is not None, levels=levels)
    header = _header(path, first, layout, found)
    named = [name for name in header if name]
    seen: set[str] = set()
    for name in named:
        if name in seen:
            if "\ufffd" in name:  # what bytes of another encoding become
                raise SourceError(wrong_encoding(path, encoding))
            hint = header_hint(named)
            raise SourceError(
                f"{path}: two columns are named {name!r}: rename or remove one{hint and '.'}{hint}"
            )
        seen.add(name)
    # a column without a name, as pandas writes its index, is not read
    header = [name or f"\0{i}" for i, name in enumerate(header)]
    return found._replace(header=header, named=named)


def _header(path: str, first: list[str], layout: Layout, found: Dialect) -> list[str]:
    """The names of the columns: those that are given, those of the first record, or numbers."""
    if layout.names is None:
        if not layout.header:
            return [f"column{i}" for i in range(1, len(first) + 1)]
        return [name.strip() for name in first]
    if len(layout.names) != len(first):
        what = "header" if layout.header else "first row"
        raise SourceError(
            f"{path}: {len(layout.names)} names are given, and the {what} has {len(first)} "
            f"field(s) (delimiter {found.shown}): name each column, in order"
        )
    return list(layout.names)


def explained(
    name: str,
    dialect: Dialect,
    error: Exception,
    uneven: Callable[[], tuple[str, str] | None],
) -> SourceError:
    """A parser's error as one that names the line.

    Parameters
    ----------
    name : str
        The file.
    dialect : Dialect
    error : Exception
    uneven : callable () -> (str, str) or None
        Finds the first record with another number of fields than the header, and what to do.
    """
    message = str(error)
    if "UTF8" in message or isinstance(error, UnicodeError):
        return SourceError(wrong_encoding(name, dialect.encoding))
    found = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if found:
        at = re.search(r"Row #(\d+)", message)
        row = f"row {at[1]} (the first line is row 1)" if at else "a row"
        where, advice = uneven() or (row, UNEVEN)
        first = "header" if dialect.titled else "first row"
        return SourceError(
            f"{name}, {where} has {found[2]} field(s), but the {first} has {found[1]} "
            f"(delimiter {dialect.shown}): {advice}"
        )
    if "straddl" in message or "quote" in message.lower():
        return SourceError(f"{name}: a quoted field does not end, or a row is too long ({message})")
    return SourceError(f"{name}: {message}")


def wrong_encoding(name: str, encoding: str) -> str:
    """What to say of bytes that are not of an encoding."""
    return (
        f"{name} is not {encoding} text: name its encoding, such as latin-1 or gb18030 "
        "(--encoding on the command line)"
    )


def _text(stream: Any, dialect: Dialect) -> io.TextIOWrapper:
    binary: Any = io.BufferedReader(stream, 1 << 20)
    return io.TextIOWrapper(binary, dialect.encoding, errors="replace", newline="")


def _records(
    text: Iterable[str], dialect: Dialect, first: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """The line on which each record that is not blank begins, and its fields; `first` is the number
    of the first line."""
    reader, line = csv.reader(text, delimiter=dialect.delimiter), first
    for record in reader:
        if record:
            yield line, record
        line = first + reader.line_num


def first_uneven(text: Iterable[str], dialect: Dialect, first: int = 1) -> tuple[str, str] | None:
    """The first record with another number of fields, and what to do about it."""
    wanted = len(dialect.header)
    for line, record in _records(text, dialect, first):
        if len(record) != wanted:
            lines = sum(field.count("\n") for field in record)
            advice = f"it goes on for {lines} more line(s): is a quote not closed?"
            return f"line {line:,}", advice if lines else UNEVEN
    return None


def line_of_row(stream: Any, dialect: Dialect, row: int) -> int | None:
    """The line of a row (from 0) of a file, which is closed then."""
    with _text(stream, dialect) as text:  # the header is a record, too
        for _ in range(dialect.skip):
            next(text, None)
        in_file = dialect._replace(delimiter=dialect.in_file)
        lines = map(without_comment, text) if dialect.arff else text
        return line_of_record(lines, in_file, row + int(dialect.titled), 1 + dialect.skip)


def line_of_record(
    text: Iterable[str], dialect: Dialect, record: int, first: int = 1
) -> int | None:
    """The line of a record (from 0)."""
    lines, left = iter(text), record
    for line, content in enumerate(lines, first):
        if '"' in content:  # from here on a record may be more than a line
            records = _records(itertools.chain([content], lines), dialect, line)
            found = next(itertools.islice(records, left, None), None)
            return found[0] if found else None
        if content.strip("\r\n"):
            if not left:
                return line
            left -= 1
    return None


# ---- A CSV text in blocks of whole records, which can be parsed in parallel ----------------------
FIRST_BLOCK_BYTES = 1 << 20
"""The first block shows on one thread what the columns hold."""

UTF8 = ("utf-8", "utf8")


class Block(NamedTuple):
    """Some records.

    Parameters
    ----------
    data : bytes
        UTF-8.
    line : int
        The number of the first line in the file, from 1.
    header : bool
        Whether the first record is the header.
    done : float, optional
        The share of the file that has been read with it, where that is known.
    """

    data: bytes
    line: int
    header: bool
    done: float | None = None


def blocks(name: str, read: Callable[[int], bytes], dialect: Dialect, size: int) -> Iterator[Block]:
    """The records of a text, in order.

    Parameters
    ----------
    name : str
        The file, for messages.
    read : callable (int) -> bytes
        So many more bytes, or fewer; none at the end.
    dialect : Dialect
    size : int
        Bytes of a block, about.

    Raises
    ------
    SourceError
        If a record is longer than 64 MB, a quote is open at the end, or the bytes are not of the
        dialect's encoding.
    """
    delimiter = dialect.in_file.encode()
    rest, line, begins = b"", 1, True

    def block(data: bytes) -> Block:
        rows = tabbed(data) if dialect.blanks else as_csv(data) if dialect.arff else data
        return Block(rows, line, begins and dialect.titled)

    for data in _utf8(name, read, dialect.encoding, size):
        data = rest + data
        skipped = _before_header(data, dialect.skip) if begins else 0
        text = data[skipped:]
        end = last_record_end(text, delimiter)
        if end:
            line += _lines(data[:skipped])
            whole = text[:end]
            yield block(whole)
            line += _lines(whole)
            rest, begins = text[end:], False
            continue
        rest = data
        if len(data) > MAX_RECORD_BYTES:
            raise SourceError(
                f"{name}, line {line:,}: a quoted field does not end, or a row is longer than "
                f"{MAX_RECORD_BYTES >> 20} MB: is a quote not closed?"
            )
    skipped = _before_header(rest, dialect.skip) if begins else 0
    if text := rest[skipped:]:
        line += _lines(rest[:skipped])
        if last_record_end(text + b"\n", delimiter) <= len(text):  # rows would be one field
            raise SourceError(
                f"{name}, line {line:,}: a quote opens a field of this row and is not closed up to "
                'the end of the file: close it, or write a quote within a field as ""'
            )
        yield block(text)


def _utf8(name: str, read: Callable[[int], bytes], encoding: str, size: int) -> Iterator[bytes]:
    """The text as UTF-8; the first piece is small."""
    decoder = None
    if encoding.lower() not in UTF8:
        decoder = codecs.getincrementaldecoder(encoding)()
    data = read(min(FIRST_BLOCK_BYTES, size))
    while data:
        if decoder is None:
            yield data
        else:
            yield _utf8_of(name, decoder, data, encoding)
        data = read(size)
    if decoder is not None:
        yield _utf8_of(name, decoder, b"", encoding, final=True)


def _utf8_of(name: str, decoder: Any, data: bytes, encoding: str, final: bool = False) -> bytes:
    try:
        text: str = decoder.decode(data, final)
    except UnicodeError:
        raise SourceError(wrong_encoding(name, encoding)) from None
    return text.encode()


def _before_header(data: bytes, skip: int) -> int:
    """How many bytes a mark of the byte order, lines that are skipped, and blank lines take at the
    beginning."""
    text = data.removeprefix(codecs.BOM_UTF8)
    if skip:
        text = b"".join(text.splitlines(keepends=True)[skip:])
    return len(data) - len(text.lstrip(b"\r\n"))


def _lines(data: bytes) -> int:
    """How many lines end in a text: with LF, CR LF or CR."""
    returns = data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0
    return data.count(b"\n") + returns


# ---- blocks as columns ---------------------------------------------------------------------------
# Blocks of CSV as columns: cells are parsed with the type of the cells before them or, if that
# fails, as strings one by one. The result is the same.
ENCODED = pa.dictionary(pa.int32(), pa.string())


class CsvColumns:
    """Reads the columns of blocks, on several threads.

    Parameters
    ----------
    name : str
        The file, for messages.
    dialect : Dialect
    spelling : Spelling
    names : sequence of str
        The columns that are read.
    kinds : mapping of str to Kind
        Of columns whose kind is known; others have that of their first value.
    """

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        spelling: Spelling,
        names: Sequence[str],
        kinds: Mapping[str, Kind],
    ) -> None:
        self._name, self._dialect, self._spelling = name, dialect, spelling
        self._names = list(names)
        self.kinds: dict[str, Kind] = dict(kinds)
        self._types: dict[str, Any] = {}  # as what a column is parsed; a wrong one costs time only

    def settle(self, block: Block) -> Mapping[str, Kind | None]:
        """The kinds that columns have from this block on; None before the first value. Blocks have
        to come in their order."""
        open_names = [name for name in self._names if name not in self._types]
        if open_names:
            table = self._strings(block, open_names)
            for name in open_names:
                column, spelling = chunk_of(table.column(name)), self._spelling.of(name)
                kind = settled(column, self.kinds.get(name), spelling)
                if kind is not None:
                    self.kinds[name] = kind
                    self._expect(name, column, kind)
        return {name: self.kinds.get(name) for name in self._names}

    def _expect(self, name: str, column: Any, kind: Kind) -> None:
        """Parses a column from here on as what this one, of strings, holds."""
        expected = parsed_as(column, kind, self._spelling.of(name))
        if name in self._spelling.missing_of and not pa.types.is_dictionary(expected):
            expected = (
                ENCODED if kind not in ("date", "time") else pa.string()
            )  # the parser has one list only
        self._types[name] = expected

    def n_rows(self, block: Block) -> int:
        """How many rows a block has."""
        return int(self._strings(block, self._dialect.named[:1]).num_rows)

    def as_written(self, block: Block) -> Any:
        """The cells of a block, as strings that are not changed, in a pyarrow.Table."""
        return self._strings(block, self._names)

    def kept(self, block: Block, names: Sequence[str]) -> Any:
        """These cells of a block as they are written, in a pyarrow.Table; null where nothing is."""
        table = self._strings(block, names)
        nothing = pa.scalar(None, pa.string())
        columns = [table.column(name) for name in names]
        return pa.table(
            [pc.if_else(pc.equal(column, ""), nothing, column) for column in columns],
            names=list(names),
        )

    def read(self, block: Block, kinds: Mapping[str, Kind | None]) -> Any:
        """The cells of a block.

        Parameters
        ----------
        block : Block
        kinds : mapping of str to Kind or None
            What :meth:`settle` has returned for it.

        Returns
        -------
        pyarrow.Table
            Of columns as :func:`~tallybayes.sources.cells.cells` has them.

        Raises
        ------
        Misfit
            If a cell is not of its column's kind; `row` is one of the block.
        SourceError
            If the block cannot be parsed.
        """
        columns = self._typed(block, kinds)
        rest = [name for name in self._names if name not in columns]
        if rest:
            table = self._strings(block, rest)
            for name in rest:
                column, spelling = chunk_of(table.column(name)), self._spelling.of(name)
                columns[name] = cells(column, kinds[name], name, spelling)
                kind = kinds[name]
                if kind is not None:
                    self._expect(name, column, kind)
        return pa.table({name: columns[name] for name in self._names})

    def _typed(self, block: Block, kinds: Mapping[str, Kind | None]) -> dict[str, Any]:
        """The columns whose cells are all of the type that was expected."""
        types = {n: t for n, t in self._types.items() if kinds[n] is not None and t != pa.string()}
        if not types:
            return {}
        try:
            table = self._parsed(block, types, self._spelling)
        except pa.ArrowInvalid:
            return {}
        found = {}
        for name in types:
            column, kind = chunk_of(table.column(name)), kinds[name]
            if pa.types.is_dictionary(column.type) and kind is not None:
                found[name] = encoded_cells(column, kind, self._spelling.of(name))
            elif not pa.types.is_floating(column.type) or is_plain(column):
                found[name] = column
        return found

    def _strings(self, block: Block, names: Collection[str]) -> Any:
        try:
            return self._parsed(block, dict.fromkeys(names, pa.string()), None)
        except (pa.ArrowException, UnicodeError) as error:
            text = self._text(block)
            raise explained(
                self._name,
                self._dialect,
                error,
                lambda: first_uneven(text, self._dialect, block.line),
            ) from None

    def _parsed(self, block: Block, types: dict[str, Any], spelling: Spelling | None) -> Any:
        """Columns as these types; as they are written where no spelling is given."""
        missing = {
            "strings_can_be_null": spelling is not None,
            "null_values": list(spelling.missing) if spelling is not None else [],
            "decimal_point": spelling.decimal if spelling is not None else ".",
        }
        return pc_csv.read_csv(
            pa.BufferReader(block.data),
            read_options=pc_csv.ReadOptions(
                use_threads=False,
                block_size=len(block.data) + 1,
                column_names=self._dialect.header,
                skip_rows_after_names=int(block.header),
            ),
            parse_options=pc_csv.ParseOptions(
                delimiter=self._dialect.delimiter, newlines_in_values=True
            ),
            convert_options=pc_csv.ConvertOptions(
                column_types=types, include_columns=list(types), **missing
            ),
        )

    def _text(self, block: Block) -> io.StringIO:
        return io.StringIO(block.data.decode("utf-8", "replace"), newline="")

    def line_of(self, block: Block, row: int) -> int:
        """The line of a row of a block (from 0)."""
        line = line_of_record(self._text(block), self._dialect, row + int(block.header), block.line)
        return block.line if line is None else line


# ---- the file as a source ------------------------------------------------------------------------
# CSV as a source: blocks are parsed on threads; the type of each cell depends on that cell only.
BLOCK_BYTES = 1 << 23  # bytes of a block: enough that what a part costs by itself does not matter


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
        once = reopen is None and read_once(path)
        super().__init__(path, once, spelling, mixed, left_out, block)
        self._reopen: Callable[[], Any] = reopen or partial(Stream, path)
        stream = stream or self._reopen()
        try:
            head = stream.look(partial(has_header, layout=layout))
            self._dialect = dialect_of(self.name, head, layout)
        except BaseException:
            stream.close()
            raise
        self.nameless: bool = len(self._dialect.named) < len(self._dialect.header)
        self._rest: Iterator[Block] | None = self._blocks_of(stream) if self.once else None
        if not self.once:  # it is opened again to be read
            stream.close()

    @property
    def header(self) -> list[str]:
        return list(self._dialect.named)

    @property
    def levels(self) -> tuple[str, ...]:
        """The columns that ARFF declares as levels."""
        return self._dialect.levels

    def _look(self) -> dict[str, SourceColumn]:
        each = self._blocks()
        first = next(each)
        if self.once:
            self._rest = chain([first], each)
        reader = self._reader(None, ())
        found = columns_of(reader.read(first, reader.settle(first)).schema)
        named = self._dialect.named
        return {name: found.get(name, SourceColumn(name, None, "text")) for name in named}

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        reader = self._reader(names, as_written)
        self._need(kept)
        self.kinds = reader.kinds
        for block in self._blocks():
            read = partial(self._read, reader, block, reader.settle(block), kept)
            yield Part(read, self.name, typed=False, place=self.place, done=block.done)

    def written(self) -> Iterator[Any]:
        reader = self._reader(None, ())
        for block in self._blocks():
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

    def _blocks(self) -> Iterator[Block]:
        """All records."""
        if not self.once:
            return self._blocks_of(self._reopen())
        rest, self._rest = self._rest, None
        if rest is None:
            raise self._read_before()
        return rest

    def _blocks_of(self, stream: Any) -> Iterator[Block]:
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
                yield block._replace(done=stream.done)

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
            written = reader.kept(block, kept)
            return RowsKept(table.columns, written.num_rows, True, written)
        except Misfit as misfit:
            where = f"{self.name}, {self._line(reader.line_of(block, misfit.row))}"
            raise self._read_otherwise(where, misfit) from None
