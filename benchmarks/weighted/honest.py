"""Figures of a fitted model beside ten-fold cross-validation of it: those that the command line
prints, and leave-one-out."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import standard_error
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named
from benchmarks.weighted.trial import held_out
from tallybayes import leave_one_out

__all__ = ["run"]

FOLDS, QUICK_FOLDS = 10, 3
METRICS = {"log_loss": "log-loss", "accuracy": "accuracy"}
ERRORS = 2.0
WAYS = {"printed": "printed by the command line", "leave_one_out": "leave-one-out"}
MAIN = "from tallybayes.cli import command; command()"
TARGET = "the class of the row"


def printed(rows: Rows) -> dict[str, Any]:
    """The estimate that ``tallybayes fit`` prints, and what it says it was measured on."""
    with tempfile.TemporaryDirectory() as folder:
        rows.X.assign(**{TARGET: rows.y}).to_parquet(Path(folder, "rows.parquet"))
        words = ["fit", "rows.parquet", "-t", TARGET, "-o", "rows.tally", "--json"]
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *words], cwd=folder, capture_output=True, text=True
        )
    if done.returncode:
        raise RuntimeError(f"tallybayes fit failed: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)["estimate"]
    errors = [f"{metric}_standard_error" for metric in METRICS]
    return {name: found[name] for name in ("measured_on", *METRICS, *errors)}


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """Both figures by both ways."""
    model, n = model_named(WEIGHTED), np.arange(len(rows.y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.make().fit(rows.X, rows.y)
        log_proba = leave_one_out(fitted, rows.X, rows.y)
    own = np.searchsorted(fitted.classes_, rows.y)
    folds = QUICK_FOLDS if options.quick else FOLDS
    trials = held_out([model], rows.X, rows.y, folds, 1)
    if trials.failed:
        raise RuntimeError(f"{rows.name}: {trials.failed}")
    apart = trials.done[WEIGHTED]
    honest = {"log_loss": -log_proba[n, own], "accuracy": log_proba.argmax(axis=1) == own}
    crossed = {"log_loss": apart.losses, "accuracy": apart.proba.argmax(axis=1) == own}
    result: dict[str, Any] = {
        "name": rows.name,
        "rows": len(n),
        "of_fit": {"log_loss": fitted.log_loss_, "accuracy": fitted.accuracy_},
    }
    notes = printed(rows)
    result["printed_measured_on"] = notes["measured_on"]
    for metric in METRICS:
        by_fold = [crossed[metric][apart.fold == i].mean() for i in range(folds)]
        ten = float(crossed[metric].mean())
        between = honest[metric].astype(float) - crossed[metric]
        error, error_by_fold = standard_error(crossed[metric]), standard_error(by_fold)
        values = {"printed": notes[metric], "leave_one_out": float(honest[metric].mean())}
        errors = {"printed": notes[f"{metric}_standard_error"], "leave_one_out": error}
        result[metric] = {
            **values,
            "cross_validation": ten,
            "standard_error": error,
            "standard_error_by_fold": error_by_fold,
            "paired_standard_error": standard_error(between),
            "printed_standard_error": errors["printed"],
            "within": {w: abs(v - ten) <= ERRORS * errors[w] for w, v in values.items()},
            "within_by_fold": {
                w: abs(v - ten) <= ERRORS * error_by_fold for w, v in values.items()
            },
        }
    figures = [
        f"{name} {f['printed']:.4f}, {f['leave_one_out']:.4f} by {f['cross_validation']:.4f}"
        f" ± {f['standard_error']:.4f}"
        for f, name in ((result[metric], name) for metric, name in METRICS.items())
    ]
    say(f"    {'; '.join(figures)}")
    return result


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    sets, failed = options.over_sets(measure)
    if not sets:
        return None
    n, folds = len(sets) + len(failed), QUICK_FOLDS if options.quick else FOLDS

    def within(metric: str, way: str, which: str = "within") -> int:
        return sum(s[metric][which][way] for s in sets)

    found = [
        Bar(
            f"sets of {n} whose {name}, {what}, is within {ERRORS:g} standard errors",
            float(within(metric, way)),
            12.0,
            least=True,
            form=".0f",
        )
        for way, what in WAYS.items()
        for metric, name in METRICS.items()
    ]
    notes = []
    for way, what in WAYS.items():
        for (metric, name), sign in zip(METRICS.items(), (1.0, -1.0), strict=True):
            gap = sign * np.mean([s[metric]["cross_validation"] - s[metric][way] for s in sets])
            notes.append(
                f"{name}, {what}: optimistic by {gap:+.4f} on average; by standard errors over "
                f"folds instead of rows within them on {within(metric, way, 'within_by_fold')}"
            )
    notes.append(
        "printed: the estimate of `tallybayes fit` on the same rows as Parquet, ± the standard "
        "error that it prints, within two of which cross-validation is to be; leave-one-out: "
        "tallybayes.leave_one_out of a model fitted on all rows; cross-validation: "
        f"{folds} stratified folds, everything learned anew in each, ± the standard error of the "
        "mean over rows; optimistic by: that of leave-one-out, ± the standard error of the "
        "difference, row by row, which says whether it is real; a model of nine tenths of the rows "
        "is also a little worse"
    )
    notes += failed
    head = ["data set", "rows", "printed, measured on", "figure", "printed", "leave-one-out"]
    head += ["log_loss_, accuracy_", "cross-validation", "optimistic by"]
    head += ["printed within 2", "leave-one-out within 2"]
    lines = []
    for s in sets:
        for metric, name in METRICS.items():
            f, first = s[metric], metric == "log_loss"
            gap = f["cross_validation"] - f["leave_one_out"]
            about = [s["name"], f"{s['rows']:,}", s["printed_measured_on"]]
            lines.append(
                [
                    *(about if first else [""] * 3),
                    name,
                    f"{f['printed']:.4f} ± {f['printed_standard_error']:.4f}",
                    f"{f['leave_one_out']:.4f}",
                    f"{s['of_fit'][metric]:.4f}",
                    f"{f['cross_validation']:.4f} ± {f['standard_error']:.4f}",
                    f"{gap if first else -gap:+.4f} ± {f['paired_standard_error']:.4f}",
                    *(yes(f["within"][way]) for way in WAYS),
                ]
            )
    return Page(
        "weighted-honest",
        "Honest numbers beside ten-fold cross-validation",
        bars.lines(found, notes),
        [("## Sets", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
