"""``python -m benchmarks first``: the first prediction after fit, load and deepcopy.

A model reads its counts when it is first asked: it chooses the families of columns of numbers that
nobody declared, and estimates all columns.
"""

from __future__ import annotations

import argparse
import copy
import io
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tallybayes
from benchmarks.bayes.page import Page
from benchmarks.machine import OtherWork, machine_record
from benchmarks.memory import PeakMeter
from benchmarks.pages import RESULTS, recorded_command
from tallybayes import NaiveBayes
from tallybayes.families import Gaussian

__all__ = ["main"]

BAR = 1.0  # seconds of a first prediction, on 2 cores
ROWS, CLASSES, COLUMNS = 2_000, 500, 3_000


@dataclass(frozen=True)
class Case:
    """Columns of one kind.

    Parameters
    ----------
    name : str
    values : callable (random generator, labels, n_columns) -> array (n_rows, n_columns)
    family : object, optional
        What is declared of all columns.
    share : float
        Of the columns that are asked for, so many are made.
    """

    name: str
    values: Callable[[np.random.Generator, Any, int], Any]
    family: Any = None
    share: float = 1.0


def whole(rng: np.random.Generator, y: Any, d: int) -> Any:
    """Whole numbers of 11 values, each column higher in a seventh of the classes."""
    return rng.integers(0, 10, (len(y), d)) + (y[:, None] % 7 == np.arange(d) % 7) * 1.0


def continuous(rng: np.random.Generator, y: Any, d: int) -> Any:
    """Numbers of which no two are equal."""
    return rng.normal(size=(len(y), d)) + (y[:, None] % 7 == np.arange(d) % 7)


def strings(rng: np.random.Generator, y: Any, d: int) -> Any:
    """Strings of ten levels."""
    return np.array([f"level {i}" for i in range(10)])[rng.integers(0, 10, (len(y), d))]


CASES = {
    case.name: case
    for case in (
        Case("numbers, undeclared", whole),
        Case("numbers, declared Gaussian", whole, Gaussian()),
        Case("texts", strings),
        Case("continuous numbers, undeclared", continuous, share=0.01),
    )
}


@dataclass
class Found:
    """What one case took, a value a run.

    `wall` and `processor` are seconds by moment, `others` the cores that other work kept busy
    meanwhile, `peak` bytes of memory in the first prediction after fit.
    """

    columns: int
    wall: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, list[float]] = field(default_factory=dict)
    others: list[float] = field(default_factory=list)
    peak: int = 0
    equal: bool = True


def measure(name: str, rows: int, classes: int, columns: int, runs: int) -> Found:
    """One case, in a process of its own."""
    case = CASES[name]
    found = Found(max(1, round(columns * case.share)))
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    x = pd.DataFrame(case.values(rng, y, found.columns)).add_prefix("c")
    what = "auto" if case.family is None else dict.fromkeys(x.columns, case.family)
    asked = x.iloc[:1]
    said = []

    def first(moment: str, model: Any) -> None:
        other, wall, processor = OtherWork(), time.perf_counter(), time.process_time()
        said.append(model.predict(asked)[0])
        found.wall.setdefault(moment, []).append(time.perf_counter() - wall)
        used = time.process_time() - processor
        found.processor.setdefault(moment, []).append(used)
        found.others.append(other.cores() or 0.0)

    for _ in range(runs):
        model = NaiveBayes(columns=what).fit(x, y)
        meter = PeakMeter()
        meter.start()
        first("fit", model)
        found.peak = max(found.peak, meter.stop() or 0)
        first("deepcopy", copy.deepcopy(model))
        file = io.BytesIO()
        model.save(file)
        del model
        file.seek(0)
        first("load", tallybayes.load(file))
    found.equal = len(set(said)) == 1
    return found


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks first",
        description="The first prediction of a table of many columns and classes, after fit, load "
        "and deepcopy. A smaller table is printed and not written, unless --output says where. The "
        "exit code is 1 if an answer is wrong; a missed bar is only reported.",
    )
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--columns", type=int, default=COLUMNS)
    options.add_argument("--only", metavar="TEXT", default="", help="cases whose name has this")
    options.add_argument("--output", type=Path, metavar="FOLDER")
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if models that hold the same predicted differently.
    """
    asked = parser().parse_args(argv)
    machine = machine_record(("pandas",))
    found: dict[str, Found] = {}
    for name in CASES:
        if asked.only not in name:
            continue
        print(f"{name} …", file=sys.stderr)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            job = pool.submit(measure, name, ROWS, CLASSES, asked.columns, asked.runs)
            found[name] = job.result()
    command = recorded_command("first", argv)
    whole_run = asked.columns == COLUMNS and not asked.only
    partly = "" if whole_run else "Some cases, or few columns"
    folder = asked.output or (RESULTS if whole_run else None)
    as_page(found).publish(folder, command, machine, partly)
    return 0 if all(case.equal for case in found.values()) else 1


def as_page(found: dict[str, Found]) -> Page:
    """The page."""
    rows = []
    for name, case in found.items():
        for moment, seconds in case.wall.items():
            took = statistics.median(seconds)
            rows.append(
                [
                    name,
                    f"{case.columns:,}",
                    moment,
                    f"{took:.2f} s",
                    f"{statistics.median(case.processor[moment]):.2f} s",
                    "yes" if took <= BAR else "**no**",
                    f"{case.peak / 1e6:,.0f}" if moment == "fit" else "",
                ]
            )
    others = [cores for case in found.values() for cores in case.others]
    n_runs = len(next(iter(found.values())).wall["fit"])
    verdicts = [
        f"{ROWS:,} rows of {CLASSES} classes. Each time is the median of {n_runs} runs of the "
        f"first `predict`, of one row; the bar is {BAR:g} s on 2 cores. After `deepcopy` and "
        "`load` no family is chosen: `deepcopy` keeps the choices, `save` writes them. Processor "
        f"time is that of all threads. Other work kept {statistics.median(others):.1f} cores busy "
        "meanwhile (median): where that is not 0, processor time says more. Peak memory is that "
        "of the first prediction after fit, above what the model takes.",
    ]
    head = ["columns", "how many", "first predict after", "time", "processor", "met", "peak MB"]
    record = {"cases": {name: vars(case) for name, case in found.items()}}
    return Page("first-predict", "The first prediction", verdicts, [("Times", head, rows)], record)
