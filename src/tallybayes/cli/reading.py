"""How data files are read, by the options of a command.

This module is imported for every ``--help``; slow imports follow when a file is opened.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import typer

from tallybayes.cli import interrupts
from tallybayes.cli.messages import USAGE, Failure, suggestion
from tallybayes.cli.options import columns_of
from tallybayes.errors import listed
from tallybayes.sources.databases.names import is_url, shown
from tallybayes.sources.opening import FORMATS, Format
from tallybayes.sources.options import MISSING, Layout, Spelling, need_apart

if TYPE_CHECKING:
    from tallybayes.cli.document_file import DocumentFile
    from tallybayes.cli.documents import DocumentSource
    from tallybayes.cli.model_file import ModelFile
    from tallybayes.cli.places import Header
    from tallybayes.cli.rows import Rows
    from tallybayes.sources.contract import Source

__all__ = [
    "TEXT_FORMATS",
    "Block",
    "Dates",
    "Decimal",
    "Delimiter",
    "Encoding",
    "Flatten",
    "FormatName",
    "HeaderLine",
    "Label",
    "Names",
    "NoUsualNulls",
    "NullStrings",
    "Reading",
    "Sheet",
    "Skip",
    "SkipUnlabelled",
    "Sql",
    "TableName",
    "TextColumn",
    "Thousands",
    "UnionByName",
    "Wanted",
    "Weight",
    "kind_of_input",
    "open_documents",
    "open_rows",
    "reads",
    "reads_labels",
    "reads_training",
    "spelling_of_documents",
]


# ---- the options that define how data is read, as the command line shows them --------------------
PANEL = "Reading data"
TEXT = "Reading text"

Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        rich_help_panel=PANEL,
        help="The delimiter of CSV, tab, or blanks for runs of spaces and tabs; by default found "
        "among , ; tab and |.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        rich_help_panel=PANEL,
        help="The decimal sign of numbers in CSV, . or , (default: that of the model, else a "
        "point).",
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        rich_help_panel=PANEL,
        help="The sign between groups of three digits, as in 1.000,00: . , ' or space (default: "
        "that of the model, else none).",
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER",
        rich_help_panel=PANEL,
        help="dmy or mdy: the order of dates such as 31.12.2020 or 12/31/2020, which are strings "
        "by default. 2020-12-31, 2020/12/31, Dec 31 2020 and 31-Dec-20 are dates in any case.",
    ),
]
HeaderLine = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        rich_help_panel=PANEL,
        show_default=False,
        help="Whether the first line of CSV, or row of a sheet, has the names of the columns "
        "(default: it has). Without one they are column1, column2, …, or those of --names.",
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…",
        rich_help_panel=PANEL,
        help="The names of all columns of CSV or of a sheet, in place of those of the header.",
    ),
]
Skip = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        rich_help_panel=PANEL,
        show_default=False,
        help="How many lines of CSV, or rows of a sheet, come before the header, or before the "
        "first row.",
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        rich_help_panel=PANEL,
        help="csv, jsonl, parquet, arrow or excel, and for text mbox or text (a file is a "
        "document); by default found from the content.",
    ),
]
NullStrings = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TEXT",
        rich_help_panel=PANEL,
        help="A string that means missing, besides empty cells, NA, NaN, null and their like, ? "
        "and errors of Excel such as #N/A; NAME=TEXT in one column only. May be repeated.",
        show_default=False,
    ),
]
NoUsualNulls = Annotated[
    bool,
    typer.Option(
        "--only-null",
        metavar="",
        rich_help_panel=PANEL,
        help="Only empty cells and the strings of --null mean missing: NA, NaN, null, ? and their "
        "like are text.",
    ),
]
SkipUnlabelled = Annotated[
    bool,
    typer.Option(
        "--skip-unlabelled",
        metavar="",
        rich_help_panel=PANEL,
        help="Leave out rows without a label, and count them; by default they are an error.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        rich_help_panel=PANEL,
        help="The sheet of an Excel workbook; by default the only one that has values.",
    ),
]
Flatten = Annotated[
    bool,
    typer.Option(
        "--flatten",
        metavar="",
        rich_help_panel=PANEL,
        help="Keys of objects within rows of JSON (of structs in Parquet and Arrow) are columns: "
        "the key b in column a is the column a.b. By default so if the model was fitted so, else "
        "they are left out.",
    ),
]
UnionByName = Annotated[
    bool,
    typer.Option(
        "--union-by-name",
        metavar="",
        rich_help_panel=PANEL,
        help="Files may have other columns than the first; one that a file lacks is missing there.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COL",
        autocompletion=columns_of,
        rich_help_panel=PANEL,
        help="A column with the weight of each row; by default that of the model, else 1. A row "
        "of weight 5 counts as 5, and is still one observation: it is left out whole, and cells "
        "of a contingency table are many. Give their rows as often as they were counted.",
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        rich_help_panel=PANEL,
        help="The encoding of CSV and of documents, such as latin-1 or gb18030.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COL",
        rich_help_panel=TEXT,
        help="The column of documents, if its name differs from that in the model.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="LABEL",
        rich_help_panel=TEXT,
        help="Every document of DATA has this label.",
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql",
        metavar="SELECT",
        rich_help_panel=PANEL,
        help="The query whose rows are read, where DATA is a database: a DuckDB file, or "
        "postgresql://user@host/database.",
    ),
]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        rich_help_panel=PANEL,
        help="The table or view that is read, where DATA is a database.",
    ),
]
Block = Annotated[int | None, typer.Option("--block", min=64, hidden=True, help="Bytes at a time.")]


# ---- reading by these options: what a command opens, and what it may be given --------------------
ROW_FORMATS = ("csv", "jsonl", "parquet", "arrow", "excel")
TEXT_FORMATS = ("mbox", "text")
LABEL_OPTIONS = ("skip_unlabelled", "label", "weight")  # options for where labels are read
EXPECTED_OPTIONS = ("text", "label")  # and for where a model declares what is expected


class Reading:
    """How files are read, by the options of a command.

    Raises
    ------
    Failure
        With the code for usage, for an option that cannot be.
    """

    null: list[str]
    null_of: dict[str, list[str]]
    text: TextColumn
    label: Label
    sql: Sql
    table: TableName

    def __init__(
        self,
        delimiter: Delimiter = None,
        decimal: Decimal = None,
        thousands: Thousands = None,
        dates: Dates = None,
        header: HeaderLine = True,
        names: Names = None,
        skip: Skip = 0,
        format: FormatName = None,
        null: NullStrings = None,
        only_null: NoUsualNulls = False,
        encoding: Encoding = "utf-8",
        block: Block = None,
        text: TextColumn = None,
        sql: Sql = None,
        table: TableName = None,
        union_by_name: UnionByName = False,
        flatten: Flatten = False,
        sheet: Sheet = None,
        skip_unlabelled: SkipUnlabelled = False,
        label: Label = None,
        weight: Weight = None,
    ) -> None:
        known = (*ROW_FORMATS, *TEXT_FORMATS)
        if format is not None and format not in known:
            raise Failure(f"--format {format!r} is not one of {listed(known)}", USAGE)
        self.only_null = only_null
        self.null, self.null_of = _null_strings(null or [])
        given = {"decimal": decimal, "thousands": thousands, "dates": dates}
        self._given: dict[str, Any] = {n: v for n, v in given.items() if v is not None}
        try:
            self.layout: Layout = Layout(
                delimiter=delimiter,
                encoding=encoding,
                header=header,
                names=None if names is None else tuple(n.strip() for n in names.split(",")),
                skip=skip,
            )
            need_apart(self.layout, self._spelling(Spelling()))
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None
        self.format = format
        self.text, self.label, self.weight = text, label, weight
        self.skip_unlabelled = skip_unlabelled
        self.block, self.union_by_name, self.flatten = block, union_by_name, flatten
        self.sheet = sheet
        self.sql, self.table, self._queried = sql, table, False

    def open_for(self, file: ModelFile | DocumentFile, paths: list[str]) -> Any:
        """Rows for a model of tables, documents for one of text."""
        if file.unit == "document":
            return self.open_documents(paths, cast("DocumentFile", file))
        return self.open(paths, cast("ModelFile", file))

    def open(
        self,
        paths: list[str],
        file: ModelFile | None = None,
        left_out: Collection[str] = (),
        need: Callable[[Header], None] | None = None,
    ) -> Rows:
        """Rows with these options; what they leave open is as it was for the model. `need` looks
        at the columns before anything slow is imported."""
        from tallybayes.cli.places import Header
        from tallybayes.sources.files import header_of, source_of_paths

        interrupts.keep_from_arrow()
        self._need_tables()
        for path in paths:
            _need_no_documents(path)
        spelling = Spelling() if file is None else file.spelling
        flatten = self.flatten or (file is not None and file.flatten)
        try:
            spelling = self._spelling(spelling)
            need_apart(self.layout, spelling)
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None
        source = self._database(paths) or source_of_paths(
            paths,
            cast("Format | None", self.format),
            layout=self.layout,
            sheet=self.sheet,
            flatten=flatten,
            spelling=spelling,
            mixed=[] if file is None else file.columns_with_strings,
            left_out=left_out,
            union_by_name=self.union_by_name,
            **({} if self.block is None else {"block": self.block}),
        )
        header = header_of(source)
        if need is not None:
            need(Header(source.name, header))
        for name in self.null_of:
            if name not in header:
                raise Failure(
                    f"--null names the column {name!r}, which {source.name} does not have; its "
                    f"columns are {listed(header)}.{suggestion(name, header)}"
                )
        from tallybayes.cli.places import need_weight
        from tallybayes.cli.rows import Rows

        weight = self.weight or (None if file is None else file.weight_column)
        if self.weight is not None:
            need_weight(Header(source.name, header), self.weight)
        return Rows(
            source,
            spelling,
            skip_unlabelled=self.skip_unlabelled,
            weight=weight,
            flatten=flatten,
        )

    def _spelling(self, usual: Spelling) -> Spelling:
        """How strings are read: what the options leave open is as usual."""
        missing, missing_of = usual.missing, dict(usual.missing_of)
        if self.only_null:
            missing, missing_of = ("",), {}
        for name, strings in self.null_of.items():
            missing_of[name] = tuple(dict.fromkeys([*missing_of.get(name, ()), *strings]))
        return replace(
            usual,
            missing=tuple(dict.fromkeys([*missing, *self.null])),
            missing_of=missing_of,
            **self._given,
        )

    def _database(self, paths: list[str]) -> Source | None:
        """A table or query of a database, where that is what is named."""
        from tallybayes.sources.databases.duckdb import is_file
        from tallybayes.sources.files import source_of

        named = self.sql is not None or self.table is not None
        if not any(is_url(path) or is_file(path) for path in paths):
            if named and not self._queried:
                raise Failure(
                    f"--sql and --table are for databases, and {paths[0]} is neither a DuckDB "
                    "file nor postgresql://user@host/database",
                    USAGE,
                )
            return None
        if len(paths) > 1:
            raise Failure("a database is read by itself: name no other data", USAGE)
        if (self.sql is None) == (self.table is None):
            name = shown(paths[0]) if is_url(paths[0]) else paths[0]
            raise Failure(
                f"{name} is a database: say which rows by --table NAME or by --sql 'SELECT …'",
                USAGE,
            )
        if self.layout.given:
            raise Failure(
                f"--{self.layout.given[0]} is for CSV, and {paths[0]} is a database: omit it", USAGE
            )
        self._queried = True
        return source_of(paths[0], sql=self.sql, table=self.table)

    def _need_no_weight(self) -> None:
        """Raises for weights of documents."""
        if self.weight is not None:
            raise Failure(
                "--weight is for models of tables, and this is one of text: omit it", USAGE
            )

    def _need_tables(self) -> None:
        """Raises for options of text."""
        for option, value in (("--text", self.text), ("--label", self.label)):
            if value is not None:
                raise Failure(
                    f"{option} is for models of text, and this is one of tables: omit it", USAGE
                )
        if self.format in TEXT_FORMATS:
            raise Failure(
                f"--format {self.format} is for models of text; rows are {listed(ROW_FORMATS)}",
                USAGE,
            )

    def open_column(
        self,
        paths: list[str],
        rows: Rows,
        column: str,
        target: str | None,
        left_out: Collection[str],
    ) -> DocumentSource:
        """A column of documents in rows, beside which there are only labels and columns left
        out."""
        self._need_no_weight()
        if rows.once:
            from tallybayes.cli.document_rows import DocumentRows

            rows.read_as(spelling_of_documents(target))
            given = (column, target, None, self.skip_unlabelled, set(left_out))
            return DocumentRows(rows.source, *given)
        wanted = Wanted(
            layout=self.layout,
            format=self.format,
            column=column,
            target=target,
            skip_unlabelled=self.skip_unlabelled,
            block=self.block,
            sheet=self.sheet,
            flatten=self.flatten,
            union_by_name=self.union_by_name,
            alone=set(left_out),
        )
        return open_rows(paths, wanted)

    def open_documents(
        self, paths: list[str], file: DocumentFile | None = None, target: str | None = None
    ) -> DocumentSource:
        """Documents with these options; what they leave open is as it was for the model, whose
        labels are in `target` if there is none."""
        self._need_no_weight()
        wanted = Wanted(
            layout=self.layout,
            format=self.format,
            column=self.text or (file.column if file is not None else None),
            target=target if file is None else file.target,
            from_rows=file is not None and file.column is not None,
            label=self.label,
            skip_unlabelled=self.skip_unlabelled,
            block=self.block,
            sheet=self.sheet,
            flatten=self.flatten or (file is not None and file.flatten),
            union_by_name=self.union_by_name,
        )
        return open_documents(paths, wanted)


def _null_strings(given: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The strings for all columns, and those for one, by its name; the last "=" parts them."""
    everywhere: list[str] = []
    by_column: dict[str, list[str]] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        if name:
            by_column.setdefault(name, []).append(value)
        else:
            everywhere.append(text)
    return everywhere, by_column


def _need_no_documents(path: str) -> None:
    """Raises for a folder without data, such as one of documents."""
    if os.path.isdir(path):
        from tallybayes.sources.files import holds_data

        if not holds_data(path):
            raise Failure(
                f"{path} is a directory without files of rows, such as .csv or .parquet: name a "
                "file in it, or another folder"
            )


def _need_files(given: dict[str, Any]) -> None:
    """Raises where a file that a command is given is not there, or is not of its kind."""
    from tallybayes.cli.places import need_data, need_model

    if "model" in given:
        need_model(given["model"])
    for path in given.get("data", ()):
        need_data(path)


def reads_labels(run: Callable[..., None]) -> Callable[..., None]:
    """A command that reads rows or documents with labels, for a model."""
    return reads(run, without=())


def reads_training(run: Callable[..., None]) -> Callable[..., None]:
    """A command that reads rows or documents with labels, without a model."""
    return reads(run, without=EXPECTED_OPTIONS)


def reads(
    run: Callable[..., None], *, without: tuple[str, ...] = LABEL_OPTIONS
) -> Callable[..., None]:
    """A command that reads data: its parameter `reading` becomes the options of Reading."""
    hints = get_type_hints(run, include_extras=True)
    more = get_type_hints(Reading.__init__, include_extras=True)
    own = list(inspect.signature(run).parameters.values())
    options = list(inspect.signature(Reading.__init__).parameters.values())[1:]
    options = [p for p in options if p.name not in without]
    names = [p.name for p in options]
    parameters = [p.replace(annotation=hints[p.name]) for p in own if p.name != "reading"]
    parameters += [p.replace(annotation=more[p.name]) for p in options]

    @functools.wraps(run)
    def command(**given: Any) -> None:
        reading = Reading(**{name: given.pop(name) for name in names})
        _need_files(given)
        run(**given, reading=reading)

    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


# ---- what documents come from: a folder, mailboxes, rows, or files of one document each ----------
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
        from tallybayes.cli.documents import Folder

        return Folder(paths[0], *given)
    if kind == "mailbox":
        from tallybayes.cli.documents import Mailboxes

        return Mailboxes(paths, None if wanted.from_rows else wanted.target, *given)
    if kind == "file":
        from tallybayes.cli.documents import Files

        return Files(paths, *given)
    return open_rows(paths, wanted)


def open_rows(paths: list[str], wanted: Wanted) -> DocumentSource:
    """The rows of files as documents."""
    from tallybayes.cli.document_rows import DocumentRows
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
