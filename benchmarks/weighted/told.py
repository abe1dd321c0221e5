"""The log-loss that a fit tells of itself beside that of rows it was not given."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import SEED, standard_error
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.accuracy.verdict import FLOOR
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named, say
from benchmarks.weighted.trial import held_out

__all__ = ["run"]

ERRORS, SHARE, BIAS = 2.0, 0.9, 0.02


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """What a fit of all rows tells, and the same folds as in ``sets``."""
    model = model_named(WEIGHTED)
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
    told, truth = max(fitted.log_loss_, FLOOR), max(outer.log_loss, FLOOR)
    result = {
        "name": rows.name,
        "rows": len(rows.y),
        "told": float(fitted.log_loss_),
        "standard_error": error,
        "of_the_fit": own_error is not None,
        "outer": outer.log_loss,
        "outer_standard_error": by_rows,
        "bias": told / truth - 1.0,
        "within": bool(abs(told - truth) <= ERRORS * error),
        "accuracy_told": float(fitted.accuracy_),
        "accuracy": outer.accuracy,
    }
    say(f"    {result['told']:.4f} ± {error:.4f} by {outer.log_loss:.4f}")
    return result


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    both = (rows for some in (options.fourteen(), options.thirteen()) for rows in some)
    sets = [measure(rows, options) for rows in both]
    if not sets:
        return None
    n = len(sets)
    within = float(np.mean([s["within"] for s in sets]))
    bias = float(np.mean([s["bias"] for s in sets]))
    found = [
        Bar(
            f"share of {n} sets whose log_loss_ is within {ERRORS:g} standard errors",
            within,
            SHARE,
            least=True,
            form=".0%",
        ),
        Bar("mean relative bias of log_loss_, its size", abs(bias), BIAS, form=".2%"),
    ]
    gap = np.mean([s["told"] - s["outer"] for s in sets])
    right = np.mean([s["accuracy_told"] - s["accuracy"] for s in sets])
    whose = (
        "log_loss_se_ of the fit"
        if all(s["of_the_fit"] for s in sets)
        else "that of the mean over the rows of the folds"
    )
    told = [
        f"mean relative bias {bias:+.2%}, mean difference {gap:+.4f} nats; below 0 is optimistic",
        f"accuracy_ is above that of the folds by {right:+.4f} on average",
        f"log_loss_ of a fit on all rows; {options.folds} stratified folds, shuffled, "
        f"random_state={SEED}, everything learned anew in each: a model of fewer rows is also a "
        f"little worse; the standard error is {whose}; log-losses below {FLOOR:g} count as it",
    ]
    head = ["data set", "rows", "log_loss_", "folds", "relative bias", "within"]
    head += ["accuracy_", "accuracy of the folds"]
    lines = [
        [
            s["name"],
            f"{s['rows']:,}",
            f"{s['told']:.4f} ± {s['standard_error']:.4f}",
            f"{s['outer']:.4f} ± {s['outer_standard_error']:.4f}",
            f"{s['bias']:+.1%}",
            yes(s["within"]),
            f"{s['accuracy_told']:.4f}",
            f"{s['accuracy']:.4f}",
        ]
        for s in sets
    ]
    return Page(
        "weighted-told",
        "The log-loss that a fit tells, beside held-out rows",
        bars.lines(found, told),
        [("## Sets", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
