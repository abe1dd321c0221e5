"""A page of results: verdicts, tables, and every number beside it as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pages import RESULTS, heading, recorded_command, write_page
from benchmarks.speed.report import table

__all__ = ["Page", "options_of"]


def options_of(name: str, about: str, epilog: str, quick: str) -> argparse.ArgumentParser:
    """The options of a benchmark with one page and a quick run."""
    options = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=about, epilog=epilog
    )
    options.add_argument("--quick", action="store_true", help=f"{quick}; nothing is written")
    options.add_argument("--output", type=Path, metavar="FOLDER", help="default: the results")
    return options


@dataclass(frozen=True)
class Page:
    """What a benchmark found.

    Parameters
    ----------
    name : str
        Of the files.
    title : str
    verdicts : list of str
        A line each.
    tables : list of (str, list of str, list of list of str)
        What a table is about, its head and its rows.
    record : dict
        Every number.
    """

    name: str
    title: str
    verdicts: list[str]
    tables: list[tuple[str, list[str], list[list[str]]]]
    record: dict[str, Any]

    def markdown(self, command: str, machine: dict[str, Any], partly: str) -> str:
        versions = ", ".join(f"{name} {machine[name]}" for name in machine["packages"])
        lines = [
            *heading(self.title, command, machine),
            f"- Versions: python {machine['python']}, {versions}",
            "",
        ]
        if partly:
            lines += [f"**{partly}: no evidence about the bars.**", ""]
        lines += self.verdicts
        for about, head, rows in self.tables:
            lines += ["", about, "", *table(head, rows)]
        return "\n".join(lines) + "\n"

    def publish(
        self, folder: Path | None, command: str, machine: dict[str, Any], partly: str
    ) -> None:
        """Prints the page and, where a folder is given, writes it and its numbers there."""
        page = self.markdown(command, machine, partly)
        print(page)
        if folder is not None:
            notes = {"command": command, "machine": machine, "verdicts": self.verdicts}
            write_page(folder / f"{self.name}.md", page, notes | self.record)

    def publish_run(
        self, argv: Sequence[str], given: argparse.Namespace, machine: dict[str, Any]
    ) -> None:
        """Publishes a run by its options; a quick one is not written, unless they say where."""
        folder = given.output or (None if given.quick else RESULTS)
        partly = "Quick run" if given.quick else ""
        self.publish(folder, recorded_command(self.name, argv), machine, partly)
