"""Sources of documents: what they share, files of one document each, and folders of them."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tallybayes.cli.console import note, number_of
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.errors import NegativeTally, listed
from tallybayes.sources.opening import PACKED, Stream

__all__ = [
    "Document",
    "DocumentBatch",
    "DocumentSource",
    "Files",
    "Folder",
    "Mailboxes",
    "decoded",
    "messages",
    "read_document",
    "stem_of",
]


# ---- what sources share: batches, labels, and the places of documents ----------------------------
class Document(NamedTuple):
    """A document as it is read.

    Parameters
    ----------
    text : str
    label : str or None
        None where it has none, or none is requested.
    name : str
        The path of its file, or the number of its message; rows have none.
    number : int
        In its source, from 0.
    done : float, optional
        The share of the bytes of the source that has been read so far, where that is known.
    kept : tuple of (str or None)
        The values of the columns that are kept beside it.
    """

    text: str
    label: str | None
    name: str
    number: int
    done: float | None = None
    kept: tuple[str | None, ...] = ()


@dataclass(frozen=True, eq=False)
class DocumentBatch:
    """Some documents of a source.

    Parameters
    ----------
    documents : list of Document
    first : int
        The number of the first one among those that are read, from 0.
    """

    documents: list[Document]
    first: int

    @property
    def n_rows(self) -> int:
        """How many documents."""
        return len(self.documents)

    @property
    def done(self) -> float | None:
        """The share of the bytes that has been read so far."""
        return self.documents[-1].done

    @property
    def strings(self) -> list[str]:
        """The documents themselves."""
        return [document.text for document in self.documents]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [_printable(document.name) for document in self.documents]

    def kept(self, j: int) -> list[str]:
        """The values of a column that is kept; empty where one is missing."""
        return [document.kept[j] or "" for document in self.documents]

    @property
    def labels(self) -> list[str]:
        """Their labels, where these were requested."""
        return [document.label or "" for document in self.documents]

    @property
    def labels_or_none(self) -> list[str | None]:
        """Their labels, None where documents without a label are kept."""
        return [document.label or None for document in self.documents]


class DocumentSource(ABC):
    """Some input as documents.

    Parameters
    ----------
    name : str
        For messages.
    label : str or None
        That all documents have, where one is given.
    skip_unlabelled : bool
        Whether documents without a label are left out; by default they are an error.
    """

    name: str
    label: str | None
    skip_unlabelled: bool

    keep_unlabelled = False
    """Whether documents without a label are among the labelled ones, to be learned from."""

    takes_target = False
    """Whether labels stand in a column or header with a name."""

    has_names = True
    """Whether documents have names beside their numbers."""

    keep: Sequence[str] = ()
    """The columns of rows that are kept beside the documents."""

    group: str | None = None
    """The column of groups, which is the first that is kept."""

    def __init__(self, name: str, label: str | None, skip_unlabelled: bool) -> None:
        self.name, self.label, self.skip_unlabelled = name, label, skip_unlabelled
        self.unlabelled: int = 0

    def keep_columns(self, names: Sequence[str]) -> None:
        """Keeps columns of rows beside the documents.

        Raises
        ------
        Failure
            If the documents are not rows of a table, and if a column does not exist.
        """
        if names:
            raise Failure(
                f"--keep is for rows, and the documents of {self.name} have names instead", USAGE
            )

    def keep_group(self, group: str | None) -> None:
        """Keeps the column of groups of rows; none by None.

        Raises
        ------
        Failure
            If the documents are not rows of a table, and if the column does not exist.
        """
        if group is not None:
            raise Failure(
                f"--group names a column of rows, and {self.name} has none: omit it, or give a "
                "table with the documents, their labels and their groups as columns",
                USAGE,
            )

    @abstractmethod
    def read(self, labelled: bool, target: str | None) -> Iterator[Document]:
        """The documents one by one.

        Parameters
        ----------
        labelled : bool
            Whether labels are read.
        target : str or None
            The column or header of the label, where it is another than the source was opened with.
        """

    def batches(
        self, size: int, *, labelled: bool = False, target: str | None = None
    ) -> Iterator[DocumentBatch]:
        """The documents in batches of about `size` letters.

        Raises
        ------
        Failure
            For a document without a label where labels are read, unless they are skipped;
            where there are no documents.
        """
        held: list[Document] = []
        first = letters = self.unlabelled = 0
        for document in self.read(labelled and self.label is None, target):
            if labelled:
                document = document._replace(label=self.label or document.label)
                if not document.label and not self._takes_unlabelled(document, target):
                    continue
            if self.group is not None and not document.kept[0]:
                raise Failure(
                    f"{self.where(document)} has no value in {self.group!r}, the column of groups "
                    "(--group): give each row its group, one of its own where it belongs to none"
                )
            held.append(document)
            letters += len(document.text)
            if letters >= size:
                yield DocumentBatch(held, first)
                first, held, letters = first + len(held), [], 0
        if held:
            yield DocumentBatch(held, first)
        elif not first:
            some = f"none of its {self.unlabelled:,} documents has a label"
            raise Failure(f"{self.name}: {some if self.unlabelled else 'it holds no documents'}")

    def _takes_unlabelled(self, document: Document, target: str | None) -> bool:
        """Whether a document without a label is kept; it is counted."""
        if not (self.skip_unlabelled or self.keep_unlabelled):
            raise Failure(
                f"{self.where(document)} has no label: {self.where_labels_are(target)}, or leave "
                "such documents out with --skip-unlabelled"
            )
        self.unlabelled += 1
        return self.keep_unlabelled

    def where(self, document: Document) -> str:
        """Where people find a document."""
        return document.name

    def where_labels_are(self, target: str | None) -> str:
        """What to do about a document without a label."""
        return "give one with --label"

    def other_classes(self, label: str) -> str:
        """What to do where all documents have one label."""
        return "add documents of another class"

    @contextmanager
    def locating(self, batch: DocumentBatch) -> Iterator[None]:
        """Errors about "document N" of the batch become errors about its place."""
        try:
            yield
        except NegativeTally:
            raise
        except ValueError as error:
            found = re.search(r"\bdocument (\d+)", str(error))
            number = int(found[1]) if found else len(batch.documents)
            known = number < len(batch.documents)
            where = self.where(batch.documents[number]) if known else self.name
            raise Failure(f"{where}: {error}") from error


def _printable(name: str) -> str:
    """A name without the surrogates that stand for bytes of a path that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# ---- a folder of documents: a file each, and for labels a folder for each class ------------------
# Hidden files and folders (``.git``, ``.DS_Store``) are not read. Files beside the folders of the
# classes have no label, and are read where such documents are learned from. Folders within the
# folder of a class belong to the class. The order is that of the names, so it is the same on every
# machine.
MESSAGES = (".eml",)  # files that are a message of mail each


def read_document(path: str, encoding: str) -> str:
    """The text of a file; of a message of mail (.eml) its subject and text."""
    if path == "-":
        return decoded("standard input", sys.stdin.buffer.read(), encoding)
    with open(path, "rb") as file:
        data = file.read()
    if path.lower().endswith(MESSAGES):
        from tallybayes.cli.mail import message_of, text_of

        return text_of(message_of(data), encoding)
    return decoded(path, data, encoding)


class Files(DocumentSource):
    """Files of one document each.

    Parameters
    ----------
    paths : list of str
    encoding, label, skip_unlabelled
        As in the options.
    """

    def __init__(
        self, paths: list[str], encoding: str, label: str | None, skip_unlabelled: bool
    ) -> None:
        first = "standard input" if paths[0] == "-" else paths[0]
        name = first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"
        super().__init__(name, label, skip_unlabelled)
        self.has_names: bool = paths != ["-"]
        self._paths, self._encoding = paths, encoding
        if "-" in paths and len(paths) > 1:
            raise Failure("standard input is one document: give it alone, or files alone", USAGE)

    def read(self, labelled: bool, target: str | None) -> Iterator[Document]:
        if self._paths == ["-"]:
            yield Document(read_document("-", self._encoding), None, self.name, 0)
        else:
            yield from _read([(path, None) for path in self._paths], self._encoding)

    def where_labels_are(self, target: str | None) -> str:
        return "it is one document. Name its label by --label, give a folder for each class"


class Folder(DocumentSource):
    """A folder.

    Parameters
    ----------
    path : str
    encoding, label, skip_unlabelled
        As in the options.
    """

    def __init__(self, path: str, encoding: str, label: str | None, skip_unlabelled: bool) -> None:
        super().__init__(path, label, skip_unlabelled)
        self._encoding = encoding

    def read(self, labelled: bool, target: str | None) -> Iterator[Document]:
        if labelled:
            yield from _read(self._of_classes(), self._encoding)
            return
        found = [(path, None) for path in _files(self.name)]
        if not found:
            raise Failure(f"{self.name} has no files to read (hidden ones are left out)")
        yield from _read(found, self._encoding)

    def other_classes(self, label: str) -> str:
        within = os.path.join(self.name, label)
        if len(_entries(within)[0]) > 1:
            return f"is {within} the folder of the classes?"
        return f"give the folder that holds {label} and the folders of the other classes"

    def _of_classes(self) -> list[tuple[str, str | None]]:
        """Each file and the folder of its class."""
        folders, files = _entries(self.name)
        found: list[tuple[str, str | None]] = []
        empty = []
        for folder in folders:
            paths = list(_files(os.path.join(self.name, folder)))
            found += [(path, _label(folder, self.name)) for path in paths]
            empty += [] if paths else [folder]
        if not found:
            raise Failure(self._no_classes(files))
        if empty:
            note(f"note: {self.name}: no files in {listed(empty)}, so no such class")
        if files and self.keep_unlabelled:
            found += [(os.path.join(self.name, name), None) for name in files]
        elif files:
            note(
                f"note: {self.name}: {number_of(len(files), 'file')} beside the folders of the "
                f"classes not read ({listed(files, 3)})"
            )
        return found

    def _no_classes(self, files: list[str]) -> str:
        if not files:
            return (
                f"{self.name} has no documents: give a folder with a folder for each class, and "
                "the documents as files in these"
            )
        boxes = [name for name in files if name.endswith((".mbox", ".mbx"))]
        if boxes:
            return (
                f"{self.name} has mailboxes and no folders of classes: give the mailboxes "
                f"themselves, as {os.path.join(self.name, '*')}"
            )
        tables = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow")
        if any(name.endswith(tables) for name in files):
            return f"{self.name} has no folders of classes: name a file in it, such as {files[0]}"
        return (
            f"{self.name} has {number_of(len(files), 'file')} and no folders of classes: move the "
            f"files of each class into a folder, as {os.path.join(self.name, 'CLASS', files[0])}"
        )


def _label(folder: str, parent: str) -> str:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise Failure(
            f"{parent}: the name of a folder is not UTF-8 ({folder!r}), and would be a label: "
            "rename it"
        ) from None
    return folder


def _entries(path: str) -> tuple[list[str], list[str]]:
    """The names of the folders and of the files in a folder, sorted; hidden ones left out."""
    with os.scandir(path) as entries:
        shown = sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    folders = [e.name for e in shown if e.is_dir()]
    return folders, [e.name for e in shown if e.is_file()]


def _files(path: str) -> Iterator[str]:
    """The files below a folder; links to folders are followed only once."""
    stack, seen = [path], set()
    while stack:
        here = stack.pop()
        known = os.path.realpath(here)
        if known in seen:
            continue
        seen.add(known)
        folders, files = _entries(here)
        yield from (os.path.join(here, name) for name in files)
        stack += [os.path.join(here, name) for name in reversed(folders)]


def _read(files: Sequence[tuple[str, str | None]], encoding: str) -> Iterator[Document]:
    sizes = [os.path.getsize(path) for path, _ in files]
    total, done = max(1, sum(sizes)), 0
    for number, (path, label) in enumerate(files):
        done += sizes[number]
        yield Document(read_document(path, encoding), label, path, number, done / total)


# ---- mailboxes of the format mbox: each message is a document, read one after another ------------
# A message begins at a line "From …" at the beginning of the file or below an empty line. The
# label is a header, or else the name of the file: the messages of ``spam.mbox`` are ``spam``.
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
        from tallybayes.cli.mail import header_of, message_of, text_of

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


# ---- bytes of a document as text, or an error that names the kind of file and what to do ---------
PACKERS = {b"\x1f\x8b": ("gzip", "gunzip"), **PACKED}
OTHERS = {
    b"%PDF": "a PDF document: make text of it, such as by pdftotext",
    b"PK\x03\x04": "a zip archive, or an office document: unpack it, or save it as text",
    b"\xd0\xcf\x11\xe0": "an old office document: save it as text",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file: give it by itself, not in a folder",
}
CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
MAX_CONTROL_SHARE = 0.02
"""The share of control characters that a text with a NUL may have."""

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(place: str, data: bytes, encoding: str) -> str:
    """The text of a document, without a byte-order mark.

    Raises
    ------
    Failure
        For bytes that are packed, binary, or not of the encoding.
    """
    for magic, (kind, tool) in PACKERS.items():
        if data.startswith(magic):
            raise Failure(f"{place} is {kind}-compressed: unpack it first ({tool.split()[0]})")
    if data[8:].startswith(b'{"') and b'"tallybayes"' in data[:4096]:
        raise Failure(f"{place} is a tallybayes model, and documents are expected here")
    for magic, what in OTHERS.items():
        if data.startswith(magic):
            raise Failure(f"{place} is {what}, or remove it from the documents")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Failure(_not_text(place, data, encoding, error)) from None
    if "\0" in text and len(CONTROLS.findall(text)) > MAX_CONTROL_SHARE * len(text):
        raise Failure(
            f"{place} is a binary file, with NUL bytes and other control characters: documents are "
            "text. Remove it, or name its encoding, such as --encoding utf-16"
        )
    return text.removeprefix("\ufeff")


def _not_text(place: str, data: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    """What to do about bytes that an encoding does not have."""
    if data.startswith(UTF16_MARKS):
        return f"{place} is UTF-16 text: add --encoding utf-16"
    if b"\0" in data:
        return f"{place} is a binary file: documents are text. Remove it from the documents"
    line = len(re.findall(b"\n", data[: error.start])) + 1
    return (
        f"{place} is not {encoding} text (line {line:,}, byte 0x{data[error.start]:02x}): name the "
        "encoding of the documents, such as --encoding latin-1, which has a character for each byte"
    )
