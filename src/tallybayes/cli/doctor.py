"""``tallybayes doctor``: look at data before anything is learned from it."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli import options
from tallybayes.cli.reading import Flatten, Sheet, UnionByName

__all__ = ["doctor"]


def doctor(
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

    Examples:
        tallybayes doctor sales.csv --target sold
        tallybayes doctor warehouse.duckdb --table customers --target sold --json
    """
    from tallybayes import doctor as looked_at
    from tallybayes.cli.console import document, line, number_of, say, say_as_is
    from tallybayes.cli.console import table as tabled

    found = looked_at(
        data if len(data) > 1 else data[0],
        target,
        sql=sql,
        table=table,
        sheet=sheet,
        flatten=flatten,
        union_by_name=union_by_name,
    )
    if json:
        document("doctor", found.to_dict())
        return
    columns = [
        (c.name, f"{c.kind}: {c.reason}", _missing(c.missing), ", ".join(c.examples))
        for c in found.columns
    ]
    title = f"{found.source}: {number_of(found.n_rows, 'row')}"
    say(tabled(title, ("column", "read as", "missing", "examples"), columns))
    if found.classes:
        total = sum(found.classes.values())
        rows = [(label, f"{n:,}", f"{n / total:.1%}") for label, n in found.classes.items()]
        say(tabled(f"classes of {found.target}", ("class", ">rows", ">share"), rows[:20]))
    if found.all_findings:
        say(line("What looks wrong", "bold"))
        say(*(line(f"- {finding}") for finding in found.all_findings), line())
    say(line("Command", "bold"))
    say_as_is(found.command)
    say(line(), line("Python", "bold"))
    say_as_is(found.call)
    say(line(), line(found.tried))


def _missing(missing: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {text or 'empty'}" for text, n in missing.items())
