"""``python -m benchmarks text``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import OtherWork, machine_record
from benchmarks.pages import RESULTS, recorded_command
from benchmarks.text.columns import columns_page
from benchmarks.text.counting import counting_page
from benchmarks.text.messages import messages_page
from benchmarks.text.plain import plain_page
from benchmarks.text.sets import sets_page
from benchmarks.text.unlabelled import unlabelled_page

__all__ = ["PARTS", "main"]


PARTS: dict[str, Callable[..., tuple[Any, bool]]] = {
    "columns": columns_page,
    "counting": counting_page,
    "messages": messages_page,
    "plain": plain_page,
    "sets": sets_page,
    "unlabelled": unlabelled_page,
}
"""Each part of the benchmark, and what measures it: a page, and whether the answers were right."""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks text",
        description="Text beside scikit-learn, in the same process. Data: the folder that "
        "TALLYBAYES_DATA names.",
        epilog="The exit code is 1 if an answer is wrong; a missed bar is only reported.",
    )
    options.add_argument("--only", choices=sorted(PARTS), help="one part")
    options.add_argument("--quick", action="store_true", help="fewer runs, nothing written")
    options.add_argument("--output", type=Path, metavar="DIR", help="the folder of the pages")
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if an answer was wrong.
    """
    asked = parser().parse_args(argv)
    machine = machine_record(("pyarrow",))
    other = OtherWork()
    command = recorded_command("text", argv)
    folder = asked.output or (None if asked.quick else RESULTS)
    right = True
    for name in [asked.only] if asked.only else PARTS:
        page, well = PARTS[name](quick=asked.quick)
        page.record["other_work_cores"] = other.cores()
        page.publish(folder, command, machine, "a quick run" if asked.quick else "")
        right &= well
    return 0 if right else 1
