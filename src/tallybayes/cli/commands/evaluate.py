"""``tallybayes evaluate``: measure a model on rows with labels."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading import Reading, reads_labels
from tallybayes.cli.terminal.streams import need_output

__all__ = ["run"]


@reads_labels
def run(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    target: options.Target = None,
    page: options.Page = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Measure a model on rows, or documents, with labels."""
    need_output()
    beside = None
    if page is not None:
        from tallybayes.cli.commands.training.page import page_beside

        beside = page_beside(page, data, [model, *data], force)
    from tallybayes.cli.io.loading import load

    file: Any = load(model)
    from tallybayes.cli.commands.training.scoring import figures_of
    from tallybayes.cli.report.data_quality import note_unlabelled
    from tallybayes.cli.terminal.console import document, progress, say

    source: Any = reading.open_for(file, data)
    with progress() as bar:
        figures = figures_of(file, source, bar, source.name, target)
    note_unlabelled(source, file.unit)
    if json:
        content = {"rows_without_label": source.unlabelled, "estimate": figures.document()}
        document("evaluate", {"model": model, **content})
    else:
        say(*figures.tables())
    if beside is not None:
        from tallybayes.cli.commands.training.page import made_page

        made = made_page(
            file, reading.open_for(file, data), target, model=model, data=data, learned=False
        )
        made.report.save(beside.path)
        if not json:
            say(made.shows(beside.path, model))
