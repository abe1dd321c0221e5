"""Arguments and options that commands share.

This module and those of the commands are imported for every ``--help``. Slow imports (NumPy, Arrow,
scikit-learn) follow when a command runs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Literal

import typer

from tallybayes.cli.messages import USAGE, Failure

__all__ = [
    "LABEL_COLUMN",
    "Columns",
    "Costs",
    "Data",
    "Force",
    "Json",
    "Model",
    "Output",
    "Page",
    "Parts",
    "Target",
    "class_weight_of",
    "column_families_of",
    "columns_of",
    "keys_of",
    "number_or_auto",
    "share_or_auto",
]


# ---- what a shell completes: the names of columns, read from the header of the data --------------
def columns_of(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the data on the line so far that begin with what was typed."""
    from tallybayes.sources import open_rows

    names: list[str] = []
    how = {"sheet": ctx.params.get("sheet"), "flatten": bool(ctx.params.get("flatten"))}
    given = [ctx.params.get("train"), ctx.params.get("data"), ctx.args]
    for path in [path for paths in given for path in paths or []]:
        if not os.path.exists(path):
            continue
        try:
            names += open_rows(path, **how).header
        except Exception:
            continue
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def column_families_of(ctx: Any, incomplete: str) -> list[str]:
    """NAME= for the columns, and NAME=FAMILY once a name is complete."""
    name, equals, _ = incomplete.rpartition("=")
    if not equals:
        return [f"{column}=" for column in columns_of(ctx, incomplete)]
    from tallybayes.cli.families import named_families

    return [f"{name}={family}" for family in named_families() if f"{name}={family}" != incomplete]


# ---- options that commands share -----------------------------------------------------------------
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
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="What decisions cost: the first column has the classes, each other column a decision, "
        "which may be no class, such as ask. The decision of the least expected cost is taken.",
        show_default=False,
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
LABEL_COLUMN = typer.Option(
    "--target", "-t", metavar="COL", autocompletion=columns_of, help="The label's column."
)
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=FAMILY",
        autocompletion=column_families_of,
        help="How to model a column, as for fit --plain. May be repeated.",
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


def share_or_auto(option: str, text: str, rule: str, fits: Callable[[float], bool]) -> float | str:
    """A number that fits, or "auto".

    Raises
    ------
    Failure
        With the code for usage, for anything else; `rule` says what fits.
    """
    if text == "auto":
        return text
    with suppress(ValueError):
        if fits(number := float(text)):
            return number
    raise Failure(f"{option} {text!r} is neither {rule} nor auto", USAGE)


# ---- the value of ``--class-weight``: balanced, or a weight for each of some labels --------------
ClassWeight = dict[str, float] | Literal["balanced"] | None


def class_weight_of(given: list[str] | None) -> ClassWeight:
    """The parameter ``class_weight`` of a model.

    Raises
    ------
    Failure
        With the code for usage.
    """
    if not given:
        return None
    if "balanced" in given:
        if len(given) > 1:
            raise Failure(
                "--class-weight balanced weighs every class: leave out the other --class-weight",
                USAGE,
            )
        return "balanced"
    weights: dict[str, float] = {}
    for text in given:
        label, equals, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not equals or not 0.0 <= weight < math.inf:
            raise Failure(
                f"--class-weight {text!r} is neither balanced nor LABEL=WEIGHT, with a weight from "
                "0 on",
                USAGE,
            )
        if label in weights:
            raise Failure(f"--class-weight names {label!r} twice: keep one", USAGE)
        weights[label] = weight
    return weights


# ---- the rows that a command takes out of its data: by number, or by the value of a column -------
def keys_of(keys: list[str]) -> tuple[tuple[str, str], ...]:
    """Columns, and a value of each, that --key names."""
    pairs = [key.partition("=") for key in keys]
    for given, (column, equals, _) in zip(keys, pairs, strict=True):
        if not column or not equals:
            raise Failure(f"--key {given!r} is not COL=VALUE, such as id=1007", USAGE)
    return tuple((column, value) for column, _, value in pairs)
