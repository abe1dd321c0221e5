"""The results as a Markdown page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.accuracy.folds import LEAST, SEED
from benchmarks.accuracy.models import OURS, TWENTY, VARIANTS, Model
from benchmarks.accuracy.verdict import (
    FLOOR,
    Result,
    beside_best,
    geometric_mean,
    loss_ratio,
)
from benchmarks.pages import heading
from benchmarks.speed.report import table, yes

__all__ = ["as_json", "as_markdown"]

BAR = 1.05
METRICS = {"log_loss": "log-loss", "accuracy": "accuracy"}


def header(
    command: str, machine: dict[str, Any], models: Sequence[Model], folds: int, partly: str
) -> list[str]:
    """How and where the numbers were measured."""
    versions = ", ".join(f"{name} {machine[name]}" for name in machine["packages"])
    lines = [
        *heading("Accuracy beside other naive Bayes", command, machine),
        f"- Versions: python {machine['python']}, {versions}",
    ]
    if partly:
        lines += ["", f"**{partly}: no evidence about the bars.**"]
    lines += [
        "",
        f"Stratified cross-validation in {folds} folds (shuffled, random_state={SEED}), the same "
        "for every model; mean ± standard error over folds. Log-loss is in nats a row, "
        f"probabilities below {LEAST:g} count as that; where a model's answer is not a number, the "
        "class prior of the training rows is scored in its place.",
        "",
        *[f"- **{model.name}**: {model.what}." for model in models],
    ]
    return lines


def beside_table(results: Sequence[Result], ours: str, peers: Sequence[str]) -> list[str]:
    """One of ours beside the best peer of each data set."""
    head = ["data set", "metric", ours, "best peer", "its value"]
    head += ["behind it ± standard error", "as good"]
    rows, held = [], []
    for result in results:
        for metric, name in METRICS.items():
            pair = beside_best(result, ours, peers, metric)
            if pair is None:
                continue
            held.append(pair.holds)
            values = [f"{pair.ours:.4f}", pair.best, f"{pair.theirs:.4f}"]
            values += [f"{pair.behind:+.4f} ± {pair.error:.4f}", yes(pair.holds)]
            rows.append([result.name, name, *values])
    if not rows:
        return []
    about = (
        f"{sum(held)} of {len(held)} comparisons hold: ours is at least as good as the best peer "
        "within one standard error of the difference, taken fold by fold. The best peer is the one "
        "whose mean is best, chosen after the fact for each set and metric."
    )
    title = "## Beside the best peer" + ("" if ours == OURS else f": {ours}")
    return [title, "", about, "", *table(head, rows)]


def yardstick_table(results: Sequence[Result]) -> list[str]:
    """Ours beside the naive Bayes of twenty lines."""
    head = ["data set", "rows × columns", "classes", "log-loss", TWENTY, "ratio"]
    head += ["accuracy", TWENTY]
    rows, ratios = [], []
    for result in results:
        ratio = loss_ratio(result, OURS, TWENTY)
        if ratio is None:
            continue
        ratios.append(ratio)
        mine, theirs = result.scores[OURS], result.scores[TWENTY]
        size = [result.name, f"{result.rows:,} × {result.columns}", str(result.classes)]
        loss = [f"{s.mean('log_loss'):.4f}" for s in (mine, theirs)]
        right = [f"{s.mean('accuracy'):.4f}" for s in (mine, theirs)]
        rows.append([*size, *loss, f"{ratio:.3f}", *right])
    if not rows:
        return []
    mean = geometric_mean(ratios)
    about = (
        f"Geometric mean of the ratios of log-loss (floored at {FLOOR:g}) over {len(ratios)} sets: "
        f"**{mean:.3f}**; bar {BAR}, met: {yes(mean <= BAR)}."
    )
    return ["## Beside a naive Bayes of twenty lines", "", about, "", *table(head, rows)]


def score_table(results: Sequence[Result]) -> list[str]:
    """Every model on every data set."""
    head = ["data set", "model", "log-loss", "accuracy", "fit s", "predict s", "undefined rows"]
    rows = []
    for result in results:
        for name, s in result.scores.items():
            if s.failed:
                rows.append([result.name, name, f"failed: {s.failed[:120]}", *[""] * 4])
                continue
            values = [f"{s.mean(m):.4f} ± {s.error(m):.4f}" for m in METRICS]
            times = [f"{s.mean('fit'):.4f}", f"{s.mean('predict'):.4f}"]
            rows.append([result.name, name, *values, *times, str(s.undefined or "")])
    about = "Seconds are means over folds, encoding included, on a machine that was not watched."
    return ["## Every model", "", about, "", *table(head, rows)]


def data_list(results: Sequence[Result]) -> list[str]:
    lines = [
        f"- {r.name}: {r.what}; {r.rows:,} × {r.columns}, {r.classes} classes." for r in results
    ]
    return ["## Data", "", "Sources and licences are in `benchmarks/datasets.toml`.", "", *lines]


def as_markdown(
    results: Sequence[Result],
    models: Sequence[Model],
    *,
    command: str,
    machine: dict[str, Any],
    folds: int,
    partly: str,
) -> str:
    """The page.

    Parameters
    ----------
    results : sequence of Result
    models : sequence of Model
        Those that ran.
    command : str
    machine : dict
        Of `machine_record`.
    folds : int
    partly : str
        What was left out, in words; empty for a whole run.
    """
    peers = [model.name for model in models if model.peer]
    parts = [
        header(command, machine, models, folds, partly),
        *(
            beside_table([r for r in results if r.group == "tables"], ours, peers)
            for ours in (OURS, *VARIANTS)
        ),
        yardstick_table([r for r in results if r.group == "arff"]),
        score_table(results),
        data_list(results),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def variants(result: Result, peers: Sequence[str]) -> dict[str, Any]:
    """Each variant of ours beside the best peer."""
    found = {}
    for ours in VARIANTS:
        pairs = [beside_best(result, ours, peers, metric) for metric in METRICS]
        found[ours] = [asdict(p) | {"holds": p.holds} for p in pairs if p is not None]
    return found


def as_json(
    results: Sequence[Result],
    models: Sequence[Model],
    *,
    command: str,
    machine: dict[str, Any],
    folds: int,
) -> dict[str, Any]:
    """Every number, fold by fold, and what follows from them."""
    peers = [model.name for model in models if model.peer]
    ratios = [loss_ratio(r, OURS, TWENTY) for r in results if r.group == "arff"]
    known = [ratio for ratio in ratios if ratio is not None]
    sets = []
    for r in results:
        pairs = [beside_best(r, OURS, peers, metric) for metric in METRICS]
        sets.append(
            asdict(r)
            | {"ratio_to_twenty_lines": loss_ratio(r, OURS, TWENTY)}
            | {"beside_best": [asdict(p) | {"holds": p.holds} for p in pairs if p is not None]}
            | {"variants_beside_best": variants(r, peers)}
        )
    return {
        "command": command,
        "machine": machine,
        "folds": folds,
        "models": {model.name: model.what for model in models},
        "geometric_mean_of_ratios": geometric_mean(known) if known else None,
        "data_sets": sets,
    }
