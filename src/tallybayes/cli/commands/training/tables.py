"""Training on a file, and an estimate of how good the model is on new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.cli.arguments.class_weights import ClassWeight
from tallybayes.cli.arguments.reading import Reading
from tallybayes.cli.commands.training.counting import Counting
from tallybayes.cli.commands.training.page import made_page
from tallybayes.cli.commands.training.scoring import figures_of, figures_of_fit
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.outputs import Output
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.io.strays import note_strays
from tallybayes.cli.report.data_quality import note_data_quality, note_unlabelled
from tallybayes.cli.report.figures import Figures
from tallybayes.cli.report.informative_columns import MEASURE, Informative, most_informative
from tallybayes.cli.report.schema_view import (
    class_table,
    columns_document,
    columns_table,
    informative_table,
)
from tallybayes.cli.terminal.console import document, line, note, number_of, progress, say
from tallybayes.explain.importances import UNINFORMATIVE

__all__ = ["FitRequest", "fit"]


@dataclass(frozen=True)
class FitRequest:
    """The request of the command line for a fit.

    Parameters
    ----------
    target : str
    output : Output
        Where the model goes.
    page : Output or None
        Where a page goes.
    judged_on : list of str
        The rows that the page shows the model on.
    families : dict
        Declared families by column; None leaves the column out.
    plain : bool
        Whether the model is a NaiveBayes, else a WeightedNaiveBayes.
    settings : dict
        Of that model.
    class_weight : dict, "balanced" or None
    test : str or None
        A file to measure on.
    estimate : bool
        Whether to measure how good the model is on rows left out, without a test file.
    json : bool
    group : str, optional
        The column of groups of rows, which are left out together.
    """

    target: str
    output: Output
    page: Output | None
    judged_on: list[str]
    families: dict[str, Any]
    plain: bool
    settings: dict[str, Any]
    class_weight: ClassWeight
    test: str | None
    estimate: bool
    json: bool
    group: str | None = None


def fit(request: FitRequest, source: Rows, reading: Reading) -> None:
    """Trains, measures, saves, and reports. Files are written when nothing else can fail."""
    path = request.output.path
    request.output.need_as_made()
    counting = Counting(
        source,
        request.target,
        request.families,
        request.plain,
        request.settings,
        request.class_weight,
        request.group,
    )
    with progress() as bar:
        model = counting.run(bar)
        file = counting.model_file(model)
    informative = most_informative(file)
    figures = None
    with progress() as bar:
        if request.test is not None:
            test = reading.open([request.test], file)
            figures = figures_of(file, test, bar, f"test file {request.test}")
            note_unlabelled(test)
        elif request.estimate and not request.plain:
            figures = figures_of_fit(file, counting)
        elif request.estimate and file.rows > 1:
            from tallybayes.cli.commands.training.held_out import held_out_figures

            figures = held_out_figures(file, counting, bar)
    if not request.json:
        _note_one_class(file, request.target)
    note_strays(file, source)
    note_data_quality(file, source)
    note_unlabelled(source)
    if figures is None:
        note(_no_estimate(file.rows, len(file.classes)))
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
    content = _content(request, source, file, figures, informative)
    shown = [*_model_tables(file, informative, request.target, path)]
    if figures is not None:
        shown += figures.tables()
    if informative:
        shown += informative_table(informative, MEASURE)
    if figures is not None:
        shown += [line(), line(figures.in_short(), "bold")]
    with request.output.alone() as save:
        save(file)
    if page is not None and request.page is not None:
        page.report.save(request.page.path)
        shown.append(page.shows(request.page.path, path))
    if request.json:
        document("fit", content)
    else:
        say(*shown)


def _content(
    request: FitRequest,
    source: Rows,
    file: ModelFile,
    figures: Figures | None,
    informative: list[Informative],
) -> dict[str, Any]:
    """What was learned, for machines."""
    return {
        "model": request.output.path,
        "target": request.target,
        "rows": file.rows,
        "rows_without_label": source.unlabelled,
        "classes": dict(zip(file.classes, file.class_rows.tolist(), strict=True)),
        "columns": columns_document(file),
        "estimate": None if figures is None else figures.document(),
        "informative": {"measure": MEASURE, "columns": [t._asdict() for t in informative]},
    }


def _model_tables(
    file: ModelFile, informative: list[Informative], target: str, path: str
) -> list[Any]:
    """What was counted, for people."""
    text = f"{number_of(file.rows, 'row')} counted; the model is in {path}"
    return [
        *columns_table(file, informative, False, path),
        class_table(file, target, False),
        line(text, "bold"),
        line(),
    ]


def _note_one_class(file: ModelFile, target: str) -> None:
    """Reports models that predict one class."""
    weighting = file.table.chosen.weighting
    if weighting is not None and not file.table.parts:
        note(
            f"warning: {UNINFORMATIVE}, so every prediction is the most frequent class; "
            "--plain uses all"
        )
    if len(file.classes) == 1:
        note(f"warning: {target!r} has only one value, so every prediction will be that value")


def _no_estimate(rows: float, n_classes: int) -> str:
    if rows > 1 and n_classes == 1:
        return "note: the quality was not measured: it takes rows of two classes, or --test FILE"
    if rows <= 1:
        return "note: the quality was not measured: it takes at least two rows, or --test FILE"
    return "note: the quality was not measured: add --test FILE, or leave out --no-estimate"
