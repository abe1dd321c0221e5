"""Permuted labels of ten sets: a model that learns nothing says the class shares of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import standard_error
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.bayes.held_out import HeldOut
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named
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


def shares_loss(labels: HeldOut) -> float:
    """The log-loss, on the same folds, of the class shares of the rows that were learned from."""
    share = np.empty_like(labels.proba)
    for i in np.unique(labels.fold):
        test = labels.fold == i
        share[test] = np.bincount(labels.own[~test], minlength=share.shape[1]) / (~test).sum()
    return replace(labels, proba=share).log_loss


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """Log-loss on held-out rows of each permutation, and that of the class shares."""
    drawn, shares = [], []
    for seed in range(1 if options.quick else REPEATS):
        y = np.random.default_rng(seed).permutation(rows.y)
        found = held_out([model_named(WEIGHTED)], rows.X, y, options.folds, 1)
        if found.failed:
            raise RuntimeError(f"{rows.name}: {found.failed}")
        drawn.append(found.done[WEIGHTED].log_loss)
        shares.append(shares_loss(found.done[WEIGHTED]))
    excess = np.subtract(drawn, shares)
    say(f"    {excess.mean():+.5f}")
    return {
        "name": rows.name,
        "rows": len(rows.y),
        "columns": rows.X.shape[1],
        "shares": shares,
        "drawn": drawn,
        "excess": float(excess.mean()),
        "standard_error": standard_error(excess) if len(excess) > 1 else None,
    }


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
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
    notes = [
        f"greatest excess of a set: {max(excess):+.5f}",
        f"labels are permuted {REPEATS} times; {options.folds} stratified folds; ± the standard "
        "error over the permutations; class shares: of the rows of the other folds, what a "
        "model that learns nothing says",
    ]
    head = ["data set", "rows × columns", "class shares", "permuted", "excess"]
    lines = []
    for s in sets:
        spread = "" if s["standard_error"] is None else f" ± {s['standard_error']:.5f}"
        lines.append(
            [
                s["name"],
                f"{s['rows']:,} × {s['columns']}",
                f"{np.mean(s['shares']):.4f}",
                f"{np.mean(s['drawn']):.4f}",
                f"{s['excess']:+.5f}{spread}",
            ]
        )
    return Page(
        "weighted-permuted",
        "WeightedNaiveBayes on permuted labels",
        bars.lines(found, notes),
        [("## Log-loss of held-out rows, nats a row", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
