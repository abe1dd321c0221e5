"""``python -m benchmarks versions``: whether this version is slower than another one.

Two processes have a version each and are timed in turn, so that whatever else the machine does
slows both:

    python -m benchmarks versions before/src

A ratio is a time of this version by the one before it of the other. The table has their median,
and the interval in which the median of many rounds lies 95 times of 100 (order statistics, whatever
the distribution). A call is slower where all of that interval lies above the bar.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import floor, sqrt
from pathlib import Path
from typing import IO, Any, cast

import tallybayes
from benchmarks.bayes.page import Page
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command
from benchmarks.versions.calls import SHORT

__all__ = ["main"]

BAR, SHORT_BAR = 1.05, 1.0
ROUNDS, IMPORTS = 41, 31
IMPORTING = "import tallybayes"


@dataclass(frozen=True)
class Compared:
    """The times of one call, a pair a round.

    Parameters
    ----------
    name : str
    before, after : list of float
        Seconds.
    """

    name: str
    before: list[float]
    after: list[float]

    @property
    def ratios(self) -> list[float]:
        return sorted(a / b for a, b in zip(self.after, self.before, strict=True))

    @property
    def limits(self) -> tuple[float, float]:
        """Between which the median of the ratios lies, 95 times of 100."""
        n = len(self.before)
        k = max(0, floor((n - 1.96 * sqrt(n)) / 2.0))
        return self.ratios[k], self.ratios[n - 1 - k]

    @property
    def bar(self) -> float:
        return SHORT_BAR if self.name.startswith((SHORT, IMPORTING)) else BAR

    @property
    def slower(self) -> bool:
        return self.limits[0] > self.bar


def main(argv: Sequence[str]) -> int:
    """0 whatever the times are; a slower call is reported."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks versions", description=__doc__)
    parser.add_argument("before", type=Path, help="the folder that holds the other tallybayes")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of a call")
    parser.add_argument("--only", default="", help="calls that have this in their name")
    options = parser.parse_args(argv)
    if not (options.before / "tallybayes").is_dir():
        parser.error(f"{options.before} has no folder tallybayes")
    machine = machine_record()
    _need_other(options.before.resolve())
    folders = (options.before.resolve(), Path(tallybayes.__file__).resolve().parents[1])
    compared = [_imports(folders)] if options.only in IMPORTING else []
    with _worker(folders[0], options.only) as before, _worker(folders[1], options.only) as after:
        compared += list(_in_turn(before, after, options.rounds))
    _page(compared).publish(
        None if options.only else RESULTS,
        recorded_command("versions", argv),
        machine,
        f"only calls with {options.only!r}" if options.only else "",
    )
    return 0


def _environment(folder: Path) -> dict[str, str]:
    """In which `folder` is where tallybayes comes from."""
    here = Path(__file__).resolve().parents[2]
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(here)])}


def _need_other(folder: Path) -> None:
    """Raises RuntimeError where another tallybayes than that of `folder` would be timed as before:
    an editable installation is found before PYTHONPATH."""
    code = f"{IMPORTING}; print(tallybayes.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=_environment(folder), check=True, capture_output=True
    )
    found = Path(done.stdout.decode().splitlines()[-1]).resolve()
    if not found.is_relative_to(folder):
        raise RuntimeError(
            f"{found.parent} would be timed in place of {folder}: run this with a Python that has "
            "no editable installation of tallybayes"
        )


def _imports(folders: tuple[Path, Path]) -> Compared:
    """Processes that import the package and end."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(IMPORTS):
        for folder, found in zip(folders, seconds, strict=True):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", IMPORTING], env=_environment(folder), check=True)
            found.append(time.perf_counter() - started)
    return Compared(IMPORTING, *seconds)


@contextmanager
def _worker(folder: Path, only: str) -> Iterator[subprocess.Popen[str]]:
    """A process that times the calls of the version in `folder`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.versions.worker", only],
        env=_environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _in_turn(
    before: subprocess.Popen[str], after: subprocess.Popen[str], rounds: int
) -> Iterator[Compared]:
    """Each call of both, in turn, round after round; which comes first changes."""
    while (call := _answer(before)) is not None and (same := _answer(after)) is not None:
        if call["name"] != same["name"]:
            raise RuntimeError(f"one version is at {call['name']!r}, the other at {same['name']!r}")
        if call["times"] and same["times"]:
            seconds: tuple[list[float], list[float]] = ([], [])
            for round_ in range(rounds):
                pair = list(zip((before, after), seconds, strict=True))
                for process, found in pair[:: 1 if round_ % 2 else -1]:
                    _say(process, str(same["times"]))
                    found.append(_answer(process))
            yield Compared(call["name"], *seconds)
        _say(before, "next")
        _say(after, "next")


def _say(process: subprocess.Popen[str], line: str) -> None:
    pipe = cast(IO[str], process.stdin)
    pipe.write(line + "\n")
    pipe.flush()


def _answer(process: subprocess.Popen[str]) -> Any:
    """The next line of a worker; None where it has ended."""
    line = cast(IO[str], process.stdout).readline()
    if not line and process.wait():
        raise RuntimeError(f"a version ended with code {process.returncode}")
    return json.loads(line) if line else None


def _page(compared: list[Compared]) -> Page:
    slower = [c for c in compared if c.slower]
    middle = statistics.median(ratio for c in compared for ratio in c.ratios)
    verdicts = [
        f"- Of {len(compared)} calls {len(slower)} are slower than before by more than the bar: "
        f"{BAR:g} times, and {SHORT_BAR:g} times for calls of one row and the import.",
        f"- The median of all ratios is {middle:.3f}.",
    ]
    head = ["call", "before", "after", "ratio", "95 % of medians", "bar", "slower"]
    rows = [
        [
            c.name,
            _seconds(statistics.median(c.before)),
            _seconds(statistics.median(c.after)),
            f"{statistics.median(c.ratios):.3f}",
            f"{c.limits[0]:.3f} – {c.limits[1]:.3f}",
            f"{c.bar:g}",
            "yes" if c.slower else "no",
        ]
        for c in compared
    ]
    record = {"calls": {c.name: {"before": c.before, "after": c.after} for c in compared}}
    about = "Medians, and the ratios of neighbouring rounds:"
    title = "Times of calls beside those of an earlier version"
    return Page("versions", title, verdicts, [(about, head, rows)], record)


def _seconds(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"
