"""A weighted model in words and frames: its columns, the cells of its tables, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import listed
from tallybayes.estimators.frames import frame
from tallybayes.estimators.identifiers import is_identifier, warn_of_identifier
from tallybayes.estimators.mixed_columns import Held
from tallybayes.estimators.table_reading import ColumnReading
from tallybayes.estimators.weighting import Figures, Weighting, WeightingNow
from tallybayes.parameters import Description
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.counts import Held as HeldColumns
from tallybayes.weighted.score import WeightedScore
from tallybayes.weighted.tables import NULL_TERM

if TYPE_CHECKING:
    from tallybayes.estimators.weighted_model import WeightedModel

__all__ = [
    "Term",
    "cell_labels",
    "columns_read",
    "left_out",
    "summary_of",
    "term_frame",
    "terms_of",
    "weights_of",
]

Array = NDArray[np.float64]

GAP = "(missing)"
NOTHING = "No column predicts the class better than chance"
LEAST = 0.005  # nats below which a term says nothing worth telling


def left_out(model: WeightedModel, held: HeldColumns, rows: float) -> dict[str, str]:
    """The columns that are not learned from, and why.

    Parameters
    ----------
    model : WeightedModel
    held : dict
        What is counted of each column, in effective rows.
    rows : float
        All effective rows.
    """
    out: dict[str, str] = {}
    for name in model.names:
        if model.reading.declared.left_out(name):
            out[name] = "declared"
        elif name not in held:
            out[name] = "no value was seen"
        else:
            levels, texts, numbers = held[name]
            counts = held[name].counts
            if _never_changes(counts, rows):
                out[name] = "the same in every row"
                continue
            declared = name in model.reading.declared.families
            only_texts = texts is not None and numbers is None and not declared
            if only_texts and is_identifier(counts, len(levels), len(levels)):
                out[name] = "all strings are different"
                warn_of_identifier(name, counts, model.warned)
    return out


def _never_changes(counts: Array, rows: float) -> bool:
    """Whether every row has the same value, or the same cell of the grid."""
    of_value = counts.sum(axis=0)
    return bool(of_value.max(initial=0.0) == rows)


@dataclass(frozen=True, eq=False)
class Term:
    """One term of the score, for those who show it.

    Parameters
    ----------
    columns : tuple of str
        One, or the two of a pair.
    now : WeightingNow
    place : int
    """

    columns: tuple[str, ...]
    now: WeightingNow
    place: int

    def described(self) -> Description:
        """What its cells add, in words."""
        words = _cells_in_words(self.now.score, self.place)
        names = [" with ".join(parts) for parts in zip(*words, strict=True)]
        what = "what it adds to the score of each class, in nats"
        return Description(what, names, self.now.score.tables[self.place].T.copy())


def terms_of(model: WeightedModel) -> list[Term]:
    """The terms that say something: columns, then pairs."""
    now, weighting = model.now, model.chosen.weighting
    if now is None or weighting is None:
        return []
    keys = [*((column.name,) for column in now.columns), *weighting.pairs]
    return [Term(keys[t], now, t) for t in now.score.speaking]


def weights_of(weighting: Weighting | None) -> dict[str, float]:
    """The weight of each column, by name; nothing for a model without weights."""
    if weighting is None:
        return {}
    names = [column.name for column in weighting.learned.columns]
    return dict(zip(names, weighting.learned.weights.terms.tolist(), strict=False))


def columns_read(model: WeightedModel) -> list[ColumnReading]:
    """What was decided about each column, and why."""
    weighting, holds = model.chosen.weighting, model.holds
    terms = {term.columns[0]: term for term in terms_of(model) if len(term.columns) == 1}
    learned: dict[str, int] = {}
    if weighting is not None:
        learned = {c.name: j for j, c in enumerate(weighting.learned.columns)}
    found = []
    for name in model.names:
        kind = _kind(holds.get(name))
        if model.reading.declared.left_out(name):
            found.append(ColumnReading(name, "anything", "left out", "declared", None))
        elif weighting is None or name not in learned:
            why = "no weights are learned yet" if weighting is None else "came after the weights"
            if kind == "nothing yet":
                why = "no value was seen"
            elif weighting is not None and name in weighting.out:
                why = weighting.out[name]
            found.append(ColumnReading(name, kind, "left out", why, None))
        else:
            j = learned[name]
            cells = weighting.learned.columns[j].n_cells
            weight = weighting.learned.weights.terms[j]
            what = f"{cells - 1} {'level' if kind == 'strings' else 'cell'}{'s'[: cells != 2]}"
            family = f"{what}, weight {weight:.2f}" if name in terms else "left out"
            found.append(ColumnReading(name, kind, family, _why(weighting, j), terms.get(name)))
    return found


def _kind(held: Held | None) -> str:
    """What a column holds, in words."""
    if held is None or not (held.texts or held.numbers):
        return "nothing yet"
    if held.texts and held.numbers:
        return "numbers and strings"
    return "strings" if held.texts else "numbers"


def _copy_of(weighting: Weighting, j: int) -> str:
    """Which column says what this one does, or nearly, if that is why it is left out."""
    learned = weighting.learned
    if j in learned.duplicates:
        return f"the same as {learned.columns[learned.duplicates[j]].name!r}"
    if j in learned.nearly:
        return f"nearly the same as {learned.columns[learned.nearly[j]].name!r}"
    return ""


def _why(weighting: Weighting, j: int) -> str:
    if copy := _copy_of(weighting, j):
        return copy
    choice = weighting.learned.choice(j)
    if choice == NULL_TERM:
        return "no better than chance"
    smoothed = f"smoothed by {choice.strength:g} rows"
    if choice.kernel == "cells":
        smoothed += f" and over {choice.width:g} cells"
    elif choice.kernel == "rank":
        smoothed += f" and over {choice.width:.0%} of the rows"
    return smoothed + ", by leave-one-out"


def cell_labels(column: ColumnCells) -> list[str]:
    """The cells of a column in words."""
    numbers: list[str] = []
    if column.edges is not None:
        numbers = [_between(column.edges, i, i) for i in range(column.n_numbers)]
    return [*numbers, *(column.levels or []), GAP]


def _between(edges: NDArray[np.float64], first: int, last: int) -> str:
    """The numbers in the cells from one to another, in words."""
    if last < first or not len(edges):
        return "any number"
    above = f"{edges[first - 1]:.6g}" if first else ""
    below = f"{edges[last]:.6g}" if last < len(edges) else ""
    if above and below:
        return f"{above} to {below}"
    return f"above {above}" if above else f"up to {below}" if below else "any number"


def _coarse_labels(column: ColumnCells, cells: NDArray[np.int32]) -> list[str]:
    """The coarser cells of a column in a pair, in words."""
    labels = cell_labels(column)
    found = []
    for cell in range(int(cells.max()) + 1):
        members = np.flatnonzero(cells == cell).tolist()
        if not members:
            found.append("(none)")
        elif column.edges is not None and members[-1] < column.n_numbers:
            found.append(_between(column.edges, members[0], members[-1]))
        elif len(members) <= 3:
            found.append(", ".join(labels[m] for m in members))
        else:
            found.append(f"{len(members)} other levels")
    return found


def _cells_in_words(score: WeightedScore, t: int) -> list[list[str]]:
    """The cells of a term in words, by each of its columns."""
    n = len(score.columns)
    if t < n:
        return [cell_labels(score.columns[t])]
    pair = score.pairs[t - n]
    one = _coarse_labels(score.columns[pair.first], pair.maps[0])
    other = _coarse_labels(score.columns[pair.second], pair.maps[1])
    return [[a for a in one for _ in other], [b for _ in one for b in other]]


def term_frame(score: WeightedScore, t: int, names: tuple[str, ...], labels: list[str]) -> Any:
    """A term's table as a frame: its cells, and what each adds to each class, in nats."""
    held: dict[str, Any] = dict(zip(names, _cells_in_words(score, t), strict=True))
    for k, label in enumerate(labels):
        held[f"{label} (class)" if label in held else label] = score.tables[t][:, k].copy()
    return frame(held)


def summary_of(
    weighting: Weighting, now: WeightingNow, classes: NDArray[Any], stale: bool, most: int
) -> str:
    """The model in words."""
    figures, names = weighting.figures, weighting.names
    n_columns, labels = len(now.columns), [str(label) for label in classes.tolist()]
    order = np.argsort(-weighting.apart, kind="stable").tolist()
    speaking = [t for t in order if weighting.apart[t] >= LEAST]
    n_pairs = sum(t >= n_columns for t in speaking)
    lines = [
        f"{len(labels)} classes ({listed(labels, 6)}), predicted from {len(speaking) - n_pairs} of "
        f"{n_columns} columns{_and_pairs(n_pairs)}.",
        _quality(figures),
    ]
    if not speaking:
        lines.append(f"{NOTHING}: every prediction is the most frequent class.")
    if figures.log_loss_increase is not None:
        lines.append(
            f"Pruned: the log-loss is {figures.log_loss_increase:.4f} nats a row higher than "
            "before."
        )
    if stale:
        lines.append("The counts have changed since the weights were learned: call reweight(X, y).")
    if speaking:
        lines.append("Terms, by how far they separate the classes in the mean row (nats):")
    for place, t in enumerate(speaking[:most], 1):
        lines.append(f"{place:3}. {names[t]}: {weighting.apart[t]:.2f}. {_told(now, t, labels)}")
    if len(speaking) > most:
        lines.append(f"     … and {len(speaking) - most} more.")
    silent = []
    for t in order:
        if t < n_columns and weighting.apart[t] < LEAST:
            copy = _copy_of(weighting, t)
            silent.append(f"{names[t]} ({copy})" if copy else names[t])
    if silent:
        lines.append(f"Columns that add nothing by themselves: {listed(silent, 12)}.")
    return "\n".join(lines)


def _quality(figures: Figures) -> str:
    """How good a model is, in words."""
    how = " left out of all learning" if figures.left_out else ", each predicted by the others"
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


def _told(now: WeightingNow, t: int, labels: list[str]) -> str:
    """The cell of a term that speaks most for a class, and the one for the class it favours least
    often."""
    table, n = now.score.tables[t], len(now.columns)
    words = [" with ".join(parts) for parts in zip(*_cells_in_words(now.score, t), strict=True)]
    if t < n:
        held = now.columns[t].counts.sum(axis=1)
        table = np.where(held[:, None] > 0.0, table, 0.0)
    best = np.argmax(table.max(axis=1))
    k = int(table[best].argmax())
    told = f"{words[best]} favours {labels[k]} ({table[best, k]:+.2f})"
    others = np.where(np.arange(table.shape[1]) == k, -np.inf, table)
    against = np.argmax(others.max(axis=1))
    c = int(others[against].argmax())
    return f"{told}, {words[against]} for {labels[c]} ({table[against, c]:+.2f})."
