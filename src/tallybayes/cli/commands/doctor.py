"""``tallybayes doctor``: look at data before anything is learned from it."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading_options import Flatten, Sheet, UnionByName

__all__ = ["run"]


def run(
    data: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Rows: files, folders or a database.")
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The label's column; else guessed."),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option("--sql", metavar="SELECT", help="The query, where FILE is a database."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="The table, where FILE is a database."),
    ] = None,
    sheet: Sheet = None,
    flatten: Flatten = False,
    union_by_name: UnionByName = False,
    json: options.Json = False,
) -> None:
    """Look at data before anything is learned from it.

    For each column it says what it would be read as and why, and what looks wrong; and it gives the
    fit command that reads all of it as it is meant, tried on the first rows.

    Examples: tallybayes doctor sales.csv --target sold; tallybayes doctor shop.duckdb --table sales
    """
    from tallybayes.cli.report.diagnosis import show
    from tallybayes.diagnosis.doctor import diagnosed
    from tallybayes.diagnosis.findings import quoted

    if sql is None and table is None:
        given = repr(data[0] if len(data) == 1 else data)
        chosen = {"sheet": sheet, "flatten": flatten, "union_by_name": union_by_name}
        chosen = {name: value for name, value in chosen.items() if value}
        show(diagnosed(data, target, " ".join(map(quoted, data)), given, chosen), json)
        return
    from tallybayes.sources.files import source_of

    source = source_of(data[0], sql=sql, table=table)
    option, call, text = ("--sql", "sql", sql) if sql is not None else ("--table", "table", table)
    named = f"{quoted(data[0])} {option} {quoted(str(text))}"
    show(diagnosed(source, target, named, f"tallybayes.{call}({text!r}, {data[0]!r})"), json)
