"""The model of a fitted :class:`WeightedNaiveBayes`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tallybayes.families.class_prior import PriorWithout
from tallybayes.models.columns.reading import ColumnReading
from tallybayes.models.columns.text_terms import TextTerms
from tallybayes.models.table import Chosen, Contributions, TableModel
from tallybayes.models.weighted.terms import Term, columns_read, terms_of
from tallybayes.models.weighted.text import ScoreWithText, TextColumns, text_columns_of
from tallybayes.models.weighting import PartNow, Weighting, WeightingNow, apply_weighting
from tallybayes.parameters import Formula
from tallybayes.parameters.formula import Correction
from tallybayes.tables import Table
from tallybayes.tally import ClassCounts, TextCounts
from tallybayes.weighted.cells import in_effective_rows, neighbours_moved
from tallybayes.weighted.rows import MIN_COUNT, LearningRows
from tallybayes.weighted.scores import WeightedScore, Weights, rows_taken_out, weighted_row_scorer
from tallybayes.weighted.ways import MAX_PROBABILITY, mixed

__all__ = ["WeightedModel"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

MAX_TAKEN_SHARE = 1.0 - 1e-9  # of a class, which a row removes at most
CHUNK_VALUES = 1 << 17  # rows times classes whose change is found at once


class WeightedModel(TableModel):
    """The state of a :class:`WeightedNaiveBayes`; see :class:`TableModel`."""

    def _prose(self) -> tuple[str, ...]:
        """Columns of prose; those that weights were learned for, as they were then."""
        weighting = self.chosen.weighting
        if weighting is None:
            return super()._prose()
        declared = self.reading.declared.families
        text = () if weighting.text is None else weighting.text.names
        return tuple(name for name in text if name not in declared)

    @property
    def now(self) -> WeightingNow | None:
        """The weights under the counts as they are; None where nothing could be learned yet."""
        return self.once("now", self._now)

    def _now(self) -> WeightingNow | None:
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
        return self.once("text_columns", lambda: text_columns_of(self, unit))

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

    def _read_columns(self) -> list[ColumnReading]:
        return columns_read(self, self.now)

    @property
    def parts(self) -> list[Term]:
        return terms_of(self.now, self.chosen.weighting)

    @property
    def pairs(self) -> list[Term]:
        return [term for term in self.parts if len(term.columns) == 2]

    @property
    def score(self) -> Any:
        now = self.now
        if now is None:
            return self.once("score", lambda: WeightedScore([], [], [], self._prior_alone()))
        return now.score

    def _row_scorer(self) -> Any:
        score, holds = self.score, self.holds
        for column in (score.columns[j] for j in score.columns_read):
            held = holds.get(column.name)
            if held is None or held.together or held.numbers != column.is_number:
                return None  # it holds another kind of values than when weights were learned
        scorer = weighted_row_scorer(score, self.date_columns, self.watched.columns)
        if scorer is not None and self.prior_share:
            scorer.mix(self.prior_share, self.mixed_prior, MAX_PROBABILITY)
        return scorer

    def _prior_alone(self) -> Array:
        """log P(c) of effective rows: the whole score if nothing could be learned, so that a
        common factor of all weights changes nothing."""
        self.need_classes()
        return self.prior.log(self._effective_classes)

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

    @property
    def mixed_prior(self) -> Array:
        """The class prior that has a share in each prediction, float64 (n_classes,)."""
        log_prior = self.once("mixed_prior", lambda: self.prior.log(self._effective_classes))
        return np.asarray(np.exp(log_prior))

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
    change: Array = left - whole
    return change


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
