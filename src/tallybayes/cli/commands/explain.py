"""``tallybayes explain``: why a row got its class."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.terminal.streams import need_output

__all__ = ["run"]


@options.reads
def run(
    model: options.Model,
    data: options.Data,
    row: Annotated[int, typer.Option(min=0, metavar="N", help="The number of the row, from 0.")],
    reading: options.Reading,
    json: options.Json = False,
) -> None:
    """Explain one row: what each column says for and against its class."""
    need_output()
    from tallybayes.cli.report.explaining import explain

    explain(model, data, row, reading, json)
