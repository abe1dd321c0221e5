"""Predicting the rows of a source batch by batch, with columns of it beside the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import need_columns
from tallybayes.engines.threads import in_order
from tallybayes.errors import SourceError
from tallybayes.sources.contract import Source
from tallybayes.sources.predicted import ArrowRows, PredictedRows, Predictions
from tallybayes.tables import Table

__all__ = ["predicted_rows"]


class Predicts(Protocol):
    """A fitted classifier."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Its labels."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of each row."""


def predicted_rows(
    model: Predicts, source: Source, read: Sequence[str], keep: Sequence[str] | None
) -> PredictedRows:
    """Rows of a source with what a model predicts of them.

    Parameters
    ----------
    model : fitted classifier
    source : Source
    read : sequence of str
        The columns that the model reads.
    keep : sequence of str, optional
        Columns that stay; None: all that the model does not read.

    Raises
    ------
    ValueError
        If the source has no such columns, or does not come in Arrow batches.
    """
    if not isinstance(source, ArrowRows):
        raise SourceError(
            f"{source.name} does not come in Arrow batches, which predict_rows needs to keep "
            "columns: give files as pyarrow.dataset.dataset(path), a LazyFrame as "
            "frame.collect_batches()"
        )
    there = list(source.schema.names)
    kept = [name for name in there if name not in read] if keep is None else list(keep)
    need_columns(kept, there, "column that keep= names:")

    def predict(table: Table) -> Predictions:
        return model.predict(table), model.predict_proba(table)

    return PredictedRows(source, kept, read, model.classes_, predict, in_order)
