"""A model in words: its classes, how good it is, and what it goes by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import listed
from tallybayes.explain.explanation import top_terms
from tallybayes.explain.importances import array_importances, column_importances
from tallybayes.models.array import ArrayModel
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel, copy_of
from tallybayes.models.weighted_documents import TextModel
from tallybayes.models.weighting import Weighting
from tallybayes.readable import plain
from tallybayes.scoring import Figures

__all__ = ["UNINFORMATIVE", "counted", "numbered", "summary_of"]

Array = NDArray[np.float64]

UNINFORMATIVE = "No column predicts the class better than chance"
MIN_NATS = 0.005  # nats below which a term is not worth reporting
MAX_CLASSES = 6  # classes that are named
N_TERMS = 5  # terms of a class that are named


def summary_of(
    model: ArrayModel | TableModel | TextModel, max_terms: int, *, ranks: bool = True
) -> str:
    """Any model in words.

    Parameters
    ----------
    model : ArrayModel, TableModel, WeightedModel or TextModel
    max_terms : int
        How many columns, pairs or classes are listed.
    ranks : bool
        Whether columns are ranked; not where only some of their values were counted.
    """
    if isinstance(model, WeightedModel) and model.chosen.weighting is not None:
        lines = _weighted(model, model.chosen.weighting, max_terms)
    elif isinstance(model, TableModel):
        lines = _table(model, max_terms, ranks)
    elif isinstance(model, ArrayModel):
        lines = _array(model, max_terms)
    else:
        lines = _documents(model, max_terms)
    return "\n".join(lines)


# ---- what summaries share ------------------------------------------------------------------------
def counted(labels: Sequence[Any], rows: Array, unit: str, kinds: str = "classes") -> str:
    """The classes with their shares of the rows, the largest first."""
    total = float(rows.sum())
    order = np.argsort(-rows, kind="stable").tolist()
    shares = [f"{plain(labels[k])} {rows[k] / max(total, 1e-300):.1%}" for k in order]
    what = kinds if len(labels) != 1 else {"classes": "class", "labels": "label"}[kinds]
    return f"{len(labels)} {what} of {total:,.10g} {unit}s: {listed(shares, MAX_CLASSES)}."


def numbered(title: str, entries: Iterable[str], max_entries: int) -> list[str]:
    """A title, and below it some entries with their places."""
    entries = list(entries)
    lines = [f"{i:3}. {entry}" for i, entry in enumerate(entries[:max_entries], 1)]
    more = len(entries) - len(lines)
    return [title, *lines, *([f"     … and {more:,} more."] if more else [])]


# ---- a plain model of a table, and of arrays -----------------------------------------------------
def _table(model: TableModel, max_terms: int, ranks: bool) -> list[str]:
    read, chosen = model.columns_read, model.chosen
    used = [column for column in read if column.part is not None]
    lines = [
        counted(model.schema.classes.tolist(), model.tally.classes.count, "row"),
        f"Predicted from {len(used)} of {len(read)} columns.",
    ]
    if chosen.calibration is not None:
        lines.append("Probabilities are calibrated on rows left out of the counts.")
    if chosen.stale:
        lines.append("The counts have changed since: call recalibrate(X, y).")
    title, nats = "Columns, in their order:", dict[str, str]()
    if ranks:
        title = "Columns, by how far they separate the classes on average over rows (nats):"
        apart = dict(zip(model.names, column_importances(model).tolist(), strict=True))
        used.sort(key=lambda column: -apart[column.name])
        nats = {name: f"{value:.2f}. " for name, value in apart.items()}
    if used:
        entries = [
            f"{c.name}: {nats.get(c.name, '')}{c.holds}: {c.brief or c.family}" for c in used
        ]
        lines += numbered(title, entries, max_terms)
    silent = [f"{c.name} ({c.why})" for c in read if c.part is None]
    if silent:
        lines.append(f"Columns that are left out: {listed(silent, 12)}.")
    return lines


def _array(model: ArrayModel, max_terms: int) -> list[str]:
    columns, apart = model.columns, array_importances(model)
    names = columns.names or [f"x{j}" for j in range(columns.n_features)]
    order = np.argsort(-apart, kind="stable").tolist()
    exact = columns.kind == "levels" or columns.threshold is not None
    means = "on average over rows" if exact else "at the class means"
    return [
        counted(model.schema.classes.tolist(), model.tally.classes.count, "row"),
        *numbered(
            f"{len(names)} columns, by how far they separate the classes {means} (nats):",
            [f"{names[j]}: {apart[j]:.2f}" for j in order],
            max_terms,
        ),
    ]


# ---- a model of documents ------------------------------------------------------------------------
def _documents(model: TextModel, max_terms: int) -> list[str]:
    tally, figures = model.tally, model.figures
    hashed = tally.terms.dtype.kind == "i"
    lines = [
        counted(tally.labels.tolist(), tally.documents, "document"),
        f"Predicted from {tally.n_terms:,} {'buckets of hashed terms' if hashed else 'terms'}"
        + (f", and a ridge of penalty {model.penalty:.3g}." if model.penalty is not None else "."),
    ]
    if figures.documents:
        lines.append(
            f"On {figures.documents:,} documents, each predicted by the others: "
            f"{figures.accuracy:.1%} ± {figures.accuracy_se:.1%} right, log-loss "
            f"{figures.log_loss:.4f} ± {figures.log_loss_se:.4f} nats a document."
        )
    if model.needs_reweighting:
        lines.append("The counts have changed since the ridge was learned: call reweight(X, y).")
    if hashed:
        return lines
    entries = []
    for k in np.argsort(-tally.documents, kind="stable").tolist():
        label = tally.labels.tolist()[k]
        best = [f"{term} {nats:+.2f}" for term, nats in top_terms(model, label, N_TERMS)]
        entries.append(f"{plain(label)}: {', '.join(best)}")
    title = "Terms that add most to each class, against all others (nats per occurrence):"
    return lines + numbered(title, entries, max_terms)


# ---- a weighted model of a table -----------------------------------------------------------------
def _weighted(model: WeightedModel, weighting: Weighting, max_terms: int) -> list[str]:
    figures, names, score = weighting.figures, weighting.names, model.score
    n_columns = len(score.columns)
    labels = [str(label) for label in model.schema.classes.tolist()]
    order = np.argsort(-weighting.apart, kind="stable").tolist()
    speaking = [t for t in order if weighting.apart[t] >= MIN_NATS]
    joint = [len(weighting.pairs[t - n_columns]) for t in speaking if t >= n_columns]
    counts = {"pair": joint.count(2), "triple": joint.count(3)}
    kinds = [f"{n} {kind}{'s' * (n > 1)}" for kind, n in counts.items() if n]
    and_pairs = f"{', ' if len(kinds) > 1 else ' and '}{' and '.join(kinds)} of columns"
    lines = [
        f"{len(labels)} classes ({listed(labels, 6)}), predicted from "
        f"{len(speaking) - len(joint)} of {n_columns} columns{and_pairs if joint else ''}.",
        _quality(figures),
    ]
    if not speaking and not score.text_parts:
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
    if model.chosen.stale:
        lines.append("The counts have changed since the weights were learned: call reweight(X, y).")
    if speaking:
        lines.append("Terms, by how far they separate the classes in the mean row (nats):")
    for place, t in enumerate(speaking[:max_terms], 1):
        lines.append(
            f"{place:3}. {names[t]}: {weighting.apart[t]:.2f}. {_strongest_cells(model, t, labels)}"
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
    return lines


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


def _strongest_cells(model: WeightedModel, t: int, labels: list[str]) -> str:
    """The cell of a term that favours a class most, and the one for the class it favours least
    often."""
    table, columns = model.score.tables[t], model.score.columns
    words = [" with ".join(parts) for parts in product(*model.words_of(t))]
    if t < len(columns):
        held = columns[t].counts.sum(axis=1)
        table = np.where(held[:, None] > 0.0, table, 0.0)
    best = np.argmax(table.max(axis=1))
    k = int(table[best].argmax())
    stated = f"{words[best]} favours {labels[k]} ({table[best, k]:+.2f})"
    others = np.where(np.arange(table.shape[1]) == k, -np.inf, table)
    against = np.argmax(others.max(axis=1))
    c = int(others[against].argmax())
    return f"{stated}, {words[against]} for {labels[c]} ({table[against, c]:+.2f})."
