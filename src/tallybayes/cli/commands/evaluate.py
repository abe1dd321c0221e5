"""``tallybayes evaluate``: measure a model on rows with labels."""

from __future__ import annotations

from tallybayes.cli import options
from tallybayes.cli.streams import need_output

__all__ = ["run"]


@options.reads_labels
def run(
    model: options.Model,
    data: options.Data,
    reading: options.Reading,
    target: options.Target = None,
    json: options.Json = False,
) -> None:
    """Measure a model on rows with labels."""
    need_output()
    from tallybayes.cli.console import document, progress, say
    from tallybayes.cli.doubts import note_unlabelled
    from tallybayes.cli.model_file import ModelFile
    from tallybayes.cli.scoring import figures_of

    file = ModelFile.load(model)
    source = reading.open(data, file)
    with progress() as bar:
        figures = figures_of(file, source, bar, source.name, target)
    note_unlabelled(source)
    if json:
        content = {"rows_without_label": source.unlabelled, "estimate": figures.document()}
        document("evaluate", {"model": model, **content})
    else:
        say(*figures.tables())
