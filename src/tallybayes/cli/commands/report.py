"""``tallybayes report``: one page of HTML that shows a model and how good it is."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.arguments import options
from tallybayes.cli.arguments.reading import Reading, reads_labels
from tallybayes.cli.terminal.failures import USAGE, Failure

__all__ = ["run"]

LANGUAGES = ("en", "zh")


@reads_labels
def run(
    model: options.Model,
    data: options.Data,
    reading: Reading,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PAGE", help="The page to write.")
    ] = "report.html",
    lang: Annotated[
        str, typer.Option("--lang", metavar="en|zh", help="The language of the page.")
    ] = "en",
    target: options.Target = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a page that shows a model, judged on rows or documents with labels.

    DATA holds new rows, or rows that the model has counted: each of those is predicted without
    itself. The page is one file that needs no network.
    """
    if lang not in LANGUAGES:
        raise Failure(f"--lang {lang!r}: the languages are {' and '.join(LANGUAGES)}", USAGE)
    from tallybayes.cli.commands.reporting import report
    from tallybayes.cli.io.outputs import Output

    page = Output(output, "page", [model, *data], force=force)
    report(model, data, page, lang, target, reading, json)
