"""JSON lines and arrays as a source: an object a line. Keys that a line lacks are missing values.

The elements of a JSON array come as lines, too, and objects within objects may be flattened. Blocks
are parsed on threads; each cell is what it is by itself.

"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial, reduce
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tallybayes.errors import LeftOutWarning, SourceError, listed, warn_user
from tallybayes.sources.arrow import HINT as FLATTEN
from tallybayes.sources.arrow import Flattening, SameName, chunk_of, columns_of, flat, flatten_hint
from tallybayes.sources.cells import Kind, Misfit, TextFile, cells, first_infinite, settled
from tallybayes.sources.contract import Part, RowsKept, SourceColumn
from tallybayes.sources.opening import MAX_RECORD_BYTES, Stream, need_readable, need_text, read_once
from tallybayes.sources.options import Spelling
from tallybayes.tables import Empty, Table, arrow

__all__ = ["ArrowJson", "ElementLines", "JsonLines", "JsonReader", "JsonText"]


# ---- JSON lines parsed by Arrow: the same values as Python's, eight times as fast ----------------
EXACT = {b"strings": b"exact"}
"""Metadata of a table whose columns of strings hold strings alone, as they are."""

MAX_DEPTH = 200

NESTED = re.compile(rb":\s*[\[{]")
"""Where a value may be an object or a list, or a string looks like it."""


class ArrowJson:
    """Reads lines block by block. Wherever Arrow and Python might differ, it reads nothing: rows
    that are nested, keys that occur twice, columns of several types, numbers that are not finite.

    Parameters
    ----------
    wanted : callable
        Says whether a column is read.
    flattening : Flattening, optional
        Of objects; without it, rows that hold some are not read.
    """

    def __init__(self, wanted: Callable[[str], bool], flattening: Flattening | None = None) -> None:
        self._wanted, self._flattening = wanted, flattening
        self._order: dict[str, None] = {}
        self._strings: set[tuple[str, ...]] = set()  # that Arrow would take for points in time

    def copy(self) -> ArrowJson:
        """One that knows as much, and learns for itself."""
        other = ArrowJson(self._wanted, self._flattening)
        other._order, other._strings = dict(self._order), set(self._strings)
        return other

    def table(self, lines: list[bytes]) -> Any:
        """The rows, or None: numbers as float64, booleans, strings, and without a type the columns
        that are not wanted."""
        data = b"".join(lines).removeprefix(codecs.BOM_UTF8)
        rows = [row for row in map(bytes.strip, data.split(b"\n")) if row]
        whole = all(row[:1] == b"{" and row[-1:] == b"}" for row in rows)
        if not rows or not whole:
            return None
        if NESTED.search(data):
            depths = (row.count(b"{") + row.count(b"[") for row in rows)
            if self._flattening is None or max(depths) > MAX_DEPTH:  # in which Arrow would crash
                return None
        try:
            table = self._parsed(data)
            if table.num_rows != len(rows):  # several on a line
                return None
            columns = {n: self._column(table, n) for n in table.column_names}
            wanted = [column for column in columns.values() if column.type != pa.null()]
            if all(column.null_count for column in wanted):  # perhaps a row without a key
                there = [column.is_valid() for column in wanted]
                if not there or not pc.all(reduce(pc.or_, there)).as_py():
                    return None
        except (pa.ArrowException, SameName):
            return None
        return pa.table(columns).replace_schema_metadata(EXACT)

    def _parsed(self, data: bytes) -> Any:
        """The columns as Arrow infers them, but that strings are strings; those that were seen
        before come first."""
        table = pj.read_json(
            pa.BufferReader(data),
            pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pj.ParseOptions(explicit_schema=_strings(self._strings)),
        )
        paths: dict[str, tuple[str, ...]] = {name: (name,) for name in table.column_names}
        if self._flattening is not None:
            table, paths = self._flattening.table(table)
        self._order.update(dict.fromkeys(table.column_names))
        dated = {paths[field.name] for field in table.schema if pa.types.is_timestamp(field.type)}
        if dated:
            self._strings |= dated
            return self._parsed(data)
        table.validate(full=True)
        return table.select([name for name in self._order if name in table.column_names])

    def _column(self, table: Any, name: str) -> Any:
        column = table.column(name).combine_chunks()
        if not self._wanted(name):
            return pa.nulls(len(column))
        kind = column.type
        if pa.types.is_nested(kind):
            raise pa.ArrowInvalid("an array")
        if column.null_count == len(column):
            return pa.nulls(len(column), pa.float64())
        if pa.types.is_integer(kind):
            return column.cast(pa.float64(), safe=False)
        if pa.types.is_floating(kind) and pc.all(pc.is_finite(column)).as_py() is False:
            raise pa.ArrowInvalid("a number that is not finite")
        return column


def _strings(paths: Collection[tuple[str, ...]]) -> Any:
    """A schema in which the values of these paths are strings."""
    inner: dict[str, list[tuple[str, ...]]] = {}
    for key, *rest in sorted(paths):
        inner.setdefault(key, []).append(tuple(rest))
    return pa.schema(
        [
            (key, pa.struct(list(_strings(below))) if all(below) else pa.string())
            for key, below in inner.items()
        ]
    )


# ---- A JSON array as JSON lines: each element is a line, and a part of the array is in memory ----
SPACE = re.compile(r"[ \t\r\n]*")
COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
DECODER = json.JSONDecoder()
READ_BYTES = 1 << 20
LINES_LENGTH = 1 << 16  # of the elements that are encoded at a time
MAX_CUT = 16  # characters at the end of a piece, in which an element may be cut


def is_array(head: bytes) -> bool:
    """Whether a file that begins so is a JSON array."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def first_elements(head: bytes) -> bytes:
    """The first elements of an array, of its first bytes, as lines; those that are whole."""
    found: list[str] = []
    with suppress(SourceError):  # cut off, or reading it explains it
        found.extend(ElementLines("", io.BytesIO(head))._lines)
    return "\n".join(found).encode("utf-8", "surrogateescape")


def too_deep(where: str) -> SourceError:
    """What is said of a row that is too deep."""
    return SourceError(
        f"{where} holds objects or arrays within each other, too deep to be read: columns hold "
        "numbers, strings or true/false, so leave it out of the file"
    )


class ElementLines(io.RawIOBase):
    """The elements of a JSON array, a line each, as a file.

    Parameters
    ----------
    name : str
        The file, for messages.
    stream : Stream or binary file
        With the array.
    """

    def __init__(self, name: str, stream: Any) -> None:
        self._name, self._stream = name, stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text, self._at, self._ended = "", 0, False
        self._lines = self._elements()
        self._rest = memoryview(b"")

    @property
    def done(self) -> float | None:
        """The share of the file that has been read."""
        return self._stream.done  # type: ignore[no-any-return]  # a float or None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            some: list[str] = []
            size = 0
            for line in self._lines:
                some.append(line)
                size += len(line)
                if size >= LINES_LENGTH:
                    break
            text = "\n".join([*some, ""])  # ends the last line
            self._rest = memoryview(text.encode("utf-8", "surrogateescape"))
        n = min(len(self._rest), len(buffer))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _elements(self) -> Iterator[str]:
        """The elements.

        Raises
        ------
        SourceError
            For what is not JSON, or not an array; it names the element, counted from 1.
        """
        self._sign()  # which is the bracket
        self._at += 1
        if self._sign() != "]":
            yield self._element(1)
            number = 1
            while self._comma():
                number += 1
                yield self._element(number)
            if self._sign() != "]":
                raise SourceError(
                    f"{self._name}: after element {number:,}, the array goes on with "
                    f"{self._text[self._at : self._at + 20]!r}, and a comma or ] is expected"
                    if self._sign()
                    else f"{self._name} ends after element {number:,}, within the array: is the "
                    "file whole?"
                )
        self._at += 1
        if self._sign():
            raise SourceError(
                f"{self._name} goes on after its array, with "
                f"{self._text[self._at : self._at + 20]!r}: a file holds one array, or JSON lines"
            )

    def _sign(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            self._at = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # of 0 or more
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _comma(self) -> bool:
        """Whether a comma is next, behind which the text goes on then."""
        found = COMMA.match(self._text, self._at)
        if found is not None and found.end() < len(self._text):
            self._at = found.end()
            return True
        if self._sign() != ",":
            return False
        self._at += 1
        self._sign()
        return True

    def _where(self, number: int) -> str:
        return f"{self._name}, element {number:,}"

    def _element(self, number: int) -> str:
        while True:
            try:
                end = DECODER.raw_decode(self._text, self._at)[1]
                if end + MAX_CUT < len(self._text) or not self._more():  # a number may go on
                    break
            except json.JSONDecodeError as error:
                is_cut = len(self._text) - error.pos < MAX_CUT or "Unterminated" in error.msg
                if not is_cut or not self._more():
                    raise SourceError(
                        f"{self._where(number)} is not valid JSON ({error.msg}): an array holds "
                        "objects, with commas between them"
                    ) from None
                if len(self._text) > MAX_RECORD_BYTES:
                    raise SourceError(
                        f"{self._where(number)} is longer than {MAX_RECORD_BYTES >> 20} MB: is a "
                        "quote or a brace not closed?"
                    ) from None
            except RecursionError:
                raise too_deep(self._where(number)) from None
        element, self._at = self._text[self._at : end], end
        if "\n" in element or "\r" in element:  # between values: strings hold none
            element = element.replace("\n", " ").replace("\r", " ")
        return element

    def _more(self) -> bool:
        """Whether there is more text, which is read then."""
        if self._ended:
            return False
        data = self._stream.read(max(READ_BYTES, len(self._text) - self._at))
        self._ended = not data
        more = self._decoder.decode(data, final=self._ended)
        if data or more:  # of a character that is cut off
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(data or more)


# ---- JSON lines: an object a line. Keys that a line lacks are missing values ---------------------
# The elements of a JSON array come as lines, too, and objects within objects may be flattened.
NUMBERS = json.JSONDecoder()
DIGITS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Gives numbers as they are written."""

MAX_SHOWN = 40  # characters of a value in a message


class JsonText(NamedTuple):
    """A file of JSON.

    Parameters
    ----------
    name : str
    unit : str
        What a row is: a "line", or an "element" of an array.
    flattening : Flattening, optional
        Of objects; without it, columns do not hold any.
    """

    name: str
    unit: str = "line"
    flattening: Flattening | None = None

    def at(self, number: int) -> str:
        """A row for messages, by its number from 1."""
        return f"{self.name}, {self.unit} {number}"


class NestedValue(SourceError):
    """A value that is an object or an array; `kind` says which."""

    column: str
    kind: str

    def __init__(self, message: str, column: str, kind: str) -> None:
        super().__init__(message)
        self.column, self.kind = column, kind


def _column(values: list[Any], name: str, text: JsonText, lines: list[int]) -> Any:
    """Values as a column of one type; mixed ones become strings."""
    types = {type(value) for value in values} - {type(None)}
    for odd in (dict, list):
        if odd in types:
            at = next(i for i, value in enumerate(values) if type(value) is odd)
            raise NestedValue(
                f"{text.at(lines[at])}: {name!r} holds {_beginning(values[at])}; columns "
                "hold numbers, strings or true/false: unpack it, or leave it out of the file"
                + (FLATTEN if odd is dict else ""),
                name,
                "object" if odd is dict else "array",
            )
    if types <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if types == {bool}:
        return pa.array(values, pa.bool_())
    from tallybayes.tables.columns import as_text  # slow to import

    return pa.array([None if v is None else as_text(v) for v in values], pa.string())


def _beginning(value: Any) -> str:
    """The first characters of a value as JSON."""
    pieces: list[str] = []
    for piece in json.JSONEncoder().iterencode(value):
        pieces.append(piece)
        if sum(map(len, pieces)) >= MAX_SHOWN:
            break
    return "".join(pieces)[:MAX_SHOWN]


def first_keys(head: bytes, flatten: bool = False) -> list[str]:
    """The keys of the first rows, of the first bytes of a file; nothing where they hold less than
    a row."""
    keys: dict[str, None] = {}
    flattening = Flattening()
    for line in head.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            row = json.loads(line) if line.strip() else {}
            if isinstance(row, dict):
                keys.update(dict.fromkeys(flattening.row(row) if flatten else row))
        except (ValueError, RecursionError):  # cut off, or reading it explains it
            break
    return [*keys, *flattening.without_values()]


def _rows(
    text: JsonText, lines: Iterable[bytes], first: int, decoder: json.JSONDecoder = NUMBERS
) -> Iterator[tuple[int, Any]]:
    """The number of each line that holds an object, the first being `first`, and the object."""
    each = "one object per line" if text.unit == "line" else "objects"
    for number, line in enumerate(lines, first):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            row = decoder.decode(line.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise SourceError(
                f"{text.at(number)} is not valid JSON ({error}): JSON {text.unit}s hold {each}"
            ) from None
        except RecursionError:
            raise too_deep(text.at(number)) from None
        if not isinstance(row, dict):
            raise SourceError(
                f"{text.at(number)} is not a JSON object: each {text.unit} has to be one"
            )
        yield number, row


def blocks(stream: Any, block: int) -> Iterator[tuple[list[bytes], int]]:
    """The lines of a file, so many bytes at a time, with the number of the first of them."""
    file, number = io.BufferedReader(stream), 1
    while lines := file.readlines(block):
        yield lines, number
        number += len(lines)


def parsed(
    text: JsonText, lines: list[bytes], first: int, wanted: Callable[[str], bool], quick: ArrowJson
) -> Any:
    """The rows of some lines as a table, of which the first has that number; None where all are
    blank."""
    table = quick.table(lines)
    if table is None:  # as Python reads it, with an error that names the line
        table = _table(text, lines, first, wanted)
    return table


def _table(text: JsonText, lines: list[bytes], first: int, wanted: Callable[[str], bool]) -> Any:
    """The rows of some lines, of which the first has that number; None where all are blank."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    names: dict[str, None] = {}
    for number, given in _rows(text, lines, first):
        row = given
        if text.flattening is not None:
            try:
                row = text.flattening.row(given)
            except SameName as error:
                raise SourceError(f"{text.at(number)}: {error}") from None
        # a null may stand for an object with a key that is read
        is_open = text.flattening is not None and any(value is None for _, value in flat(given))
        if not any(map(wanted, row)) and not is_open:
            has = f"it has {listed(row, 10)}" if row else "it is empty"
            raise SourceError(f"{text.at(number)} has none of the keys that are read: {has}")
        rows.append(row)
        numbers.append(number)
        names.update(dict.fromkeys(row))
    if not rows:
        return None
    nothing = pa.nulls(len(rows))
    columns = {
        n: _column([row.get(n) for row in rows], n, text, numbers) if wanted(n) else nothing
        for n in names
    }
    return pa.table(columns or {"": nothing})


# ---- blocks of lines -----------------------------------------------------------------------------
# JSON lines in blocks that threads parse beside each other, with the result of one after another.
#
# What a column is, its first value decides, and the block that has it may not be the first to be
# parsed. So a parsed block waits until those before it are parsed, and parses what no thread has
# begun.
class JsonReader:
    """How the blocks of a file are read.

    Parameters
    ----------
    text : JsonText
        The file.
    spelling : Spelling
    kinds : dict
        The kinds of columns that are known. Where one is None or not given, the first value
        decides, and is entered here.
    wanted : callable
        Says whether a column is read.
    """

    def __init__(
        self,
        text: JsonText,
        spelling: Spelling,
        kinds: dict[str, Kind | None],
        wanted: Callable[[str], bool],
    ) -> None:
        self.text, self.spelling, self.wanted = text, spelling, wanted
        self.kinds = kinds
        self.quick = ArrowJson(wanted, text.flattening)
        self._last: JsonBlock | None = None

    def block(self, lines: list[bytes], first: int) -> JsonBlock | None:
        """The next block, of which the first line has that number; None where all are blank. The
        first one is parsed at once, since most columns are known by it, and the parsers of others
        know these."""
        if not any(line.strip() for line in lines):
            return None
        begins = self._last is None
        quick = self.quick if begins else self.quick.copy()
        block = JsonBlock(self, lines, first, self._last, quick)
        if begins:
            block.settle()
        self._last = block
        return block


class JsonBlock:
    """Some lines, which are read on any thread."""

    def __init__(
        self,
        reader: JsonReader,
        lines: list[bytes],
        first: int,
        before: JsonBlock | None,
        quick: ArrowJson,
    ) -> None:
        self._reader, self._lines, self._first = reader, lines, first
        self._before: JsonBlock | None = before
        self._quick = quick
        self._settled = False
        self._kinds: dict[str, Kind | None] = {}
        self._table: Any = None
        self._lock = Lock()

    def parsed(self) -> Any:
        """The rows as a table of Arrow, with values as they are; it is made once."""
        with self._lock:
            return self._parsed()

    def _parsed(self) -> Any:
        if self._table is None:
            reader, lines = self._reader, self._lines
            self._table = parsed(reader.text, lines, self._first, reader.wanted, self._quick)
        return self._table

    def settle(self) -> None:
        """Enters what columns are by their first values, here or in blocks before."""
        waiting: list[JsonBlock] = []
        block: JsonBlock | None = self
        while block is not None and not block._settled:
            waiting.append(block)
            block = block._before
        reader, kinds = self._reader, self._reader.kinds
        for block in reversed(waiting):
            with block._lock:
                if block._settled:
                    continue
                table = block._parsed()
                for name in filter(reader.wanted, table.column_names):
                    column, spelling = chunk_of(table.column(name)), reader.spelling.of(name)
                    kinds[name] = settled(column, kinds.get(name), spelling)
                block._kinds = dict(kinds)  # not what later blocks decide
                block._settled, block._before = True, None

    def read(self) -> Any:
        """The rows as a table of Arrow, whose columns are of their kinds: float64, timestamps,
        levels, structs of a number and a level, or (nothing known yet) null.

        Raises
        ------
        Misfit
            For a cell that is not of its column's kind; `row` is its line, less one.
        SourceError
        """
        reader, table = self._reader, self.parsed()
        self.settle()
        columns = {}
        for name in filter(reader.wanted, table.column_names):
            column, spelling = chunk_of(table.column(name)), reader.spelling.of(name)
            try:
                columns[name] = cells(column, self._kinds[name], name, spelling)
            except Misfit as misfit:
                misfit.row = self._line(misfit.row) - 1
                raise
            if (row := first_infinite(columns[name])) is not None:
                raise SourceError(
                    f"{reader.text.name}, {reader.text.unit} {self._line(row):,}: column {name!r} "
                    "is infinite: give a finite number, or leave it empty (on the command line, "
                    "--null inf reads it as missing)"
                )
        return pa.table(columns) if columns else table.select([])  # which knows how many rows

    def kept(self, names: Sequence[str]) -> Any:
        """Columns as they are written, numbers digit by digit, in a table of Arrow."""
        table, text = self.parsed(), self._reader.text
        there, is_exact = table.schema, table.schema.metadata == EXACT
        if is_exact and all(
            n in there.names and pa.types.is_string(there.field(n).type) for n in names
        ):
            return table.select(list(names))
        rows = []
        for number, row in _rows(text, self._lines, self._first, DIGITS):
            rows.append(row if text.flattening is None else text.flattening.row(row))
            for name in names:
                if isinstance(rows[-1].get(name), dict | list):
                    _column([rows[-1][name]], name, text, [number])  # which refuses it
        truth = {True: "true", False: "false"}
        values = {name: [row.get(name) for row in rows] for name in names}
        return pa.table(
            {
                name: pa.array([truth[v] if isinstance(v, bool) else v for v in column], TEXT)
                for name, column in values.items()
            }
        )

    def _line(self, row: int) -> int:
        """The line of a row."""
        rows = [i for i, line in enumerate(self._lines) if line.strip()]
        return self._first + rows[row]


# ---- the file as a source ------------------------------------------------------------------------
BLOCK = 1 << 21  # bytes that are parsed at a time
TEXT = pa.string()


def _has_row(head: bytes) -> bool:
    """Whether the first bytes of a file hold its first row."""
    return bool(first_elements(head)) if is_array(head) else b"\n" in head.lstrip()


class JsonLines(TextFile):
    """A file of JSON lines, or a JSON array: blocks are parsed on threads; each cell is what it is
    by itself.

    Parameters
    ----------
    path : str
        "-" is standard input, which can be read once, as pipes can.
    stream : Stream, optional
        The file, where it has been opened already.
    mixed : collection of str
        Columns whose cells are numbers or strings by themselves, and never dates.
    left_out : collection of str
        Columns that are not read, and may hold what cannot be.
    spelling : Spelling
    flatten : bool
        Whether the keys of objects within rows are columns, such as a.b.
    block : int
        Bytes that are parsed at a time.
    """

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
        block: int = BLOCK,
    ) -> None:
        super().__init__(path, read_once(path), spelling, mixed, left_out, block)
        self._path = path
        self._nested: dict[str, str] = {}  # columns of objects or arrays
        self._stream: Stream | None = Stream(path) if stream is None else stream
        try:
            head = self._stream.look(_has_row)
            need_readable(self.name, head)
            need_text(self.name, head)
            self._is_array = is_array(head)
            unit = "element" if self._is_array else "line"
            self._text = JsonText(self.name, unit, Flattening() if flatten else None)
            self._first_keys = first_keys(first_elements(head) if self._is_array else head, flatten)
        except BaseException:
            self._stream.close()
            raise
        if not self.once:  # it is opened again to be read
            self._stream.close()
            self._stream = None

    def _opened(self) -> Stream | ElementLines:
        """The lines, from the first on."""
        stream, self._stream = self._stream, None
        if stream is None:
            if self.once:
                raise self._read_before()
            stream = Stream(self._path)
        return ElementLines(self.name, stream) if self._is_array else stream

    def _blocks(self, reader: JsonReader, stream: Any) -> Iterator[JsonBlock]:
        begun = False
        for lines, first in blocks(stream, self.block):
            block = reader.block(lines, first)
            if block is not None:
                begun = True
                yield block
        if not begun:
            raise SourceError(f"{self.name} has no rows")

    @property
    def header(self) -> list[str]:
        return self._first_keys or list(self.columns())

    def _look(self) -> dict[str, SourceColumn]:
        """The columns, of what can be read only once without a look at its rows."""
        if self.once:
            if self._stream is None:
                raise self._read_before()
            return {name: SourceColumn(name, "mixed", "text") for name in self._first_keys}
        unread = {*self._left_out, *self._nested}
        kinds: dict[str, Kind | None] = dict.fromkeys(self._mixed, "number or text")
        reader = JsonReader(self._text, self.spelling, kinds, lambda name: name not in unread)
        try:
            with closing(self._opened()) as stream:
                block = next(self._blocks(reader, stream))
            found = columns_of(block.read().schema)
        except NestedValue as nested:
            self._nested[nested.column] = nested.kind
            return self._look()
        found |= {name: SourceColumn(name, None, kind) for name, kind in self._nested.items()}
        names = block.parsed().column_names
        columns = {n: found.get(n, SourceColumn(n, None, "text")) for n in names}
        if self._text.flattening is not None:
            late = self._text.flattening.without_values()
            columns |= {name: SourceColumn(name, "text", "null") for name in late}
        return columns

    def parts(
        self,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        kept: Sequence[str] = (),
    ) -> Iterator[Part]:
        if self.once:
            self.columns()
        beside = [] if names is None else [name for name in kept if name not in names]
        kinds: dict[str, Kind | None] = dict.fromkeys([*as_written, *beside], "text")
        kinds |= dict.fromkeys(self._mixed - set(as_written), "number or text")
        asked = None if names is None else frozenset([*names, *kept])
        unread = self._left_out if self.once or asked is not None else self._unread(as_written)

        self.kinds = kinds

        def wanted(name: str) -> bool:
            return name not in unread and (asked is None or name in asked)

        reader = JsonReader(self._text, self.spelling, kinds, wanted)
        with closing(self._opened()) as stream:
            for block in self._blocks(reader, stream):
                read = partial(self._read, block, names or (), beside, kept)
                yield Part(read, self.name, False, self.place, stream.done)

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

    def _read(
        self, block: JsonBlock, names: Sequence[str], beside: Sequence[str], kept: Sequence[str]
    ) -> Table:
        """The rows of a block: columns without a value in it are there as well, and those `beside`
        are only kept."""
        try:
            table = arrow.read(block.read())
        except Misfit as misfit:
            where = f"{self.name}, {self._text.unit} {misfit.row + 1:,}"
            raise self._read_otherwise(where, misfit) from None
        columns = {n: c for n, c in table.columns.items() if n not in beside}
        columns |= {n: Empty(table.n_rows) for n in names if n not in table.columns}
        if kept:
            return RowsKept(columns, table.n_rows, True, block.kept(kept))
        return Table(columns, table.n_rows, True)

    def written(self) -> Iterator[Any]:
        self.columns()  # which of them are nested
        unread = {*self._left_out, *self._nested}
        quick = ArrowJson(lambda name: name not in unread, self._text.flattening)
        with closing(self._opened()) as stream:
            for lines, first in blocks(stream, self.block):
                table = parsed(self._text, lines, first, lambda name: name not in unread, quick)
                if table is not None:
                    yield table

    def place(self, row: int) -> str:
        if not self.once:
            with closing(self._opened()) as stream:
                rows = _rows(self._text, io.BufferedReader(stream), 1)
                for number, _ in islice(rows, row, None):
                    return f"{self._text.unit} {number:,}"
        return f"row {row:,}"
