"""The model of a :class:`WeightedNaiveBayes`: what was learned, its terms, and text beside them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tallybayes.engines.parts import TakenOut, TextPart
from tallybayes.families.contract import Context
from tallybayes.families.priors import PriorWithout
from tallybayes.models.base import kept
from tallybayes.models.declarations import ColumnReading
from tallybayes.models.rows import Held
from tallybayes.models.table import PROSE, Chosen, Contributions, TableModel, TextTerms
from tallybayes.models.weighting import PartNow, Weighting, WeightingNow, apply_weighting
from tallybayes.score import Correction, Description, Formula, TermSums
from tallybayes.score import Term as FormulaTerm
from tallybayes.tables import Empty, Strings, Table
from tallybayes.tables.columns import text_of_days
from tallybayes.tally import UNIT_ROWS, ClassCounts, TextCounts
from tallybayes.weighted.average import TextWeights
from tallybayes.weighted.cells import ColumnCells, in_effective_rows, neighbours_moved
from tallybayes.weighted.pairs import JointColumns
from tallybayes.weighted.rows import MIN_COUNT, LearningRows
from tallybayes.weighted.scores import WeightedScore, Weights, rows_taken_out
from tallybayes.weighted.tables import NULL_TERM
from tallybayes.weighted.ways import MAX_PROBABILITY, mixed

__all__ = [
    "Term",
    "TextColumns",
    "WeightedModel",
    "cell_labels",
    "columns_read",
    "copy_of",
    "weights_of",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# ---- the model -----------------------------------------------------------------------------------
Cells = NDArray[np.int32]

MAX_TAKEN_SHARE = 1.0 - 1e-9  # of a class, which a row removes at most
CHUNK_VALUES = 1 << 17  # rows times classes whose change is found at once


class WeightedModel(TableModel):
    """The state of a :class:`WeightedNaiveBayes`; see :class:`TableModel`."""

    @kept
    def prose(self) -> tuple[str, ...]:
        """Columns of prose; those that weights were learned for, as they were then."""
        weighting = self.chosen.weighting
        if weighting is None or not self.reads_prose:
            return super().prose
        declared = self.reading.declared.families
        text = () if weighting.text is None else weighting.text.names
        return tuple(name for name in text if name not in declared)

    @kept
    def now(self) -> WeightingNow | None:
        """The weights under the counts as they are; None where nothing could be learned yet."""
        weighting = self.chosen.weighting
        if weighting is None or not self.tally.classes.count.any():
            return None
        return self.under_counts(weighting)

    def under_counts(self, weighting: Weighting) -> WeightingNow:
        """A weighting under the counts as they are, with the score of columns of text."""
        now = apply_weighting(weighting, self.tally_read, self.log_prior)
        if weighting.text is not None:
            score, text_columns = now.score, self.text_columns(weighting.unit)
            of_cells = score.columns, score.pairs, score.tables, score.offset
            now = replace(now, score=ScoreWithText(*of_cells, text_columns, weighting.text))
        return now

    @property
    def has_text(self) -> bool:
        """Whether there are columns of text with values."""
        return any(isinstance(group, TextCounts) for group in self.tally_read.groups)

    def text_columns(self, unit: float) -> TextColumns:
        """The contributions of columns of text; a row of weight `unit` is an effective one."""
        return self.once("text_columns", self._text_columns, unit)

    def _text_columns(self, unit: float) -> TextColumns:
        declared, counts = self.reading.declared.families, self.tally.classes.count
        present, tally = np.flatnonzero(counts > 0.0), self.tally_read
        context = Context(counts[present] / unit, 1.0, 1.0, UNIT_ROWS)
        parts: dict[str, Any] = {}
        for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
            if isinstance(group, TextCounts) and columns.names is not None:
                name = columns.names[0]
                family, held = declared.get(name, PROSE), group.take(present).held
                held = replace(
                    held,
                    counts=in_effective_rows(held.counts, unit),
                    documents=in_effective_rows(held.documents, unit),
                )
                parts[name] = TextPart(
                    columns=(name,),
                    n_classes=len(present),
                    likelihood=family.likelihood(TextCounts(len(present), held), context),
                    analyzer=family.terms,
                )
        return TextColumns(parts, present, len(counts), unit)

    def formula(self) -> Formula:
        score = self.score
        return replace(
            super().formula(), offset=score.offset.copy(), fallback=int(np.argmax(score.offset))
        )

    def _correction(self) -> Correction:
        if not self.prior_share:
            return Correction()
        return Correction(
            prior_share=self.prior_share, prior=self.mixed_prior, most=MAX_PROBABILITY
        )

    def log_prior_without(self, own: NDArray[np.int64], weight: Array) -> PriorWithout:
        """log P(c) after each row is taken out, as it enters the score."""
        if self.chosen.weighting is not None:
            return super().log_prior_without(own, weight)
        classes = self._effective_classes
        less = np.minimum(in_effective_rows(weight, self._unit), classes.count[own])
        return self.prior.log_without(classes, own, less)

    @property
    def _unit(self) -> float:
        """The weight of an effective row."""
        weighting = self.chosen.weighting
        return self.tally.classes.pooled_row_weight if weighting is None else weighting.unit

    def hold(self, weighting: Weighting, now: WeightingNow) -> None:
        """Predicts by other weights; `now` is the weighting under the present counts."""
        self.chosen: Chosen = Chosen(weighting=weighting)
        self.changed()
        self._read["now"] = now

    @kept
    def columns_read(self) -> list[ColumnReading]:
        return columns_read(self)

    @property
    def parts(self) -> list[Term]:
        """The terms that are not null: columns, then pairs."""
        now, weighting = self.now, self.chosen.weighting
        if now is None or weighting is None:
            return []
        keys = [*((column.name,) for column in now.columns), *weighting.pairs]
        return [Term(keys[t], self, t) for t in now.score.speaking]

    @property
    def pairs(self) -> list[Term]:
        return [term for term in self.parts if len(term.columns) > 1]

    def words_of(self, t: int) -> list[list[str]]:
        """The cells of a term of the score in words, by each of its columns."""
        score, dates, n = self.score, self.date_columns, len(self.score.columns)
        if t < n:
            return [cell_labels(score.columns[t], dates)]
        pair = score.pairs[t - n]
        each = zip(pair.columns, pair.maps, strict=True)
        return [coarse_labels(score.columns[j], coarse, dates) for j, coarse in each]

    def words_of_pair(self, columns: tuple[str, ...]) -> list[list[str]]:
        """The coarser cells of each column of a pair, or of three columns, in words."""
        place = {column.name: j for j, column in enumerate(self.score.columns)}
        pairs = [pair.columns for pair in self.score.pairs]
        return self.words_of(len(place) + pairs.index(tuple(place[name] for name in columns)))

    @kept
    def score(self) -> Any:
        if self.now is not None:
            return self.now.score
        # log P(c) of effective rows, so that a common factor of all weights changes nothing
        self.need_classes()
        return WeightedScore([], [], [], self.prior.log(self._effective_classes))

    @kept
    def row_scorer(self) -> Any:
        score, holds = self.score, self.holds
        for column in (score.columns[j] for j in score.columns_read):
            held = holds.get(column.name)
            if held is None or held.together or held.numbers != column.is_number:
                return None  # it holds another kind of values than when weights were learned
        return super().row_scorer

    @property
    def prior_share(self) -> float:
        """ε, the share of the class prior in each prediction."""
        weighting = self.chosen.weighting
        return 0.0 if weighting is None else weighting.prior_share

    def predicted(self, proba: Array) -> Array:
        """P(c | x) with the share of the class prior, (n_rows, n_classes), instead of what the
        terms alone give."""
        if not self.prior_share:
            return proba
        return mixed(proba, self.mixed_prior, self.prior_share)

    @kept
    def mixed_prior(self) -> Array:
        """The class prior that has a share in each prediction, float64 (n_classes,)."""
        return np.asarray(np.exp(self.prior.log(self._effective_classes)))

    @property
    def _effective_classes(self) -> ClassCounts:
        """The classes in effective rows, so that a common factor of all weights changes nothing."""
        return ClassCounts(in_effective_rows(self.tally.classes.count, self._unit))

    def predicted_without(self, log_proba: Array, own: NDArray[np.int64], weight: Array) -> Array:
        weighting = self.chosen.weighting
        if weighting is None or not self.prior_share:
            return log_proba
        classes = self._effective_classes
        less = np.minimum(in_effective_rows(weight, weighting.unit), classes.count[own])
        left = self.prior.log_without(classes, own, less).matrix(own)
        with np.errstate(divide="ignore"):  # a prior may rule a class out
            found: Array = np.log(mixed(np.exp(log_proba), softmax(left, axis=1), self.prior_share))
        return found

    def contributions(self, x: Table) -> Contributions:
        """What each term, a column or a pair of columns, adds to the score of each class."""
        weighting, score = self.chosen.weighting, self.score
        names = [] if weighting is None else weighting.names
        names = [*names, *score.text_parts]
        return Contributions(score.offset.copy(), score.contributions(x), names)

    @property
    def text_terms(self) -> dict[str, TextTerms]:
        score = self.score
        if not score.text_parts:
            return {}
        present, n = score.text_columns.present, len(self.log_prior)
        pairs = zip(score.text_parts.items(), score.weight_of.tolist(), strict=True)
        return {name: TextTerms(part, weight, present, n) for (name, part), weight in pairs}

    def corrected(self, log_proba: Array) -> Array:
        return self.predicted(np.exp(log_proba))

    def likelihood_without(self, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
        """What the terms add after each row itself is taken out of what columns and pairs count,
        (n_rows, n_classes), in nats; weights and corrections as they are."""
        now, weighting = self.now, self.chosen.weighting
        if now is None or weighting is None:
            return np.zeros((x.n_rows, len(self.log_prior)))
        cells = now.score.cells(x)
        log_prior = self.log_prior
        found: Array = now.score.joint(x) - np.where(np.isneginf(log_prior), 0.0, log_prior)
        # a row of weight 0 is none, and its class may have no rows
        out = np.flatnonzero((weight > 0.0) & np.isin(own, now.present))
        taken = in_effective_rows(weight[out], weighting.unit)
        change = _change(now, np.ascontiguousarray(cells[:, out]), own[out], taken)
        found[np.ix_(out, now.present)] += change
        if now.score.text_parts:
            found[out] += now.score.change_without(x.take(out), own[out], weight[out])
        return found


def _change(now: WeightingNow, cells: Cells, own: NDArray[np.int64], weight: Array) -> Array:
    """How the scores of the classes that have rows change when each row, of so many effective rows,
    is taken out."""
    y = np.searchsorted(now.present, own).astype(np.int32)
    out = LearningRows(cells, y, weight, len(now.present))
    change = np.zeros((len(y), len(now.present)))
    step = max(1, CHUNK_VALUES // len(now.present))
    for part in now.parts:
        change += part.share * _change_of_counts(now, part, out)
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            change[rows] += part.share * _change_of_shares(now, part, out, rows)
    return change


def _change_of_counts(now: WeightingNow, part: PartNow, out: LearningRows) -> Array:
    """How the scores of a part change as the counts of its columns and pairs do."""
    same = np.array_equal(now.present, now.learned)
    pairs = part.pairs if same else []  # which know the classes that weights were learned for
    rounds = part.learned.rounds if same else []
    at = part.by_class[now.present, : len(part.tables) + len(pairs)]
    weights = Weights(np.zeros(at.shape[1]), at, np.zeros(len(at)), 1.0)
    kept = replace(out, weight=np.zeros(out.n))
    left, whole = (
        rows_taken_out(part.tables, pairs, rounds, rows, now.share).scores(weights)
        for rows in (out, kept)
    )
    return left - whole


def _change_of_shares(now: WeightingNow, part: PartNow, out: LearningRows, rows: slice) -> Array:
    """How the scores of a part change, for some rows, as the class shares p do, and the shares of
    rows by which neighbouring cells are apart: what is left of

        log[(C'_vk + a·p'_k) / p'_k] − log[(C_vk + a·p_k) / p_k]

    where the row is already taken out of C_vk, the counts of its cell.
    """
    cells, y, weight = out.cells[:, rows], out.y[rows], out.weight[rows]
    mine, n = (np.arange(len(y)), y), float(now.rows.sum())
    ratio = np.repeat((n / np.maximum(n - weight, MIN_COUNT))[:, None], len(now.rows), axis=1)
    ratio[mine] *= 1.0 - np.minimum(weight / now.rows[y], MAX_TAKEN_SHARE)  # p' / p
    log_ratio = np.log(ratio)
    change = np.zeros(ratio.shape)
    for t, (table, choice) in enumerate(zip(part.tables, part.learned.choices, strict=True)):
        has_cell = cells[t] >= 0
        moved = choice.strength * now.share * (ratio - 1.0)
        if choice.kernel == "rank":
            n_numbers = now.columns[t].n_numbers
            number = np.flatnonzero(has_cell & (cells[t] < n_numbers))
            moved[number] += neighbours_moved(
                now.columns[t].counts[:n_numbers], choice.width, cells[t][number], weight[number]
            )
        left = table.smoothed[cells[t]]
        left[mine] -= weight
        pull = np.maximum(moved / np.maximum(left, MIN_COUNT), -MAX_TAKEN_SHARE)
        more = np.where(has_cell[:, None], np.log1p(pull) - log_ratio, 0.0)
        change += part.by_class[now.present, t] * (more - more.mean(axis=1, keepdims=True))
    return change


# ---- its terms: columns and pairs, with the decision about each, and their cells -----------------
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Term:
    """One term of the score, for those who show it.

    Parameters
    ----------
    columns : tuple of str
        One, two, or three.
    model : WeightedModel
    place : int
    """

    columns: tuple[str, ...]
    model: WeightedModel
    place: int

    def described(self) -> Description:
        """What its cells add, in words."""
        names = [" with ".join(parts) for parts in product(*self.model.words_of(self.place))]
        what = "what it adds to the score of each class, in nats"
        return Description(what, names, self.model.score.tables[self.place].T.copy())


def weights_of(weighting: Weighting | None) -> dict[str, float]:
    """The weight of the table of each column, by name; nothing for a model without weights."""
    if weighting is None:
        return {}
    names = [column.name for column in weighting.learned.columns]
    return dict(zip(names, weighting.learned.weights.terms.tolist(), strict=False))


def columns_read(model: WeightedModel) -> list[ColumnReading]:
    """What was decided about each column, and why."""
    weighting, holds = model.chosen.weighting, model.holds
    terms = {t.columns[0]: t for t in model.parts if len(t.columns) == 1}
    learned: dict[str, int] = {}
    adds = {} if weighting is None else weighting.adds
    if weighting is not None:
        learned = {c.name: j for j, c in enumerate(weighting.learned.columns)}
    found, of_text_columns = [], _text_columns_read(model.now, weighting, model.prose)
    for name in model.names:
        kind = _kind(holds.get(name))
        if name in model.reading.declared.columns_left_out:
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


def cell_labels(column: ColumnCells, dates: Collection[str]) -> list[str]:
    """The cells of a column in words; `dates` are the columns whose numbers are days."""
    edges = _edges(column, dates)
    numbers = [_between(edges, i, i) for i in range(column.n_numbers)]
    return [*numbers, *(column.levels or []), MISSING]


def _edges(column: ColumnCells, dates: Collection[str]) -> list[str]:
    """The numbers between the cells of a column, in words: whole days where they differ."""
    if column.edges is None:
        return []
    if column.name not in dates:
        return [f"{edge:.6g}" for edge in column.edges]
    days = np.floor(column.edges)
    shown = days if len(np.unique(days)) == len(days) else column.edges
    return [text_of_days(edge) for edge in shown.tolist()]


def _between(edges: list[str], first: int, last: int) -> str:
    """The numbers in the cells from one to another, in words."""
    if last < first or not edges:
        return "any number"
    above = edges[first - 1] if first else ""
    below = edges[last] if last < len(edges) else ""
    if above and below:
        return f"{above} to {below}"
    return f"above {above}" if above else f"up to {below}" if below else "any number"


def coarse_labels(
    column: ColumnCells, cells: NDArray[np.int32], dates: Collection[str]
) -> list[str]:
    """The coarser cells of a column in a pair, in words."""
    labels, edges = cell_labels(column, dates), _edges(column, dates)
    found = []
    for cell in range(int(cells.max()) + 1):
        members = np.flatnonzero(cells == cell).tolist()
        if not members:
            found.append("(none)")
        elif column.edges is not None and members[-1] < column.n_numbers:
            found.append(_between(edges, members[0], members[-1]))
        elif len(members) <= 3:
            found.append(", ".join(labels[m] for m in members))
        else:
            found.append(f"{len(members)} other levels")
    return found


# ---- columns of text in a weighted model: their scores, with learned weights ---------------------
@dataclass(frozen=True, eq=False)
class TextColumns:
    """The scores of columns of text under the counts of a tally, in effective rows.

    Parameters
    ----------
    parts : dict of str to Part
        Of the classes `present`.
    present : index array (n_present,)
        The classes that have rows.
    n_classes : int
    unit : float
        The weight of an effective row.
    """

    parts: dict[str, Any]
    present: Index
    n_classes: int
    unit: float

    def among(self, names: list[str]) -> TextColumns:
        """Some of the columns, in this order, those that have values."""
        parts = {name: self.parts[name] for name in names if name in self.parts}
        return TextColumns(parts, self.present, self.n_classes, self.unit)

    def ranks(self, x: Table) -> list[Index]:
        """The place of each row's text among all in order, by column; 0 for a missing one."""
        found = []
        for name in self.parts:
            column = x.columns.get(name)
            rank = np.zeros(x.n_rows, dtype=np.intp)
            if isinstance(column, Strings):
                order = sorted(range(len(column.levels)), key=column.levels.__getitem__)
                place = np.zeros(len(order) + 1, dtype=np.intp)  # the last is a missing value's
                place[order] = np.arange(1, len(order) + 1)
                rank = place[column.codes]
            found.append(rank)
        return found

    def contributions(self, x: Table, out: TakenOut | None = None) -> Array:
        """What each adds, float64 (n_rows, n_classes, n_text_columns); after each row, of a class
        that has rows, is taken out, where `out` are the rows."""
        found = np.zeros((x.n_rows, self.n_classes, len(self.parts)))
        if out is not None:
            own = np.searchsorted(self.present, out.own)
            out = TakenOut(own, in_effective_rows(out.weight, self.unit))
        for j, (name, part) in enumerate(self.parts.items()):
            some = Table({name: x.columns.get(name, Empty(x.n_rows))}, x.n_rows, True)
            found[:, self.present, j] = part.scores(some, out)
        return found


class ScoreWithText(WeightedScore):
    """A score of cells, and of columns of text beside them.

    Parameters are those of WeightedScore, with tables that are weighted already, and:

    text_columns : TextColumns
    weights : TextWeights
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        pairs: Any,
        tables: list[Array],
        offset: Array,
        text_columns: TextColumns,
        weights: TextWeights,
    ) -> None:
        pairs_given: list[JointColumns] = list(pairs)
        super().__init__(columns, pairs_given, tables, offset)
        self.text_columns: TextColumns = text_columns.among(weights.names)
        of_name = dict(zip(weights.names, weights.weights.tolist(), strict=True))
        self.weight_of: Array = np.array([of_name[name] for name in self.text_columns.parts])

    @property
    def text_parts(self) -> dict[str, Any]:
        return self.text_columns.parts

    def terms(self) -> list[FormulaTerm]:
        present, n_classes = self.text_columns.present, self.text_columns.n_classes
        text: list[FormulaTerm] = []
        for part, weight in zip(self.text_parts.values(), self.weight_of.tolist(), strict=True):
            for term in part.terms():

                def sums(own: Any = term.sums, weight: float = weight) -> list[TermSums]:
                    return [one.of_classes(weight, present, n_classes) for one in own()]

                text.append(replace(term, sums=sums))
        return [*super().terms(), *text]

    def joint(self, x: Table) -> Array:
        return super().joint(x) + self.text_columns.contributions(x) @ self.weight_of

    def change_without(self, x: Table, own: Index, weight: Array) -> Array:
        """How the scores change when each row is taken out of the counts of terms."""
        now = self.text_columns.contributions(x)
        change: Array = self.text_columns.contributions(x, TakenOut(own, weight)) - now
        return np.asarray(change @ self.weight_of)

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        scores = self.joint(x)
        best = scores.argmax(axis=1).astype(np.int64)
        out = np.isneginf(scores).all(axis=1)
        best[out] = self.fallback
        return best, int(out.sum())

    def contributions(self, x: Table) -> Array:
        """What each term adds, then each text, float64 (n_rows, n_classes, n_terms + n_text)."""
        of_text = self.text_columns.contributions(x) * self.weight_of
        return np.concatenate([super().contributions(x), of_text], axis=2)
