"""CSV with any delimiter: what its beginning says, and the lines of its records."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tallybayes.errors import SourceError
from tallybayes.sources.opening.foreign import header_hint
from tallybayes.sources.opening.sniffing import delimiter_of, need_text
from tallybayes.sources.opening.stream import Stream, read_once

__all__ = [
    "Dialect",
    "dialect_of",
    "explained",
    "first_uneven",
    "line_of_record",
    "line_of_row",
    "wrong_encoding",
]

csv.field_size_limit(2**31 - 1)

UNEVEN = "correct it, or name the delimiter (--delimiter on the command line)"


class Dialect(NamedTuple):
    """What was found at the beginning of a file."""

    delimiter: str
    encoding: str
    header: list[str]
    named: list[str]


def dialect_of(path: str, head: bytes, delimiter: str | None, encoding: str) -> Dialect:
    """Delimiter and header line."""
    if encoding.lower() in ("utf-8", "utf8"):
        need_text(path, head)
    # a character that the look cuts in two is left out; any other fault is found in place
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head).removeprefix("\ufeff")
    text = text.lstrip("\r\n")
    if "\0" in text:
        raise SourceError(f"{path} is a binary file, or not {encoding} text")
    delimiter = delimiter or delimiter_of(text)
    try:
        header = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    except csv.Error as error:
        if "\r" in text and "\n" not in text:
            raise SourceError(
                f"{path} has classic Mac line endings (CR alone): convert it with "
                f"tr '\\r' '\\n' < {path}"
            ) from None
        raise SourceError(f"{path} does not begin with a header line of CSV ({error})") from None
    named = [name.strip() for name in header if name.strip()]
    for name in named:
        if named.count(name) > 1:
            hint = header_hint(named)
            raise SourceError(
                f"{path}: two columns are named {name!r}: rename or remove one{hint and '.'}{hint}"
            )
    # a column without a name, as pandas writes its index, is not read
    header = [name.strip() or f"\0{i}" for i, name in enumerate(header)]
    return Dialect(delimiter, encoding, header, named)


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
        row = f"row {at[1]} (the header is row 1)" if at else "a row"
        where, advice = uneven() or (row, UNEVEN)
        return SourceError(
            f"{name}, {where} has {found[2]} field(s), but the header has {found[1]} "
            f"(delimiter {dialect.delimiter!r}): {advice}"
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


def _text(path: str, dialect: Dialect) -> io.TextIOWrapper:
    binary: Any = io.BufferedReader(Stream(path), 1 << 20)
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


def line_of_row(path: str, dialect: Dialect, row: int) -> int | None:
    """The line of a row (from 0); None for what is read once."""
    if read_once(path):
        return None
    with _text(path, dialect) as text:  # the header is a record, too
        return line_of_record(text, dialect, row + 1)


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
