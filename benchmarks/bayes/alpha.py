"""alpha="auto" beside fixed alphas: log-loss on held-out folds, and what the choice costs."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.data import DataSet
from benchmarks.bayes.held_out import HeldOut, held_out
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes

__all__ = ["measure", "page"]

FIXED = (0.01, 0.1, 0.5, 1.0, 2.0, 10.0)
AUTO: dict[str, dict[str, Any]] = {
    "loo_log_loss": {},
    "loo_likelihood": {"criterion": "loo_likelihood"},
    "evidence": {"criterion": "evidence"},
}
WITHIN, ON, SLOWER = 1.02, 12, 2.0


def measure(data: DataSet, n_folds: int, rounds: int) -> dict[str, Any]:
    """Log-losses and times of one data set."""
    X, y = data.rows(least=10, most=None)
    models = {str(alpha): NaiveBayes(alpha=alpha) for alpha in FIXED}
    models |= {name: NaiveBayes(alpha="auto", **how) for name, how in AUTO.items()}
    found = held_out(models, X, y.astype(str), n_folds, rounds)
    return {
        "name": data.name,
        "rows": len(y),
        "columns": X.shape[1],
        "log_loss": {name: f.log_loss for name, f in found.items()},
        "seconds": {name: f.seconds() for name, f in found.items()},
        "errors": {name: _error(found[name], found) for name in AUTO},
    }


def _error(mine: HeldOut, found: dict[str, HeldOut]) -> float:
    """Standard error of the difference of log-loss to the best fixed alpha, by rows."""
    best = min((found[str(alpha)] for alpha in FIXED), key=lambda f: f.log_loss)
    apart = mine.losses - best.losses
    return float(apart.std(ddof=1) / len(apart) ** 0.5)


def page(sets: list[dict[str, Any]], n_folds: int) -> Page:
    """The verdicts and the tables."""
    rows, costs, held, slower = [], [], dict.fromkeys(AUTO, 0), {}
    plain = str(1.0)
    for s in sets:
        loss, seconds = s["log_loss"], s["seconds"]
        at = min(FIXED, key=lambda alpha: loss[str(alpha)])
        best = loss[str(at)]
        cells = [s["name"], f"{s['rows']:,} × {s['columns']}"]
        cells += [f"{loss[str(alpha)]:.4f}" for alpha in FIXED]
        for name in AUTO:
            held[name] += loss[name] <= WITHIN * best
            mark = "" if loss[name] <= WITHIN * best else " **no**"
            cells.append(f"{loss[name]:.4f} ({loss[name] / best:.3f}){mark}")
        rows.append([*cells, f"{at:g}"])
        costs.append(
            [
                s["name"],
                f"{1e3 * seconds[plain]:.1f}",
                *(f"{seconds[name] / seconds[plain]:.2f}" for name in AUTO),
            ]
        )
    whole = sum(s["seconds"][plain] for s in sets)
    for name in AUTO:
        slower[name] = sum(s["seconds"][name] for s in sets) / whole
    costs.append(["total", f"{1e3 * whole:.1f}", *(f"**{slower[n]:.2f}**" for n in AUTO)])
    verdicts = []
    for name in AUTO:
        enough = held[name] >= ON
        verdicts.append(
            f'- alpha="auto", criterion="{name}": within {WITHIN - 1.0:.0%} of the best fixed '
            f"alpha on {held[name]} of {len(sets)} sets (bar {ON}: {yes(enough)}); fitting and "
            f"reading takes {slower[name]:.2f} times a plain fit in total (bar below {SLOWER:g}: "
            f"{yes(slower[name] < SLOWER)})"
        )
    head = ["data set", "rows × columns", *(f"α = {alpha:g}" for alpha in FIXED)]
    about = (
        f"Log-loss in nats a row on held-out rows, {n_folds} stratified folds; beside each choice "
        "its ratio to the best fixed alpha, which is chosen after the fact."
    )
    cost = (
        "Milliseconds of a plain fit (α = 1) up to the first prediction, all folds together, the "
        'least of several rounds; and what alpha="auto" takes in multiples of it.'
    )
    return Page(
        "bayes-alpha",
        'alpha="auto" beside fixed alphas',
        verdicts,
        [
            (about, [*head, *AUTO, "best α"], rows),
            (cost, ["data set", "plain fit ms", *AUTO], costs),
        ],
        {"within": WITHIN, "held": held, "times_slower": slower, "data_sets": sets},
    )
