"""A folder of documents: a file each, and for labels a folder for each class.

Hidden files and folders (``.git``, ``.DS_Store``) are not read. Files beside the folders of the
classes have no label, and are read where such documents are learned from. Folders within the folder
of a class belong to the class. The order is that of the names, so it is the same on every machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from tallybayes.cli.io.documents.decoding import decoded
from tallybayes.cli.io.documents.source import Document, DocumentSource
from tallybayes.cli.terminal.console import note, number_of
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.errors import listed

__all__ = ["Files", "Folder", "read_document"]

MESSAGES = (".eml",)  # files that are a message of mail each


def read_document(path: str, encoding: str) -> str:
    """The text of a file; of a message of mail (.eml) its subject and text."""
    if path == "-":
        return decoded("standard input", sys.stdin.buffer.read(), encoding)
    with open(path, "rb") as file:
        data = file.read()
    if path.lower().endswith(MESSAGES):
        from tallybayes.cli.io.documents.message import message_of, text_of

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
