"""``tallybayes explain``: why a row got its class."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading import Reading, reads
from tallybayes.cli.terminal.streams import need_output

__all__ = ["run"]


@reads
def run(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    row: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="The number of the row or document, from 0; a single document needs none.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain one row: what each column adds for and against its class.

    Of text, one document: which of its words tell the class, marked in the text.
    """
    need_output()
    from tallybayes.cli.commands.kinds.files import kind_of, loaded

    file = loaded(model)
    kind_of(file).explain(file, file.open(data, reading), row, json)
