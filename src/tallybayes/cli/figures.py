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
    return [numbers, *dim, line(), *confusions]


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
