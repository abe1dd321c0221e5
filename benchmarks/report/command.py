"""``python -m benchmarks report``: reports by time, size and loading, and pictures of them."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.accuracy.data import NoData
from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command
from benchmarks.report.browser import chromium, loaded, pictured
from benchmarks.report.cases import CASES, PICTURED, Case

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks report",
        description="Makes the reports of models, measures time and size, and loads each in "
        "Chromium. Some cases are printed and not written, unless --output says where.",
    )
    options.add_argument("--only", metavar="TEXT", default="", help="cases whose name has this")
    options.add_argument("--output", type=Path, metavar="FOLDER")
    options.add_argument(
        "--pictures",
        type=Path,
        metavar="FOLDER",
        help="besides, pictures of Adult, wine, 20 Newsgroups and Chinese titles, 390 and 1,280 "
        "pixels wide, light and dark, and their print as PDF",
    )
    return options


def measured(case: Case, browser: Any, folder: Path) -> tuple[dict[str, Any], Path]:
    """What a report takes, and its page."""
    model, X, y = case.fitted()
    wall, processor = time.perf_counter(), time.process_time()
    made = model.report(X, y, lang=case.lang)
    found = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - processor}
    page = folder / f"{re.sub(r'[^a-z0-9]+', '-', case.name.lower())}.html"
    made.save(page)
    found |= {"megabytes": page.stat().st_size / 1e6, "rows": made.data["rowsRead"]}
    found["loading"] = min(loaded(browser, page) for _ in range(2))
    return found, page


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0
    """
    asked = parser().parse_args(argv)
    machine = machine_record(("pandas",))
    found: dict[str, dict[str, Any]] = {}
    missing = []
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if asked.only not in case.name:
                continue
            print(f"{case.name} …", file=sys.stderr)
            try:
                found[case.name], page = measured(case, browser, Path(folder))
            except NoData as why:
                missing.append(f"{case.name}: {why}")
                continue
            if asked.pictures is not None and case.name in PICTURED:
                pictured(browser, page, asked.pictures, case.name)
    whole = not asked.only and not missing
    output = asked.output or (RESULTS if whole else None)
    command = recorded_command("report", argv)
    as_page(found, missing).publish(output, command, machine, "" if whole else "Some cases")
    return 0


def as_page(found: dict[str, dict[str, Any]], missing: list[str]) -> Page:
    """The page of results."""
    rows = []
    for case in CASES:
        if case.name not in found:
            continue
        f = found[case.name]
        rows.append(
            [
                case.name,
                f"{f['rows']:,}",
                f"{f['seconds']:.2f} s",
                f"{f['cpu']:.2f} s",
                _met(f["seconds"], case.making, "s"),
                f"{f['megabytes']:.2f} MB",
                _met(f["megabytes"], case.megabytes, "MB"),
                f"{f['loading']:.2f} s",
                _met(f["loading"], case.loading, "s"),
            ]
        )
    verdicts = [
        "Time of `model.report(X, y)` on the rows that the model has learned, and the processor "
        "time of all threads; size of the page; the better of two loadings in headless Chromium, "
        "until everything is drawn and the model answers. More than 50,000 rows are sampled.",
        *missing,
    ]
    head = ["model", "rows read", "report", "processor", "bar", "size", "bar", "loading", "bar"]
    return Page("report", "Reports", verdicts, [("Reports", head, rows)], {"cases": found})


def _met(value: float, bar: float | None, unit: str) -> str:
    if bar is None:
        return ""
    return f"≤ {bar:g} {unit}: {'yes' if value <= bar else '**no**'}"
