"""A page of results: verdicts, tables, and every number beside it as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.report import table

__all__ = ["Page"]


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
            f"# {self.title}",
            "",
            f"- Command: `{command}`",
            f"- Date: {machine['date']}",
            f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['system']}; load at the start {machine['load_at_start'][0]}",
            f"- Versions: python {machine['python']}, {versions}",
            "",
        ]
        if partly:
            lines += [f"**{partly}: no evidence about the bars.**", ""]
        lines += self.verdicts
        for about, head, rows in self.tables:
            lines += ["", about, "", *table(head, rows)]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path, command: str, machine: dict[str, Any], partly: str) -> None:
        """Writes the page and its numbers into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{self.name}.md"
        page.write_text(self.markdown(command, machine, partly), encoding="utf-8")
        record = {"command": command, "machine": machine, "verdicts": self.verdicts, **self.record}
        text = json.dumps(record, indent=1, ensure_ascii=False)
        page.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
