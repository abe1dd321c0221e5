"""``tallybayes sql``: a model as one SELECT."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.cli.terminal.streams import need_output

__all__ = ["DIALECTS", "run"]

DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
"""Those of :mod:`tallybayes.export.dialects`, which is slow to import."""


def run(
    model: options.Model,
    table: Annotated[
        str, typer.Option("--table", "-t", metavar="TABLE", help="The table whose rows are scored.")
    ],
    schema: Annotated[
        str | None, typer.Option(metavar="SCHEMA", help="The schema that the table is in.")
    ] = None,
    dialect: Annotated[
        str,
        typer.Option(
            metavar="DIALECT",
            help=f"{', '.join(DIALECTS[:-1])} or {DIALECTS[-1]}.",
        ),
    ] = "duckdb",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL", help="A column of the table that the result has, too; may be repeated."
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COL=TYPE",
            help="What a column holds in the table, where the model learned another: text, number, "
            "integer, decimal, boolean or date; may be repeated.",
        ),
    ] = None,
) -> None:
    """Print a model as one SELECT, which predicts rows in a database as predict does.

    The result has the label, prediction, and a column p(label) for each class.
    """
    need_output()
    if dialect not in DIALECTS:
        raise Failure(f"--dialect {dialect!r} is not one of {', '.join(DIALECTS)}", USAGE)
    from tallybayes.cli.io.places import need_model

    need_model(model)
    from tallybayes.cli.commands.kinds.files import loaded

    found = loaded(model).model
    if not hasattr(found, "to_sql"):
        raise Failure(f"{model} is a model of documents, which SQL cannot express: use predict")
    kinds = dict(_pair(given) for given in types or [])
    name = table if schema is None else [schema, table]
    print(found.to_sql(name, dialect, types=kinds, keep=keep or []))


def _pair(given: str) -> tuple[str, str]:
    """A column and its type."""
    column, equals, kind = given.rpartition("=")
    if not equals:
        raise Failure(f"--type takes COL=TYPE, as in --type code=integer, got {given!r}", USAGE)
    return column, kind
