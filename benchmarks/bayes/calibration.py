"""calibrate= beside scikit-learn's CalibratedClassifierCV around the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV

from benchmarks.accuracy.data import DataSet
from benchmarks.bayes.held_out import HeldOut, calibration_error, held_out
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes

__all__ = ["measure", "page"]

PLAIN = "uncalibrated"
OURS = ("temperature", "isotonic")
PEERS = {f"CV {method}": method for method in ("sigmoid", "isotonic", "temperature")}
SHARE = 0.25
RESAMPLES = 200
METRICS = {"error": "calibration error", "log_loss": "log-loss"}


def models() -> dict[str, Any]:
    """Every model by name; scikit-learn's temperature only where it has one."""
    known: dict[str, Any] = {PLAIN: NaiveBayes()}
    known |= {name: NaiveBayes(calibrate=name) for name in OURS}
    there = CalibratedClassifierCV._parameter_constraints["method"][0].options
    for name, method in PEERS.items():
        if method in there:
            known[name] = CalibratedClassifierCV(NaiveBayes(), method=method, cv=5)
    return known


def measure(data: DataSet, n_folds: int, rounds: int) -> dict[str, Any]:
    """Figures of every model on one data set, and ours beside each peer."""
    X, y = data.rows(least=10, most=None)
    found = held_out(models(), X, y.astype(str), n_folds, rounds)
    figures = {
        name: {
            "log_loss": f.log_loss,
            "error": f.error,
            "accuracy": f.accuracy,
            "fit": f.seconds(),
            "predict": f.seconds("predict"),
        }
        for name, f in found.items()
    }
    beside = {
        f"{ours} beside {peer}": compared(found[ours], found[peer])
        for ours in OURS
        for peer in PEERS
        if peer in found
    }
    return {
        "name": data.name,
        "rows": len(y),
        "columns": X.shape[1],
        "figures": figures,
        "beside": beside,
    }


def compared(ours: HeldOut, theirs: HeldOut) -> dict[str, Any]:
    """How much worse ours is, with standard errors by resampling rows."""
    rng = np.random.default_rng(0)
    n = len(ours.own)
    apart = ours.losses - theirs.losses
    drawn = []
    for _ in range(RESAMPLES):
        rows = rng.integers(0, n, n)
        pair = [calibration_error(f.proba[rows], f.own[rows]) for f in (ours, theirs)]
        drawn.append(pair[0] - pair[1])
    behind = {"error": ours.error - theirs.error, "log_loss": float(apart.mean())}
    error = {"error": float(np.std(drawn)), "log_loss": float(apart.std(ddof=1) / n**0.5)}
    return {
        "behind": behind,
        "standard_error": error,
        "as_good": {metric: behind[metric] <= error[metric] for metric in METRICS},
        "share_of_time": ours.seconds() / theirs.seconds(),
    }


def page(sets: list[dict[str, Any]], n_folds: int) -> Page:
    """The verdicts and the tables."""
    names = list(sets[0]["figures"])
    verdicts = []
    for pair in sets[0]["beside"]:
        ours, peer = pair.split(" beside ")
        notes = []
        for metric, what in METRICS.items():
            good = sum(s["beside"][pair]["as_good"][metric] for s in sets)
            mean = [np.mean([s["figures"][n][metric] for s in sets]) for n in (ours, peer)]
            notes.append(f"{what} {mean[0]:.4f} to {mean[1]:.4f}, as good on {good} of {len(sets)}")
        share = _total(sets, ours) / _total(sets, peer)
        notes.append(f"{share:.2f} of its time (bar {SHARE:g}: {yes(share <= SHARE)})")
        verdicts.append(f"- {ours} beside {peer}: {'; '.join(notes)}")
    rows = []
    for s in sets:
        for name in names:
            f = s["figures"][name]
            rows.append(
                [
                    s["name"] if name == PLAIN else "",
                    name,
                    *(f"{f[m]:.4f}" for m in ("error", "log_loss", "accuracy")),
                    f"{1e3 * f['fit']:.1f}",
                    f"{1e3 * f['predict']:.1f}",
                ]
            )
    for name in names:
        figures = [s["figures"][name] for s in sets]
        means = [np.mean([f[m] for f in figures]) for m in ("error", "log_loss", "accuracy")]
        times = [1e3 * sum(f[t] for f in figures) for t in ("fit", "predict")]
        rows.append(
            [
                "**mean, total**" if name == PLAIN else "",
                name,
                *(f"{v:.4f}" for v in means),
                *(f"{t:.1f}" for t in times),
            ]
        )
    about = (
        f"Expected calibration error of the most probable class (15 bins of equal width), log-loss "
        f"in nats and accuracy on the held-out rows of {n_folds} stratified folds together; "
        "milliseconds of fitting up to the first prediction (the least of several rounds) and of "
        'predicting, all folds together. "CV" is CalibratedClassifierCV(NaiveBayes(), cv=5). As '
        "good is at most one standard error worse, rows resampled."
    )
    head = [
        "data set",
        "model",
        "calibration error",
        "log-loss",
        "accuracy",
        "fit ms",
        "predict ms",
    ]
    return Page(
        "bayes-calibration",
        "Calibration on leave-one-out predictions",
        verdicts,
        [(about, head, rows)],
        {"data_sets": sets},
    )


def _total(sets: list[dict[str, Any]], name: str) -> float:
    return float(sum(s["figures"][name]["fit"] for s in sets))
