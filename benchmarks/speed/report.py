"""The results as a Markdown page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.memory import HOW
from benchmarks.pages import heading
from benchmarks.speed.case import Options, Outcome
from benchmarks.timing import Times

__all__ = ["as_json", "as_markdown"]

VISIBLE = 32 << 20  # the largest that glibc's allocator may take from memory it holds already
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def seconds(value: float) -> str:
    """A time with three digits and its unit."""
    size, unit = next((u for u in UNITS if value >= u[0]), UNITS[-1])
    return f"{value / size:.3g} {unit}" if value < 1000 else f"{value:.0f} s"


def mib(size: float | None) -> str:
    """Bytes as MiB."""
    return "—" if size is None else f"{size / 2**20:,.1f}"


def times(sample: Times | None) -> str:
    """``median (least – most; runs)``."""
    if sample is None:
        return "—"
    if sample.runs == 1:
        return f"{seconds(sample.median)} (1 run)"
    runs = f"{sample.runs} runs" + (f" of {sample.calls:,}" if sample.calls > 1 else "")
    least, most = seconds(min(sample.seconds)), seconds(max(sample.seconds))
    return f"{seconds(sample.median)} ({least} – {most}; {runs})"


def number(value: float | None) -> str:
    """A bar or a ratio with three digits; a dash for none."""
    return "—" if value is None else f"{value:.3g}"


def yes(met: bool | None) -> str:
    return {True: "yes", False: "**no**", None: "not measured"}[met]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


# ---- the parts of the page ---------------------------------------------------------------------
def header(command: str, machine: dict[str, Any], options: Options) -> list[str]:
    """How and where the numbers were measured."""
    threads = ", ".join(f"{kind} {n}" for kind, n in machine["threads_scikit_learn"].items())
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", *machine["packages"]))
    lines = [
        *heading("Speed beside scikit-learn", command, machine),
        f"- Versions: {versions}",
        f"- Instruction set of the kernels: {machine['instruction_set']}",
        f"- Threads: tallybayes {machine['threads_tallybayes']}; scikit-learn as installed "
        f"({threads or 'no pools'})",
    ]
    if options.quick:
        lines += ["", "**Smaller data than promised (`--quick`): no evidence about the bars.**"]
    lines += [
        "",
        "Whole public calls, validation and label handling included, default parameters. Answers "
        "are compared before times are taken. Peer and ours run in one process, in turn; a time is "
        "the median (least – most; number of runs); short calls are timed in batches of the number "
        "of calls given. `ratio` is the peer's median by ours; for `bandwidth` it is the share of "
        "the speed at which two threads read the same array. `of least` is the ratio of the least "
        "times, which other work on the machine disturbs less; `others` tells how many cores such "
        "work kept busy during the case. A slow peer has fewer runs. "
        "`first predict` is the first call after fit, in which ours reads its parameters from the "
        "tally; the ratio is that of later calls.",
    ]
    return lines


def time_table(outcomes: Sequence[Outcome]) -> list[str]:
    head = ["case", "what", "peer", "tallybayes", "ratio", "of least", "bar", "met"]
    head += ["first predict", "others"]
    rows = []
    for o in outcomes:
        ratio, least = "wrong answer" if o.wrong else "not measured", ""
        if o.ratio is not None and o.least_ratio is not None:
            ratio, least = f"{o.ratio:.3g}", f"{o.least_ratio:.3g}"
        peer = times(o.peer)
        if o.peer_name != "scikit-learn":
            peer = f"{o.peer_name}: {peer}"
        first = "" if o.first is None else f"{seconds(o.first.median)} ({o.first.runs} runs)"
        others = "—" if o.others is None else f"{o.others:.1f}"
        verdict = [ratio, least, number(o.bar), yes(o.met) if o.promised else "—"]
        rows.append([o.name, o.what, peer, times(o.ours), *verdict, first, others])
    return ["## Times", "", *table(head, rows)]


def memory_table(outcomes: Sequence[Outcome]) -> list[str]:
    head = ["case", "scikit-learn MiB", "tallybayes MiB", "reference", "ratio", "bar", "met"]
    rows = []
    for o in outcomes:
        if o.peer is None or o.ours is None or o.peer_name != "scikit-learn":
            continue
        if o.memory is None and max(o.peer.peak or 0, o.ours.peak or 0) < VISIBLE:
            continue
        row = [o.name, mib(o.peer.peak), mib(o.ours.peak)]
        if o.memory is None:
            row += [""] * 4
        else:
            size = "" if o.memory.size is None else f", {mib(o.memory.size)} MiB"
            ratio = "—" if o.memory_ratio is None else f"{o.memory_ratio:.3g}"
            row += [o.memory.what + size, ratio, f"{o.memory.bar:g}", yes(o.memory_met)]
        rows.append(row)
    if not rows:
        return ["## Memory", "", "No case was large enough, or the system does not tell."]
    about = (
        f"{HOW} The highest of all runs. Cases without a bar are left out where both peaks are "
        f"below {mib(VISIBLE)} MiB, which an allocator can hide."
    )
    return ["## Memory", "", about, "", *table(head, rows)]


def rows_table(outcomes: Sequence[Outcome]) -> list[str]:
    """Rows a second, and what share of our time a part takes."""
    head = ["case", "peer, rows/s", "tallybayes, rows/s", "bar", "part", "its time", "its share"]
    rows = []
    for o in outcomes:
        rate = o.rows_per_second
        if rate is None or o.rows is None or o.peer is None:
            continue
        row = [o.name, f"{o.rows / o.peer.median:,.0f}", f"{rate:,.0f}"]
        row.append("—" if o.rows_bar is None else f"{o.rows_bar:,.0f}")
        if o.part is None or o.part_times is None or o.part_share is None:
            row += [""] * 3
        else:
            row += [o.part, times(o.part_times), f"{o.part_share:.0%}"]
        rows.append(row)
    if not rows:
        return []
    about = (
        "By the medians. A part of our call is timed in turn with the whole call, in runs of their "
        "own."
    )
    return ["## Rows a second", "", about, "", *table(head, rows)]


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Which bars were missed, and which answers were wrong."""
    bars: list[tuple[bool, str]] = []
    for o in outcomes:
        if o.wrong is not None:
            bars.append((False, f"**wrong answer**: {o.name}: {o.wrong}"))
        elif o.ratio is None:
            bars.append((False, f"**not measured**: {o.name}: {o.failed}"))
        elif o.bar is not None:
            bars.append((o.met, f"missed: {o.name}: {o.ratio:.3g} of {o.bar:g}"))
        elif o.rows_bar is not None:
            text = f"missed: {o.name}: {o.rows_per_second:,.0f} rows/s of {o.rows_bar:,.0f}"
            bars.append((o.met, text))
        if o.memory is not None and o.memory_ratio is not None:
            text = f"missed: {o.name}, memory: {o.memory_ratio:.3g} of {o.memory.bar:g}"
            bars.append((bool(o.memory_met), text))
    lines = ["## Summary", "", f"{sum(met for met, _ in bars)} of {len(bars)} bars are met."]
    missed = [f"- {text}" for met, text in bars if not met]
    return [*lines, "", *missed] if missed else lines


def data_list(outcomes: Sequence[Outcome]) -> list[str]:
    """What the data of the cases are."""
    by_note: dict[str, list[str]] = {}
    for o in outcomes:
        if o.note:
            by_note.setdefault(o.note, []).append(o.name)
    lines = [f"- {', '.join(names)}: {note}." for note, names in by_note.items()]
    return ["## Data", "", "Made from fixed seeds; labels are int64.", "", *lines]


# ---- the whole ---------------------------------------------------------------------------------
def as_markdown(
    outcomes: Sequence[Outcome], command: str, machine: dict[str, Any], options: Options
) -> str:
    """The page."""
    parts = [
        header(command, machine, options),
        summary(outcomes),
        time_table(outcomes),
        rows_table(outcomes),
        memory_table(outcomes),
        data_list(outcomes),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def as_json(
    outcomes: Sequence[Outcome], command: str, machine: dict[str, Any], options: Options
) -> dict[str, Any]:
    """Every number, run by run: seconds a call, bytes."""
    derived = ("ratio", "least_ratio", "met", "memory_ratio", "memory_met")
    derived += ("rows_per_second", "part_share")
    return {
        "command": command,
        "machine": machine,
        "options": asdict(options),
        "cases": [asdict(o) | {name: getattr(o, name) for name in derived} for o in outcomes],
    }
