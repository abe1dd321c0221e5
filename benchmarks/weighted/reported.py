"""The log-loss that a fit reports of itself beside that of rows it was not given.

A fit of all rows is a better model than one of four fifths of them, which a fold judges. So there
are two comparisons: what the fits of the folds report beside the rows of their folds,
models of the same rows; and what a fit of all rows reports.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import SEED, standard_error
from benchmarks.accuracy.models import WEIGHTED, Model
from benchmarks.accuracy.verdict import FLOOR
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named
from benchmarks.weighted.trial import held_out

__all__ = ["run"]

ERRORS, SHARE, BIAS = 2.0, 0.9, 0.02


@dataclass(frozen=True)
class _Kept(Model):
    """A model that keeps the classifiers it makes."""

    made: list[Any] = field(default_factory=list)

    def make(self) -> Any:
        self.made.append(super().make())
        return self.made[-1]


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """What a fit of all rows reports, and the folds of ``sets``, each with what its own fit
    reports."""
    model = _Kept(**vars(model_named(WEIGHTED)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.make().fit(rows.X, rows.y)
    found = held_out([model], rows.X, rows.y, options.folds, 1)
    if found.failed:
        raise RuntimeError(f"{rows.name}: {found.failed}")
    outer = found.done[WEIGHTED]
    by_rows = standard_error(outer.losses)
    own_error = getattr(fitted, "log_loss_se_", None)
    error = by_rows if own_error is None else float(own_error)
    reported, truth = max(fitted.log_loss_, FLOOR), max(outer.log_loss, FLOOR)
    of_same = float(np.mean([fit.log_loss_ for fit in model.made[1:]]))
    result = {
        "name": rows.name,
        "rows": len(rows.y),
        "reported": float(fitted.log_loss_),
        "standard_error": error,
        "of_the_fit": own_error is not None,
        "outer": outer.log_loss,
        "outer_standard_error": by_rows,
        "bias": reported / truth - 1.0,
        "of_folds": of_same,
        "bias_of_folds": max(of_same, FLOOR) / truth - 1.0,
        "within_of_folds": bool(abs(max(of_same, FLOOR) - truth) <= ERRORS * by_rows),
        "within": bool(abs(reported - truth) <= ERRORS * error),
        "accuracy_reported": float(fitted.accuracy_),
        "accuracy": outer.accuracy,
    }
    say(f"    {result['reported']:.4f} ± {error:.4f}, folds {of_same:.4f}, by {outer.log_loss:.4f}")
    return result


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    both = (rows for some in (options.fourteen(), options.thirteen()) for rows in some)
    sets = [measure(rows, options) for rows in both]
    if not sets:
        return None
    n = len(sets)
    within, same = (float(np.mean([s[k] for s in sets])) for k in ("within", "within_of_folds"))
    bias, of_folds = (float(np.mean([s[k] for s in sets])) for k in ("bias", "bias_of_folds"))
    reported, of_same, truth = (
        float(np.mean([s[k] for s in sets])) for k in ("reported", "of_folds", "outer")
    )
    found = [
        Bar(
            f"share of {n} sets whose log_loss_ is within {ERRORS:g} standard errors, all rows",
            within,
            SHARE,
            least=True,
            form=".0%",
        ),
        Bar("the same, models of the same rows", same, SHARE, least=True, form=".0%"),
        Bar(
            "bias of the mean log_loss_ over the sets, its size, models of the same rows",
            abs(of_same / truth - 1.0),
            BIAS,
            form=".2%",
        ),
    ]
    right = np.mean([s["accuracy_reported"] - s["accuracy"] for s in sets])
    whose = (
        "log_loss_se_ of the fit"
        if all(s["of_the_fit"] for s in sets)
        else "that of the mean over the rows of the folds"
    )
    notes = [
        f"models of the same rows: mean log_loss_ {of_same:.4f}, mean of the folds {truth:.4f}, "
        f"{of_same / truth - 1.0:+.2%}; the mean of each set's relative bias is {of_folds:+.2%}, "
        "as sets with few losses change by much when they have fewer rows",
        f"a fit of all rows: mean log_loss_ {reported:.4f}, {reported / truth - 1.0:+.2%} of what "
        "models of fewer rows lose in the folds; the mean of each set's relative bias is "
        f"{bias:+.2%}; "
        "below 0 is optimistic, or what more rows gain",
        f"accuracy_ is above that of the folds by {right:+.4f} on average",
        f"{options.folds} stratified folds, shuffled, random_state={SEED}, everything learned anew "
        f"in each; the standard error of all rows is {whose}, that of the same rows is that of "
        f"the folds; log-losses below {FLOOR:g} count as it in relative biases",
    ]
    head = ["data set", "rows", "log_loss_, same rows", "folds", "relative bias", "within"]
    head += ["log_loss_, all rows", "relative bias", "within"]
    head += ["accuracy_", "accuracy of the folds"]
    lines = [
        [
            s["name"],
            f"{s['rows']:,}",
            f"{s['of_folds']:.4f}",
            f"{s['outer']:.4f} ± {s['outer_standard_error']:.4f}",
            f"{s['bias_of_folds']:+.1%}",
            yes(s["within_of_folds"]),
            f"{s['reported']:.4f} ± {s['standard_error']:.4f}",
            f"{s['bias']:+.1%}",
            yes(s["within"]),
            f"{s['accuracy_reported']:.4f}",
            f"{s['accuracy']:.4f}",
        ]
        for s in sets
    ]
    return Page(
        "weighted-reported",
        "The log-loss that a fit reports, beside held-out rows",
        bars.lines(found, notes),
        [("## Sets", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
