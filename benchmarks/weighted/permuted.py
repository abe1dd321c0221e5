"""Permuted labels of ten sets: a model that learns nothing has the log-loss of the class shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accuracy.folds import standard_error
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.bayes.page import Page
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named, say
from benchmarks.weighted.trial import held_out

__all__ = ["run"]

REPEATS = 3  # permutations
EXCESS = 0.001  # nats a row
SETS = (
    "breast-cancer",
    "credit-g",
    "diabetes",
    "glass",
    "heart-c",
    "primary-tumor",
    "autos",
    "dermatology",
    "sonar",
    "vehicle",
)


def prior_loss(y: Any) -> float:
    """The log-loss of the class shares, in nats a row."""
    share = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(share @ np.log(share)))


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """Log-loss on held-out rows of each permutation, and that of the class shares."""
    drawn = []
    for seed in range(1 if options.quick else REPEATS):
        y = np.random.default_rng(seed).permutation(rows.y)
        found = held_out([model_named(WEIGHTED)], rows.X, y, options.folds, 1)
        if found.failed:
            raise RuntimeError(f"{rows.name}: {found.failed}")
        drawn.append(found.done[WEIGHTED].log_loss)
    prior = prior_loss(rows.y)
    say(f"    {np.mean(drawn) - prior:+.5f}")
    return {
        "name": rows.name,
        "rows": len(rows.y),
        "columns": rows.X.shape[1],
        "prior": prior,
        "drawn": drawn,
        "excess": float(np.mean(drawn)) - prior,
    }


def run(options: Options) -> Page | None:
    """The page; None where there is no data."""
    both = (rows for some in (options.fourteen(), options.thirteen()) for rows in some)
    sets = [measure(rows, options) for rows in both if rows.name in SETS]
    if not sets:
        return None
    excess = [s["excess"] for s in sets]
    found = [
        Bar(
            f"mean excess over the log-loss of the class shares, {len(sets)} sets",
            float(np.mean(excess)),
            EXCESS,
            form=".5f",
        )
    ]
    told = [
        f"greatest excess of a set: {max(excess):+.5f}",
        f"labels are permuted {REPEATS} times; {options.folds} stratified folds; ± the standard "
        "error over the permutations",
    ]
    head = ["data set", "rows × columns", "class shares", "permuted", "excess"]
    lines = []
    for s in sets:
        spread = f" ± {standard_error(s['drawn']):.5f}" if len(s["drawn"]) > 1 else ""
        lines.append(
            [
                s["name"],
                f"{s['rows']:,} × {s['columns']}",
                f"{s['prior']:.4f}",
                f"{np.mean(s['drawn']):.4f}",
                f"{s['excess']:+.5f}{spread}",
            ]
        )
    return Page(
        "weighted-permuted",
        "WeightedNaiveBayes on permuted labels",
        bars.lines(found, told),
        [("## Log-loss of held-out rows, nats a row", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
