"""Mailboxes of the format mbox: each message is a document, read one after another.

A message begins at a line "From …" at the beginning of the file or below an empty line. The label
is a header, or else the name of the file: the messages of ``spam.mbox`` are ``spam``.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tallybayes.cli.io.documents.message import header_of, message_of, text_of
from tallybayes.cli.io.documents.source import Document, DocumentSource
from tallybayes.cli.terminal.failures import Failure
from tallybayes.sources.opening import Stream

__all__ = ["Mailboxes", "messages", "stem_of"]

QUOTED = re.compile(rb">+From ")
BUFFER_BYTES = 1 << 20


def stem_of(path: str) -> str:
    """The name of a mailbox without its folder and suffixes: its label."""
    return Path(path.removesuffix(".gz")).stem


def messages(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The messages of a mailbox, without the lines that part them."""
    held: list[bytes] = []
    begun, empty = False, True
    for line in lines:
        if empty and line.startswith(b"From "):
            if begun:
                yield b"".join(held)
            begun, held, empty = True, [], False
            continue
        empty = not line.strip()
        held.append(line[1:] if QUOTED.match(line) else line)
    if begun:
        yield b"".join(held)


class Mailboxes(DocumentSource):
    """One mailbox, or several.

    Parameters
    ----------
    paths : list of str
        "-" is standard input. They may be gzip.
    header : str or None
        That holds the label; without one, it is the name of the file.
    encoding, label, skip_unlabelled
        As in the options.
    """

    takes_target = True

    def __init__(
        self,
        paths: list[str],
        header: str | None,
        encoding: str,
        label: str | None,
        skip_unlabelled: bool,
    ) -> None:
        names = ["standard input" if path == "-" else path for path in paths]
        super().__init__(", ".join(names[:3]) + ", …" * (len(names) > 3), label, skip_unlabelled)
        self._paths, self._header, self._encoding = paths, header, encoding

    def read(self, labelled: bool, target: str | None) -> Iterator[Document]:
        header = target or self._header
        total = sum(os.path.getsize(path) for path in self._paths if path != "-")
        before, number = 0.0, 0
        for path in self._paths:
            size = 0 if path == "-" else os.path.getsize(path)
            for document, share in self._messages(path, header if labelled else None, labelled):
                done = (before + size * share) / total if total and share is not None else None
                yield document._replace(number=number, done=done)
                number += 1
            before += size

    def _messages(
        self, path: str, header: str | None, labelled: bool
    ) -> Iterator[tuple[Document, float | None]]:
        stream, name = Stream(path), "standard input" if path == "-" else path
        try:
            if stream.head and not stream.head.startswith(b"From "):
                raise Failure(
                    f'{name} is not a mailbox of the format mbox: it does not begin with "From "'
                )
            lines = io.BufferedReader(stream, BUFFER_BYTES)
            for number, data in enumerate(messages(lines)):
                message = message_of(data)
                label = None
                if labelled:
                    name_of = None if path == "-" else stem_of(path)
                    label = header_of(message, header) if header else name_of
                text = text_of(message, self._encoding)
                yield Document(text, label, f"{name}, message {number + 1:,}", number), stream.done
        finally:
            stream.close()

    def where_labels_are(self, target: str | None) -> str:
        header = target or self._header
        if header is None:
            return "standard input has no name to take it from. Name a header by --target"
        return f"its header {header!r} is missing or empty. Add it, or name another by --target"

    def other_classes(self, label: str) -> str:
        return "give a mailbox for each class, or name the header of the label by --target"
