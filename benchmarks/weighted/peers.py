"""What ours is held against on every set: the best of its peers, and the version before.

Peers are slow and do not change with ours, so they are measured once. A run replaces the figures
of the models and sets that it names, and keeps the others of ``results/weighted-peers.json``.
"""

from __future__ import annotations

import json
import time
import warnings
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import all_data_sets, more_data_sets
from benchmarks.accuracy.folds import SEED, probabilities
from benchmarks.accuracy.models import WEIGHTED, Model
from benchmarks.accuracy.verdict import FLOOR
from benchmarks.bayes.held_out import HeldOut
from benchmarks.bayes.page import Page
from benchmarks.pages import RESULTS, say
from benchmarks.weighted.options import (
    BOOSTING,
    CATBOOST,
    EBM,
    FOREST,
    LOGISTIC,
    Options,
    Rows,
    model_named,
)

__all__ = ["PEERS", "Figures", "best_peer", "known"]

FILE = RESULTS / "weighted-peers.json"
EARLIER = (RESULTS / "ebm" / "weighted-sets.json", RESULTS / "ebm-more" / "weighted-sets.json")
PEERS = (BOOSTING, CATBOOST, EBM, LOGISTIC, FOREST)
FOLDS = 5
LIMIT = 300.0  # processor seconds that the folds of a model on a set may take

Figures = dict[str, dict[str, dict[str, Any]]]
"""By model, then by set: "log_loss", "accuracy", "error" and "seconds", or "left_out" and why."""


def known() -> Figures:
    """The committed figures; those of EBM are of a run of their own."""
    found: Figures = {}
    for path in EARLIER:
        for s in json.loads(path.read_text(encoding="utf-8"))["data_sets"]:
            f = s["figures"][EBM]
            seconds = f["fit"] / 1e3  # of the clock: its workers' processor time was not measured
            metrics = {name: f[name] for name in ("log_loss", "accuracy", "error")}
            found.setdefault(EBM, {})[s["name"]] = metrics | {"seconds": seconds}
    if FILE.exists():
        for name, sets in json.loads(FILE.read_text(encoding="utf-8"))["figures"].items():
            found.setdefault(name, {}).update(sets)
    return found


def best_peer(figures: Figures, name: str) -> tuple[str, float] | None:
    """The peer with the least log-loss on a set, and that log-loss."""
    losses = [
        (figures[peer][name]["log_loss"], peer)
        for peer in PEERS
        if "log_loss" in figures.get(peer, {}).get(name, {})
    ]
    return (min(losses)[1], min(losses)[0]) if losses else None


def measure(model: Model, rows: Rows, n_folds: int) -> dict[str, Any]:
    """The figures of a model on the held-out rows of all folds; or why there are none."""
    classes, own = np.unique(rows.y, return_inverse=True)
    done = HeldOut(np.empty((len(own), len(classes))), own, np.zeros(len(own), dtype=np.intp))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    for train, test in folds.split(rows.X, rows.y):
        start = time.process_time()
        fitted = model.make().fit(rows.X.iloc[train], rows.y[train])
        done.fit.append(time.process_time() - start)
        if n_folds * done.fit[0] > LIMIT:
            return {"left_out": f"one fit took {done.fit[0]:.0f} s of processor time"}
        prior = np.bincount(own[train], minlength=len(classes)) / len(train)
        answer = fitted.predict_proba(rows.X.iloc[test])
        done.proba[test], _ = probabilities(answer, fitted.classes_, classes, prior)
    return {
        "log_loss": done.log_loss,
        "accuracy": done.accuracy,
        "error": done.error,
        "seconds": done.seconds(),
    }


def renewed(options: Options, figures: Figures) -> list[Rows]:
    """Measures what was asked for, into `figures`; all sets that there are."""
    sets = list(options.all_sets())
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    named = [model for model in options.models if model.name in (WEIGHTED, *PEERS)]
    for rows in sorted(sets, key=lambda s: s.X.size * s.classes):
        for model in named:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = measure(model, rows, FOLDS)
            except Exception as why:
                found = {"left_out": f"failed: {type(why).__name__}: {why}"}
            figures.setdefault(model.name, {})[rows.name] = found | {"date": today}
            shown = found.get("left_out") or f"{found['log_loss']:.4f}  {found['accuracy']:.4f}"
            say(f"    {rows.name:<16} {model.name:<22} {shown}  {found.get('seconds', 0.0):.1f} s")
    return sets


def lines(figures: Figures, names: list[str], metric: str) -> list[list[str]]:
    """A line a set: each model's figure, and the best peer's."""

    def cell(model: str, name: str) -> str:
        found = figures.get(model, {}).get(name)
        if found is None:
            return ""
        return "left out" if "left_out" in found else f"{found[metric]:.4f}"

    rows = []
    for name in names:
        row = [name, *(cell(model, name) for model in (WEIGHTED, *PEERS))]
        best = best_peer(figures, name)
        if metric == "log_loss" and best:
            mine = figures.get(WEIGHTED, {}).get(name, {}).get("log_loss")
            ratio = "" if mine is None else f"{max(mine, FLOOR) / max(best[1], FLOOR):.3f}"
            row += [best[0], ratio]
        rows.append(row)
    for model in (CATBOOST, EBM):
        shared = [n for n in names if "log_loss" in figures.get(model, {}).get(n, {})]
        means = [
            np.mean([figures[m][n][metric] for n in shared])
            if shared and all("log_loss" in figures.get(m, {}).get(n, {}) for n in shared)
            else None
            for m in (WEIGHTED, *PEERS)
        ]
        shown = ["" if mean is None else f"{mean:.4f}" for mean in means]
        blank = ["", ""] if metric == "log_loss" else []
        rows.append([f"**mean of the {len(shared)} sets that {model} did**", *shown, *blank])
    return rows


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    figures = known()
    sets = renewed(options, figures)
    if not sets:
        return None
    kept = {name for found in figures.values() for name in found}
    arff = [d for d in all_data_sets() if d.group == "arff"]
    declared = [d.name.removeprefix("arff-") for d in (*arff, *more_data_sets())]
    names = [name for name in declared if name in kept]
    left = [
        f"{model} is left out on {name}: {found['left_out']}"
        for model, by_set in figures.items()
        for name, found in by_set.items()
        if "left_out" in found
    ]
    verdicts = [
        f"- {name}: {model_named(name).what}" for name in (WEIGHTED, *PEERS) if name in figures
    ]
    verdicts += [
        f"- {WEIGHTED}: the version before the model was averaged over parts of the rows",
        f"- EBM on the fourteen sets: from {', '.join(p.parent.name for p in EARLIER)}; it takes "
        "minutes a set",
        f"- StratifiedKFold({FOLDS}, shuffle=True, random_state={SEED}), classes with fewer than 5 "
        "rows left out; figures of the held-out rows of all folds together",
        "- each run replaces the models and sets that it names (`--models`, `--sets`, `--output "
        "benchmarks/results`) and keeps the others; the command above is the last one's",
        f"- a model is left out on a set where {FOLDS} fits would take more than {LIMIT:g} s of "
        "processor time",
        *(f"- {text}" for text in left),
    ]
    head = ["data set", f"{WEIGHTED}, before", *PEERS]
    return Page(
        "weighted-peers",
        "The peers of WeightedNaiveBayes, and the version before",
        verdicts,
        [
            (
                "## Log-loss, nats a row",
                [*head, "best peer", "before ÷ best"],
                lines(figures, names, "log_loss"),
            ),
            ("## Accuracy", head, lines(figures, names, "accuracy")),
        ],
        {"figures": figures},
    )
