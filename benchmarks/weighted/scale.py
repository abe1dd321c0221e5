"""Time and memory of a fit: from ten thousand rows to a million, of few columns and many, cases."""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.bayes.page import Page
from benchmarks.machine import OtherWork
from benchmarks.memory import PeakMeter, resident
from benchmarks.pages import say
from benchmarks.weighted import bars, cases
from benchmarks.weighted.apart import NotMeasured, call_apart
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.generated import WHAT, mixed
from benchmarks.weighted.options import Options
from tallybayes import NaiveBayes, WeightedNaiveBayes

__all__ = ["fit_once", "run"]

SIZES, QUICK_SIZES = (10_000, 100_000, 300_000, 1_000_000), (1_000, 2_000, 5_000)
WIDTHS, QUICK_WIDTHS = (10, 20, 40, 80), (10, 20)
WIDE_ROWS, QUICK_WIDE_ROWS = 20_000, 1_000
COLUMNS, FRESH = 20, 20_000
LIMIT = 900.0  # seconds that a process may take
SECONDS, BYTES = 5.0, 1.2e9
GROWTH = 1.25  # that time a row may grow by, from one size to a greater: linear, and noise


def fit_once(rows: int, columns: int, rounds: int) -> dict[str, Any]:
    """Fits generated rows, in a process that has fitted nothing before but a few rows.

    Returns
    -------
    dict
        Seconds of each fit; bytes of the first one, above what there was before and of the whole
        process; log-loss of fresh rows beside the truth's and that of naive Bayes without weights.
    """
    from benchmarks.accuracy.folds import LEAST

    data, fresh = mixed(rows, columns, seed=1), mixed(FRESH, columns, seed=2)
    WeightedNaiveBayes().fit(fresh.X[:200], fresh.y[:200])
    other, meter, times = OtherWork(), PeakMeter(), []
    before = resident()
    meter.start()
    start = time.perf_counter()
    model = WeightedNaiveBayes().fit(data.X, data.y)
    model.predict_proba(fresh.X[:1])
    times.append(time.perf_counter() - start)
    peak = meter.stop()
    for _ in range(rounds - 1):
        start = time.perf_counter()
        WeightedNaiveBayes().fit(data.X, data.y).predict_proba(fresh.X[:1])
        times.append(time.perf_counter() - start)
    others = other.cores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = NaiveBayes().fit(data.X, data.y)
    own = (fresh.y == "yes").astype(int)
    losses = [
        float(-np.log(m.predict_proba(fresh.X)[np.arange(FRESH), own].clip(LEAST)).mean())
        for m in (model, plain)
    ]
    return {
        "rows": rows,
        "columns": columns,
        "seconds": times,
        "median": float(np.median(times)),
        "peak": peak,
        "whole": None if peak is None else before + peak,
        "pairs": len(model.interactions_),
        "log_loss": losses[0],
        "plain": losses[1],
        "floor": fresh.floor,
        "others": others,
    }


def measure(rows: int, columns: int, rounds: int) -> dict[str, Any]:
    """One size in a process of its own; with "failed" where it gave nothing."""
    fits = max(1, min(rounds, rounds * 100_000 // rows))
    try:
        found: dict[str, Any] = call_apart(
            "benchmarks.weighted.scale",
            "fit_once",
            LIMIT,
            rows=rows,
            columns=columns,
            rounds=fits,
        )
    except NotMeasured as why:
        say(f"  {rows:,} × {columns}: FAILED: {why}")
        return {"rows": rows, "columns": columns, "failed": str(why)}
    say(f"  {rows:,} × {columns}: {found['median']:.2f} s, {found['pairs']} pairs")
    return found


def row_of(s: dict[str, Any]) -> list[str]:
    """A line of the table."""
    size = [f"{s['rows']:,} × {s['columns']}"]
    if "failed" in s:
        return [*size, f"failed: {s['failed'][:100]}", *[""] * 9]
    memory = ["—" if s[m] is None else f"{s[m] / 1e6:,.0f}" for m in ("peak", "whole")]
    return [
        *size,
        f"{s['median']:.2f}",
        str(len(s["seconds"])),
        f"{1e6 * s['median'] / s['rows']:.1f}",
        *memory,
        str(s["pairs"]),
        *(f"{s[m]:.4f}" for m in ("log_loss", "floor", "plain")),
        "—" if s["others"] is None else f"{s['others']:.1f}",
    ]


def run(options: Options) -> Page:
    """The page."""
    sizes = QUICK_SIZES if options.quick else SIZES
    widths = QUICK_WIDTHS if options.quick else WIDTHS
    wide_rows = QUICK_WIDE_ROWS if options.quick else WIDE_ROWS
    long = [measure(rows, COLUMNS, options.rounds) for rows in sizes]
    wide = [measure(wide_rows, columns, options.rounds) for columns in widths]
    special = [cases.measure(name, options) for name in cases.CASES]

    done = [s for s in long if "failed" not in s]
    last = next((s for s in done if s["rows"] == SIZES[-1]), None)
    each = [s["median"] / s["rows"] for s in done]
    growth = [after / before for before, after in pairwise(each)]
    took, whole = (None, None) if last is None else (last["median"], last["whole"])
    found = [
        Bar("a million rows, seconds", took, SECONDS, form=".2f"),
        Bar(
            "a million rows, peak of the whole process, GB",
            None if whole is None else whole / 1e9,
            BYTES / 1e9,
            form=".2f",
        ),
        Bar(
            "time a row, greatest growth from one size to the next",
            max(growth) if len(done) == len(sizes) else None,
            GROWTH,
            form=".2f",
        ),
        *cases.bars_of(special),
    ]
    if len(done) == len(sizes):
        notes = [f"time a row, a million rows by ten thousand: {each[-1] / each[0]:.2f}"]
    else:
        notes = []
    notes.append(f"{WHAT}; the true pairs are among many columns, however many there are")
    notes.append(
        "each size in a process of its own, after a fit of 200 rows; the time is from the data "
        "frame to the first prediction, the median where there are several fits; memory is that "
        "of the first fit: above what the process held before, and all it held, data included"
    )
    head = ["rows × columns", "seconds", "fits", "µs a row", "peak MB", "process MB", "pairs"]
    head += [f"log-loss of {FRESH:,} fresh rows", "the truth's", "NaiveBayes", "others"]
    if options.quick:
        found = [Bar(bar.what, None, bar.limit, form=bar.form) for bar in found]
    return Page(
        "weighted-scale",
        "WeightedNaiveBayes on many rows and columns",
        bars.lines(found, notes),
        [
            ("## Rows", head, [row_of(s) for s in long]),
            ("## Columns", head, [row_of(s) for s in wide]),
            ("## Cases", cases.HEAD, [cases.row_of(s) for s in special]),
        ],
        {"bars": bars.record(found), "rows": long, "columns": wide, "cases": special},
    )
