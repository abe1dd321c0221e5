"""``python -m benchmarks start``: how soon the command line has answered.

Processes are timed from their start to their end, in turn, beside a Python that does nothing. They
find compiled modules, as an installed package has them: a first run of each, which is not timed,
writes them into a folder of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tallybayes
from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command

__all__ = ["main"]

RUNS = 15
ROWS = "age,plan,stays\n" + "".join(f"{20 + 3 * i},{'ab'[i % 2]},{i % 3 > 0}\n" for i in range(10))
NOTHING = "python that does nothing"
BARS = {"tallybayes --version": 0.15, "tallybayes fit, ten rows": 0.8}


def main(argv: Sequence[str]) -> int:
    """0, or 1 where a command failed; a missed bar is only reported."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks start", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="timed runs of each command")
    options = parser.parse_args(argv)
    machine = machine_record()
    with tempfile.TemporaryDirectory() as folder:
        try:
            seconds = _measured(Path(folder), options.runs)
        except subprocess.CalledProcessError as error:
            print(f"{error}\n{error.stderr}", file=sys.stderr)
            return 1
    command = recorded_command("start", argv)
    _page(seconds).publish(RESULTS if not argv else None, command, machine, "")
    return 0


def _measured(folder: Path, runs: int) -> dict[str, list[float]]:
    """The seconds of each command, a round after another."""
    data, model = folder / "ten.csv", folder / "ten.model"
    data.write_text(ROWS)
    ours = [sys.executable, "-m", "tallybayes"]
    fit = [*ours, "fit", str(data), "--target", "stays", "-o", str(model)]
    commands = {
        NOTHING: [sys.executable, "-c", ""],
        "tallybayes --version": [*ours, "--version"],
        "tallybayes --help": [*ours, "--help"],
        "tallybayes fit, ten rows": fit,
        "tallybayes fit --plain, ten rows": [*fit, "--plain"],
        "tallybayes predict, ten rows": [*ours, "predict", str(model), str(data)],
    }
    sources = Path(tallybayes.__file__).resolve().parents[1]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": str(sources)}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            if "fit" in command:
                model.unlink(missing_ok=True)
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            if run:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def _page(seconds: dict[str, list[float]]) -> Page:
    rows = []
    for name, found in seconds.items():
        bar = BARS.get(name)
        middle = statistics.median(found)
        met = "" if bar is None else "met" if middle <= bar else "missed"
        rows.append(
            [name, f"{middle:.3f}", f"{min(found):.3f}", "" if bar is None else f"{bar:g}", met]
        )
    verdicts = [
        f"- {name}: {statistics.median(seconds[name]):.3f} s, at most {bar:g}: "
        f"{'met' if statistics.median(seconds[name]) <= bar else '**missed**'}"
        for name, bar in BARS.items()
    ]
    head = ["command", "median, s", "least, s", "bar", ""]
    about = "Seconds from the start of a process to its end, modules compiled:"
    return Page(
        "start", "Start of the command line", verdicts, [(about, head, rows)], {"seconds": seconds}
    )
