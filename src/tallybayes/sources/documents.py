"""Documents: of folders, mailboxes, files of one document each, and of columns of rows.

Arrow is imported for rows only.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from tallybayes.errors import (
    OptionError,
    SourceError,
    SourceWarning,
    called,
    listed,
    warn_user,
)
from tallybayes.sources.document_source import Document, DocumentSource
from tallybayes.sources.opening import FORMATS, PACKED, Format, Stream
from tallybayes.sources.options import MISSING, Layout, Spelling

__all__ = ["Files", "Folder", "Mailboxes", "documents", "kind_of_input", "messages"]


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
        from tallybayes.sources.mail import message_of, text_of

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
            raise OptionError("standard input is one document: give it alone, or files alone")

    def read(self, labelled: bool, target: str | None = None) -> Iterator[Document]:
        if self._paths == ["-"]:
            yield Document(read_document("-", self._encoding), None, self.name, 0)
        else:
            yield from _read([(path, None) for path in self._paths], self._encoding)

    def where_labels_are(self, target: str | None) -> str:
        label = called("label")
        return f"it is one document. Name its label by {label}, give a folder for each class"


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

    def read(self, labelled: bool, target: str | None = None) -> Iterator[Document]:
        if labelled:
            yield from _read(self._of_classes(), self._encoding)
            return
        found = [(path, None) for path in _files(self.name)]
        if not found:
            raise SourceError(f"{self.name} has no files to read (hidden ones are left out)")
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
            raise SourceError(self._no_classes(files))
        if empty:
            warn_user(f"{self.name}: no files in {listed(empty)}, so no such class", SourceWarning)
        if files and self.keep_unlabelled:
            found += [(os.path.join(self.name, name), None) for name in files]
        elif files:
            warn_user(
                f"{self.name}: {_number_of_files(files)} beside the folders of the "
                f"classes not read ({listed(files, 3)})",
                SourceWarning,
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
            f"{self.name} has {_number_of_files(files)} and no folders of classes: move the "
            f"files of each class into a folder, as {os.path.join(self.name, 'CLASS', files[0])}"
        )


def _number_of_files(files: Sequence[str]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files):,} files"


def _label(folder: str, parent: str) -> str:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise SourceError(
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
        self._paths, self.target, self._encoding = paths, header, encoding

    def read(self, labelled: bool, target: str | None = None) -> Iterator[Document]:
        header = target or self.target
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
        from tallybayes.sources.mail import header_of, message_of, text_of

        stream, name = Stream(path), "standard input" if path == "-" else path
        try:
            if stream.head and not stream.head.startswith(b"From "):
                raise SourceError(
                    f'{name} is not a mailbox of the format mbox: it does not begin with "From "'
                )
            lines = io.BufferedReader(stream, BUFFER_BYTES)
            for number, data in enumerate(messages(lines)):
                message = message_of(data)
                label = None
                if labelled:
                    name_of = None if path == "-" else Path(path.removesuffix(".gz")).stem
                    label = header_of(message, header) if header else name_of
                text = text_of(message, self._encoding)
                yield Document(text, label, f"{name}, message {number + 1:,}", number), stream.done
        finally:
            stream.close()

    def where_labels_are(self, target: str | None) -> str:
        header = target or self.target
        if header is None:
            name = called("target")
            return f"standard input has no name to take it from. Name a header by {name}"
        name = called("target")
        return f"its header {header!r} is missing or empty. Add it, or name another by {name}"

    def other_classes(self, label: str) -> str:
        name = called("target")
        return f"give a mailbox for each class, or name the header of the label by {name}"


# ---- bytes of a document as text, or an error that names the kind of file and what to do ---------
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
    SourceError
        For bytes that are packed, binary, or not of the encoding.
    """
    for magic, (kind, tool) in PACKED.items():
        if data.startswith(magic):
            raise SourceError(f"{place} is {kind}-compressed: unpack it first ({tool.split()[0]})")
    if data[8:].startswith(b'{"') and b'"tallybayes"' in data[:4096]:
        raise SourceError(f"{place} is a tallybayes model, and documents are expected here")
    for magic, what in OTHERS.items():
        if data.startswith(magic):
            raise SourceError(f"{place} is {what}, or remove it from the documents")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(_not_text(place, data, encoding, error)) from None
    if "\0" in text and len(CONTROLS.findall(text)) > MAX_CONTROL_SHARE * len(text):
        raise SourceError(
            f"{place} is a binary file, with NUL bytes and other control characters: documents are "
            f"text. Remove it, or name its encoding, such as {called('encoding', 'utf-16')}"
        )
    return text.removeprefix("\ufeff")


def _not_text(place: str, data: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    """What to do about bytes that an encoding does not have."""
    if data.startswith(UTF16_MARKS):
        return f"{place} is UTF-16 text: add {called('encoding', 'utf-16')}"
    if b"\0" in data:
        return f"{place} is a binary file: documents are text. Remove it from the documents"
    line = len(re.findall(b"\n", data[: error.start])) + 1
    return (
        f"{place} is not {encoding} text (line {line:,}, byte 0x{data[error.start]:02x}): name the "
        f"encoding of the documents, such as {called('encoding', 'latin-1')}, which has a "
        "character for each byte"
    )


# ---- what documents come from: a folder, mailboxes, rows, or files of one document each ----------
Kind = Literal["folder", "mailbox", "rows", "file"]

BLOCK_BYTES = 1 << 24  # bytes of rows that are parsed at a time: a row of CSV fits into it
MAILBOXES = (".mbox", ".mbx")
MAILBOX_START = b"From "  # of a mailbox


def kind_of_input(path: str, format: str | None = None, rows: bool = False) -> Kind:
    """Tell what documents a path holds.

    Parameters
    ----------
    path : str
        A file or folder; "-" is standard input.
    format : str, optional
        By default the first bytes and the suffix say it.
    rows : bool, default=False
        Whether standard input holds rows.

    Returns
    -------
    {"folder", "mailbox", "rows", "file"}
        What it is.
    """
    if path != "-" and os.path.isdir(path):
        return "folder"
    if format is not None:
        named: dict[str, Kind] = {"mbox": "mailbox", "text": "file"}
        return named.get(format, "rows")
    if path == "-":
        return "rows" if rows else "file"
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    head = b""
    if os.path.isfile(path):  # a pipe is not looked at
        with open(path, "rb") as file:
            head = file.read(len(MAILBOX_START))
    if suffix in MAILBOXES or head == MAILBOX_START:
        return "mailbox"
    return "rows" if suffix in FORMATS and suffix != ".txt" else "file"


def documents(
    data: Any,
    *,
    text: str | None = None,
    target: str | None = None,
    label: str | None = None,
    skip_unlabelled: bool = False,
    format: str | None = None,
    encoding: str = "utf-8",
    beside: Collection[str] | None = None,
    sheet: str | None = None,
    flatten: bool = False,
    union_by_name: bool = False,
    block: int | None = None,
    **layout: Any,
) -> DocumentSource:
    """Read documents: of a folder, of mailboxes, of files, or of a column of a table.

    The command line reads documents by this function. Of a folder the classes are the folders in
    it, of mailboxes their names or a header. Messages of mail (.eml, and those of mailboxes) are
    their subject and the text that people read.

    Parameters
    ----------
    data : path-like, list of them, or source of rows
        One folder, mailboxes (mbox, which may be gzip), files of rows, or files of one document
        each.
    text : str, optional
        The column of the documents, where these are rows; by default the only one beside the
        labels.
    target : str, optional
        The column of rows, or the header of messages, that holds the labels.
    label : str, optional
        The label of all documents.
    skip_unlabelled : bool, default=False
        Whether documents without a label are left out; by default they are an error.
    format : {"csv", "jsonl", "parquet", "arrow", "excel", "mbox", "text"}, optional
        By default found from the content; under "text" a file is a document.
    encoding : str, default="utf-8"
        Of the documents.
    beside : collection of str, optional
        The columns that rows may have beside documents and labels; any by default.
    sheet : str, optional
        The sheet of a workbook of rows.
    flatten : bool, default=False
        Whether keys of objects within rows are columns.
    union_by_name : bool, default=False
        Whether files of rows may have other columns than the first.
    block : int, optional
        Bytes of rows that are parsed at a time.
    **layout : object
        Of rows in CSV: `delimiter`, `header`, `names` and `skip`, as :func:`tallybayes.csv` has
        them.

    Returns
    -------
    DocumentSource
        For :meth:`TextNB.fit` and whatever else takes documents.

    Raises
    ------
    ValueError
        For inputs that cannot be read together, and (a SourceError) if one cannot be read.

    See Also
    --------
    rows : The rows of a table.

    Examples
    --------
    >>> import pathlib, tempfile, tallybayes
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name, words in ("ham", "see you at lunch"), ("spam", "cheap pills, buy now"):
    ...     pathlib.Path(folder.name, name).mkdir()
    ...     _ = pathlib.Path(folder.name, name, "1.txt").write_text(words)
    >>> mails = tallybayes.documents(folder.name)
    >>> [(d.label, d.text) for d in mails.read(labelled=True)]
    [('ham', 'see you at lunch'), ('spam', 'cheap pills, buy now')]
    >>> folder.cleanup()
    """
    if hasattr(type(data), "columns") and hasattr(type(data), "parts"):
        from tallybayes.sources.document_rows import DocumentRows  # which imports Arrow

        for file in getattr(data, "sources", [data]):
            if hasattr(file, "spelling"):
                file.spelling = spelling_of_documents(target)
        return DocumentRows(data, text, target, label, skip_unlabelled, beside)
    given = [data] if isinstance(data, str | os.PathLike) else data
    paths = [os.fspath(path) for path in given]
    kinds = {kind_of_input(path, format, text is not None) for path in paths}
    kind = kinds.pop()
    if kinds or (len(paths) > 1 and kind == "folder"):
        raise OptionError(
            "documents come from one folder, from files of rows, from mailboxes, or from files "
            f"of one document each, and {len(paths)} inputs of another mix are given: run the "
            "command on each"
        )
    if kind == "folder":
        return Folder(paths[0], encoding, label, skip_unlabelled)
    if kind == "mailbox":
        header = target if text is None else None
        return Mailboxes(paths, header, encoding, label, skip_unlabelled)
    if kind == "file":
        return Files(paths, encoding, label, skip_unlabelled)
    from tallybayes.sources.document_rows import DocumentRows
    from tallybayes.sources.files import source_of_paths

    source = source_of_paths(
        paths,
        cast("Format | None", format),
        layout=Layout(encoding=encoding, **layout),
        sheet=sheet,
        flatten=flatten,
        union_by_name=union_by_name,
        spelling=spelling_of_documents(target),
        block=block or BLOCK_BYTES,
    )
    return DocumentRows(source, text, target, label, skip_unlabelled, beside)


def spelling_of_documents(target: str | None) -> Spelling:
    """How rows of documents are read: only an empty cell is a missing document."""
    return Spelling(missing=("",), missing_of={} if target is None else {target: MISSING})
