"""Which columns are most informative about the class, and how much of each is missing.

The measure is that of the page, of ``feature_importances_`` and of ``weights_``: how far a column,
or a pair of a weighted model, moves the scores of the classes apart, on average over rows.
"""

from __future__ import annotations

from typing import NamedTuple

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.explain.importances import terms_apart
from tallybayes.models.columns.mixed import values_of_columns

__all__ = ["MEASURE", "Informative", "missing_shares", "most_informative"]

MEASURE = (
    "How far the column or pair moves the scores of the classes apart, in nats, on average over "
    "rows; a difference of 1 nat multiplies the odds of two classes by 2.7"
)


class Informative(NamedTuple):
    """A column, or a pair, and how far it moves the scores of the classes apart."""

    column: str
    nats: float


def most_informative(file: ModelFile) -> list[Informative]:
    """The columns in use, and the pairs of a weighted model, the most informative first."""
    found = (Informative(*term) for term in terms_apart(file.table).items() if term[1] > 0.0)
    return sorted(found, key=lambda t: -t.nats)


def missing_shares(file: ModelFile) -> dict[str, float]:
    """The share of rows without a value, by column."""
    rows = max(file.weight, 1e-300)
    there = values_of_columns(file.table.tally)
    return {name: max(0.0, 1.0 - weight / rows) for name, weight in there.items()}
