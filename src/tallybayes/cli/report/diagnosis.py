"""What the doctor has found, for people and for machines."""

from __future__ import annotations

from tallybayes.cli.terminal.console import document, line, number_of, say, say_as_is, table
from tallybayes.diagnosis.doctor import Diagnosis

__all__ = ["show"]


def show(found: Diagnosis, json: bool) -> None:
    """Prints a diagnosis."""
    if json:
        document("doctor", found.to_dict())
        return
    columns = [
        (c.name, f"{c.kind}: {c.reason}", _missing(c.missing), ", ".join(c.examples))
        for c in found.columns
    ]
    title = f"{found.source}: {number_of(found.n_rows, 'row')}"
    say(table(title, ("column", "read as", "missing", "examples"), columns))
    if found.classes:
        total = sum(found.classes.values())
        rows = [(label, f"{n:,}", f"{n / total:.1%}") for label, n in found.classes.items()]
        say(table(f"classes of {found.target}", ("class", ">rows", ">share"), rows[:20]))
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
