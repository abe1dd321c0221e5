"""Predicting the rows of a source batch by batch, with columns of it beside the predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import need_columns
from tallybayes.errors import SourceError
from tallybayes.sources.contract import Source, is_distributed
from tallybayes.sources.rows import PredictedRows, Predictions, kept_columns
from tallybayes.tables import Table
from tallybayes.threads import in_order

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
    model: Predicts,
    source: Source,
    read: Sequence[str],
    as_written: Collection[str],
    keep: Sequence[str] | None,
) -> PredictedRows:
    """Rows of a source with what a model predicts of them.

    Parameters
    ----------
    model : fitted classifier
    source : Source
    read : sequence of str
        The columns that the model reads.
    as_written : collection of str
        Those of them that are strings, where the source has no types.
    keep : sequence of str, optional
        Columns that stay; None: all that the model does not read.

    Raises
    ------
    ValueError
        If the source has no such columns, or its rows stay on a cluster.
    """
    if is_distributed(source):
        raise SourceError(
            f"the rows of {source.name} stay on the cluster: predict gives them there, with their "
            "predictions beside them"
        )
    there = list(source.columns())
    kept = [name for name in there if name not in read] if keep is None else list(keep)
    need_columns(kept, there, "column that keep= names:")

    def predict(table: Table) -> Predictions:
        return model.predict(table), model.predict_proba(table)

    rows = kept_columns(source, kept, read, as_written)
    return PredictedRows(rows, model.classes_, predict, in_order)
