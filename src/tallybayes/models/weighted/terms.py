"""The terms of a weighted model: its columns and pairs, with the decision about each, and its
cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.columns.mixed import Held
from tallybayes.models.columns.reading import ColumnReading
from tallybayes.models.table import TableModel
from tallybayes.models.weighting import Weighting, WeightingNow
from tallybayes.parameters import Description
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.scores import WeightedScore
from tallybayes.weighted.tables import NULL_TERM

__all__ = [
    "Term",
    "cell_labels",
    "cells_in_words",
    "coarse_labels",
    "columns_read",
    "copy_of",
    "terms_of",
    "weights_of",
]

Array = NDArray[np.float64]

MISSING = "(missing)"


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
        words = cells_in_words(self.now.score, self.place)
        names = [" with ".join(parts) for parts in zip(*words, strict=True)]
        what = "what it adds to the score of each class, in nats"
        return Description(what, names, self.now.score.tables[self.place].T.copy())


def terms_of(now: WeightingNow | None, weighting: Weighting | None) -> list[Term]:
    """The terms that are not null: columns, then pairs."""
    if now is None or weighting is None:
        return []
    keys = [*((column.name,) for column in now.columns), *weighting.pairs]
    return [Term(keys[t], now, t) for t in now.score.speaking]


def weights_of(weighting: Weighting | None) -> dict[str, float]:
    """The weight of the table of each column, by name; nothing for a model without weights."""
    if weighting is None:
        return {}
    names = [column.name for column in weighting.learned.columns]
    return dict(zip(names, weighting.learned.weights.terms.tolist(), strict=False))


def columns_read(model: TableModel, now: WeightingNow | None) -> list[ColumnReading]:
    """What was decided about each column, and why; `now` is the weighting under its counts."""
    weighting, holds = model.chosen.weighting, model.holds
    terms = {t.columns[0]: t for t in terms_of(now, weighting) if len(t.columns) == 1}
    learned: dict[str, int] = {}
    adds = {} if weighting is None else weighting.adds
    if weighting is not None:
        learned = {c.name: j for j, c in enumerate(weighting.learned.columns)}
    found, of_text_columns = [], _text_columns_read(now, weighting, model.prose)
    for name in model.names:
        kind = _kind(holds.get(name))
        if model.reading.declared.left_out(name):
            found.append(ColumnReading(name, "anything", "left out", "declared", None))
        elif name in of_text_columns:
            found.append(of_text_columns[name])
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
            what = f"{cells - 1} {'level' if kind == 'strings' else 'cell'}{'s'[: cells != 2]}"
            family = f"{what}, adds {adds[name]:.2f} nats" if name in terms else "left out"
            reason = _reason(weighting, j, speaks=name in terms)
            why, is_usual = (_smoothing(weighting, j), True) if reason is None else (reason, False)
            brief, term = what if name in terms else "", terms.get(name)
            found.append(
                ColumnReading(name, kind, family, why, term, brief=brief, is_usual=is_usual)
            )
    return found


def _text_columns_read(
    now: WeightingNow | None, weighting: Weighting | None, prose: tuple[str, ...]
) -> dict[str, ColumnReading]:
    """Columns of text that have a weight; those of `prose` are not declared."""
    if now is None or weighting is None or weighting.text is None:
        return {}
    adds = weighting.adds
    return {
        name: ColumnReading(
            name,
            "text",
            f"{part.likelihood.in_schema}, adds {adds[name]:.2f} nats",
            "its strings are prose; weighed by leave-one-out"
            if name in prose
            else "weighed by leave-one-out",
            part,
        )
        for name, part in now.score.text_parts.items()
    }


def _kind(held: Held | None) -> str:
    """What a column holds, in words."""
    if held is None or not (held.strings or held.numbers):
        return "nothing yet"
    if held.strings and held.numbers:
        return "numbers and strings"
    return "strings" if held.strings else "numbers"


def copy_of(weighting: Weighting, j: int) -> str:
    """The column that this one copies, exactly or nearly, if that is why it is left out."""
    learned = weighting.learned
    if j in learned.duplicates:
        return f"the same as {learned.columns[learned.duplicates[j]].name!r}"
    if j in learned.nearly:
        return f"nearly the same as {learned.columns[learned.nearly[j]].name!r}"
    return ""


def _reason(weighting: Weighting, j: int, *, speaks: bool) -> str | None:
    """Why a column has no table; None where it has one."""
    if copy := copy_of(weighting, j):
        return copy
    if weighting.learned.choice(j) != NULL_TERM:
        return None
    return "a smooth function, no table" if speaks else "no better than chance"


def _smoothing(weighting: Weighting, j: int) -> str:
    """How the counts of a column are smoothed."""
    choice = weighting.learned.choice(j)
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
    return [*numbers, *(column.levels or []), MISSING]


def _between(edges: NDArray[np.float64], first: int, last: int) -> str:
    """The numbers in the cells from one to another, in words."""
    if last < first or not len(edges):
        return "any number"
    above = f"{edges[first - 1]:.6g}" if first else ""
    below = f"{edges[last]:.6g}" if last < len(edges) else ""
    if above and below:
        return f"{above} to {below}"
    return f"above {above}" if above else f"up to {below}" if below else "any number"


def coarse_labels(column: ColumnCells, cells: NDArray[np.int32]) -> list[str]:
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


def cells_in_words(score: WeightedScore, t: int) -> list[list[str]]:
    """The cells of a term in words, by each of its columns."""
    n = len(score.columns)
    if t < n:
        return [cell_labels(score.columns[t])]
    pair = score.pairs[t - n]
    one = coarse_labels(score.columns[pair.first], pair.maps[0])
    other = coarse_labels(score.columns[pair.second], pair.maps[1])
    return [[a for a in one for _ in other], [b for _ in one for b in other]]
