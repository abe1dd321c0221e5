"""The options that define how data is read, as the command line shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments.completion import columns_of

__all__ = [
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
    "Sheet",
    "Skip",
    "SkipUnlabelled",
    "Sql",
    "TableName",
    "TextColumn",
    "Thousands",
    "UnionByName",
    "Weight",
]

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
