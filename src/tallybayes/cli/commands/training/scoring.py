"""How good a model is: on a file, or as its fit measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.report.figures import Figures, FiguresOfFit
from tallybayes.cli.terminal.console import Bar

if TYPE_CHECKING:
    from tallybayes.cli.commands.training.counting import Counting

__all__ = ["figures_of", "figures_of_fit"]


def figures_of(
    file: Any, source: Any, bar: Bar, measured_on: str, target: str | None = None
) -> Figures:
    """The figures of a model on labelled rows or documents."""
    figures = Figures(file.classes, measured_on, file.unit)
    for codes, proba, weights in file.measured(source, bar, target):
        figures.add(codes, proba, weights)
    return figures


def figures_of_fit(file: ModelFile, counting: Counting) -> FiguresOfFit | None:
    """The figures of a weighted model, of rows that its learning left out. None where there was
    nothing to learn."""
    weighting = file.table.chosen.weighting
    if weighting is None:
        return None
    how = "left out of the whole fit" if weighting.figures.left_out else "leave-one-out"
    if not counting.whole:
        how += f", of a sample of {len(counting.sample.labels):,} rows"
    class_weight = np.array(list(file.model.class_weight_.values()))
    if (class_weight != 1.0).any():
        how += ", weighted by class"
    place = np.searchsorted(file.model.classes_, weighting.classes)
    confused = np.zeros((len(file.classes), len(file.classes)))
    actual, predicted = place[weighting.confused[:, :2].astype(np.intp)].T
    confused[actual, predicted] = weighting.confused[:, 2]
    if counting.rows.weight is not None:
        how += f", weighted by {counting.rows.weight}"
    return FiguresOfFit(
        file.classes,
        how,
        weighting.figures,
        confused,
        class_weight,
        has_weights=counting.rows.weight is not None,
    )
