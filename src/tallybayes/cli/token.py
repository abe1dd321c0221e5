"""Commands for the tokens of a service: ``token make | revoke | show``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from tallybayes.cli import options
from tallybayes.cli.messages import need_output

__all__ = ["COMMANDS", "make", "revoke", "show"]

File = Annotated[
    str, typer.Argument(metavar="TOKENS", help="The file of the tokens; the first one makes it.")
]


def make(
    tokens: File,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom or what the token is for.")],
    scope: Annotated[
        list[str],
        typer.Option(
            metavar="SCOPE",
            help="What it allows: predict, explain, learn, forget or admin (metrics, the report "
            "of a store, and learning its weights again). May be "
            "repeated; none implies another.",
        ),
    ],
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Requests a second; by default the rate of the service.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(metavar="N", help="Days until it expires; never by default."),
    ] = None,
) -> None:
    """Make a token and print it. It is printed once: the file holds a hash of it.

    Examples:
        tallybayes token make tokens.json mail-filter --scope predict --scope learn
    """
    need_output()
    from tallybayes.cli.console import note
    from tallybayes.serve import Tokens

    print(Tokens(tokens).make(name, scope, rate=rate, days=days))
    note("keep it where only its user can read it; clients send it as Authorization: Bearer TOKEN")


def revoke(
    tokens: File,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the token.")],
) -> None:
    """Make a token invalid; a service that runs refuses it at once.

    Examples:
        tallybayes token revoke tokens.json mail-filter
    """
    from tallybayes.cli.console import line, say
    from tallybayes.serve import Tokens

    gone = Tokens(tokens).revoke(name)
    say(line(f"the token {gone.name} ({gone.id}) is revoked"))


def show(tokens: File, json: options.Json = False) -> None:
    """Show the tokens of a file: id, name, scopes, and whether they are valid.

    Examples:
        tallybayes token show tokens.json
    """
    need_output()
    from tallybayes.cli.console import document, line, say
    from tallybayes.serve import Tokens

    def day(seconds: int | None) -> str | None:
        return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"

    found = list(Tokens(tokens))
    if json:
        dates = ("made", "expires", "revoked")
        kept = ("id", "name", "scopes", "rate")
        content = [
            {name: getattr(t, name) for name in kept} | {d: day(getattr(t, d)) for d in dates}
            for t in found
        ]
        document("token show", {"tokens": content})
        return
    for t in found:
        ends = f"revoked {day(t.revoked)}" if t.revoked else f"expires {day(t.expires) or 'never'}"
        scopes = ", ".join(t.scopes)
        say(line(f"{t.id}  {t.name}: {scopes}; made {day(t.made)}, {ends}"))


COMMANDS = (make, revoke, show)
"""Of the group ``token``."""
