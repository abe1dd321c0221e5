"""``python -m benchmarks bayes``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy.data import DataSet, NoData, all_data_sets
from benchmarks.bayes import alpha, calibration, coverage, factor, harm, sets
from benchmarks.bayes.cases import forty_cases
from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, say

__all__ = ["main"]

PARTS = ("alpha", "calibration", "harm", "coverage", "sets", "factor")
CLASSES = 2, 4


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks bayes",
        description="Chosen smoothing, calibration, credible intervals, log-loss on many sets and "
        "under weights, against their bars.",
        epilog="Data sets are looked for in the folder that TALLYBAYES_DATA names. A quick run is "
        "printed and not written, unless --output says where. The exit code is 1 if a data set is "
        "missing; a missed bar is only reported.",
    )
    options.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; or all")
    options.add_argument("--quick", action="store_true", help="few folds, rounds and draws")
    options.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: benchmarks/results"
    )
    return options


def over_sets(
    measure: Callable[[DataSet, int, int], dict[str, Any]],
    data_sets: Sequence[DataSet],
    n_folds: int,
    rounds: int,
    missing: list[str],
) -> list[dict[str, Any]]:
    """What is measured on each data set that is there."""
    found = []
    for data in data_sets:
        say(f"  {data.name}")
        try:
            found.append(measure(data, n_folds, rounds))
        except NoData as why:
            missing.append(data.name)
            say(f"  NO DATA: {why}")
    return found


def run(part: str, quick: bool, missing: list[str]) -> Page | None:
    """The results page of one part, or None if no data set was found."""
    n_folds, rounds = (2, 1) if quick else (5, 5)
    if part == "coverage":
        repeats = 10 if quick else 300
        sizes = [coverage.measure(n, k, repeats) for k in CLASSES for n in coverage.SIZES]
        return coverage.page(sizes)
    arff = [data for data in all_data_sets() if data.group == "arff"]
    if part == "sets":
        found = sets.measure([d for d in arff if d.name != "arff-letter"], n_folds, missing)
        of_labor = sets.measure_labor(n_folds, missing)
        return sets.page(found, of_labor, n_folds) if found or of_labor else None
    if part == "factor":
        found = factor.measure(all_data_sets(), n_folds, missing)
        return factor.page(found, factor.measure_balanced(3 if quick else factor.DRAWS), n_folds)
    if part == "harm":
        tables = []
        for case in forty_cases(all_data_sets(), missing):
            say(f"  {case.name}")
            tables.append(harm.measure(case, n_folds))
        return harm.page(tables, n_folds)
    if part == "alpha":
        found = over_sets(alpha.measure, arff, n_folds, rounds, missing)
        return alpha.page(found, n_folds) if found else None
    found = over_sets(calibration.measure, all_data_sets(), n_folds, min(rounds, 3), missing)
    return calibration.page(found, n_folds) if found else None


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a data set was missing.
    """
    asked = parser().parse_args(argv)
    unknown = [part for part in asked.parts if part not in PARTS]
    if unknown:
        parser().error(
            f"{unknown[0]!r} is not part of this benchmark; choose from {', '.join(PARTS)}"
        )
    command = recorded_command("bayes", argv)
    missing: list[str] = []
    for part in asked.parts or PARTS:
        say(part)
        machine = machine_record(("pandas",))
        before = len(missing)
        page = run(part, asked.quick, missing)
        if page is None:
            continue
        lacking = missing[before:]
        partly = "Few folds and rounds (`--quick`)" if asked.quick else ""
        if lacking:
            partly = "; ".join(filter(None, [partly, f"No data for {', '.join(lacking)}"]))
        page.publish(asked.output or (None if partly else RESULTS), command, machine, partly)
    return 1 if missing else 0
