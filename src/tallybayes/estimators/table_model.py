"""What a fitted :class:`NaiveBayes` holds: a tally by column names, and how it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.table_score import TableScore
from tallybayes.estimators.model import Model
from tallybayes.estimators.table_reading import ColumnReading, Reading, read_columns
from tallybayes.tally import TableTally

__all__ = ["TableModel"]

Array = NDArray[np.float64]


class TableModel(Model):
    """The state of a :class:`NaiveBayes`.

    Parameters are those of :class:`Model`, and besides:

    Attributes
    ----------
    names : list of str
        All columns, those without a value too.
    reading : Reading
        How the tally is read.
    """

    names: list[str]
    reading: Reading

    def with_tally(self, tally: TableTally) -> TableModel:
        twin = TableModel(tally, self.family, self.prior, self.dtype, self.whose)
        twin.names, twin.reading, twin.taken = self.names, self.reading, self.taken
        return twin

    @property
    def columns_read(self) -> list[ColumnReading]:
        """Each column's family and parameters."""
        return self.once("columns", self._read_columns)  # type: ignore[no-any-return]

    def _read_columns(self) -> list[ColumnReading]:
        classes = np.exp(self.log_prior) * max(float(self.tally.classes.count.sum()), 1.0)
        return read_columns(self.tally, self.names, classes, self.reading)

    @property
    def score(self) -> TableScore:
        return self.once(  # type: ignore[no-any-return]
            "score",
            lambda: TableScore(
                list(
                    {id(r.part): r.part for r in self.columns_read if r.part is not None}.values()
                ),
                self.log_prior,
            ),
        )

    def likelihood_without(self, x: Any, own: NDArray[np.int64], weight: Array) -> Array:
        return self.score.likelihood_without(x, own, weight)
