"""What documents come from: a folder, mailboxes, rows, or files of one document each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from tallybayes.cli.terminal import interrupts
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.sources.opening import FORMATS, Format
from tallybayes.sources.options import MISSING, Layout, Spelling

if TYPE_CHECKING:
    from tallybayes.cli.io.documents.source import DocumentSource

__all__ = ["Wanted", "kind_of_input", "open_documents", "open_rows", "spelling_of_documents"]

Kind = Literal["folder", "mailbox", "rows", "file"]

BLOCK_BYTES = 1 << 24  # bytes of rows that are parsed at a time: a row of CSV fits into it
MAILBOXES = (".mbox", ".mbx")
MAILBOX_START = b"From "  # of a mailbox


@dataclass(frozen=True)
class Wanted:
    """How documents are read.

    Parameters
    ----------
    layout : Layout
        Of CSV; its encoding is that of all documents.
    format : str or None
        The value of --format.
    column : str or None
        Of rows, with the documents.
    target : str or None
        The column, or the header of messages, with the labels.
    from_rows : bool
        Whether the model has learned from rows: `target` is then a column and no header, and
        standard input holds rows.
    label : str or None
        Of all documents.
    skip_unlabelled : bool
    block : int or None
        Bytes of rows that are parsed at a time.
    sheet : str or None
        Of a workbook.
    flatten : bool
        Whether keys of objects within rows are columns.
    union_by_name : bool
        Whether files of rows may have other columns than the first.
    alone : set of str, optional
        The columns that rows may have beside documents and labels; any by default.
    """

    layout: Layout = Layout()  # noqa: RUF009  # frozen
    format: str | None = None
    column: str | None = None
    target: str | None = None
    from_rows: bool = False
    label: str | None = None
    skip_unlabelled: bool = False
    block: int | None = None
    sheet: str | None = None
    flatten: bool = False
    union_by_name: bool = False
    alone: set[str] | None = None


def kind_of_input(path: str, wanted: Wanted) -> Kind:
    """What a path is: by --format, then by its first bytes, then by its suffix."""
    if path != "-" and os.path.isdir(path):
        return "folder"
    if wanted.format is not None:
        named: dict[str, Kind] = {"mbox": "mailbox", "text": "file"}
        return named.get(wanted.format, "rows")
    if path == "-":
        return "rows" if wanted.from_rows else "file"
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    if suffix in MAILBOXES or _begins(path):
        return "mailbox"
    return "rows" if suffix in FORMATS and suffix != ".txt" else "file"


def _begins(path: str) -> bool:
    """Whether a file begins as a mailbox does; a pipe is not looked at."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAILBOX_START)) == MAILBOX_START


def open_documents(paths: list[str], wanted: Wanted) -> DocumentSource:
    """The documents of one folder, one file of rows, or of mailboxes or files.

    Raises
    ------
    Failure
        With the code for usage, for inputs that cannot be read together.
    """
    kinds = {kind_of_input(path, wanted) for path in paths}
    kind = kinds.pop()
    if kinds or (len(paths) > 1 and kind == "folder"):
        raise Failure(
            "documents come from one folder, from files of rows, from mailboxes, or from files "
            f"of one document each, and {len(paths)} inputs of another mix are given: run the "
            "command on each",
            USAGE,
        )
    given = (wanted.layout.encoding, wanted.label, wanted.skip_unlabelled)
    if kind == "folder":
        from tallybayes.cli.io.documents.folder import Folder

        return Folder(paths[0], *given)
    if kind == "mailbox":
        from tallybayes.cli.io.documents.mailboxes import Mailboxes

        return Mailboxes(paths, None if wanted.from_rows else wanted.target, *given)
    if kind == "file":
        from tallybayes.cli.io.documents.folder import Files

        return Files(paths, *given)
    return open_rows(paths, wanted)


def open_rows(paths: list[str], wanted: Wanted) -> DocumentSource:
    """The rows of files as documents."""
    from tallybayes.cli.io.documents.rows import DocumentRows
    from tallybayes.sources.files import source_of_paths

    interrupts.keep_from_arrow()
    source = source_of_paths(
        paths,
        cast("Format | None", wanted.format),
        layout=wanted.layout,
        sheet=wanted.sheet,
        flatten=wanted.flatten,
        union_by_name=wanted.union_by_name,
        spelling=spelling_of_documents(wanted.target),
        block=wanted.block or BLOCK_BYTES,
    )
    rest = (wanted.target, wanted.label, wanted.skip_unlabelled, wanted.alone)
    return DocumentRows(source, wanted.column, *rest)


def spelling_of_documents(target: str | None) -> Spelling:
    """How rows of documents are read: only an empty cell is a missing document."""
    return Spelling(missing=("",), missing_of={} if target is None else {target: MISSING})
