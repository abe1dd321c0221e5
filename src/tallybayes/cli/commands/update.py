"""``tallybayes update``: count more rows in a model file."""

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
    """Count more rows: the model is then that of all rows together."""
    reading = options.Reading(delimiter, format, null, encoding, block)
    learn("update", model, data, output, target, reading, json)
