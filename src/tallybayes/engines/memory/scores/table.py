"""Scoring a table: log P(c) + log p(x | c), as the sum of the contributions of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.memory.scores.part import (
    ComputedPart,
    LookupPart,
    Part,
    tables_of,
    values_of,
)
from tallybayes.engines.memory.scores.pooled_columns import PooledColumns
from tallybayes.parameters import Term
from tallybayes.tables import Table
from tallybayes.threads import get_num_threads

__all__ = ["TableScore"]

Array = NDArray[np.float64]


class TableScore:
    """The score of a table's rows: the class prior and a part for each column that counts.

    Parameters
    ----------
    parts : sequence of Part
    log_prior : float64 array (n_classes,)
    """

    start: NDArray[np.int64]

    def __init__(self, parts: Sequence[Part], log_prior: Array) -> None:
        self.parts: list[Part] = list(parts)
        self.log_prior = log_prior
        self.fallback: int = int(np.argmax(log_prior))
        self.lookups: list[LookupPart] = [part.lookup for part in parts if part.lookup is not None]
        computed = [part.computed for part in parts if part.computed is not None]
        pooled = {p.name: d for p in computed if (d := p.pooled_density) is not None}
        self.mixtures: list[ComputedPart] = [p for p in computed if p.name in pooled]
        self.pooled_names: list[str] = list(pooled)
        self.pooled: PooledColumns | None = None
        if pooled:
            self.pooled = PooledColumns(list(pooled.values()), len(log_prior))
        # single columns, then groups: sums have one order
        self.others: list[ComputedPart] = [p for p in computed if p.name not in pooled]
        self.others.sort(key=lambda part: len(part.columns) > 1)
        tables = tables_of(self.lookups)
        widths = [table.shape[1] + 1 for table in tables]
        self.start = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)]).astype(np.int64)
        self._only_lookups = not computed
        self.scorer: _kernels.LaneScorer | None = None
        if self.lookups:
            self.scorer = self._scorer(tables, log_prior)
        self._without: tuple[float, _kernels.LaneScorer, Array] | None = None

    def _side_by_side(self, tables: list[Array]) -> Array:
        # a column of the kernel ends with an entry for codes beyond it, which never arrive here
        joined = np.empty((len(self.log_prior), int(self.start[-1])))
        for start, end, table in zip(self.start[:-1], self.start[1:], tables, strict=True):
            joined[:, start : end - 1] = table
        joined[:, self.start[1:] - 1] = 0.0
        return joined

    def _scorer(self, tables: list[Array], offset: Array) -> _kernels.LaneScorer:
        offset, threads = np.ascontiguousarray(offset), get_num_threads()
        return _kernels.LaneScorer.of_columns(tables, offset, self.fallback, threads)

    def terms(self) -> list[Term]:
        """What the parts add, as terms of a formula, in the order in which they are added; raises
        Inexpressible."""
        return [
            term for part in (*self.lookups, *self.mixtures, *self.others) for term in part.terms()
        ]

    def contributions(self, x: Table) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name."""
        shares: dict[str, Array] = {}
        for part in self.parts:
            shares |= part.contributions(x)
        return shares

    def _entries(self, x: Table) -> NDArray[np.int32]:
        """Entry of its table for each row and lookup, (n_rows, n_lookups), column by column."""
        entries = np.empty((x.n_rows, len(self.lookups)), dtype=np.int32, order="F")
        for j, part in enumerate(self.lookups):
            part.fill_entries(x.columns[part.name], entries[:, j])
        return entries

    def joint(self, x: Table) -> Array:
        """log P(c) + log p(x | c), (n_rows, n_classes), in nats."""
        scores = np.empty((x.n_rows, len(self.log_prior)))
        if self.scorer is None:
            scores[:] = self.log_prior
        else:
            self.scorer.score_codes(self._entries(x), self.start, scores, None, get_num_threads())
        if self.pooled is not None:
            self.pooled.add(self._pooled_values(x), scores)
        for part in self.others:
            part.add(x, scores)
        return scores

    def _pooled_values(self, x: Table) -> list[Array]:
        return [values_of(name, x.columns[name]) for name in self.pooled_names]

    def likelihood_without(self, x: Table, own: NDArray[np.int64], weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), in nats, after each row itself is taken out.

        Parameters
        ----------
        x : Table
            Rows that were counted.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight that it was counted with.
        """
        scores = self._lookups_without(x, own, weight)
        if self.pooled is not None:
            self.pooled.add_without(self._pooled_values(x), own, weight, scores)
        for part in self.others:
            part.add_without(x, own, weight, scores)
        return scores

    def contributions_without(
        self, x: Table, own: NDArray[np.int64], weight: Array
    ) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name, after each row itself is
        taken out; rows as in :meth:`likelihood_without`. Columns that are read together add what
        they do by all rows, since their shares without a row are not known apart."""
        shares: dict[str, Array] = {}
        for part in self.parts:
            if len(part.columns) == 1:
                shares[part.columns[0]] = part.without(x, own, weight)
            else:
                shares |= part.contributions(x)
        return shares

    def _lookups_without(self, x: Table, own: NDArray[np.int64], weights: Array) -> Array:
        """What is looked up in tables adds."""
        if not self.lookups or not len(weights) or weights.min() != weights.max():
            scores = np.zeros((x.n_rows, len(self.log_prior)))
            for part in self.lookups:
                scores += part.without(x, own, weights)
            return scores
        weight = float(weights[0])
        if self._without is None or self._without[0] != weight:
            tables = [p.other_table(weight) if p.others_change else p.table for p in self.lookups]
            self._without = (
                weight,
                self._scorer(tables, np.zeros(len(self.log_prior))),
                self._side_by_side([p.own_table(weight) for p in self.lookups]),
            )
        _, others, mine = self._without
        scores = np.empty((x.n_rows, len(self.log_prior)))
        entries, threads = self._entries(x), get_num_threads()
        others.score_codes(entries, self.start, scores, None, threads)
        _kernels.codes_without(entries, self.start, mine, own, scores, threads)
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The most probable class of each row, and how many rows every class rules out."""
        if self.scorer is not None and self._only_lookups:
            best = np.empty(x.n_rows, dtype=np.int64)
            _, _, ruled_out = self.scorer.score_codes(
                self._entries(x), self.start, None, best, get_num_threads()
            )
            return best, ruled_out
        scores = self.joint(x)
        best = scores.argmax(axis=1).astype(np.int64)
        out = np.isneginf(scores[np.arange(len(best)), best]) if len(best) else np.zeros(0, bool)
        best[out] = self.fallback
        return best, int(out.sum())
