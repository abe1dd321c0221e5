"""How good a plain model is on new rows, estimated on a sample of the rows that it has learned.

The rows of each fold are taken out of the counts, and everything that is chosen (families, bins,
smoothing, calibration) is chosen again without them. Other rows of the file stay counted. Weighted
models do not need this: their fit leaves rows out and measures itself on them.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.commands.training.counting import MAX_SAMPLE_ROWS, Counting
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.figures import Figures
from tallybayes.cli.terminal.console import Bar
from tallybayes.engines.sampling import sampled_rows
from tallybayes.errors import TallyWarning
from tallybayes.estimators.cross_validation import held_out_predictions
from tallybayes.weighted.rows import fold_of

__all__ = ["held_out_figures"]

MAX_ROWS_ONE_FOLD_EACH = 20  # up to here every row is a fold
FOLDS = ((2_000, 10), (20_000, 5))  # up to so many rows, so many folds
FOLDS_OF_MANY_ROWS = 5


def held_out_figures(file: ModelFile, counting: Counting, bar: Bar) -> Figures:
    """The figures of rows of the sample, each predicted by a model that has not seen it."""
    sample = counting.sample
    chosen = sampled_rows(len(sample.labels), MAX_SAMPLE_ROWS)
    table, labels = sample.x.take(chosen), sample.labels[chosen]
    weights = None if sample.weights is None else sample.weights[chosen]
    fold, how = _folds(labels)
    if not counting.whole or len(chosen) < len(sample.labels):
        how += f", a sample of {len(labels):,} rows"
    figures = Figures(file.classes, how)
    n_folds = int(fold.max()) + 1
    parts = held_out_predictions(file.model, table, labels, fold, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TallyWarning)  # the model itself has warned
        for i in range(n_folds):
            with bar.during(f"measuring, part {i + 1} of {n_folds}"):
                rows, log_proba = next(parts)
            some = None if weights is None else weights[rows]
            figures.add(file.codes(labels[rows]), np.exp(log_proba), some)
    return figures


def _folds(labels: NDArray[np.object_]) -> tuple[NDArray[np.intp], str]:
    """The fold of each row, and what that is called."""
    n = len(labels)
    if n < MAX_ROWS_ONE_FOLD_EACH:
        return np.arange(n), "leave-one-out"
    n_folds = next((k for most, k in FOLDS if n <= most), FOLDS_OF_MANY_ROWS)
    return fold_of(labels, n_folds, seed=0), f"{n_folds}-fold cross-validation"
