"""Writing the report of a model from files."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.terminal.console import document, say

__all__ = ["report"]


def report(
    model: str,
    data: list[str],
    output: Output,
    lang: Any,
    target: str | None,
    reading: Reading,
    json: bool,
) -> None:
    """Writes the page of a model, judged on a fair sample of the rows, which the page counts."""
    from tallybayes.cli.commands.kinds.files import loaded

    file = loaded(model)
    from tallybayes.cli.commands.training.page import made_page
    from tallybayes.cli.report.data_quality import note_unlabelled

    source = reading.open_for(file, data)
    page = made_page(file, source, target, lang, model=model, data=data)
    note_unlabelled(source, file.unit)
    page.report.save(output.path)
    if json:
        headline = page.report.data["headline"]
        document("report", {"output": output.path, "rows": page.rows, "headline": headline})
        return
    say(page.shows(output.path, model))
