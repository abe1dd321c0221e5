"""Thirteen further sets, on which nothing was tuned: the same page as ``sets``."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.models import WEIGHTED
from benchmarks.bayes.page import Page
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import BOOSTING, Options
from benchmarks.weighted.sets import FEW_WORSE, WORSE, loss_on, measure, page, together, worse
from benchmarks.weighted.trial import warm_up

__all__ = ["run"]


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    warm_up(options.models)
    sets = [measure(rows, options) for rows in options.thirteen()]
    if not sets:
        return None
    found = [
        Bar("mean log-loss", together(sets, [WEIGHTED], "log_loss", np.mean), 0.383),
        Bar("sonar, log-loss", loss_on(sets, "sonar"), 0.36),
        Bar(
            f"sets of {len(sets)} with a log-loss more than {WORSE - 1.0:.0%} above that of the "
            "version before",
            worse(sets),
            FEW_WORSE,
            form=".0f",
        ),
        Bar(
            f"time of all fits ÷ {BOOSTING}'s",
            together(sets, [WEIGHTED, BOOSTING], "fit", lambda a, b: float(a.sum() / b.sum())),
            1.0,
            form=".3f",
            strict=True,
        ),
    ]
    return page(
        "weighted-more",
        "WeightedNaiveBayes on thirteen further sets",
        options,
        sets,
        found,
    )
