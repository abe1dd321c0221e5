"""Training a model of text, and the figures of its documents left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.training.page import made_page
from tallybayes.cli.commands.training.scoring import figures_of
from tallybayes.cli.commands.training.text_learning import learned
from tallybayes.cli.io.document_file import DocumentFile
from tallybayes.cli.io.documents.source import DocumentSource
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.report.data_quality import note_counted_unlabelled, note_unlabelled
from tallybayes.cli.report.text.quality import (
    class_table,
    description,
    quality_in_short,
    quality_table,
)
from tallybayes.cli.report.text.showing import content_of
from tallybayes.cli.report.text.top_terms import top_terms_tables
from tallybayes.cli.terminal.console import document, line, number_of, progress, say

__all__ = ["TextFit", "fit"]


@dataclass(frozen=True)
class TextFit:
    """The request of the command line for a fit of text.

    Parameters
    ----------
    output : Output
        Where the model goes.
    page : Output or None
        Where a page goes.
    judged_on : list of str
        The documents that the page shows the model on.
    target : str or None
        The column or header of the labels.
    column : str or None
        Of the documents, where these are rows.
    settings : dict
        Of the model.
    test : str or None
        Documents to measure on.
    estimate : bool
        Whether to estimate how good the model is, without a test file.
    json : bool
    group : str, optional
        The column of groups of documents, which are left out together.
    """

    output: Output
    page: Output | None
    judged_on: list[str]
    target: str | None
    column: str | None
    settings: dict[str, Any]
    test: str | None
    estimate: bool
    json: bool
    group: str | None = None


def fit(request: TextFit, source: DocumentSource, reading: Reading) -> None:
    """Trains, measures, saves, and reports. Files are written when nothing else can fail."""
    path = request.output.path
    request.output.need_as_made()
    source.keep_unlabelled = request.settings["unlabelled"] is not None
    source.keep_group(request.group)
    with progress() as bar:
        model = learned(source, request.settings, bar, None)
        file = DocumentFile(model, request.target, request.column, flatten=reading.flatten)
    if source.keep_unlabelled:
        note_counted_unlabelled(source, model)
    else:
        note_unlabelled(source, file.unit)
    measured = None
    if request.test is not None:
        test = reading.open_documents([request.test], file)
        with progress() as bar:
            measured = figures_of(file, test, bar, f"test {request.test}")
        note_unlabelled(test, file.unit)
    page = None
    if request.page is not None:
        page = made_page(
            file,
            reading.open_for(file, request.judged_on),
            None,
            model=path,
            data=request.judged_on,
            learned=request.test is None,
            group=request.group if request.test is None else None,
        )
    content = content_of(file, path) | {"rows_without_label": source.unlabelled}
    text = f"{number_of(file.rows, 'document')} counted; the model is in {path}"
    shown = [class_table(file, False), line(description(file), "dim"), line(text, "bold"), line()]
    if measured is not None:
        content["estimate"] = measured.document()
        shown += measured.tables()
    elif request.estimate:
        shown += quality_table(file)
    else:
        content["estimate"] = None
    shown += top_terms_tables(file, False)
    if measured is not None:
        shown += [line(), line(measured.in_short(), "bold")]
    elif request.estimate:
        shown += [line(), line(quality_in_short(file), "bold")]
    with request.output.alone() as save:
        save(file)
    if page is not None and request.page is not None:
        page.report.save(request.page.path)
        shown.append(page.shows(request.page.path, path))
    if request.json:
        document("fit", content)
    else:
        say(*shown)
