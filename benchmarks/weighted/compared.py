"""All 28 sets beside the version before and the best peer, from the pages already written."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks.accuracy.models import WEIGHTED
from benchmarks.accuracy.verdict import FLOOR
from benchmarks.bayes.page import Page
from benchmarks.pages import RESULTS, say
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import CATBOOST, Options
from benchmarks.weighted.peers import best_peer, known
from benchmarks.weighted.sets import FEW_WORSE, WORSE

__all__ = ["run"]

PAGES = ("weighted-sets", "weighted-more")
NEAR = 1.05  # times the best peer's log-loss
ALL = 28


def ours() -> dict[str, float]:
    """Our log-loss on each set, of the pages."""
    found = {}
    for page in PAGES:
        path = (RESULTS / page).with_suffix(".json")
        if path.exists():
            for s in json.loads(path.read_text(encoding="utf-8"))["data_sets"]:
                if WEIGHTED in s["figures"]:
                    found[s["name"]] = s["figures"][WEIGHTED]["log_loss"]
    return found


def compare(name: str, now: float, figures: Any) -> dict[str, Any]:
    """A set beside the version before and the best peer; log-losses below FLOOR count as it."""

    def by(other: float | None) -> float | None:
        return None if other is None else max(now, FLOOR) / max(other, FLOOR)

    before = figures.get(WEIGHTED, {}).get(name, {}).get("log_loss")
    peer, theirs = best_peer(figures, name) or (None, None)
    return {
        "name": name,
        "now": now,
        "before": before,
        "by_before": by(before),
        "peer": peer,
        "peers": theirs,
        "by_peer": by(theirs),
        "catboost": figures.get(CATBOOST, {}).get(name, {}).get("log_loss"),
    }


def run(options: Options) -> Page | None:
    """The page; None where there are no figures."""
    figures, mine = known(), ours()
    if not mine:
        say("  nothing to compare: run the parts sets and more first")
        return None
    sets = [compare(name, now, figures) for name, now in mine.items()]
    n = len(sets)
    old = [s["by_before"] for s in sets if s["by_before"] is not None]
    ahead = [s for s in sets if s["by_peer"] is not None]
    both = [s for s in sets if s["catboost"] is not None]
    found = [
        Bar(
            f"sets of {ALL} with a log-loss more than {WORSE - 1.0:.0%} above that of the version "
            "before",
            float(sum(ratio > WORSE for ratio in old)) if len(old) == ALL else None,
            FEW_WORSE,
            form=".0f",
        ),
        Bar(
            f"sets of {len(ahead)} more than {NEAR - 1.0:.0%} above the best peer's log-loss",
            float(sum(s["by_peer"] > NEAR for s in ahead)) if ahead else None,
            0.0,
            form=".0f",
        ),
        Bar(
            f"mean log-loss of the {len(both)} sets that {CATBOOST} did, beside {CATBOOST}'s",
            float(np.mean([s["now"] for s in both])) if both else None,
            float(np.mean([s["catboost"] for s in both])) if both else None,
            strict=True,
        ),
    ]
    notes = [
        f"mean log-loss of all {n} sets: {np.mean([s['now'] for s in sets]):.4f}",
        f"read from {', '.join(PAGES)} and weighted-peers, which tell how they were measured; in "
        f"ratios, log-losses below {FLOOR:g} count as it",
    ]
    if len(old) == n:
        before = np.mean([s["before"] for s in sets])
        notes.insert(1, f"of the version before: {before:.4f}")

    def cell(value: float | None, form: str = ".4f") -> str:
        return "" if value is None else f"{value:{form}}"

    head = ["data set", "log-loss", "before", "by before", "best peer", "its log-loss"]
    head += ["by the peer's", "within 5%"]
    lines = [
        [
            s["name"],
            cell(s["now"]),
            cell(s["before"]),
            cell(s["by_before"], ".3f"),
            s["peer"] or "",
            cell(s["peers"]),
            cell(s["by_peer"], ".3f"),
            "" if s["by_peer"] is None else yes(s["by_peer"] <= NEAR),
        ]
        for s in sets
    ]
    return Page(
        "weighted-compared",
        "WeightedNaiveBayes beside the version before and the best peer",
        bars.lines(found, notes),
        [("## Sets", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
