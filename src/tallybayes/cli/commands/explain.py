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
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="The number of the row or document, from 0; a single document needs none. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=VALUE",
            help="The rows that hold a value in a column, such as --key id=1007. May be repeated.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain rows: what each column adds for and against their class.

    Of text, one document: which of its words tell the class, marked in the text.
    """
    need_output()
    from tallybayes.cli.io.chosen_rows import ChosenRows

    chosen = ChosenRows.of(row or [], key or [])
    from tallybayes.cli.commands.kinds.files import kind_of, loaded

    file = loaded(model)
    kind_of(file).explain(file, reading.open_for(file, data), chosen, json)
