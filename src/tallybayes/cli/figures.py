"""How good a model is, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tallybayes.cli.console import line, number_of, table

if TYPE_CHECKING:
    from tallybayes.model_files import Figures

__all__ = ["figures_tables"]

MAX_TABLE_CLASSES = 8  # classes that a confusion table shows; of more, the most frequent confusions
UNKNOWN = "(unknown)"


def figures_tables(found: Figures) -> list[Any]:
    """Figures, for people."""
    accuracy_error, loss_error = found.errors()
    name, share, entropy = found.guess()
    loss, plus = (
        (f"{found.log_loss:.4f}", f"± {loss_error:.4f}")
        if math.isfinite(found.log_loss)
        else ("infinite", "")
    )
    of = found.measured_on + (", before the counts changed" if found.stale else "")
    of += f", {number_of(found.rows, found.unit)}" if found.rows else ""
    numbers = table(
        f"Quality ({of})",
        ["measure", ">this model", "std. error", f">always {name!r}"],
        [
            ["accuracy", f"{found.accuracy:.2%}", f"± {accuracy_error:.2%}", f"{share:.2%}"],
            ["log-loss (nats)", loss, plus, f"{entropy:.4f} *"],
        ],
    )
    remarks = [
        f"accuracy: the share of {found.unit}s whose most probable class is the true one",
        "log-loss: the mean of -ln(probability of the true class); 0 is perfect",
        f"* when each {found.unit} is given the shares of the classes as its probabilities",
    ]
    if found.unknown:
        remarks.append(
            f"{number_of(found.unknown, found.unit)} of a class that the model does not know: "
            "errors, and an infinite log-loss"
        )
    dim = [line(remark, "dim") for remark in remarks]
    confusions = [_confusion_table(found)] if found.confusion.any() else []
    return [numbers, *dim, line(), *confusions, *_cost_tables(found)]


def _cost_tables(found: Figures) -> list[Any]:
    """What decisions cost, and for each value of a column."""
    if found.costs is None:
        return []
    whole, names = found.costs, list(map(str, found.costs.costs.decisions))
    each = zip(names, whole.shares.tolist(), whole.always.tolist(), strict=True)
    decisions = table(
        "Decisions",
        ["decision", ">taken for", ">cost if always taken"],
        [[name, f"{share:.1%}", f"{cost:.4g}"] for name, share, cost in each],
    )
    groups = {"all": whole} | {text or "(missing)": of for text, of in found.groups.items()}
    heads = [found.by or "", f">{found.unit}s", ">cost", "std. error", ">referred"]
    costs = table(
        f"Cost of a {found.unit}, by the decisions of least expected cost",
        [*heads, ">error of the rest"],
        [
            [
                name,
                f"{of.rows - of.unpriced:,}",
                _shown(of.cost, ".4g"),
                f"± {_shown(of.cost_se, '.2g')}",
                _shown(of.referred, ".1%"),
                _shown(of.error, ".1%"),
            ]
            for name, of in groups.items()
        ],
    )
    remark = "referred: the decision is not a class; error: the decision is a wrong class"
    return [line(), costs, line(remark, "dim"), line(), decisions]


def _shown(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "–"


def _confusion_table(found: Figures) -> Any:
    if len(found.classes) > MAX_TABLE_CLASSES:
        wrong = [c for c in found.confusions() if c[0] != c[1]]
        wrong.sort(key=lambda c: -c[2])
        worst = [(a, p, f"{n:,.10g}") for a, p, n in wrong[:10]]
        return table("Most frequent errors", ["true", "predicted", f">{found.unit}s"], worst)
    names = [*found.classes, UNKNOWN][: len(found.classes) + bool(found.unknown)]
    rows = []
    for i, name in enumerate(names):
        cells = [
            line(f"{n:,.10g}", "bold" if i == j else "")
            for j, n in enumerate(found.confusion[i].tolist())
        ]
        total = float(found.confusion[i].sum())
        right = f"{found.confusion[i, i] / total:.1%}" if i < len(found.classes) and total else ""
        rows.append([name, *cells, right])
    heads = ["true \\ predicted", *(f">{c}" for c in found.classes), ">correct"]
    what = f"{found.unit}s, by weight" if found.has_weights else f"{found.unit}s"
    return table(f"Confusion matrix ({what})", heads, rows)
