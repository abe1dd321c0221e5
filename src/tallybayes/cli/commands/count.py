"""``tallybayes count``: the counts of some rows alone, to be merged with those of others."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.completion import column_families_of, columns_of
from tallybayes.cli.arguments.reading import Reading, reads_training
from tallybayes.cli.terminal.quick_imports import import_estimators

__all__ = ["run"]


@reads_training
def run(
    data: Annotated[
        list[str], typer.Argument(metavar="PART…", help="Labelled rows; - is standard input.")
    ],
    reading: Reading,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            autocompletion=columns_of,
            help="The label's column.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The file of the counts.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FAMILY",
            autocompletion=column_families_of,
            help="How to model a column, as for fit --plain. May be repeated.",
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Count a part of the rows: merge adds the counts of all parts to one model.

    The file is a plain model of its part, which every command takes. Nothing is measured.
    """
    from tallybayes.cli.io.outputs import Output
    from tallybayes.cli.io.targets import need_columns

    out = Output(output, "model", data, force=force)
    families = {}
    if column:
        from tallybayes.cli.arguments.families import column_families

        families = column_families(column)
    rows = reading.open(
        data,
        left_out=[name for name, family in families.items() if family is None],
        need=lambda header: need_columns(header, target, families),
    )
    import_estimators()
    from tallybayes.cli.commands.training.counting import count

    count(rows, target, families, out, json)
