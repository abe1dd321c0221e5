"""Scoring a table: what each column contributes to log P(c) + log p(x | c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tallybayes import _kernels
from tallybayes.engines.table import raise_infinite
from tallybayes.engines.threads import get_num_threads
from tallybayes.errors import UnseenLevel
from tallybayes.parameters import Unseen
from tallybayes.tables import Empty, Numbers, Table, Texts

__all__ = ["BinsPart", "GaussianPart", "LevelsPart", "Part", "PoissonPart", "TableScore"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelsPart:
    """A column of texts: log-probabilities of the gap, the levels, and an unseen level.

    Parameters
    ----------
    name : str
    table : float64 array (n_classes, 1 + n_levels + 1)
    levels : list of str
    unseen : {"smooth", "ignore", "error"}
    """

    name: str
    table: Array
    levels: list[str]
    unseen: Unseen

    def entries(self, column: Texts | Empty) -> NDArray[np.int32]:
        if isinstance(column, Empty):
            return np.zeros(column.n_rows, dtype=np.int32)
        at = {level: i + 1 for i, level in enumerate(self.levels)}
        rank = np.array(
            [*(at.get(level, len(at) + 1) for level in column.levels), 0], dtype=np.int32
        )
        entries: NDArray[np.int32] = rank[column.codes]  # a gap, code −1, reads the last
        if self.unseen == "error" and len(entries) and entries.max() > len(at):
            row = int(np.argmax(entries))
            level = column.levels[column.codes[row]]
            raise UnseenLevel(
                f"row {row}, column {self.name!r} holds {level!r}, which "
                'training did not have. Learn it first, or choose unseen="smooth" or "ignore".'
            )
        return entries


@dataclass(frozen=True, eq=False, kw_only=True)
class BinsPart:
    """A column of numbers in bins: log-probabilities of the gap and of each bin."""

    name: str
    table: Array
    edges: Array

    def entries(self, column: Numbers | Empty) -> NDArray[np.int32]:
        if isinstance(column, Empty):
            return np.zeros(column.n_rows, dtype=np.int32)
        values = column.values
        entries = np.searchsorted(self.edges, values, side="right").astype(np.int32) + 1
        if values.dtype.kind == "f":
            if np.isinf(values).any():
                raise_infinite(self.name, values)
            entries[np.isnan(values)] = 0
        return entries


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianPart:
    """A column of numbers as Gaussians, mean and variance (n_classes,); `gap` and `there`
    (n_classes,) are what a gap and a value say besides."""

    name: str
    mean: Array
    variance: Array
    gap: Array
    there: Array

    def contribution(self, values: Array) -> Array:
        there = self.there - 0.5 * np.log(2.0 * np.pi * self.variance)
        apart = (values[:, None] - self.mean) * np.sqrt(0.5 / self.variance)
        return np.where(np.isnan(values)[:, None], self.gap, there - apart**2)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoissonPart:
    """A column of counts, rate (n_classes,); `gap` and `there` as in GaussianPart."""

    name: str
    rate: Array
    gap: Array
    there: Array

    def contribution(self, values: Array) -> Array:
        x = values[:, None]
        score = self.there + x * np.log(self.rate) - self.rate - gammaln(x + 1.0)
        return np.where(np.isnan(x), self.gap, score)


Part = LevelsPart | BinsPart | GaussianPart | PoissonPart
Kind = Literal["texts", "numbers"]


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
        self.lookups: list[Any] = [p for p in parts if isinstance(p, LevelsPart | BinsPart)]
        self.densities: list[Any] = [p for p in parts if not isinstance(p, LevelsPart | BinsPart)]
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

    def _values(self, part: GaussianPart | PoissonPart, x: Table) -> Array:
        column = x.columns[part.name]
        if isinstance(column, Empty):
            return np.full(x.n_rows, np.nan)
        assert isinstance(column, Numbers)
        values = np.asarray(column.values, dtype=np.float64)
        if np.isinf(values).any():
            raise_infinite(part.name, values)
        return values

    def contributions(self, x: Table) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name."""
        shares = {}
        for part in self.parts:
            if isinstance(part, LevelsPart | BinsPart):
                entries = part.entries(x.columns[part.name])  # type: ignore[arg-type]
                shares[part.name] = np.ascontiguousarray(part.table.T[entries])
            else:
                shares[part.name] = part.contribution(self._values(part, x))
        return shares

    def joint(self, x: Table) -> Array:
        """log P(c) + log p(x | c), (n_rows, n_classes), in nats."""
        scores = np.empty((x.n_rows, len(self.log_prior)))
        if self.scorer is None:
            scores[:] = self.log_prior
        else:
            entries = np.empty((x.n_rows, len(self.lookups)), dtype=np.int32)
            for j, part in enumerate(self.lookups):
                entries[:, j] = part.entries(x.columns[part.name])
            self.scorer.score_codes(entries, self.start, scores, None, get_num_threads())
        for part in self.densities:
            scores += part.contribution(self._values(part, x))
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The most probable class of each row, and how many rows every class rules out."""
        scores = self.joint(x)
        best = scores.argmax(axis=1).astype(np.int64)
        out = np.isneginf(scores[np.arange(len(best)), best]) if len(best) else np.zeros(0, bool)
        best[out] = self.fallback
        return best, int(out.sum())
