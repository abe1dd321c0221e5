"""``tallybayes evaluate``: measure a model on rows with labels."""

from __future__ import annotations

from tallybayes.cli import options
from tallybayes.cli.console import document, progress, say
from tallybayes.cli.model_file import ModelFile
from tallybayes.cli.reading.source import BLOCK
from tallybayes.cli.scoring import figures_of

__all__ = ["run"]


def run(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    delimiter: options.Delimiter = None,
    format: options.FormatName = None,
    null: options.NullTexts = None,
    encoding: options.Encoding = "utf-8",
    block: options.Block = BLOCK,
    json: options.Json = False,
) -> None:
    """Measure a model on rows with labels."""
    reading = options.Reading(delimiter, format, null, encoding, block)
    file = ModelFile.load(model)
    source = reading.open(data, file.gaps)
    with progress() as bar:
        figures = figures_of(file, source, bar, source.name, target)
    if json:
        document("evaluate", {"model": model, "estimate": figures.document()})
    else:
        say(*figures.tables())
