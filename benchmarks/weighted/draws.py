"""Our log-loss beside every peer's on small sets, on several draws of the outer folds.

With few rows, which peer is best, and by how much, depends on the draw. The error is that of the
difference of the rows' losses: the same rows are predicted by both.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.folds import probabilities
from benchmarks.accuracy.models import WEIGHTED, Model
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.weighted.options import (
    BOOSTING,
    CATBOOST,
    FOREST,
    LOGISTIC,
    Options,
    Rows,
    model_named,
)

__all__ = ["run"]

SETS = ("glass", "vote", "breast-w", "sonar")
DRAWS = (0, 1, 2)
FOLDS = 5
PEERS = (BOOSTING, CATBOOST, LOGISTIC, FOREST)  # EBM takes minutes a set, and is best on none


def losses(model: Model, rows: Rows, draw: int) -> NDArray[np.float64]:
    """Nats of each row, when it is held out."""
    classes, own = np.unique(rows.y, return_inverse=True)
    found = np.empty(len(own))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=draw)
    for train, test in folds.split(rows.X, rows.y):
        fitted = model.make().fit(rows.X.iloc[train], rows.y[train])
        prior = np.bincount(own[train], minlength=len(classes)) / len(train)
        answer = fitted.predict_proba(rows.X.iloc[test])
        proba, _ = probabilities(answer, fitted.classes_, classes, prior)
        found[test] = -np.log(proba[np.arange(len(test)), own[test]])
    return found


def compare(rows: Rows, draw: int) -> dict[str, Any]:
    """A set on one draw: our log-loss and, of each peer, its own, the difference to it and the
    standard error of that."""
    mine = losses(model_named(WEIGHTED), rows, draw)
    found: dict[str, Any] = {"name": rows.name, "draw": draw, "log_loss": float(mine.mean())}
    for peer in PEERS:
        theirs = losses(model_named(peer), rows, draw)
        apart = mine - theirs
        found[peer] = {
            "log_loss": float(theirs.mean()),
            "difference": float(apart.mean()),
            "error": float(apart.std(ddof=1) / np.sqrt(len(apart))),
        }
        say(f"    {rows.name:<10} draw {draw} {peer:<22} {theirs.mean():.4f} ({mine.mean():.4f})")
    return found


def line(found: dict[str, Any]) -> list[str]:
    """A set on one draw: every log-loss, and our difference to the best peer of this draw."""
    best = min(PEERS, key=lambda peer: float(found[peer]["log_loss"]))
    least = found[best]
    return [
        found["name"],
        str(found["draw"]),
        f"{found['log_loss']:.4f}",
        *(f"{found[peer]['log_loss']:.4f}" for peer in PEERS),
        best,
        f"{found['log_loss'] / least['log_loss']:.3f}",
        f"{least['difference']:+.4f} ± {least['error']:.4f}",
    ]


def over_draws(sets: list[dict[str, Any]]) -> list[list[str]]:
    """Each set and peer: the mean over draws, our ratio to it, and our difference in standard
    errors, the mean of the draws', as draws hold the same rows."""
    found = []
    for name in dict.fromkeys(s["name"] for s in sets):
        some = [s for s in sets if s["name"] == name]
        mine = float(np.mean([s["log_loss"] for s in some]))
        for peer in PEERS:
            theirs, apart, error = (
                float(np.mean([s[peer][what] for s in some]))
                for what in ("log_loss", "difference", "error")
            )
            ratio, errors = mine / theirs, apart / error
            found.append(
                [name, peer, f"{mine:.4f}", f"{theirs:.4f}", f"{ratio:.3f}", f"{errors:+.1f}"]
            )
    return found


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    sets = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in options.all_sets():
            if rows.name in SETS:
                sets += [compare(rows, draw) for draw in DRAWS]
    if not sets:
        return None
    head = ["data set", "draw", WEIGHTED, *PEERS, "best peer", "ours ÷ best", "difference"]
    over = ["data set", "peer", WEIGHTED, "the peer", "ratio", "difference in standard errors"]
    verdicts = [
        f"- StratifiedKFold({FOLDS}, shuffle=True, random_state=draw); log-loss in nats a row, of "
        "the held-out rows of all folds",
        "- a difference is our log-loss less the peer's, with the standard error of the mean of "
        "the rows' differences",
        "- the best of four peers on one draw is the best by chance, too: on other draws it loses "
        "more on average",
    ]
    return Page(
        "weighted-draws",
        "WeightedNaiveBayes beside its peers on three draws of the folds",
        verdicts,
        [
            ("## Draws", head, [line(s) for s in sets]),
            ("## Means of the draws", over, over_draws(sets)),
        ],
        {"data_sets": sets},
    )
