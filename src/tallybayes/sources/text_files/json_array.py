"""A JSON array as JSON lines: each element is a line, and a part of the array is in memory."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tallybayes.errors import SourceError
from tallybayes.sources.opening.stream import MAX_RECORD_BYTES

__all__ = ["ElementLines", "first_elements", "is_array", "too_deep"]

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
