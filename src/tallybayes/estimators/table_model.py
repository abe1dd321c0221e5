"""What a fitted :class:`NaiveBayes` holds: a tally by column names, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.table_parts import LookupPart
from tallybayes.engines.table_score import TableScore
from tallybayes.estimators.calibration import Calibration
from tallybayes.estimators.comparing import same
from tallybayes.estimators.explanation import Explanation, explained
from tallybayes.estimators.model import Model
from tallybayes.estimators.table_reading import ColumnReading, Reading, read_columns
from tallybayes.estimators.weighting import Weighting
from tallybayes.tables import Table
from tallybayes.tally import TableTally

__all__ = ["Chosen", "TableModel"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chosen:
    """Choices made on rows, and whether the counts have changed since.

    Parameters
    ----------
    alpha : float, optional
    calibration : Calibration, optional
    stale : bool
    weighting : Weighting, optional
        Of a weighted model.
    """

    alpha: float | None = None
    calibration: Calibration | None = None
    stale: bool = False
    weighting: Weighting | None = None

    def after_change(self) -> Chosen:
        """The choices after the counts have changed."""
        made = (self.alpha, self.calibration, self.weighting) != (None, None, None)
        return replace(self, stale=True) if made else self


class TableModel(Model):
    """The state of a :class:`NaiveBayes`.

    Parameters are those of :class:`Model`, and besides:

    Attributes
    ----------
    names : list of str
        All columns, those without a value too.
    reading : Reading
        How the tally is read.
    chosen : Chosen
        What was chosen on rows.
    """

    names: list[str]
    reading: Reading
    chosen: Chosen = Chosen()

    def with_tally(self, tally: TableTally) -> TableModel:
        twin = type(self)(tally, self.family, self.prior, self.dtype, self.whose)
        twin.names, twin.reading, twin.taken = self.names, self.reading, self.taken
        twin.most_squares, twin.warned = self.most_squares, self.warned
        twin.chosen = self.chosen if tally is self.tally else self.chosen.after_change()
        return twin

    def equals(self, other: Model) -> bool:
        assert isinstance(other, TableModel)
        return (
            super().equals(other)
            and sorted(self.names) == sorted(other.names)
            and same(tuple(self.reading), tuple(other.reading))
            and same(self.chosen, other.chosen)
        )

    @property
    def holds(self) -> dict[str, str]:
        """The kind of tally of each column that has been counted."""
        return {n: g.kind for g in self.schema.groups if g.names is not None for n in g.names}

    @property
    def columns_read(self) -> list[ColumnReading]:
        """Each column's family and parameters."""
        return self.once("columns", self._read_columns)  # type: ignore[no-any-return]

    def _read_columns(self) -> list[ColumnReading]:
        classes = np.exp(self.log_prior) * (float(self.tally.classes.count.sum()) or 1.0)
        return read_columns(self.tally, self.names, classes, self.reading, self.warned)

    @property
    def parts(self) -> list[Any]:
        """What adds to the score, each once."""
        return list({id(r.part): r.part for r in self.columns_read if r.part is not None}.values())

    @property
    def score(self) -> TableScore:
        return self.once("score", lambda: TableScore(self.parts, self.log_prior))  # type: ignore[no-any-return]

    def explanation(self, x: Table) -> Explanation:
        """What each column adds to the score of each class."""
        shares = self.score.contributions(x)
        contributions = np.zeros((x.n_rows, len(self.log_prior), len(self.names)))
        for j, name in enumerate(self.names):
            if name in shares:
                contributions[:, :, j] = shares[name]
        return explained(
            self.log_prior.copy(),
            contributions,
            self.schema.classes,
            list(self.names),
            x,
            self.log_prior,
            self.chosen.calibration,
        )

    def rescale(self, scale: float) -> None:
        """Multiplies alpha in the columns that follow it, families and bins as they are."""
        columns = []
        for column in self.columns_read:
            if isinstance(column.part, LookupPart) and column.part.follows:
                part = replace(column.part, law=column.part.law.scaled(scale))
                alpha = None if column.alpha is None else column.alpha * scale
                column = replace(column, part=part, alpha=alpha)
            columns.append(column)
        log_prior = self.log_prior
        self.reading = self.reading._replace(scale=self.reading.scale * scale)
        self.changed()
        self._read |= {"columns": columns, "log_prior": log_prior}

    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        return self.score.likelihood_without(x, own, weight)
