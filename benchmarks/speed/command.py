"""``python -m benchmarks speed``."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, write_page
from benchmarks.speed.case import Options
from benchmarks.speed.measure import all_cases, measure
from benchmarks.speed.report import as_json, as_markdown
from benchmarks.timing import Effort

__all__ = ["main"]

RESULT = RESULTS / "speed.md"
PACKAGES = ("pandas", "polars", "pyarrow", "mixed-naive-bayes", "wnb", "river")
QUICK = Effort(budget=1.0, least=2, most=7, batches=11)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks speed",
        description="Times and memory beside scikit-learn, and of tables beside its pipelines.",
        epilog="A run of some of the cases, or of smaller ones, is printed and not written, unless "
        "--output says where. The exit code is 1 if an answer is wrong or a case fails; a missed "
        "bar is only reported.",
    )
    options.add_argument(
        "--only",
        metavar="PATTERN",
        help="cases whose name has this in it; * and ? stand for anything: 'gaussian*predict'",
    )
    options.add_argument("--quick", action="store_true", help="smaller cases, as a smoke test")
    options.add_argument("--runs", type=int, metavar="N", help="runs of a case (ours at least 5)")
    options.add_argument(
        "--terms",
        choices=("zipf", "uniform"),
        default="zipf",
        help="frequency of terms in documents",
    )
    options.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the page; all numbers go beside it as .json (default: benchmarks/results/speed.md)",
    )
    options.add_argument("--list", action="store_true", help="name the cases and stop")
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if an answer was wrong or a case failed.
    """
    asked = parser().parse_args(argv)
    if asked.runs is not None and asked.runs < 1:
        parser().error(f"--runs must be at least 1, got {asked.runs}")
    options = Options(quick=asked.quick, terms=asked.terms)
    cases = list(all_cases(options))
    if asked.only is not None:
        cases = [case for case in cases if fnmatchcase(case.name, f"*{asked.only}*")]
        if not cases:
            parser().error(f"--only {asked.only!r} names no case; see --list")
    if asked.list:
        print("\n".join(f"{case.name:<40} {case.what}" for case in cases))
        return 0

    effort = QUICK if asked.quick else Effort()
    if asked.runs is not None:
        effort = Effort(**{**vars(effort), "rounds": asked.runs})
    command = recorded_command("speed", argv)
    machine = machine_record(PACKAGES)
    outcomes = measure(cases, effort)
    page = as_markdown(outcomes, command, machine, options)
    print(page)

    whole = asked.only is None and not asked.quick and asked.terms == "zipf"
    output = asked.output or (RESULT if whole else None)
    if output is not None:
        write_page(output, page, as_json(outcomes, command, machine, options))
    bad = [outcome for outcome in outcomes if outcome.wrong or outcome.failed]
    for outcome in bad:
        trouble = "wrong answer" if outcome.wrong else "not measured"
        print(f"{trouble}: {outcome.name}: {outcome.wrong or outcome.failed}", file=sys.stderr)
    return 1 if bad else 0
