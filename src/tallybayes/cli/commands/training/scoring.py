"""How good a model is: on a file, or as its fit measured it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.commands.training.sampling import Sample
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.figures import Figures, FiguresOfFit
from tallybayes.cli.terminal.console import Bar

__all__ = ["figures_of", "figures_of_fit"]


def figures_of(
    file: Any, source: Any, bar: Bar, measured_on: str, target: str | None = None
) -> Figures:
    """The figures of a model on labelled rows or documents."""
    figures = Figures(file.classes, measured_on, file.unit)
    for rows in file.labelled(source, bar, "measuring", target):
        with source.locating(rows.batch):
            figures.add(file.codes(rows.labels), file.proba(rows.batch))
    return figures


def figures_of_fit(file: ModelFile, sample: Sample) -> FiguresOfFit | None:
    """The figures of a weighted model that was learned on this sample: of rows that the learning
    left out. None where there was nothing to learn."""
    weighting = file.table.chosen.weighting
    if weighting is None:
        return None
    how = "left out of the whole fit" if weighting.figures.left_out else "leave-one-out"
    if not sample.whole:
        how += f", of a sample of {sample.n_rows:,} rows"
    class_weight = np.array(list(file.model.class_weight_.values()))
    if (class_weight != 1.0).any():
        how += ", weighted by class"
    place = np.searchsorted(file.model.classes_, weighting.classes)
    confused = np.zeros((len(file.classes), len(file.classes)))
    actual, predicted = place[weighting.confused[:, :2].astype(np.intp)].T
    confused[actual, predicted] = weighting.confused[:, 2]
    return FiguresOfFit(file.classes, how, weighting.figures, confused, class_weight)
