"""``tallybayes merge``: merge the counts of several models into one."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["run"]


def run(
    models: Annotated[list[str], typer.Argument(metavar="MODEL…", help="Two or more model files.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The merged model.")
    ],
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Merge models into the model of all their rows."""
    if len(models) < 2:
        raise Failure("merge needs two models or more: tallybayes merge A B -o C", USAGE)
    from tallybayes.cli.io.outputs import Output
    from tallybayes.cli.io.places import need_model

    for model in models:
        need_model(model)
    out = Output(output, "model", changes=models, force=force)
    from tallybayes.cli.commands.merging import merge

    merge(models, out, json)
