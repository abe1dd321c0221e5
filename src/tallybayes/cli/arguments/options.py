"""Arguments and options that commands share, and what they stand for.

This module, and those of the commands, are imported for every ``--help``; what is slow to import
(NumPy, Arrow, scikit-learn) comes when a command has its options together and works.
"""

from __future__ import annotations

import codecs
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from tallybayes.cli.io.sniffing import Format, only_character
from tallybayes.cli.terminal.failures import USAGE, Failure, suggestion
from tallybayes.errors import listed

if TYPE_CHECKING:
    from tallybayes.cli.io.model_file import ModelFile
    from tallybayes.cli.io.source import Source

__all__ = [
    "Data",
    "Json",
    "Model",
    "Output",
    "Parts",
    "Reading",
    "Target",
    "number_or_auto",
    "reads",
    "reads_labels",
]

PANEL = "Reading data"

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by fit.")]
Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV, JSON lines, Parquet or Arrow; - is standard input."),
]
Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document, for programs.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="Write the new model here instead of replacing MODEL.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COL",
        help="The label column, if its name differs from that in the model.",
    ),
]
Parts = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How many fits, each without another part of the rows, are averaged with one of "
        "all rows; 1 is that one alone; auto is 5 up to 20,000 rows.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        rich_help_panel=PANEL,
        help="The delimiter of CSV; by default found among , ; tab and |.",
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
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        rich_help_panel=PANEL,
        help="csv, jsonl, parquet or arrow; by default found from the content.",
    ),
]
NullStrings = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TEXT",
        rich_help_panel=PANEL,
        help="A string that means missing, besides empty cells, NA, ?, nan and null; NAME=TEXT in "
        "one column only. May be repeated.",
        show_default=False,
    ),
]
NoUsualNulls = Annotated[
    bool,
    typer.Option(
        "--only-null",
        metavar="",
        rich_help_panel=PANEL,
        help="Only empty cells and the strings of --null mean missing: NA, ?, nan and null do not.",
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
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        rich_help_panel=PANEL,
        help="The encoding of CSV, such as latin-1 or gb18030.",
    ),
]
Block = Annotated[int | None, typer.Option("--block", min=64, hidden=True, help="Bytes at a time.")]

FORMATS = ("csv", "jsonl", "parquet", "arrow")


class Reading:
    """How files are read, as the options say.

    Raises
    ------
    Failure
        With the code for usage, for an option that cannot be.
    """

    def __init__(
        self,
        delimiter: Delimiter = None,
        decimal: Decimal = None,
        format: FormatName = None,
        null: NullStrings = None,
        only_null: NoUsualNulls = False,
        encoding: Encoding = "utf-8",
        block: Block = None,
        skip_unlabelled: SkipUnlabelled = False,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise Failure(f"--format {format!r} is not one of {listed(FORMATS)}", USAGE)
        if decimal is not None and decimal not in (".", ","):
            raise Failure(f"--decimal {decimal!r} is neither . nor ,", USAGE)
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise Failure(f"--encoding {encoding!r} is not known", USAGE) from None
        self.delimiter = None if delimiter is None else only_character(delimiter)
        if decimal == "," and self.delimiter == ",":
            raise Failure("--decimal , and --delimiter , cannot be distinguished", USAGE)
        self.decimal = decimal
        self.format = cast("Format | None", format)
        self.only_null, self.skip_unlabelled = only_null, skip_unlabelled
        self.null, self.null_of = _null_strings(null or [])
        self.encoding, self.block = encoding, block

    def open(self, path: str, file: ModelFile | None = None) -> Source:
        """A data file with these options; what they leave open is as it was for the model."""
        from tallybayes.cli.io.cells import MISSING
        from tallybayes.cli.io.source import BLOCK, Source

        missing, decimal = (MISSING, ".") if file is None else (file.missing, file.decimal)
        missing_of = {} if file is None else dict(file.missing_of)
        if self.only_null:
            missing, missing_of = ("",), {}
        for name, strings in self.null_of.items():
            missing_of[name] = tuple(dict.fromkeys([*missing_of.get(name, ()), *strings]))
        source = Source(
            path,
            format=self.format,
            delimiter=self.delimiter,
            missing=tuple(dict.fromkeys([*missing, *self.null])),
            missing_of=missing_of,
            skip_unlabelled=self.skip_unlabelled,
            decimal=decimal if self.decimal is None else self.decimal,
            encoding=self.encoding,
            block=BLOCK if self.block is None else self.block,
        )
        header = source.header
        for name in self.null_of if header is not None else ():
            if header is not None and name not in header:
                raise Failure(
                    f"--null names the column {name!r}, which {source.name} does not have; its "
                    f"columns are {listed(header)}.{suggestion(name, header)}"
                )
        return source


def number_or_auto(option: str, text: str, least: int = 0) -> int | str:
    """A whole number, or "auto".

    Raises
    ------
    Failure
        With the code for usage, for anything else.
    """
    if text == "auto" or (text.isdecimal() and int(text) >= least):
        return text if text == "auto" else int(text)
    raise Failure(f"{option} {text!r} is neither a whole number from {least} on nor auto", USAGE)


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


def _need_files(given: dict[str, Any]) -> None:
    """Raises where a file that a command is given is not there, or is not of its kind."""
    from tallybayes.cli.io.places import need_data, need_model

    if "model" in given:
        need_model(given["model"])
    if "data" in given:
        need_data(given["data"])


def reads_labels(run: Callable[..., None]) -> Callable[..., None]:
    """A command that reads rows with labels."""
    return reads(run, labels=True)


def reads(run: Callable[..., None], *, labels: bool = False) -> Callable[..., None]:
    """A command that reads data: its parameter `reading` becomes the options of Reading."""
    hints = get_type_hints(run, include_extras=True)
    more = get_type_hints(Reading.__init__, include_extras=True)
    own = list(inspect.signature(run).parameters.values())
    options = list(inspect.signature(Reading.__init__).parameters.values())[1:]
    options = [p for p in options if labels or p.name != "skip_unlabelled"]
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
