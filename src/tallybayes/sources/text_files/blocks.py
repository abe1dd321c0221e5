"""A CSV text in blocks of whole records, which can be parsed in parallel."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tallybayes._kernels import last_record_end
from tallybayes.errors import SourceError
from tallybayes.sources.opening.stream import MAX_RECORD_BYTES
from tallybayes.sources.text_files.arff_rows import as_csv
from tallybayes.sources.text_files.blanks import tabbed
from tallybayes.sources.text_files.delimited import Dialect, wrong_encoding

__all__ = ["Block", "blocks"]

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
    """

    data: bytes
    line: int
    header: bool


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
        If a record is longer than 64 MB, or the bytes are not of the dialect's encoding.
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
    if rest[skipped:]:
        line += _lines(rest[:skipped])
        yield block(rest[skipped:])


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
            yield _decoded(name, decoder, data, encoding)
        data = read(size)
    if decoder is not None:
        yield _decoded(name, decoder, b"", encoding, final=True)


def _decoded(name: str, decoder: Any, data: bytes, encoding: str, final: bool = False) -> bytes:
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
