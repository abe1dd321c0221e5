"""``python -m benchmarks scale``: peak memory and speed of the command line on a large CSV."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.machine import OtherWork, machine_record
from benchmarks.pages import RESULTS, heading, recorded_command, write_page
from benchmarks.scale.data import TARGET, generate

__all__ = ["main"]

RESULT = RESULTS / "scale.md"
BAR = 600 * 10**6  # bytes of peak memory that no command may take
MAIN = "from tallybayes.cli import command; command()"


@dataclass(frozen=True)
class Case:
    """One command: its words, and how often it reads the file."""

    name: str
    words: list[str]
    passes: int


@dataclass(frozen=True)
class Run:
    """What one run of the command line took, and how many rows its answer tells.

    `others` are the cores that other work kept busy meanwhile.
    """

    seconds: float
    processor: float
    others: float | None
    peak: int
    rows: float
    extra: str


def cases(data: str) -> list[Case]:
    """The commands, in the order that makes the files of the next one."""
    return [
        Case("fit, no estimate", ["fit", data, "-t", TARGET, "-o", "a.tally", "--no-estimate"], 1),
        Case("fit, with its estimate", ["fit", data, "-t", TARGET, "-o", "b.tally"], 1),
        Case("evaluate", ["evaluate", "a.tally", data], 1),
        Case("predict", ["predict", "a.tally", data, "-o", "out.csv", "--proba", "--force"], 1),
        Case("update", ["update", "a.tally", data], 1),
    ]


def run(words: list[str], folder: Path) -> Run:
    """Runs the command line as a process of its own; peak memory is what the kernel tells of it."""
    answer = folder / "answer.json"
    other, start = OtherWork(), time.perf_counter()
    with open(answer, "wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", MAIN, *words, "--json"], cwd=folder, stdout=out
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds, others = time.perf_counter() - start, other.cores()
    if child.returncode:
        raise RuntimeError(f"tallybayes {shlex.join(words)} failed")
    found = json.loads(answer.read_text(encoding="utf-8"))
    estimate = found.get("estimate") or {}
    extra = f"accuracy {estimate['accuracy']:.4f}" if estimate else ""
    rows = found["rows"] if "rows" in found else estimate["rows"]
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, used.ru_utime + used.ru_stime, others, used.ru_maxrss * unit, rows, extra)


def need_space(folder: Path, size: int) -> None:
    """Raises where the disk has too little room for the data and what is made of it."""
    free = shutil.disk_usage(folder).free
    if free < 2 * size:
        raise SystemExit(
            f"{folder} has {free / 1e9:.1f} GB free, and {2 * size / 1e9:.1f} GB are needed: "
            "choose another folder by TMPDIR, or a smaller --gigabytes"
        )


def made(path: Path, size: int, seed: int) -> int:
    """Makes the data in a process of its own: the kernel counts a parent's peak to its children."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(generate, path, size, seed).result()


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks scale",
        description="Peak memory and speed of the command line on a large CSV, which is made in a "
        "temporary folder and deleted. Runs of less than 3 GB are printed and not written, unless "
        "--output says where. The exit code is 1 if a count is wrong.",
    )
    options.add_argument(
        "--only", choices=["spark"], help="instead: a Spark DataFrame beside Spark's naive Bayes"
    )
    options.add_argument("--rows", type=int, default=10**7, help="rows for --only spark")
    options.add_argument("--repeats", type=int, default=2, help="runs of each for --only spark")
    options.add_argument("--gigabytes", type=float, default=3.0, help="size of the CSV (10^9)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the page; all numbers go beside it as .json (default: benchmarks/results/scale.md)",
    )
    return options


def main(argv: list[str]) -> int:
    """Runs the command.

    Returns
    -------
    int
        0, or 1 if a count was wrong.
    """
    asked = parser().parse_args(argv)
    if asked.only == "spark":
        from benchmarks.scale import spark

        return spark.main(asked, argv)
    size = round(asked.gigabytes * 1e9)
    command = recorded_command("scale", argv)
    found: list[tuple[Case, Run]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        need_space(folder, size)
        print(f"making {size / 1e9:g} GB of CSV …", file=sys.stderr)
        rows = made(folder / "data.csv", size, asked.seed)
        size = (folder / "data.csv").stat().st_size
        for case in cases("data.csv"):
            print(f"{case.name} …", file=sys.stderr)
            found.append((case, run(case.words, folder)))
    machine = machine_record()
    bad = [case.name for case, taken in found if taken.rows != rows]
    page = as_markdown(found, command, machine, size, rows)
    print(page)
    output = asked.output or (RESULT if asked.gigabytes >= 3.0 else None)
    if output is not None:
        record = {
            "command": command,
            "machine": machine,
            "bytes": size,
            "rows": rows,
            "runs": {case.name: vars(taken) for case, taken in found},
        }
        write_page(output, page, record)
    for case in bad:
        print(f"wrong count: {case}", file=sys.stderr)
    return 1 if bad else 0


def as_markdown(
    found: list[tuple[Case, Run]], command: str, machine: dict[str, Any], size: int, rows: int
) -> str:
    """The page."""
    head = [
        "command",
        "passes",
        "time",
        "MB/s",
        "rows/s",
        "processor time",
        "others",
        "peak MB",
        "met",
        "",
    ]
    lines = [
        *heading("The command line on a large CSV", command, machine, load_at="end"),
        f"- Versions: python {machine['python']}, pyarrow {version('pyarrow')}, tallybayes "
        f"{machine['tallybayes']}",
        f"- Data: {size / 1e6:,.0f} MB, {rows:,} rows of 11 columns (numbers, categories, a date, "
        "quoted strings, missing values) and a target of two classes, made from a fixed seed",
        "",
        "Each command runs as a process of its own, from its start to its end. Peak memory is the "
        "largest resident size of the process as the kernel tells it, Python and all libraries "
        f"included; the bar is {BAR / 1e6:.0f} MB. MB/s is the size of the file by the time, "
        "however often the command reads it. `others` tells how many cores other work kept busy "
        "meanwhile: on a machine that works for others the processor time says more.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
    ]
    for case, taken in found:
        cells = [
            case.name,
            f"{case.passes}",
            f"{taken.seconds:.1f} s",
            f"{size / 1e6 / taken.seconds:.0f}",
            f"{rows / taken.seconds:,.0f}",
            f"{taken.processor:.1f} s",
            "" if taken.others is None else f"{taken.others:.1f}",
            f"{taken.peak / 1e6:.0f}",
            "yes" if taken.peak <= BAR else "**no**",
            taken.extra,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
