"""Arguments and options that commands share.

This module and those of the commands are imported for every ``--help``. Slow imports (NumPy, Arrow,
scikit-learn) follow when a command runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments.completion import columns_of
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = [
    "Data",
    "Force",
    "Json",
    "Model",
    "Output",
    "Page",
    "Parts",
    "Target",
    "number_or_auto",
]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by fit.")]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA…",
        help="CSV, JSON lines, Parquet or Arrow; - is standard input. A model of text also reads "
        "folders, mailboxes and files of one document each.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document, for programs.")
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        metavar="",
        help="Overwrite a file that would be lost: one that tallybayes did not write, predictions, "
        "or a model with rows learned since it was made.",
    ),
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
Page = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="PAGE",
        help="Write a page of HTML that shows the model and how good it is on the rows.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        autocompletion=columns_of,
        help="The label's column, or header of mail, if its name differs from that in the model.",
    ),
]
Parts = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How many fits, each without another part of the rows, are averaged with one of "
        "all rows; 1 is that one alone; auto is 5 up to 4,000 rows, 3 up to 20,000.",
        show_default=False,
    ),
]


Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Rows with one value in this column belong together, such as those of one customer: "
        "they are left out together, and the column is not learned from.",
        show_default=False,
    ),
]


def number_or_auto(option: str, text: str, minimum: int = 0) -> int | str:
    """A whole number, or "auto".

    Raises
    ------
    Failure
        With the code for usage, for anything else.
    """
    if text == "auto" or (text.isdecimal() and int(text) >= minimum):
        return text if text == "auto" else int(text)
    raise Failure(f"{option} {text!r} is neither a whole number from {minimum} on nor auto", USAGE)
