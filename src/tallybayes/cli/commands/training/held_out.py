"""How good a plain model is on new rows, estimated on a sample of the rows that it has learned.

The rows of each fold are taken out of the counts, and everything that is chosen (families, bins,
smoothing, calibration) is chosen again without them. Other rows of the file stay counted. Weighted
models do not need this: their fit leaves rows out and measures itself on them.
"""

from __future__ import annotations

import warnings

import numpy as np

from tallybayes.cli.commands.training.counting import MAX_SAMPLE_ROWS, Counting
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.figures import Figures
from tallybayes.cli.terminal.console import Bar
from tallybayes.cross_validation import held_out_predictions, usual_folds
from tallybayes.engines.contract import sampled_rows
from tallybayes.errors import TallyWarning

__all__ = ["held_out_figures"]


def held_out_figures(file: ModelFile, counting: Counting, bar: Bar) -> Figures:
    """The figures of rows of the sample, each predicted by a model that has not seen it."""
    sample = counting.sample
    chosen = sampled_rows(len(sample.labels), MAX_SAMPLE_ROWS)
    table, labels = sample.x.take(chosen), sample.labels[chosen]
    weights = None if sample.weights is None else sample.weights[chosen]
    groups = sample.groups_of(chosen)
    fold = usual_folds(labels, groups)
    n_folds = int(fold.max()) + 1
    how = "leave-one-out" if n_folds == len(labels) else f"{n_folds}-fold cross-validation"
    if groups is not None:
        how += " of whole groups"
    if not counting.whole or len(chosen) < len(sample.labels):
        how += f", a sample of {len(labels):,} rows"
    figures = Figures(file.classes, how)
    parts = held_out_predictions(file.model, table, labels, fold, weights, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)  # the model itself has warned
        for i in range(n_folds):
            with bar.during(f"measuring, part {i + 1} of {n_folds}"):
                rows, log_proba = next(parts)
            some = None if weights is None else weights[rows]
            figures.add(file.codes(labels[rows]), np.exp(log_proba), some)
    return figures
