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
        typer.Option(
            "--all",
            metavar="",
            help="All columns, classes and tables, not 20 of each; of text 50 terms of each class.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Show a model: its columns, classes, options, and with --tables its parameters.

    Of a model of text: its vocabulary, how good it is, and the top terms of each class.
    """
    need_output()
    from tallybayes.cli.io.places import need_model

    need_model(model)
    from tallybayes.cli.commands.kinds.files import kind_of, loaded

    file = loaded(model)
    kind_of(file).show(file, model, tables, show_all, json)
