"""CSV with any delimiter: its first lines, and the line numbers of its records."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tallybayes._kernels import last_record_end
from tallybayes.errors import SourceError
from tallybayes.sources.opening.foreign import header_hint
from tallybayes.sources.opening.preamble import (
    arff_of,
    has_data,
    is_arff,
    need_header,
    need_no_sparse,
)
from tallybayes.sources.opening.sniffing import delimiter_of, need_text
from tallybayes.sources.opening.stream import HEAD_BYTES
from tallybayes.sources.text_files.arff_rows import as_csv, without_comment
from tallybayes.sources.text_files.blanks import tabbed
from tallybayes.sources.text_files.options import BLANKS, Layout

__all__ = [
    "Dialect",
    "dialect_of",
    "explained",
    "first_uneven",
    "has_header",
    "line_of_record",
    "line_of_row",
    "wrong_encoding",
]

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
