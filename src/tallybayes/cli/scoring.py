"""Measuring a model on a file."""

from __future__ import annotations

from tallybayes.cli.console import Bar
from tallybayes.cli.figures import Figures
from tallybayes.cli.model_file import ModelFile
from tallybayes.cli.reading.source import Source

__all__ = ["figures_of"]


def figures_of(
    file: ModelFile, source: Source, bar: Bar, measured_on: str, target: str | None = None
) -> Figures:
    """The figures of a model on labelled rows."""
    figures = Figures(file.classes, measured_on)
    for rows in file.labelled(source, bar, "measuring", target):
        with source.locating(rows.batch):
            figures.add(file.codes(rows.labels), file.model.predict_proba(rows.batch.table))
    return figures
