"""``tallybayes show``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options

__all__ = ["run"]


def run(
    model: options.Model,
    tables: Annotated[
        bool,
        typer.Option("--tables", metavar="", help="Each column's parameters by class as well."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Show what a model holds: its columns, classes, options, and with --tables its parameters."""
    from tallybayes.cli.showing import show

    show(model, tables, json)
