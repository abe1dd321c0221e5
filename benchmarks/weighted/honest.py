"""Leave-one-out figures of a fitted model beside ten-fold cross-validation of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import standard_error
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named, say
from benchmarks.weighted.trial import held_out
from tallybayes import leave_one_out

__all__ = ["run"]

FOLDS, QUICK_FOLDS = 10, 3
METRICS = {"log_loss": "log-loss", "accuracy": "accuracy"}
ERRORS = 2.0


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
    for metric in METRICS:
        by_fold = [crossed[metric][apart.fold == i].mean() for i in range(folds)]
        one, ten = float(honest[metric].mean()), float(crossed[metric].mean())
        between = honest[metric].astype(float) - crossed[metric]
        error, error_by_fold = standard_error(crossed[metric]), standard_error(by_fold)
        result[metric] = {
            "leave_one_out": one,
            "cross_validation": ten,
            "standard_error": error,
            "standard_error_by_fold": error_by_fold,
            "paired_standard_error": standard_error(between),
            "within": abs(one - ten) <= ERRORS * error,
            "within_by_fold": abs(one - ten) <= ERRORS * error_by_fold,
        }
    told = [
        f"{name} {result[m]['leave_one_out']:.4f} by {result[m]['cross_validation']:.4f}"
        f" ± {result[m]['standard_error']:.4f}"
        for m, name in METRICS.items()
    ]
    say(f"    {', '.join(told)}")
    return result


def run(options: Options) -> Page | None:
    """The page; None where there is no data."""
    sets, failed = options.over_sets(measure)
    if not sets:
        return None
    n, folds = len(sets) + len(failed), QUICK_FOLDS if options.quick else FOLDS
    found = [
        Bar(
            f"sets of {n} whose leave-one-out {name} is within {ERRORS:g} standard errors",
            float(sum(s[metric]["within"] for s in sets)),
            12.0,
            least=True,
            form=".0f",
        )
        for metric, name in METRICS.items()
    ]
    optimism = {
        metric: [s[metric]["cross_validation"] - s[metric]["leave_one_out"] for s in sets]
        for metric in METRICS
    }
    told = [
        f"leave-one-out is optimistic by {sign * np.mean(optimism[metric]):+.4f} {name} on average "
        "over the sets"
        for (metric, name), sign in zip(METRICS.items(), (1.0, -1.0), strict=True)
    ]
    told += [
        f"by standard errors over folds instead of rows: {name} within them on "
        f"{sum(s[metric]['within_by_fold'] for s in sets)} of {n}"
        for metric, name in METRICS.items()
    ]
    told.append(
        f"leave-one-out: tallybayes.leave_one_out of a model fitted on all rows; cross-validation: "
        f"{folds} stratified folds, everything learned anew in each, ± the standard error of the "
        "mean over rows; paired: that of the difference, which says whether optimism is real; a "
        "model of nine tenths of the rows is also a little worse"
    )
    told += failed
    head = ["data set", "rows", "figure", "leave-one-out", "log_loss_, accuracy_"]
    head += ["cross-validation", "optimistic by", "paired ±", "within 2 standard errors"]
    lines = []
    for s in sets:
        for metric, name in METRICS.items():
            f, first = s[metric], metric == "log_loss"
            gap = f["cross_validation"] - f["leave_one_out"]
            lines.append(
                [
                    *([s["name"], f"{s['rows']:,}"] if first else ["", ""]),
                    name,
                    f"{f['leave_one_out']:.4f}",
                    f"{s['of_fit'][metric]:.4f}",
                    f"{f['cross_validation']:.4f} ± {f['standard_error']:.4f}",
                    f"{gap if first else -gap:+.4f}",
                    f"{f['paired_standard_error']:.4f}",
                    yes(f["within"]),
                ]
            )
    return Page(
        "weighted-honest",
        "Honest numbers beside ten-fold cross-validation",
        bars.lines(found, told),
        [("## Sets", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
