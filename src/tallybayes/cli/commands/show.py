"""``tallybayes show``: what a model file holds."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.terminal.streams import need_output

__all__ = ["run"]


def run(
    model: options.Model,
    tables: Annotated[
        bool,
        typer.Option("--tables", metavar="", help="Also print each column's parameters by class."),
    ] = False,
    show_all: Annotated[
        bool,
        typer.Option("--all", metavar="", help="All columns, classes and tables, not 20 of each."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Show a model: its columns, classes, options, and with --tables its parameters."""
    need_output()
    from tallybayes.cli.io.places import need_model

    need_model(model)
    from tallybayes.cli.report.showing import show

    show(model, tables, show_all, json)
