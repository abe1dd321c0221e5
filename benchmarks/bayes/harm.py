"""What calibrate= costs where there is nothing to gain: many small tables, and permuted labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bayes.cases import Case
from benchmarks.bayes.held_out import held_out
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes

__all__ = ["measure", "page"]

METHODS = ("temperature", "isotonic")
MODELS: dict[str, Any] = {"none": NaiveBayes()}
MODELS |= {method: NaiveBayes(calibrate=method) for method in METHODS}
BAR = 0.01  # nats that calibration may cost on any table
LABELS = ("true", "permuted")


def measure(case: Case, n_folds: int) -> dict[str, Any]:
    """Log-losses of one table, under its labels and under a permutation of them."""
    found: dict[str, Any] = {"name": case.name, "rows": len(case.y), "columns": case.X.shape[1]}
    for labels, y in (("true", case.y), ("permuted", np.random.default_rng(7).permutation(case.y))):
        held = held_out(MODELS, case.X, y.astype(str), n_folds, 1)
        found[labels] = {name: out.log_loss for name, out in held.items()}
    return found


def page(cases: list[dict[str, Any]], n_folds: int) -> Page:
    """The verdicts and the table."""
    verdicts = []
    for method in METHODS:
        for labels in LABELS:
            cost = [c[labels][method] - c[labels]["none"] for c in cases]
            worst = int(np.argmax(cost))
            bar = f" (bar {BAR:g} nats: {yes(cost[worst] <= BAR)})"
            verdicts.append(
                f"- {method}, {labels} labels: {np.mean(cost):+.4f} nats in the mean of "
                f"{len(cases)} tables, at worst {cost[worst]:+.4f} on {cases[worst]['name']}{bar}"
            )
    rows = []
    for c in cases:
        figures = [f"{c[labels][name]:.4f}" for labels in LABELS for name in MODELS]
        rows.append([c["name"], f"{c['rows']} × {c['columns']}", *figures])
    about = (
        f"Log-loss in nats on the held-out rows of {n_folds} stratified folds together, by "
        "NaiveBayes without calibration and with both kinds, under the labels of each table and "
        "under a permutation of them. Of large tables 1,500 rows."
    )
    head = ["table", "rows × columns"]
    head += [f"{labels}: {name}" for labels in LABELS for name in MODELS]
    return Page(
        "bayes-calibration-harm",
        "Calibration where there is nothing to gain",
        verdicts,
        [(about, head, rows)],
        {"tables": cases},
    )
