"""How data files are read, by the options of a command.

This module is imported for every ``--help``; slow imports follow when a file is opened.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from tallybayes.cli import interrupts
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.options import columns_of
from tallybayes.errors import listed, suggestion
from tallybayes.sources import Layout, Spelling, need_apart

if TYPE_CHECKING:
    from tallybayes.model_files import DocumentFile, TableFile
    from tallybayes.sources import DocumentSource, Rows

__all__ = [
    "TEXT_FORMATS",
    "Flatten",
    "Reading",
    "Sheet",
    "UnionByName",
    "reads",
    "reads_labels",
    "reads_training",
]


# ---- the options that define how data is read, as the command line shows them --------------------
PANEL = "Reading data"
TEXT = "Reading text"

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


# ---- reading by these options: what a command opens, and what it may be given --------------------
ROW_FORMATS = ("csv", "jsonl", "parquet", "arrow", "excel")
TEXT_FORMATS = ("mbox", "text")
LABEL_OPTIONS = ("skip_unlabelled", "label", "weight")  # options for where labels are read
EXPECTED_OPTIONS = ("text", "label")  # and for where a model declares what is expected


@dataclass(eq=False)
class Reading:
    """How files are read, by the options of a command.

    Raises
    ------
    Failure
        With the code for usage, for an option that cannot be.
    """

    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR",
            rich_help_panel=PANEL,
            help="The delimiter of CSV, tab, or blanks for runs of spaces and tabs; by default "
            "found among , ; tab and |.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR",
            rich_help_panel=PANEL,
            help="The decimal sign of numbers in CSV, . or , (default: that of the model, else a "
            "point).",
        ),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR",
            rich_help_panel=PANEL,
            help="The sign between groups of three digits, as in 1.000,00: . , ' or space "
            "(default: that of the model, else none).",
        ),
    ] = None
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            rich_help_panel=PANEL,
            help="dmy or mdy: the order of dates such as 31.12.2020 or 12/31/2020, which are "
            "strings by default. 2020-12-31, 2020/12/31, Dec 31 2020 and 31-Dec-20 are dates in "
            "any case.",
        ),
    ] = None
    header: Annotated[
        bool,
        typer.Option(
            "--header/--no-header",
            rich_help_panel=PANEL,
            show_default=False,
            help="Whether the first line of CSV, or row of a sheet, has the names of the columns "
            "(default: it has). Without one they are column1, column2, …, or those of --names.",
        ),
    ] = True
    names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            rich_help_panel=PANEL,
            help="The names of all columns of CSV or of a sheet, in place of those of the header.",
        ),
    ] = None
    skip: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=PANEL,
            show_default=False,
            help="How many lines of CSV, or rows of a sheet, come before the header, or before the "
            "first row.",
        ),
    ] = 0
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            rich_help_panel=PANEL,
            help="csv, jsonl, parquet, arrow or excel, and for text mbox or text (a file is a "
            "document); by default found from the content.",
        ),
    ] = None
    null: Annotated[
        list[str] | None,
        typer.Option(
            "--null",
            metavar="TEXT",
            rich_help_panel=PANEL,
            help="A string that means missing, besides empty cells, NA, NaN, null and their like, "
            "? and errors of Excel such as #N/A; NAME=TEXT in one column only. May be repeated.",
            show_default=False,
        ),
    ] = None
    only_null: Annotated[
        bool,
        typer.Option(
            "--only-null",
            metavar="",
            rich_help_panel=PANEL,
            help="Only empty cells and the strings of --null mean missing: NA, NaN, null, ? and "
            "their like are text.",
        ),
    ] = False
    encoding: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=PANEL,
            help="The encoding of CSV and of documents, such as latin-1 or gb18030.",
        ),
    ] = "utf-8"
    block: Annotated[
        int | None, typer.Option("--block", min=64, hidden=True, help="Bytes at a time.")
    ] = None
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="COL",
            rich_help_panel=TEXT,
            help="The column of documents, if its name differs from that in the model.",
        ),
    ] = None
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql",
            metavar="SELECT",
            rich_help_panel=PANEL,
            help="The query whose rows are read, where DATA is a database: a DuckDB file, or "
            "postgresql://user@host/database.",
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            rich_help_panel=PANEL,
            help="The table or view that is read, where DATA is a database.",
        ),
    ] = None
    union_by_name: UnionByName = False
    flatten: Flatten = False
    sheet: Sheet = None
    skip_unlabelled: Annotated[
        bool,
        typer.Option(
            "--skip-unlabelled",
            metavar="",
            rich_help_panel=PANEL,
            help="Leave out rows without a label, and count them; by default they are an error.",
        ),
    ] = False
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="LABEL",
            rich_help_panel=TEXT,
            help="Every document of DATA has this label.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        typer.Option(
            "--weight",
            metavar="COL",
            autocompletion=columns_of,
            rich_help_panel=PANEL,
            help="A column with the weight of each row; by default that of the model, else 1. A "
            "row of weight 5 counts as 5, and is still one observation: it is left out whole, and "
            "cells of a contingency table are many. Give their rows as often as they were counted.",
        ),
    ] = None

    def __post_init__(self) -> None:
        known = (*ROW_FORMATS, *TEXT_FORMATS)
        if self.format is not None and self.format not in known:
            raise Failure(f"--format {self.format!r} is not one of {listed(known)}", USAGE)
        self._queried = False
        self.null_everywhere, self.null_of = _null_strings(self.null or [])
        names = None if self.names is None else tuple(n.strip() for n in self.names.split(","))
        try:
            self.layout = Layout(
                delimiter=self.delimiter,
                encoding=self.encoding,
                header=self.header,
                names=names,
                skip=self.skip,
            )
            need_apart(self.layout, self._spelling(Spelling()))
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None

    def open_for(self, file: TableFile | DocumentFile, paths: list[str]) -> Any:
        """Rows for a model of tables, documents for one of text."""
        if file.unit == "document":
            return self.open_documents(paths, cast("DocumentFile", file))
        return self.open(paths, cast("TableFile", file))

    def open(
        self,
        paths: list[str],
        file: TableFile | None = None,
        left_out: Collection[str] = (),
        need: Callable[[Rows], None] | None = None,
    ) -> Rows:
        """Rows with these options; what they leave open is as it was for the model. `need` looks
        at the columns before anything slow is imported."""
        from tallybayes.sources import open_rows

        interrupts.keep_from_arrow()
        self._need_tables()
        for path in paths:
            _need_no_documents(path)
        try:
            spelling = self._spelling(Spelling() if file is None else file.read_by.spelling)
            need_apart(self.layout, spelling)
        except ValueError as error:
            raise Failure(f"--{error}", USAGE) from None
        rows = open_rows(
            paths,
            spelling=spelling,
            skip_unlabelled=self.skip_unlabelled,
            weight=self.weight or (None if file is None else file.read_by.weight),
            flatten=self.flatten or (file is not None and file.read_by.flatten),
            mixed=[] if file is None else file.columns_with_strings,
            left_out=left_out,
            format=self.format,
            layout=self.layout,
            sheet=self.sheet,
            union_by_name=self.union_by_name,
            block=self.block,
            **self._database(paths),
        )
        if need is not None:
            need(rows)
        for name in self.null_of:
            if name not in rows.header:
                raise Failure(
                    f"--null names the column {name!r}, which {rows.name} does not have; its "
                    f"columns are {listed(rows.header)}.{suggestion(name, rows.header)}"
                )
        if self.weight is not None:
            rows.need_weights()
        return rows

    def _spelling(self, usual: Spelling) -> Spelling:
        """How strings are read: what the options leave open is as usual."""
        missing, missing_of = usual.missing, dict(usual.missing_of)
        given: dict[str, Any] = {
            "decimal": self.decimal,
            "thousands": self.thousands,
            "dates": self.dates,
        }
        if self.only_null:
            missing, missing_of = ("",), {}
        for name, strings in self.null_of.items():
            missing_of[name] = tuple(dict.fromkeys([*missing_of.get(name, ()), *strings]))
        return replace(
            usual,
            missing=tuple(dict.fromkeys([*missing, *self.null_everywhere])),
            missing_of=missing_of,
            **{name: value for name, value in given.items() if value is not None},
        )

    def _database(self, paths: list[str]) -> dict[str, Any]:
        """The table or query of a database, where that is what is named."""
        from tallybayes.sources import is_database, shown_path

        named = self.sql is not None or self.table is not None
        if not any(map(is_database, paths)):
            if named and not self._queried:
                raise Failure(
                    f"--sql and --table are for databases, and {paths[0]} is neither a DuckDB "
                    "file nor postgresql://user@host/database",
                    USAGE,
                )
            return {}
        if len(paths) > 1:
            raise Failure("a database is read by itself: name no other data", USAGE)
        if (self.sql is None) == (self.table is None):
            raise Failure(
                f"{shown_path(paths[0])} is a database: say which rows by --table NAME or by --sql "
                "'SELECT …'",
                USAGE,
            )
        if self.layout.given:
            raise Failure(
                f"--{self.layout.given[0]} is for CSV, and {paths[0]} is a database: omit it", USAGE
            )
        self._queried = True
        return {"sql": self.sql, "table": self.table}

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
        self, paths: list[str], rows: Rows, column: str, target: str | None, beside: list[str]
    ) -> DocumentSource:
        """A column of documents in rows, beside which there are only labels and columns left
        out."""
        self._need_no_weight()
        return self._documents(rows.source if rows.once else paths, column, target, beside=beside)

    def open_documents(
        self, paths: list[str], file: DocumentFile | None = None, target: str | None = None
    ) -> DocumentSource:
        """Documents with these options; what they leave open is as it was for the model, whose
        labels are in `target` if there is none."""
        self._need_no_weight()
        if file is None:
            return self._documents(paths, self.text, target)
        known = file.read_by
        flatten = self.flatten or known.flatten
        return self._documents(paths, self.text or known.column, known.target, flatten=flatten)

    def _documents(
        self, data: Any, text: str | None, target: str | None, **more: Any
    ) -> DocumentSource:
        from tallybayes import documents

        interrupts.keep_from_arrow()
        layout = self.layout
        given: dict[str, Any] = {
            "skip_unlabelled": self.skip_unlabelled,
            "label": self.label,
            "format": self.format,
            "encoding": layout.encoding,
            "sheet": self.sheet,
            "flatten": self.flatten,
            "union_by_name": self.union_by_name,
            "block": self.block,
            "delimiter": layout.delimiter,
            "header": layout.header,
            "names": layout.names,
            "skip": layout.skip,
        }
        return documents(data, text=text, target=target, **(given | more))


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
        from tallybayes.sources import holds_data

        if not holds_data(path):
            raise Failure(
                f"{path} is a directory without files of rows, such as .csv or .parquet: name a "
                "file in it, or another folder"
            )


def _need_files(given: dict[str, Any]) -> None:
    """Raises where a file that a command is given is not there, or is not of its kind."""
    from tallybayes.sources import need_data, need_model

    if "model" in given:
        need_model(given["model"])
    for path in given.get("data") or ():
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
    """A command that reads data: a parameter that is a dataclass becomes options, one for each of
    its fields; those of :class:`Reading` come last."""
    hints = get_type_hints(run, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    own = inspect.signature(run).parameters.values()
    for parameter in sorted(own, key=lambda p: hints[p.name] is Reading):
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        known = get_type_hints(kind, include_extras=True)
        named = [f for f in fields(kind) if f.name not in without]
        groups[parameter.name] = kind, [f.name for f in named]
        for f in named:
            default = inspect.Parameter.empty if f.default is MISSING else f.default
            parameters.append(
                parameter.replace(name=f.name, default=default, annotation=known[f.name])
            )

    @functools.wraps(run)
    def command(**given: Any) -> None:
        for name, (kind, names) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in names})
        _need_files(given)
        run(**given)

    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
