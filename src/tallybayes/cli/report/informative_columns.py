"""Which columns are most informative about the class, read from the model.

For a plain model, each column is measured by itself, without bias from noise: each row is predicted
from the counts without it (exact leave-one-out), and the measure is how far the column alone lowers
the log-loss below that of the class shares, in nats a row. It estimates the mutual information of
column and class from below, and is negative for a column that misleads, such as an identifier. The
gain of a whole text cannot be read from its counts, so a column of text has the gain of the best of
its most informative terms.

For a weighted model the measure is how far each term separates the classes, on average over rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.families import Categorical
from tallybayes.families.lookup.bins import quantile_bins
from tallybayes.families.lookup.leave_one_out import law_likelihood
from tallybayes.families.text.likelihood import TermRatios
from tallybayes.models.columns.mixed import values_of_columns
from tallybayes.tally import GridCounts, LevelCounts, RowWeights, TextCounts

__all__ = ["MEASURE", "Informative", "measure_of", "missing_shares", "most_informative"]

MEASURE = (
    "How much the column alone lowers the log-loss below that of the class shares, by "
    "leave-one-out, in nats per row"
)
OF_TEXT = " (a text has the number of its most informative term alone)"
APART = (
    "How far the column or pair moves the scores of the classes apart, in nats, on average over "
    "rows; a difference of 1 nat multiplies the odds of two classes by 2.7"
)
SIZES = (2, 4, 8, 16, 32, 64)
MAX_TERMS, TAU = 100, 0.1  # of a text, that are looked at, and how these are chosen

Array = NDArray[np.float64]


class Informative(NamedTuple):
    """A column and its gain."""

    column: str
    nats: float


def _gain(counts: Array, alpha: float, classes: Array, row_weights: RowWeights) -> float:
    family = Categorical(alpha=alpha)
    alone = law_likelihood(counts, family.law(counts), classes, row_weights)
    everything = counts.sum(axis=1, keepdims=True)
    return alone - law_likelihood(everything, family.law(everything), classes, row_weights)


def _with_and_without(text: TextCounts) -> list[Array]:
    """The documents of each class without each of the most informative terms, and with it, float64
    (n_classes, 2)."""
    ratios = TermRatios(text, TAU)
    held = ratios.counts_of(ratios.most_informative(MAX_TERMS))
    return [np.stack([text.documents - n, n], axis=1) for n in held]


def measure_of(file: ModelFile) -> str:
    """What the numbers of :func:`most_informative` are."""
    if file.table.chosen.weighting is not None:
        return APART
    of_text = any(isinstance(counts, TextCounts) for counts in file.table.tally_read.groups)
    return MEASURE + OF_TEXT if of_text else MEASURE


def most_informative(file: ModelFile) -> list[Informative]:
    """The columns in use, the most informative first; of a weighted model its pairs, too."""
    weighting = file.table.chosen.weighting
    if weighting is not None:
        adds = (Informative(*term) for term in weighting.adds.items() if term[1] > 0.0)
        return sorted(adds, key=lambda t: -t.nats)
    model, tally = file.model, file.table.tally_read
    rows = file.weight
    classes = np.exp(model.class_log_prior_) * (rows or 1.0)
    row_weights = tally.classes.row_weights
    given = getattr(model, "alpha", 1.0)
    alpha = row_weights.overall * (1.0 if given == "auto" else max(float(given), 1e-10))
    used = {reading.name for reading in file.table.columns_read if reading.part is not None}
    levels: dict[str, Array] = {}
    numbers: dict[str, GridCounts] = {}
    of_text: dict[str, TextCounts] = {}
    for columns, counts in zip(tally.schema.groups, tally.groups, strict=True):
        assert columns.names is not None
        if isinstance(counts, LevelCounts):
            levels[columns.names[0]] = counts.counts
        elif isinstance(counts, GridCounts):
            numbers[columns.names[0]] = counts
        elif isinstance(counts, TextCounts):
            of_text[columns.names[0]] = counts
    found = []
    for name in file.names:
        options = [levels[name]] if name in levels else []
        if name in numbers:  # and each string beside them is a cell
            bins = [quantile_bins(numbers[name], size, row_weights).counts for size in SIZES]
            options = [np.hstack([cells, *options]) for cells in bins]
        if name in of_text:
            options += _with_and_without(of_text[name])
        if options and name in used:
            gain = max(_gain(option, alpha, classes, row_weights) for option in options)
            found.append(Informative(name, gain / (rows or 1.0)))
    return sorted(found, key=lambda t: -t.nats)


def missing_shares(file: ModelFile) -> dict[str, float]:
    """The share of rows without a value, by column."""
    rows = max(file.weight, 1e-300)
    there = values_of_columns(file.table.tally)
    return {name: max(0.0, 1.0 - weight / rows) for name, weight in there.items()}
