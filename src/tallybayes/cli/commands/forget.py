"""``tallybayes forget``: take rows out of a model file again."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options
from tallybayes.cli.learning import learn
from tallybayes.cli.reading.source import BLOCK

__all__ = ["run"]


def run(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Else MODEL is replaced."),
    ] = None,
    target: options.Target = None,
    delimiter: options.Delimiter = None,
    format: options.FormatName = None,
    null: options.NullTexts = None,
    encoding: options.Encoding = "utf-8",
    block: options.Block = BLOCK,
    json: options.Json = False,
) -> None:
    """Take rows away that were counted: the model is then as if it had never seen them."""
    reading = options.Reading(delimiter, format, null, encoding, block)
    learn("forget", model, data, output, target, reading, json)
