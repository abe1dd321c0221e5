"""What all pages of results begin with, and how they are written."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "heading", "recorded_command", "say", "write_page", "yes_or_no"]

RESULTS = Path(__file__).resolve().parent / "results"
OUTPUT = "--output"


def say(text: str, end: str = "\n") -> None:
    """Progress, on standard error."""
    print(text, end=end, file=sys.stderr, flush=True)


def yes_or_no(met: bool) -> str:
    """A verdict, to read."""
    return "yes" if met else "**no**"


def recorded_command(benchmark: str, argv: Sequence[str]) -> str:
    """The command that a page tells, without where the page was written."""
    kept, skips = [], False
    for word in argv:
        if skips:
            skips = False
        elif word == OUTPUT:
            skips = True
        elif not word.startswith(f"{OUTPUT}="):
            kept.append(word)
    return shlex.join(["python", "-m", "benchmarks", benchmark, *kept])


def heading(
    title: str, command: str, machine: dict[str, Any], *, load_at: str = "start"
) -> list[str]:
    """The title, how the numbers were made, when, and on what machine."""
    return [
        f"# {title}",
        "",
        f"- Command: `{command}`",
        f"- Date: {machine['date']}",
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; load at the {load_at} {machine['load_at_start'][0]}",
    ]


def write_page(path: Path, page: str, record: dict[str, Any]) -> None:
    """Writes a page, and every number beside it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    numbers = path.with_suffix(".json")
    text = json.dumps(record, indent=1, ensure_ascii=False)
    numbers.write_text(text + "\n", encoding="utf-8")
    print(f"written: {path} and {numbers.name}", file=sys.stderr)
