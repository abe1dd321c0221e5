"""Models of text: what commands do for them, and training one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.cli.console import Bar, document, line, note, number_of, progress, say
from tallybayes.cli.document_file import DocumentFile
from tallybayes.cli.documents import DocumentSource
from tallybayes.cli.files import Output
from tallybayes.cli.kinds import Kind
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.options import ChosenRows
from tallybayes.cli.reading import Reading
from tallybayes.cli.text_learning import DocumentSample, learned

__all__ = ["TextFit", "TextModels", "fit"]


# ---- what commands do for them -------------------------------------------------------------------
class TextModels(Kind):
    """Models of text."""

    def explain(
        self, file: DocumentFile, source: DocumentSource, rows: ChosenRows, json: bool
    ) -> None:
        from tallybayes.cli.show_text import explain

        explain(file, source, rows, json)

    def show(self, file: DocumentFile, path: str, tables: bool, show_all: bool, json: bool) -> None:
        from tallybayes.cli.show_text import show

        if tables:
            raise Failure(
                "--tables is for models of tables; a model of text shows the top terms of its "
                "classes, and more of them with --all",
                USAGE,
            )
        show(file, path, show_all, json)

    def need_reweighting(self, file: DocumentFile, path: str, parts: Any) -> None:
        if parts is not None:
            raise Failure(f"--parts is for models of tables, and {path} is one of text", USAGE)

    def reweight(
        self,
        file: DocumentFile,
        source: DocumentSource,
        bar: Bar,
        target: str | None,
        parts: Any,
        group: Any,
    ) -> int:
        source.keep_group(group)
        sample = DocumentSample()
        for batch in file.labelled(source, bar, "reading", target):
            sample.add(batch, grouped=group is not None)
        given = [label or "" for label in sample.labels]  # all have one
        labels = file.own_labels(np.array(given, dtype=np.str_))
        unknown = sorted(set(given) - set(file.classes))
        if unknown:
            raise Failure(
                f"{source.name}: the class {unknown[0]!r} is not in the model: reweight takes "
                "documents that the model has counted"
            )
        with bar.during("learning weights"):
            weights = sample.weights(file.model.half_life)
            file.model.reweight(sample.strings, labels, weights, sample.groups)
        return len(labels)

    def take_in(self, whole: DocumentFile, first: str, part: DocumentFile, path: str) -> None:
        mine, theirs = whole.model.get_params(), part.model.get_params()
        whole.model.merge(part.model)
        if mine != theirs:
            note(f"note: {path} was trained with other options; those of {first} are kept")
        whole.target = whole.target or part.target
        whole.column = whole.column or part.column

    def before_learning(self, file: DocumentFile) -> Any:
        return None

    def need_sound(self, file: DocumentFile, source: DocumentSource) -> None:
        pass

    def after_learning(self, file: DocumentFile, source: DocumentSource, before: Any) -> None:
        pass

    def note_stale(self, file: DocumentFile, path: str) -> None:
        if file.needs_reweighting:
            note(
                f"warning: the ridge was learned on other counts: tallybayes reweight {path} DATA "
                "learns it again, on documents that the model has counted"
            )


# ---- training a model of text, and the figures of its documents left out -------------------------
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
    from tallybayes.cli.figures import figures_of, made_page
    from tallybayes.cli.notes import note_counted_unlabelled, note_unlabelled
    from tallybayes.cli.show_text import (
        class_table,
        content_of,
        description,
        quality_in_short,
        quality_table,
        top_terms_tables,
    )

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
