"""``python -m benchmarks files``: model files under attack."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bayes.page import Page
from benchmarks.files.commands import Verdict, kills, writers
from benchmarks.files.fuzz import MEMORY, Tried, fuzz, seeds
from benchmarks.machine import machine_record
from benchmarks.pages import RESULTS, recorded_command, say

__all__ = ["main"]

AT_ONCE = 2_000  # files that a process tries before it says how far it is

Attack = Callable[[int, int], tuple[Page, bool]]


def main(argv: list[str]) -> int:
    """Runs one of the attacks; 1 if a file or a model did not stand it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks files", description=__doc__)
    parser.add_argument("attack", choices=sorted(ATTACKS), help="what to do")
    parser.add_argument("--times", type=int, help="files, kills or rounds; else those of the bar")
    parser.add_argument("--seed", type=int, default=0, help="of what is random")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the page")
    options = parser.parse_args(argv)
    attack, bar = ATTACKS[options.attack]
    times = options.times or bar
    machine = machine_record()
    page, stood = attack(times, options.seed)
    partly = "" if times >= bar else f"{times:,} of {bar:,}"
    command = recorded_command("files", argv)
    page.publish(options.out, command, machine, partly)
    return int(not stood)


def _fuzz(times: int, seed: int) -> tuple[Page, bool]:
    start = time.perf_counter()
    of, tried = seeds(), Tried()
    for begin in range(0, times, AT_ONCE):
        tried.include(fuzz(min(AT_ONCE, times - begin), seed, of, begin))
        say(f"{tried.files:,} files: {dict(tried.outcomes)}, {len(tried.failures)} failures")
    factor, more = MEMORY
    sizes = [len(s.file) for s in of]
    verdicts = [
        f"- {tried.files:,} files with checksums made right, mutated from one of each of {len(of)} "
        f"kinds of model ({', '.join(s.name for s in of)}; {min(sizes):,} to {max(sizes):,} bytes),"
        f" in {time.perf_counter() - start:,.0f} s.",
        f"- Crashes, hangs, loads that took more than {factor}× the file and {more / 1e6:.0f} MB, "
        "exceptions but ModelFileError, and predictions that failed or did not sum to 1: "
        f"{len(tried.failures)} (bar: 0).",
        f"- Refusals by an exception that no rule had foreseen: {tried.by_chance} (bar: 0).",
    ]
    outcomes = [[what, f"{n:,}"] for what, n in sorted(tried.outcomes.items())]
    tables = [("What became of the files.", ["outcome", "files"], outcomes)]
    if tried.reasons:
        rows = [[message, str(n)] for message, n in tried.reasons.most_common()]
        tables.append(
            ("Not predicted, with a ValueError that says why.", ["it says", "files"], rows)
        )
    if tried.failures:
        rows = [[str(n), of[n % len(of)].name, how[:300]] for n, how in tried.failures]
        tables.append(("Failures.", ["file", "kind", "how"], rows))
    record = {"outcomes": dict(tried.outcomes), "reasons": dict(tried.reasons)}
    record |= {"failures": tried.failures, "by_chance": tried.by_chance}
    page = Page("files-fuzz", "Mutated model files", verdicts, tables, record)
    return page, not tried.failures and not tried.by_chance


def _page(verdict: Verdict, name: str, title: str, what: str, seconds: float) -> Page:
    happened = ", ".join(f"{key} {n}" for key, n in verdict.counts.items())
    verdicts = [
        f"- {what.format(verdict.runs)}, in {seconds:,.0f} s ({happened}).",
        f"- Models that do not hold exactly the rows that were acknowledged: {len(verdict.wrong)} "
        "(bar: 0).",
    ]
    tables = []
    if verdict.wrong:
        tables = [("What was wrong.", ["what"], [[text] for text in verdict.wrong])]
    return Page(name, title, verdicts, tables, verdict._asdict())


def _kills(times: int, seed: int) -> tuple[Page, bool]:
    start = time.perf_counter()
    verdict = kills(times, seed, say)
    what = "{} commands (update, forget, merge) killed by SIGKILL at random moments"
    seconds = time.perf_counter() - start
    page = _page(verdict, "files-kills", "Commands killed while they change a model", what, seconds)
    return page, not verdict.wrong


def _writers(times: int, seed: int) -> tuple[Page, bool]:
    start = time.perf_counter()
    verdict = writers(times, seed, say)
    what = "{} rounds of eight commands (update, forget, merge) at once on one model"
    seconds = time.perf_counter() - start
    page = _page(verdict, "files-writers", "Commands that change one model at once", what, seconds)
    return page, not verdict.wrong and not verdict.counts["refused"]


ATTACKS: dict[str, tuple[Attack, int]] = {
    "fuzz": (_fuzz, 50_000),
    "kills": (_kills, 300),
    "writers": (_writers, 20),
}
"""By name: what runs it, and how often by default."""
