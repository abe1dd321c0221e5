"""Scoring a table: log P(c) + log p(x | c), as the sum of what its columns add."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.table_parts import LookupPart, Part
from tallybayes.engines.threads import get_num_threads
from tallybayes.tables import Table

__all__ = ["TableScore"]

Array = NDArray[np.float64]


class TableScore:
    """The score of a table's rows: the class prior and a part for each column that counts.

    Parameters
    ----------
    parts : list of Part
    log_prior : float64 array (n_classes,)
    """

    def __init__(self, parts: list[Part], log_prior: Array) -> None:
        self.parts = parts
        self.log_prior = log_prior
        self.fallback = int(np.argmax(log_prior))
        self.lookups: list[Any] = [p for p in parts if isinstance(p, LookupPart)]
        self.others = [p for p in parts if not isinstance(p, LookupPart)]
        widths = [part.table.shape[1] + 1 for part in self.lookups]
        self.start = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)]).astype(np.int64)
        self.scorer: _kernels.LaneScorer | None = None
        if self.lookups:
            # a column of the kernel ends with an entry for codes beyond it, which never arrive here
            table = np.concatenate(
                [np.pad(p.table, ((0, 0), (0, 1))) for p in self.lookups], axis=1
            )
            self.scorer = _kernels.LaneScorer(
                np.ascontiguousarray(table),
                None,
                np.ascontiguousarray(log_prior),
                self.fallback,
                get_num_threads(),
            )

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
        for part in self.others:
            for share in part.contributions(x).values():
                scores += share
        return scores

    def likelihood_without(self, x: Table, own: NDArray[np.intp], weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), in nats, after each row itself is taken out.

        Parameters
        ----------
        x : Table
            Rows that were counted.
        own : index array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight that it was counted with.
        """
        scores = np.zeros((x.n_rows, len(self.log_prior)))
        for part in self.parts:
            scores += part.without(x, own, weight)
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The most probable class of each row, and how many rows every class rules out."""
        if self.scorer is not None and not self.others:
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
