"""The result of a fit: terms, their weights and tables; and the tables for other counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from tallybayes.persistence import MAX_WEIGHT, Bounded, Count, Shape, Within
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.objective import learn_weights
from tallybayes.weighted.pairs import JoinedPair, PairTerm, joined_pairs, moved
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.scores import Terms, Weights, rows_taken_out, scores_of
from tallybayes.weighted.splines import SmoothTables
from tallybayes.weighted.tables import (
    NULL_TERM,
    ColumnTable,
    TableChoice,
    column_table,
)

__all__ = ["Averaged", "Learned", "simplified"]


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """The result of one fit. Its terms are the columns, then the pairs.

    Parameters
    ----------
    columns : list of ColumnCells
    choices : list of TableChoice
        How each column's counts are smoothed.
    pairs : list of PairTerm
    rounds : list of Weights
        Of the terms there were, when each round of pairs was taken.
    weights : Weights
    corrections : list of float64 arrays (n_cells, n_classes), optional
        What the last correction adds to each weighted table, in nats, centred over classes.
    offset : float64 array (n_classes,)
        log p + b.
    """

    columns: list[ColumnCells]
    choices: list[TableChoice]
    pairs: list[PairTerm]
    rounds: list[Weights]
    weights: Weights
    corrections: list[Annotated[Array, Shape(None, "n_classes"), Bounded]] | None
    offset: Annotated[Array, Shape("n_classes"), Bounded]

    @property
    def sizes(self) -> list[int]:
        """The cells of each term."""
        return [column.n_cells for column in self.columns] + [pair.n_cells for pair in self.pairs]

    def among(self, columns: list[ColumnCells], kept: list[int]) -> Learned:
        """The same with columns beside its own that add nothing and weigh 0.

        Parameters
        ----------
        columns : list of ColumnCells
            All.
        kept : list of int
            Where its own are among them.
        """
        d, n_classes = len(columns), len(self.offset)
        at = {j: i for i, j in enumerate(kept)}

        def spread(weights: Weights) -> Weights:
            pairs = len(weights.terms) - len(kept)
            place = np.array([*kept, *range(d, d + pairs)], dtype=np.intp)
            terms, deviations = np.zeros(d + pairs), np.zeros((n_classes, d + pairs))
            terms[place], deviations[:, place] = weights.terms, weights.deviations
            return replace(weights, terms=terms, deviations=deviations)

        def widened(tables: list[Array]) -> list[Array]:
            nothing = [np.zeros((column.n_cells, n_classes)) for column in columns]
            wide = [tables[at[j]] if j in at else nothing[j] for j in range(d)]
            return wide + tables[len(kept) :]

        return replace(
            self,
            columns=columns,
            choices=[self.choices[at[j]] if j in at else NULL_TERM for j in range(d)],
            pairs=[moved(pair, kept) for pair in self.pairs],
            rounds=[spread(weights) for weights in self.rounds],
            weights=spread(self.weights),
            corrections=None if self.corrections is None else widened(self.corrections),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Averaged:
    """A weighted model: the weighted mean of what several fits give, its "parts", and of smooth
    functions.

    Each part is a sum of tables, and so is their mean. Its terms are the columns, then each two
    columns that are a pair in any of the parts or have a smooth function.

    Parameters
    ----------
    columns : list of ColumnCells
    parts : list of Learned
        Each over all columns.
    shares : float64 array (n_parts,)
        How much each part counts; with the share of the smooth functions they sum to 1.
    tested : index array (n_tested,)
        The learning rows that are predicted: all, or some where they are many.
    log_proba : float64 array (n_tested, n_classes)
        Normalised log-probabilities of these rows, by what was learned without them.
    gained : float64 array (n_tested,)
        By how many nats the mean of all parts predicts each of these rows better than
        `log_proba`; 0 for one part.
    duplicates : dict of int to int
        Columns with the same cells as an earlier one in all rows, and that one; they weigh 0.
    nearly : dict of int to int
        Near-copies of another column, and that column, in a file of November 2026 or before: they
        were left out of it.
    smooth : SmoothTables, optional
    log_own : float64 array (n_tested,), optional
        The log-probability of the own class of each of these rows by the mean of all parts, had
        none learned the row; None if that is not known.
    """

    columns: list[ColumnCells]
    parts: list[Learned]
    shares: Annotated[Array, Shape("n_parts"), Within(0.0, MAX_WEIGHT)]
    tested: NDArray[np.intp]
    log_proba: Array
    gained: Array
    duplicates: dict[Count, Count] = field(default_factory=dict)
    nearly: dict[Count, Count] = field(default_factory=dict)
    smooth: SmoothTables | None = None
    log_own: Array | None = None

    @classmethod
    def of_one(
        cls,
        learned: Learned,
        tested: NDArray[np.intp],
        log_proba: Array,
        duplicates: dict[int, int] | None = None,
    ) -> Averaged:
        """What one fit gives, by itself."""
        return cls(
            columns=learned.columns,
            parts=[learned],
            shares=np.ones(1),
            tested=tested,
            log_proba=log_proba,
            gained=np.zeros(len(tested)),
            duplicates=duplicates or {},
        )

    @classmethod
    def of_shares(cls, columns: list[ColumnCells], p: Array, tested: NDArray[np.intp]) -> Averaged:
        """The class shares p, to which the columns add nothing, and which predict these rows."""
        return cls.of_one(nothing_learned(columns, p), tested, np.tile(np.log(p), (len(tested), 1)))

    @property
    def order(self) -> list[int]:
        """The parts, those of the largest share first; of equal shares the last first, as the one
        that is learned of all rows is the last."""
        last = np.arange(len(self.parts))[::-1]
        order: list[int] = last[np.argsort(-self.shares[last], kind="stable")].tolist()
        return order

    @property
    def main(self) -> Learned:
        """The part of the largest share."""
        return self.parts[self.order[0]]

    @cached_property
    def pairs(self) -> list[JoinedPair]:
        """The pairs of all parts and of the smooth functions, each two columns once: those of the
        main part first."""
        smooth = [] if self.smooth is None else self.smooth.pairs
        return joined_pairs([part.pairs for part in self.parts], self.order, smooth)

    @property
    def offset(self) -> Array:
        """log p + b, float64 (n_classes,), in nats."""
        offset: Array = self.shares @ np.stack([part.offset for part in self.parts])
        return offset if self.smooth is None else offset + self.smooth.offset

    @cached_property
    def weights(self) -> Weights:
        """The mean weights of the terms; a part without a pair has weight 0 for it, and so have the
        smooth functions."""
        d, n_classes = len(self.columns), len(self.parts[0].weights.offsets)
        terms = np.zeros(d + len(self.pairs))
        deviations, offsets = np.zeros((n_classes, len(terms))), np.zeros(n_classes)
        for part, share in zip(self.parts, self.shares, strict=True):
            terms[:d] += share * part.weights.terms[:d]
            deviations[:, :d] += share * part.weights.deviations[:, :d]
            offsets += share * part.weights.offsets
        for t, pair in enumerate(self.pairs, d):
            for member in pair.members:
                share, weights = self.shares[member.part], self.parts[member.part].weights
                terms[t] += share * weights.terms[d + member.place]
                deviations[:, t] += share * weights.deviations[:, d + member.place]
        return Weights(terms, deviations, offsets, self.main.weights.scale)

    def choice(self, j: int) -> TableChoice:
        """How the counts of a column are smoothed: in the main part, or where that does not hear
        it, in one that does."""
        choices = [self.parts[m].choices[j] for m in self.order]
        return next((choice for choice in choices if choice != NULL_TERM), NULL_TERM)

    def column_tables(self, columns: list[ColumnCells], p: Array) -> list[list[ColumnTable]]:
        """The tables of the columns for each part, under these counts; where parts smooth a column
        alike, it is the same object.

        Parameters
        ----------
        columns : list of ColumnCells
            The same cells with any counts.
        p : float64 array (n_classes,)
            Shares of the classes.
        """
        found: list[list[ColumnTable]] = [[] for _ in self.parts]
        for j, column in enumerate(columns):
            made: dict[TableChoice, ColumnTable] = {}
            for part, tables in zip(self.parts, found, strict=True):
                choice = part.choices[j]
                if choice not in made:
                    made[choice] = column_table(column, p, choice)
                tables.append(made[choice])
        return found


def nothing_learned(columns: list[ColumnCells], p: Array) -> Learned:
    """Columns that add nothing, beside the class shares p."""
    d, n_classes = len(columns), len(p)
    return Learned(
        columns=columns,
        choices=[NULL_TERM] * d,
        pairs=[],
        rounds=[],
        weights=Weights(np.zeros(d), np.zeros((n_classes, d)), np.zeros(n_classes), 1.0),
        corrections=None,
        offset=np.log(p),
    )


def _centred(table: Array) -> Array:
    centred: Array = table - table.mean(axis=1, keepdims=True)
    return centred


# ---- pruning: a model of fewer terms, with weights learned again ---------------------------------
# Terms are dropped a few at a time, those first whose removal increases the log-loss least, and
# the weights of the others are learned again in between. Tables, pairs and the kinds of smoothing
# stay; corrections are dropped, because they were fitted with all terms.
PRUNED_SHARE = 0.3  # of the terms too many, left out before weights are learned again


def _losses_without(
    terms: Terms, rows: LearningRows, weights: Weights, log_share: Array
) -> list[float]:
    """The log-loss of the rows without each term, other weights as they are, in nats."""
    by_class, offset = weights.by_class(), log_share + weights.offsets
    found = []
    for t in range(len(terms)):
        others = by_class.copy()
        others[:, t] = 0.0
        scores = scores_of(terms.values, others, offset)
        own = scores[rows.y, np.arange(rows.n)]
        found.append(float(rows.weight @ (logsumexp(scores, axis=0) - own)))
    return found


def simplified(
    learned: Learned,
    rows: LearningRows,
    classes: Array,
    max_terms: int,
    *,
    by_class: bool = True,
    penalty: float | None = None,
) -> tuple[Learned, Array]:
    """What was learned, with at most so many terms; and the normalised log-probabilities of the
    rows, each taken out of every count, float64 (n_rows, n_classes).

    Parameters
    ----------
    learned : Learned
        With the counts of its columns.
    rows : LearningRows
        Rows that were counted, not too many: the log-ratios of every term are held for each.
    classes : float64 array (n_classes,)
        Rows of each class, above 0.
    max_terms : int
        Terms.
    by_class, penalty
        As of :func:`learn`.
    """
    p = classes / classes.sum()
    log_share, d = np.log(p), len(learned.columns)
    tables = [
        column_table(column, p, choice)
        for column, choice in zip(learned.columns, learned.choices, strict=True)
    ]
    taken_out = rows_taken_out(tables, learned.pairs, learned.rounds, rows, p)
    full = [table.full for table in tables] + [pair.full for pair in learned.pairs]
    by_term, more = learned.weights.by_class().T, learned.corrections
    weighted = [w * _centred(table) for w, table in zip(by_term, full, strict=True)]
    adds = weighted if more is None else map(np.add, weighted, more)
    kept = [t for t, table in enumerate(adds) if _centred(table).any()]
    with threadpool_limits(1, user_api="blas"):
        held = {t: taken_out.values(t) for t in kept}
        while True:
            terms = Terms(rows.n_classes, rows.n)
            for t in kept:
                terms.add(held[t], pair=t >= d)
            weights = learn_weights(
                terms, rows, None, log_share, by_class=by_class, penalty=penalty
            )
            if len(kept) <= max_terms:
                break
            worth = np.argsort(_losses_without(terms, rows, weights, log_share), kind="stable")
            leaving = max(1, int(PRUNED_SHARE * (len(kept) - max_terms)))
            out = {kept[i] for i in worth[:leaving].tolist()}
            kept = [t for t in kept if t not in out]
        scores = scores_of(terms.values, weights.by_class(), log_share + weights.offsets).T
    n_terms = d + len(learned.pairs)
    wide = Weights(np.zeros(n_terms), np.zeros((len(p), n_terms)), weights.offsets, weights.scale)
    wide.terms[kept], wide.deviations[:, kept] = weights.terms, weights.deviations
    offset = log_share + weights.offsets
    pruned = replace(learned, weights=wide, corrections=None, offset=offset)
    return pruned, scores - logsumexp(scores, axis=1, keepdims=True)
