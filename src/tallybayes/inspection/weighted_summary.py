"""A weighted model in readable form: its tables as frames, and a summary in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import listed
from tallybayes.inspection.frames import frame
from tallybayes.models.weighted.terms import cells_in_words, copy_of
from tallybayes.models.weighting import Figures, Weighting, WeightingNow
from tallybayes.weighted.terms.scorer import WeightedScore

__all__ = ["UNINFORMATIVE", "summary_of", "term_frame"]

UNINFORMATIVE = "No column predicts the class better than chance"
MIN_NATS = 0.005  # nats below which a term is not worth reporting


def term_frame(score: WeightedScore, t: int, names: tuple[str, ...], labels: list[str]) -> Any:
    """A term's table as a frame: its cells, and what each adds to each class, in nats."""
    held: dict[str, Any] = dict(zip(names, cells_in_words(score, t), strict=True))
    for k, label in enumerate(labels):
        held[f"{label} (class)" if label in held else label] = score.tables[t][:, k].copy()
    return frame(held)


def summary_of(
    weighting: Weighting, now: WeightingNow, classes: NDArray[Any], stale: bool, max_terms: int
) -> str:
    """The model in words."""
    figures, names = weighting.figures, weighting.names
    n_columns, labels = len(now.columns), [str(label) for label in classes.tolist()]
    order = np.argsort(-weighting.apart, kind="stable").tolist()
    speaking = [t for t in order if weighting.apart[t] >= MIN_NATS]
    n_pairs = sum(t >= n_columns for t in speaking)
    lines = [
        f"{len(labels)} classes ({listed(labels, 6)}), predicted from {len(speaking) - n_pairs} of "
        f"{n_columns} columns{_and_pairs(n_pairs)}.",
        _quality(figures),
    ]
    if not speaking and not now.score.text_parts:
        lines.append(f"{UNINFORMATIVE}: every prediction is the most frequent class.")
    smooth = weighting.learned.smooth
    if speaking and smooth is not None:
        of_pairs = " and pairs" if smooth.pairs else ""
        lines.append(f"Smooth functions of columns{of_pairs} have {smooth.share:.0%} of the model.")
    if figures.log_loss_increase is not None:
        lines.append(
            f"Pruned: the log-loss is {figures.log_loss_increase:.4f} nats a row higher than "
            "before."
        )
    if stale:
        lines.append("The counts have changed since the weights were learned: call reweight(X, y).")
    if speaking:
        lines.append("Terms, by how far they separate the classes in the mean row (nats):")
    for place, t in enumerate(speaking[:max_terms], 1):
        lines.append(
            f"{place:3}. {names[t]}: {weighting.apart[t]:.2f}. {_strongest_cells(now, t, labels)}"
        )
    if len(speaking) > max_terms:
        lines.append(f"     … and {len(speaking) - max_terms} more.")
    if weighting.text is not None:
        text = weighting.text
        figures_of_text = zip(text.names, text.apart.tolist(), text.weights.tolist(), strict=True)
        each = [
            f"{name}: {apart:.2f} (weight {weight:.2f})" for name, apart, weight in figures_of_text
        ]
        lines.append(f"Text, by the same measure: {listed(each, max_terms)}.")
    silent = []
    for t in order:
        if t < n_columns and weighting.apart[t] < MIN_NATS:
            copy = copy_of(weighting, t)
            silent.append(f"{names[t]} ({copy})" if copy else names[t])
    if silent:
        lines.append(f"Columns that add nothing by themselves: {listed(silent, 12)}.")
    return "\n".join(lines)


def _quality(figures: Figures) -> str:
    """How good a model is, in words."""
    how = " left out of the whole fit" if figures.left_out else ", each predicted by the others"
    right, loss = f"{figures.accuracy:.1%}", f"{figures.log_loss:.4f}"
    if figures.accuracy_se is not None and figures.log_loss_se is not None:
        right += f" ± {figures.accuracy_se:.1%}"
        loss += f" ± {figures.log_loss_se:.4f}"
    return (
        f"On {figures.rows:,.10g} rows{how}: {right} right, log-loss {loss} nats a row (by class "
        f"frequencies alone: {figures.prior_log_loss:.4f})."
    )


def _and_pairs(n: int) -> str:
    return f" and {n} pair{'s' * (n > 1)} of columns" if n else ""


def _strongest_cells(now: WeightingNow, t: int, labels: list[str]) -> str:
    """The cell of a term that favours a class most, and the one for the class it favours least
    often."""
    table, n = now.score.tables[t], len(now.columns)
    words = [" with ".join(parts) for parts in zip(*cells_in_words(now.score, t), strict=True)]
    if t < n:
        held = now.columns[t].counts.sum(axis=1)
        table = np.where(held[:, None] > 0.0, table, 0.0)
    best = np.argmax(table.max(axis=1))
    k = int(table[best].argmax())
    stated = f"{words[best]} favours {labels[k]} ({table[best, k]:+.2f})"
    others = np.where(np.arange(table.shape[1]) == k, -np.inf, table)
    against = np.argmax(others.max(axis=1))
    c = int(others[against].argmax())
    return f"{stated}, {words[against]} for {labels[c]} ({table[against, c]:+.2f})."
